#include "schedule/problem.h"

#include <stddef.h>
#include <string.h>
#include "topo_tree/network/placement.h"

static const struct {
    const char *name;
    unsigned traits;
} patterns[] = {
#define X(id, name, traits) {#name, traits},
    HP_PATTERN_TABLE(X)
#undef X
};

static const char *const spaces[] = {
#define X(id, name) #name,
    HP_SPACE_TABLE(X)
#undef X
};

const char *hp_pattern_name(hp_pattern_t pattern)
{
    return patterns[pattern].name;
}

hp_pattern_t hp_pattern_find(const char *name)
{
    unsigned i = 0;
    while (i < HP_PATTERN_COUNT && strcmp(name, patterns[i].name) != 0)
        i++;
    return (hp_pattern_t)i;
}

bool hp_pattern_is(hp_pattern_t pattern, unsigned traits)
{
    return (patterns[pattern].traits & traits) == traits;
}

const char *hp_space_name(hp_space_t space)
{
    return spaces[space];
}

hp_space_t hp_space_find(const char *name)
{
    unsigned i = 0;
    while (i < HP_SPACE_COUNT && strcmp(name, spaces[i]) != 0)
        i++;
    return (hp_space_t)i;
}

uint32_t hp_problem_blocks(const hp_problem_t *problem, uint32_t cut, hp_space_t space, uint32_t position)
{
    const bool sends = space == HP_SPACE_SEND, is_root = position == problem->root;

    if (space == HP_SPACE_SCRATCH)
        return 0;
    switch (problem->pattern) {
    case HP_PATTERN_BCAST:
        return sends ? 0 : cut;
    case HP_PATTERN_REDUCE:
        return sends || is_root ? cut : 0;
    case HP_PATTERN_ALLREDUCE:
    case HP_PATTERN_SCAN:
    case HP_PATTERN_EXSCAN:
        return cut;
    case HP_PATTERN_ALLGATHER:
        return sends ? 1 : problem->count;
    case HP_PATTERN_REDUCE_SCATTER:
        return sends ? problem->count : 1;
    case HP_PATTERN_ALLTOALL:
        return problem->count;
    case HP_PATTERN_GATHER:
        return sends ? 1 : is_root ? problem->count : 0;
    case HP_PATTERN_SCATTER:
        return !sends ? 1 : is_root ? problem->count : 0;
    default:
        return 0;
    }
}

/* ---- the network ---- */

uint32_t hp_problem_machine(const hp_problem_t *problem, uint32_t position)
{
    const uint32_t place = (uint32_t)(((uint64_t)position + problem->rotated) % problem->count);
    return problem->placement->machines[problem->placed ? problem->placed[place] : place];
}

/* ---- nodes ---- */

uint32_t hp_problem_node(const hp_problem_t *problem, uint32_t position)
{
    uint32_t least = 0, most = problem->node_count - 1;

    while (least < most) {
        const uint32_t middle = (least + most + 1) / 2;
        if (problem->node_first[middle] <= position)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

uint32_t hp_problem_node_most(const hp_problem_t *problem)
{
    uint32_t most = 0;

    for (uint32_t node = 0; node < problem->node_count; node++)
        most = hp_problem_node_size(problem, node) > most ? hp_problem_node_size(problem, node) : most;
    return most;
}

bool hp_problem_nodes_are_equal(const hp_problem_t *problem)
{
    return (uint64_t)problem->node_count * hp_problem_node_most(problem) == problem->count;
}

hp_problem_t hp_problem_of_nodes(const hp_problem_t *problem)
{
    hp_problem_t nodes = *problem;

    if (!hp_problem_has_nodes(problem))
        return nodes;
    nodes.node_count = nodes.per_node = 0;
    nodes.count = problem->node_count;
    nodes.placed = problem->node_first; /* a node is where its first position is */
    nodes.sizes = NULL;
    nodes.root = hp_problem_node(problem, problem->root);
    if (problem->pattern == HP_PATTERN_SCAN) /* what comes before a node is put in front of its own */
        nodes.pattern = HP_PATTERN_EXSCAN;
    return nodes;
}
