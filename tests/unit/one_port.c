#include "one_port.h"
#include "check.h"
#include "schedule/cost/cost_graph.h"

typedef struct {
    hp_cost_graph_t graph;
    bool *ready;            /* of each part that sends: nothing is missing */
    uint32_t *sends, count; /* of this round */
    bool *receives;         /* of each position: its port is taken in this round */
    bool in_order;          /* every port takes its messages in the order of the steps */
    bool *passed;           /* of each part */
    uint32_t *next;         /* of each position, sends and receives: none before this one is to pass */
} run_t;

static void complete(run_t *run, uint32_t part);

/* One of the things that the part needs is there. */
static void found(run_t *run, uint32_t part)
{
    if (--run->graph.parts[part].needs > 0)
        return;
    if (run->graph.parts[part].kind == HP_PART_SEND)
        run->ready[part] = true;
    else
        complete(run, part);
}

static void complete(run_t *run, uint32_t part)
{
    const hp_part_t *it = &run->graph.parts[part];

    for (uint32_t i = 0; i < it->after_count; i++)
        found(run, run->graph.after[it->first_after + i]);
    if (it->kind != HP_PART_SEND)
        return;
    found(run, it->peer);
    if (it->next != HP_NO_PART)
        found(run, it->next);
}

/* Is it the first of its kind on its position whose message has not passed? */
static bool is_first(run_t *run, uint32_t part)
{
    const hp_part_t *parts = run->graph.parts;
    const uint8_t kind = parts[part].kind;
    uint32_t *next = &run->next[2 * parts[part].position + (kind == HP_PART_RECEIVE)];

    while (run->passed[*next] || parts[*next].kind != kind)
        ++*next;
    return *next == part;
}

/* Chooses what the position sends in this round. */
static void choose(run_t *run, uint32_t position)
{
    for (uint32_t part = run->graph.first_part[position]; part < run->graph.first_part[position + 1];
         part++) {
        const uint32_t peer = run->graph.parts[part].peer;
        if (!run->ready[part])
            continue;
        const uint32_t receiver = run->graph.parts[peer].position;
        if (run->receives[receiver] || (run->in_order && (!is_first(run, part) || !is_first(run, peer))))
            continue;
        run->receives[receiver] = true;
        run->ready[part] = false;
        run->sends[run->count++] = part;
        return;
    }
}

/* What needs nothing is ready from the start. */
static void start(run_t *run)
{
    for (uint32_t part = 0; part < run->graph.part_count; part++)
        run->graph.parts[part].needs++;
    for (uint32_t part = 0; part < run->graph.part_count; part++)
        found(run, part);
}

static void build(run_t *run, const hp_schedule_t *schedules, const hp_problem_t *problem)
{
    const uint32_t count = problem->count;
    uint32_t *machines = malloc(count * sizeof *machines);
    hp_network_t network;

    hp_network_init(&network);
    assert_int_equal(hp_network_flat(&network, count, 1, (hp_network_speed_t){1, 1}), HP_OK);
    assert_non_null(machines);
    for (uint32_t i = 0; i < count; i++)
        machines[i] = i;
    assert_int_equal(hp_cost_graph_init(&run->graph, schedules, problem, &network, machines, 0), HP_OK);
    run->ready = calloc(run->graph.part_count + 1, sizeof *run->ready);
    run->passed = calloc(run->graph.part_count + 1, sizeof *run->passed);
    run->next = calloc(count, 2 * sizeof *run->next);
    run->sends = calloc(count, sizeof *run->sends);
    run->receives = calloc(count, sizeof *run->receives);
    assert_true(run->ready && run->passed && run->next && run->sends && run->receives);
    for (uint32_t i = 0; i < count; i++)
        run->next[2 * i] = run->next[2 * i + 1] = run->graph.first_part[i];
    hp_network_fini(&network);
    free(machines);
}

static one_port_t run_in(const hp_schedule_t *schedules, const hp_problem_t *problem, bool in_order)
{
    const uint32_t count = problem->count;
    uint64_t *sent = calloc(count, sizeof *sent);
    one_port_t result = {0};
    run_t run = {.in_order = in_order};

    assert_non_null(sent);
    build(&run, schedules, problem);
    start(&run);
    do {
        run.count = 0;
        memset(run.receives, 0, count * sizeof *run.receives);
        for (uint32_t position = 0; position < count; position++)
            choose(&run, position);
        for (uint32_t i = 0; i < run.count; i++) {
            const hp_part_t *part = &run.graph.parts[run.sends[i]];
            run.passed[run.sends[i]] = run.passed[part->peer] = true;
            sent[part->position] += part->blocks;
            result.sent = sent[part->position] > result.sent ? sent[part->position] : result.sent;
            complete(&run, run.sends[i]);
        }
        result.rounds += run.count > 0;
    } while (run.count > 0);
    for (uint32_t part = 0; part < run.graph.part_count; part++)
        assert_true(run.passed[part] || run.graph.parts[part].kind == HP_PART_LOCAL);
    hp_cost_graph_fini(&run.graph);
    free(run.ready);
    free(run.sends);
    free(run.receives);
    free(run.passed);
    free(run.next);
    free(sent);
    return result;
}

one_port_t one_port_run(const hp_schedule_t *schedules, const hp_problem_t *problem, uint64_t expected)
{
    const one_port_t in_order = run_in(schedules, problem, true);

    if (in_order.rounds <= expected)
        return in_order;
    const one_port_t as_ready = run_in(schedules, problem, false);
    return in_order.rounds <= as_ready.rounds ? in_order : as_ready;
}
