#include "schedule/generators/parts/paths.h"

#include <math.h>
#include <stdlib.h>
#include "base/least.h"

enum { CAPACITY_MAX = UINT16_MAX };

static const hp_network_t *network_of(const hp_paths_t *paths)
{
    return paths->problem->placement->network;
}

static uint32_t node_of(const hp_paths_t *paths, uint32_t position)
{
    return network_of(paths)->machines[hp_problem_machine(paths->problem, position)];
}

/* Link 2 i + d of the network is above node i (network.c); what it carries in an all-to-all. */
static uint32_t crossed_by(const hp_paths_t *paths, uint32_t node)
{
    return paths->below[node] * (paths->count - paths->below[node]);
}

static double slowest(const hp_paths_t *paths)
{
    const hp_network_t *network = network_of(paths);
    double rate = INFINITY;

    for (uint32_t i = 0; i < network->node_count; i++) {
        if (crossed_by(paths, i) == 0)
            continue;
        rate = hp_least_double(rate, hp_least_double(network->nodes[i].up.rate, network->nodes[i].down.rate));
    }
    return rate;
}

static uint32_t capacity_of(double rate, double slowest_rate)
{
    if (rate == slowest_rate)
        return 1;
    return rate / slowest_rate < CAPACITY_MAX ? (uint32_t)(rate / slowest_rate) : CAPACITY_MAX;
}

static void count_below(hp_paths_t *paths)
{
    const hp_network_t *network = network_of(paths);

    for (uint32_t p = 0; p < paths->count; p++)
        for (int32_t at = (int32_t)node_of(paths, p); at >= 0; at = network->nodes[at].parent)
            paths->below[at]++;
}

/* Of the links that messages cross; all others are never asked for. */
static void set_links(hp_paths_t *paths)
{
    const hp_network_t *network = network_of(paths);
    const double rate = slowest(paths);

    for (uint32_t i = 0; i < network->node_count; i++) {
        const uint32_t load = crossed_by(paths, i);
        paths->capacity[2 * i] = load ? capacity_of(network->nodes[i].up.rate, rate) : 1;
        paths->capacity[2 * i + 1] = load ? capacity_of(network->nodes[i].down.rate, rate) : 1;
        paths->load[2 * i] = paths->load[2 * i + 1] = load;
    }
    for (uint32_t p = 0; p < paths->count; p++) {
        const uint32_t node = node_of(paths, p), own = hp_network_links(network) + 2 * p;
        for (uint32_t d = 0; d < 2; d++) {
            paths->capacity[own + d] = paths->capacity[2 * node + d];
            paths->load[own + d] = paths->count - 1;
        }
    }
    paths->is_equal = true;
    for (uint32_t l = 0; l < paths->links; l++) {
        if (paths->load[l] == 0)
            continue;
        const uint32_t phases = (paths->load[l] + paths->capacity[l] - 1) / paths->capacity[l];
        paths->bound = phases > paths->bound ? phases : paths->bound;
        paths->is_equal = paths->is_equal && paths->capacity[l] == 1;
    }
}

hp_status_t hp_paths_init(hp_paths_t *paths, const hp_problem_t *problem)
{
    const hp_network_t *network = problem->placement->network;

    *paths = (hp_paths_t){.problem = problem,
                          .count = problem->count,
                          .links = hp_network_links(network) + 2 * problem->count,
                          .path_most = hp_network_path_most(network) + 2};
    paths->below = calloc(network->node_count, sizeof *paths->below);
    paths->capacity = calloc(paths->links, sizeof *paths->capacity);
    paths->load = calloc(paths->links, sizeof *paths->load);
    if (!paths->below || !paths->capacity || !paths->load)
        return HP_ERR_NO_MEM;
    count_below(paths);
    set_links(paths);
    return HP_OK;
}

void hp_paths_fini(hp_paths_t *paths)
{
    free(paths->below);
    free(paths->capacity);
    free(paths->load);
}

uint32_t hp_paths_links(const hp_paths_t *paths, uint32_t from, uint32_t to, uint32_t *links)
{
    const hp_network_t *network = network_of(paths);
    const uint32_t a = hp_problem_machine(paths->problem, from), b = hp_problem_machine(paths->problem, to);
    uint32_t count = 0;

    links[count++] = hp_network_links(network) + 2 * from;
    if (a != b)
        count += hp_network_path(network, a, b, links + count);
    links[count++] = hp_network_links(network) + 2 * to + 1;
    return count;
}
