#include "schedule/cost/cost.h"

#include <stdlib.h>
#include <string.h>
#include "base/least.h"
#include "schedule/cost/cost_run.h"

typedef struct {
    const hp_cost_graph_t *graph;
    const hp_problem_t *problem;
    const hp_cost_setting_t *setting;
    double block_bytes;
    uint32_t segments;
    hp_cost_t *cost;
} figures_t;

/* ---- loads ---- */

static void add_load(hp_cost_load_t *load, const figures_t *figures, const hp_part_t *part)
{
    const hp_cost_work_t work = hp_cost_work(part, &figures->setting->processor, figures->block_bytes);
    const uint32_t segments = figures->segments;
    const double bytes = segments * (part->blocks * figures->block_bytes);

    load->processor_us += segments * (work.overhead_us + work.reduce_us + work.copy_us);
    if (part->kind == HP_PART_SEND) {
        load->sent += segments;
        load->sent_bytes += bytes;
    } else if (part->kind == HP_PART_RECEIVE) {
        load->received += segments;
        load->received_bytes += bytes;
    }
    if (part->reduces)
        load->reduced_bytes += bytes;
    else if (part->kind == HP_PART_LOCAL)
        load->copied_bytes += bytes;
}

static void keep_most(hp_cost_load_t *of_all, const hp_cost_load_t *load)
{
    of_all->sent = load->sent > of_all->sent ? load->sent : of_all->sent;
    of_all->received = load->received > of_all->received ? load->received : of_all->received;
    of_all->sent_bytes = hp_most_double(of_all->sent_bytes, load->sent_bytes);
    of_all->received_bytes = hp_most_double(of_all->received_bytes, load->received_bytes);
    of_all->reduced_bytes = hp_most_double(of_all->reduced_bytes, load->reduced_bytes);
    of_all->copied_bytes = hp_most_double(of_all->copied_bytes, load->copied_bytes);
    of_all->processor_us = hp_most_double(of_all->processor_us, load->processor_us);
}

static void count_loads(const figures_t *figures)
{
    const hp_cost_graph_t *graph = figures->graph;

    for (uint32_t position = 0; position < figures->problem->count; position++) {
        hp_cost_load_t load = {0};
        for (uint32_t i = graph->first_part[position]; i < graph->first_part[position + 1]; i++)
            add_load(&load, figures, &graph->parts[i]);
        keep_most(&figures->cost->most, &load);
        if (figures->setting->loads)
            figures->setting->loads[position] = load;
    }
}

static hp_status_t count_links(const figures_t *figures)
{
    const hp_cost_graph_t *graph = figures->graph;
    const hp_network_t *network = figures->setting->network;
    const uint32_t links = hp_network_links(network);
    hp_cost_t *cost = figures->cost;
    double *bytes = calloc(links, sizeof *bytes);

    if (!bytes)
        return HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < graph->part_count; i++)
        for (uint32_t k = 0; k < graph->parts[i].link_count; k++)
            bytes[graph->links[graph->parts[i].first_link + k]] +=
                figures->segments * (graph->parts[i].blocks * figures->block_bytes);
    for (uint32_t link = 0; link < links; link++) {
        const double us = bytes[link] / hp_network_link(network, link).speed.rate;
        if (us <= cost->link_us)
            continue;
        cost->link = link;
        cost->link_bytes = bytes[link];
        cost->link_us = us;
    }
    if (figures->setting->link_bytes)
        memcpy(figures->setting->link_bytes, bytes, links * sizeof *bytes);
    free(bytes);
    return HP_OK;
}

/* ---- the longest chain of messages ---- */

typedef struct {
    uint32_t needs, rounds;
    double us, latency_us; /* of the longest chain, and of its links */
} waiting_t;

typedef struct {
    waiting_t *parts;
    uint32_t *ready, count;
    double latency_us; /* of all the longest chain */
} chains_t;

static void reach(chains_t *chains, uint32_t part, uint32_t rounds, double us, double latency_us)
{
    waiting_t *it = &chains->parts[part];

    it->rounds = rounds > it->rounds ? rounds : it->rounds;
    if (us >= it->us) {
        it->us = us;
        it->latency_us = latency_us;
    }
    if (--it->needs == 0)
        chains->ready[chains->count++] = part;
}

static void follow(const figures_t *figures, chains_t *chains, uint32_t number)
{
    const hp_cost_graph_t *graph = figures->graph;
    const hp_part_t *part = &graph->parts[number];
    const waiting_t *it = &chains->parts[number];
    const hp_cost_work_t work = hp_cost_work(part, &figures->setting->processor, figures->block_bytes);
    const double done = it->us + work.overhead_us + work.reduce_us + work.copy_us;
    double complete = done;

    if (part->kind == HP_PART_SEND) {
        double link_us = 0, latency_us = 0;
        for (uint32_t k = 0; k < part->link_count; k++) {
            const hp_network_speed_t speed =
                hp_network_link(figures->setting->network, graph->links[part->first_link + k]).speed;
            link_us = hp_most_double(link_us, part->blocks * figures->block_bytes / speed.rate);
            latency_us += speed.latency_us;
            if (k == 0)
                complete = done + link_us;
        }
        reach(chains, part->peer, it->rounds + 1, done + link_us + latency_us, it->latency_us + latency_us);
        if (part->next != HP_NO_PART)
            reach(chains, part->next, it->rounds, done, it->latency_us);
    }
    for (uint32_t k = 0; k < part->after_count; k++)
        reach(chains, graph->after[part->first_after + k], it->rounds, complete, it->latency_us);
    figures->cost->rounds = it->rounds > figures->cost->rounds ? it->rounds : figures->cost->rounds;
    if (complete >= figures->cost->chain_us) {
        figures->cost->chain_us = complete;
        chains->latency_us = it->latency_us;
    }
}

static hp_status_t find_chains(const figures_t *figures, double *latency_us)
{
    const hp_cost_graph_t *graph = figures->graph;
    chains_t chains = {.parts = calloc(graph->part_count + (size_t)1, sizeof *chains.parts),
                       .ready = calloc(graph->part_count + (size_t)1, sizeof *chains.ready)};
    hp_status_t status = HP_ERR_NO_MEM;

    if (chains.parts && chains.ready) {
        for (uint32_t i = 0; i < graph->part_count; i++) {
            chains.parts[i].needs = graph->parts[i].needs;
            if (graph->parts[i].needs == 0)
                chains.ready[chains.count++] = i;
        }
        for (uint32_t i = 0; i < chains.count; i++)
            follow(figures, &chains, chains.ready[i]);
        status = chains.count == graph->part_count ? HP_OK : HP_ERR_ARG;
    }
    *latency_us = chains.latency_us;
    free(chains.parts);
    free(chains.ready);
    return status;
}

/* ---- all ---- */

static hp_status_t find_figures(const figures_t *figures)
{
    hp_cost_t *cost = figures->cost;
    double latency_us = 0;

    count_loads(figures);
    hp_status_t status = count_links(figures);
    if (status == HP_OK)
        status = find_chains(figures, &latency_us);
    const double busiest = hp_most_double(cost->link_us, cost->most.processor_us);
    cost->estimate_us = hp_most_double(cost->chain_us + busiest / figures->segments * (figures->segments - 1),
                                       busiest + latency_us);
    return status;
}

static hp_status_t cost_of(const hp_schedule_t *schedules, const hp_problem_t *problem,
                           const hp_cost_setting_t *setting, const uint32_t *machines, hp_cost_t *cost)
{
    const uint32_t segments = setting->segments ? setting->segments : 1, cut = schedules[0].cut;
    const double block_bytes = setting->bytes / (cut ? cut : 1) / segments;
    hp_cost_graph_t graph;

    for (uint32_t i = 0; i < problem->count; i++)
        if (machines[i] >= setting->network->machine_count || schedules[i].cut != cut)
            return HP_ERR_ARG;
    hp_status_t status =
        hp_cost_graph_init(&graph, schedules, problem, setting->network, machines, setting->in_flight);
    if (status != HP_OK)
        return status;
    const figures_t figures = {&graph, problem, setting, block_bytes, segments, cost};
    *cost = (hp_cost_t){.us = -1};
    status = find_figures(&figures);
    if (status == HP_OK && !setting->no_run)
        status = hp_cost_run(&graph, problem->count, setting, block_bytes, cost);
    hp_cost_graph_fini(&graph);
    return status;
}

hp_status_t hp_schedules_cost(const hp_schedule_t *schedules, const hp_problem_t *problem,
                              const hp_cost_setting_t *setting, hp_cost_t *cost)
{
    if (setting->machines)
        return cost_of(schedules, problem, setting, setting->machines, cost);
    uint32_t *machines = malloc(problem->count * sizeof *machines);
    if (!machines)
        return HP_ERR_NO_MEM;
    hp_network_place(setting->network, problem->count, HP_NETWORK_BLOCK, machines);
    const hp_status_t status = cost_of(schedules, problem, setting, machines, cost);
    free(machines);
    return status;
}

hp_status_t hp_generator_cost(const hp_generator_t *generator, const hp_problem_t *problem,
                              const hp_cost_setting_t *setting, hp_cost_t *cost)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);

    if (!schedules)
        return HP_ERR_NO_MEM;
    const hp_status_t status = hp_schedules_cost(schedules, problem, setting, cost);
    hp_schedules_free(schedules, problem->count);
    return status;
}
