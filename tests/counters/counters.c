/* counters: prints the counters of every case, one line a case, for counters.py to compare.
 *
 * usage: counters [LAYOUT...]     only the cases of these layouts
 *
 * Every case runs in three worlds: events in order; shuffled, nothing eager; shuffled, everything eager
 * (large ones in the first alone, to save time). What the table says must be the same in all three, but for
 * scratch_peak and virtual_us: the first is the highest of the three (their seeds are fixed), the second is
 * that of the first world. What is wrong with a case
 * stands in front of its line as "problem: ...", and the exit status is then 1. A call that the library
 * leaves to the host MPI has no counters. Threads: single-threaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "counters/cases.h"
#include "counters/task_graph.h"
#include "hier/modules/leader_rounds.h"
#include "hier/planning/model/model_blocks.h"
#include "hier/planning/select.h"

#define COUNTERS(X)                                                                                          \
    X(segments)                                                                                              \
    X(messages_node)                                                                                         \
    X(messages_package)                                                                                      \
    X(messages_core)                                                                                         \
    X(bytes_node)                                                                                            \
    X(bytes_package)                                                                                         \
    X(bytes_core)                                                                                            \
    X(rounds)                                                                                                \
    X(chain)                                                                                                 \
    X(chain_bytes)                                                                                           \
    X(reductions)                                                                                            \
    X(reduced_bytes)                                                                                         \
    X(copies)                                                                                                \
    X(copied_bytes)                                                                                          \
    X(pulls)                                                                                                 \
    X(pushes)                                                                                                \
    X(sets)                                                                                                  \
    X(window)                                                                                                \
    X(tasks)                                                                                                 \
    X(scratch)                                                                                               \
    X(scratch_peak)                                                                                          \
    X(virtual_us)

typedef struct {
#define X(name) uint64_t name;
    COUNTERS(X)
#undef X
} counters_t;

enum { WORLDS = 3, TEXT_BYTES = 128, HEAVY_BYTES = 16 << 20 };

static char *const *wanted_layouts;
static bool all_right = true;

static void problem(const char *text, unsigned world)
{
    printf("problem: world %u: %s\n", world, text);
    all_right = false;
}

static sim_config_t world_of(unsigned world, uint32_t rank_count, const hp_locality_t *table)
{
    static const size_t eager_bytes[WORLDS] = {4096, 0, SIZE_MAX};
    sim_config_t config = {.rank_count = rank_count,
                           .table = table,
                           .eager_bytes = eager_bytes[world],
                           .shuffle = world > 0,
                           .jitter_ns = world > 0 ? 2000 : 0,
                           .seed = world};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        config.links[level] = level == HP_LEVEL_NODE ? (sim_link_t){.latency_ns = 10000, .ns_per_byte = 1}
                                                     : (sim_link_t){.latency_ns = 500, .ns_per_byte = 0.125};
    return config;
}

static void set(hp_knobs_t *knobs, hp_knob_id_t id, const char *value)
{
    char error[HP_KNOB_TEXT_BYTES];
    if (!hp_knob_parse(knobs, id, value, error, sizeof error)) {
        fprintf(stderr, "counters: %s: %s\n", value, error);
        abort();
    }
}

static hp_knobs_t knobs_of(const case_t *c)
{
    hp_knobs_t knobs = job_knobs();
    char shapes[HP_KNOB_TEXT_BYTES];
    static const hp_knob_id_t words[HP_COLLECTIVE_COUNT] = {
#define X(id, name, ...) [HP_##id] = HP_KNOB_ID_##name,
        HP_COLLECTIVE_TABLE(X)
#undef X
    };
    char word[HP_KNOB_TEXT_BYTES], modules[HP_KNOB_TEXT_BYTES];
    const char *module = strchr(c->wanted, ':');
    snprintf(word, sizeof word, "%.*s", (int)strcspn(c->wanted, ":"), c->wanted);
    set(&knobs, words[c->collective], word);
    if (module) {
        snprintf(modules, sizeof modules, "package%s numa%s l3%s core%s", module, module, module, module);
        set(&knobs, HP_KNOB_ID_modules, modules);
    }
    if (c->between_nodes) {
        snprintf(shapes, sizeof shapes, "node:%s package:%s core:%s", c->between_nodes, c->inside_node,
                 c->inside_node);
        set(&knobs, HP_KNOB_ID_shapes, shapes);
        set(&knobs, HP_KNOB_ID_segment_bytes, "32K"); /* whatever the rules say */
    }
    if (c->joined || c->between_nodes)
        set(&knobs, HP_KNOB_ID_between_nodes, c->joined ? c->joined : "tree");
    if (c->leaders)
        set(&knobs, HP_KNOB_ID_leaders, c->leaders);
    if (c->pieces) {
        set(&knobs, HP_KNOB_ID_ib_segment_bytes, c->pieces);
        set(&knobs, HP_KNOB_ID_ir_segment_bytes, c->pieces);
    }
    return knobs;
}

static const char *join_of(const case_t *c, const hp_comm_t *comm, const hp_setting_t *setting)
{
    const hp_layout_t layout = hp_comm_layout(comm);

    if (c->collective == HP_BARRIER)
        return hp_leader_rounds_of(layout.nodes, layout.least_ranks, setting).count ? "all_lead"
                                                                                    : "one_leads";
    return setting->inter_node == HP_INTER_NODE_tree
               ? hp_shape_info(setting->shapes.shape[HP_LEVEL_NODE])->name
               : hp_inter_node_name(setting->inter_node);
}

/* False: the library leaves the call to the host MPI. runs: what is done, for the table. */
static bool choose(const case_t *c, hp_comm_t *comm, collective_t *call, char *runs)
{
    hp_outcome_t outcome = HP_OUTCOME_EMPTY;
    hp_choice_t choice;
    if (c->bytes || c->collective == HP_BARRIER)
        outcome = hp_select(comm, c->collective, c->bytes, &choice);
    if (outcome != HP_OUTCOME_TAKEN) {
        snprintf(runs, TEXT_BYTES, "left:%s", hp_outcome_word(outcome));
        return false;
    }
    call->algorithm = choice.algorithm;
    call->setting = *choice.setting;
    snprintf(runs, TEXT_BYTES, "%s", call->algorithm->name);
    const char *join = join_of(c, comm, &call->setting);
    const char *inside = hp_shape_info(call->setting.shapes.shape[HP_LEVEL_CORE])->name;
    if (call->algorithm->traits & HP_TRAIT_PIPELINED)
        snprintf(runs, TEXT_BYTES, "han:%s/%s:%s", join, inside,
                 hp_module_name((hp_module_id_t)call->setting.modules.module[HP_LEVEL_CORE]));
    hp_model_blocks_schedule_t schedule;
    const hp_layout_t layout = hp_comm_layout(comm);
    if (call->algorithm->traits & HP_TRAIT_SCHEDULE &&
        hp_model_blocks_schedule(&layout, call->algorithm, &call->setting, &schedule))
        snprintf(runs, TEXT_BYTES, "%s:%s", call->algorithm->name, schedule.generator->name);
    const bool bytes = c->collective == HP_BCAST || c->collective == HP_BARRIER;
    call->kind = bytes ? ELEMENTS_BYTES : c->commutative ? ELEMENTS_ONE : ELEMENTS_PAIR;
    call->op = c->commutative ? ELEMENTS_SUM_INT64 : ELEMENTS_AFFINE;
    call->commutative = c->commutative;
    call->root = c->root;
    call->count = c->bytes / elements_type(call->kind).bytes;
    call->data_seed = 1;
    return true;
}

static counters_t gather(const sim_counters_t *sim, const task_graph_t *graph, unsigned world)
{
    counters_t k = {.segments = graph->segments,
                    .messages_node = sim->messages[HP_LEVEL_NODE],
                    .messages_package = sim->messages[HP_LEVEL_PACKAGE],
                    .messages_core = sim->messages[HP_LEVEL_CORE],
                    .bytes_node = sim->bytes[HP_LEVEL_NODE],
                    .bytes_package = sim->bytes[HP_LEVEL_PACKAGE],
                    .bytes_core = sim->bytes[HP_LEVEL_CORE],
                    .rounds = graph->rounds,
                    .chain = graph->chain,
                    .chain_bytes = graph->chain_bytes,
                    .reductions = sim->reductions,
                    .reduced_bytes = sim->reduced_bytes,
                    .copies = graph->copies,
                    .copied_bytes = graph->copied_bytes,
                    .pulls = graph->pulls,
                    .pushes = graph->pushes,
                    .window = graph->window,
                    .tasks = graph->tasks,
                    .scratch = graph->scratch,
                    .scratch_peak = graph->scratch_peak};
    if (graph->unmatched)
        problem("messages that only one side knows of", world);
    if (k.messages_node + k.messages_package + k.messages_core != graph->messages)
        problem("the engine sent other messages than the algorithm emitted", world);
    if (k.bytes_node + k.bytes_package + k.bytes_core != graph->bytes)
        problem("the engine sent other bytes than the algorithm emitted", world);
    if (k.scratch_peak > k.scratch)
        problem("more scratch memory than the window allows", world);
    return k;
}

/* False: nothing runs. */
static bool run(const case_t *c, unsigned world, char *runs, counters_t *counters)
{
    const uint32_t rank_count = layout_rank_count(c->layout);
    hp_locality_t *table = layout_table(c->layout);
    const sim_config_t config = world_of(world, rank_count, table);
    const hp_knobs_t knobs = knobs_of(c);
    job_t *job = job_create(&config, &knobs);
    collective_t call = {0};
    const bool taken = choose(c, job_comm(job, 0), &call, runs);

    *counters = (counters_t){0};
    bool right = true;
    if (taken) {
        task_graph_begin(job, rank_count);
        const uint64_t sets = job_sets();
        right = job_run(job, &call, 1, NULL);
        if (!right)
            problem(job_problem(job), world);
        const uint64_t time_ns = sim_now(job_sim(job));
        const sim_counters_t sim = *sim_counters(job_sim(job));
        const task_graph_t graph = task_graph_end();
        *counters = gather(&sim, &graph, world);
        counters->virtual_us = time_ns / 1000;
        counters->sets = job_sets() - sets;
    }
    if (!right)
        job_abandon(job);
    job_destroy(job);
    free(table);
    return taken;
}

static bool is_wanted(const layout_t *layout)
{
    if (!*wanted_layouts)
        return true;
    for (char *const *name = wanted_layouts; *name; name++)
        if (strcmp(*name, layout->name) == 0)
            return true;
    return false;
}

static void print_case(const case_t *c)
{
    counters_t first, next;
    char runs[TEXT_BYTES];
    if (!is_wanted(c->layout))
        return;
    const bool heavy = layout_rank_count(c->layout) * c->bytes > HEAVY_BYTES;
    const bool taken = run(c, 0, runs, &first);
    if (taken && !heavy)
        for (unsigned world = 1; world < WORLDS; world++) {
            run(c, world, runs, &next);
            if (next.scratch_peak > first.scratch_peak)
                first.scratch_peak = next.scratch_peak;
#define X(name)                                                                                              \
    if (next.name != first.name && strcmp(#name, "scratch_peak") && strcmp(#name, "virtual_us"))             \
        problem(#name " is another than in world 0", world);
            COUNTERS(X)
#undef X
        }
    printf("%s %s %s %s%s%s%s%s %zu %u %s", hp_collective_name(c->collective), c->layout->name, c->wanted,
           c->joined          ? c->joined
           : c->between_nodes ? c->between_nodes
                              : "rules",
           c->between_nodes ? "/" : "", c->between_nodes ? c->inside_node : "", c->pieces ? "/" : "",
           c->pieces ? c->pieces : "", c->bytes, c->root, c->commutative ? "any" : "rank");
    printf(" %s", runs);
#define X(name)                                                                                              \
    if (taken)                                                                                               \
        printf(" %llu", (unsigned long long)first.name);
    COUNTERS(X)
#undef X
    printf("\n");
}

int main(int argc, char **argv)
{
    (void)argc;
    wanted_layouts = argv + 1;
    printf("collective layout wanted shapes bytes root order runs");
#define X(name) printf(" " #name);
    COUNTERS(X)
#undef X
    printf("\n");
    cases_visit(print_case);
    return all_right ? 0 : 1;
}
