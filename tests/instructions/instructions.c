/* instructions: runs every case in the simulated world of tests/sim, for callgrind to count what the library executes.
 *
 * usage: valgrind --tool=callgrind (options: instructions.py) instructions [CASE...]
 *
 * Callgrind turns its counting over whenever it enters or leaves one of these functions (--toggle-collect): counted_find,
 * counted_start and counted_progress, by which the simulated ranks call the library, and sim_*, by which the library calls the simulated network.
 * The exchanges of tests/sim, which make data and check results, are replaced: none is looked at here.
 *
 * A case is run some times first, so that its communicator owns all the memory it will ever want; then its calls are counted
 * and dumped under its name, and one whose plan is not there yet under NAME/first (barriers are all alike). Prints a line a case: name, algorithm, calls,
 * ranks. Threads: single-threaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>
#include "hier/executions/plan.h"
#include "hier/planning/select.h"
#include "sim/job.h"

enum { KIB = 1 << 10, MIB = 1 << 20, LARGE_BYTES = MIB, NAME_BYTES = 64 };

typedef struct {
    const char *name;
    uint32_t nodes, node_ranks;
    unsigned collectives; /* bits of hp_collective_t */
} layout_t;

enum { ALL = (1U << HP_PIPELINED_COUNT) - 1 };
/* A node of 64 ranks has the most to lay out: allreduces of more than 8 KiB have 16 leaders there. */
static const layout_t layouts[] = {
    {"2x1", 2, 1, ALL}, {"1x2", 1, 2, ALL}, {"4x4", 4, 4, ALL}, {"1x64", 1, 64, 1U << HP_ALLREDUCE}};
static const size_t sizes[] = {8, 64 * KIB, 4 * MIB};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- what is counted ---- */

static unsigned depth; /* of library functions that are being counted */

/* A reduction is done by the library's kernel, as in an MPI program. */
static hp_call_t with_kernel(const hp_call_t *call)
{
    hp_call_t changed = *call;
    changed.kernel = hp_kernels()->kernels[HP_NUMBER_INT64][HP_OP_SUM];
    return changed;
}

/* The linker puts the next ones in place of those of the library and of tests/sim (--wrap). */
hp_status_t __real_hp_request_progress(hp_request_t *request, bool *moved);
hp_status_t __wrap_hp_request_progress(hp_request_t *request, bool *moved);
void __wrap_exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count);
uint64_t __wrap_exchange_check(exchange_t *x, uint32_t rank, problem_t *problem);

__attribute__((noinline)) static hp_status_t counted_progress(hp_request_t *request, bool *moved)
{
    return __real_hp_request_progress(request, moved);
}

hp_status_t __wrap_hp_request_progress(hp_request_t *request, bool *moved)
{
    if (depth) /* within a start, or itself: is being counted */
        return __real_hp_request_progress(request, moved);
    depth++;
    const hp_status_t status = counted_progress(request, moved);
    depth--;
    return status;
}

hp_plan_t *__real_hp_plans_find(const hp_plans_t *plans, const hp_algorithm_t *algorithm,
                                const hp_call_t *call, const hp_setting_t *setting);
hp_plan_t *__wrap_hp_plans_find(const hp_plans_t *plans, const hp_algorithm_t *algorithm,
                                const hp_call_t *call, const hp_setting_t *setting);
hp_status_t __real_hp_plan_start(hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                 const hp_algorithm_t *algorithm, const hp_call_t *call,
                                 const hp_setting_t *setting);
hp_status_t __wrap_hp_plan_start(hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                 const hp_algorithm_t *algorithm, const hp_call_t *call,
                                 const hp_setting_t *setting);

__attribute__((noinline)) static hp_plan_t *counted_find(const hp_plans_t *plans,
                                                         const hp_algorithm_t *algorithm,
                                                         const hp_call_t *call, const hp_setting_t *setting)
{
    return __real_hp_plans_find(plans, algorithm, call, setting);
}

hp_plan_t *__wrap_hp_plans_find(const hp_plans_t *plans, const hp_algorithm_t *algorithm,
                                const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_call_t changed = with_kernel(call);
    return counted_find(plans, algorithm, &changed, setting);
}

__attribute__((noinline)) static hp_status_t counted_start(hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                                           const hp_algorithm_t *algorithm,
                                                           const hp_call_t *call, const hp_setting_t *setting)
{
    return __real_hp_plan_start(plan, comm, number, algorithm, call, setting);
}

hp_status_t __wrap_hp_plan_start(hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                 const hp_algorithm_t *algorithm, const hp_call_t *call,
                                 const hp_setting_t *setting)
{
    const hp_call_t changed = with_kernel(call);
    depth++;
    const hp_status_t status = counted_start(plan, comm, number, algorithm, &changed, setting);
    depth--;
    return status;
}

static buffer_t buffer_of(size_t bytes)
{
    char *raw = sim_alloc(1, bytes + 1);
    return (buffer_t){.raw = raw, .address = raw, .raw_bytes = bytes};
}

void __wrap_exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count)
{
    const hp_type_t type = elements_type(c->kind);
    *x = (exchange_t){.collective = c,
                      .type = type,
                      .send = sim_alloc(rank_count, sizeof(buffer_t)),
                      .recv = sim_alloc(rank_count, sizeof(buffer_t))};
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (exchange_has_result(x, rank))
            x->recv[rank] = buffer_of(c->count * type.bytes);
        if (c->algorithm->collective == HP_REDUCE || c->algorithm->collective == HP_ALLREDUCE)
            x->send[rank] = buffer_of(c->count * type.bytes);
    }
}

uint64_t __wrap_exchange_check(exchange_t *x, uint32_t rank, problem_t *problem)
{
    (void)x, (void)rank, (void)problem;
    return 0;
}

/* ---- the cases ---- */

static hp_locality_t *table_of(const layout_t *layout)
{
    hp_locality_t *table = sim_alloc(layout->nodes * layout->node_ranks, sizeof *table);
    for (uint32_t node = 0; node < layout->nodes; node++)
        for (uint32_t place = 0; place < layout->node_ranks; place++)
            table[node * layout->node_ranks + place] = (hp_locality_t){.id = {node, 0, 0, 0, place}};
    return table;
}

static job_t *make_job(const layout_t *layout, const hp_locality_t *table)
{
    sim_config_t config = {.rank_count = layout->nodes * layout->node_ranks,
                           .table = table,
                           .eager_bytes = 4 * KIB,
                           .lends_slots = true};
    hp_knobs_t knobs = job_knobs();
    knobs.pool_rings = HP_POOL_RINGS_MAX; /* of all ranks, which are one process here */
    knobs.guard = knobs.model = 0;        /* what the built-in rules say */
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        config.links[level] = level == HP_LEVEL_NODE ? (sim_link_t){.latency_ns = 10000, .ns_per_byte = 1}
                                                     : (sim_link_t){.latency_ns = 500, .ns_per_byte = 0.125};
    return job_create(&config, &knobs);
}

static collective_t call_of(hp_collective_t id, const hp_choice_t *choice, size_t bytes)
{
    const bool reduces = id == HP_REDUCE || id == HP_ALLREDUCE;
    return (collective_t){.algorithm = choice->algorithm,
                          .setting = *choice->setting,
                          .kind = reduces ? ELEMENTS_ONE : ELEMENTS_BYTES,
                          .op = ELEMENTS_SUM_INT64,
                          .commutative = true,
                          .count = reduces ? bytes / sizeof(int64_t) : bytes,
                          .data_seed = 1};
}

/* The same with another plan: of as many segments, where there is more than an element. */
static collective_t unlike(const collective_t *call)
{
    collective_t other = *call;
    other.count = call->count > 1 ? call->count - 1 : call->count + 1;
    return other;
}

static void run(job_t *job, const collective_t *call, uint32_t times)
{
    collective_t *calls = sim_alloc(times, sizeof *calls);
    for (uint32_t i = 0; i < times; i++)
        calls[i] = *call;
    if (!job_run(job, calls, times, NULL)) {
        fprintf(stderr, "instructions: %s\n", job_problem(job));
        exit(1);
    }
    free(calls);
}

static void count(const char *name, const layout_t *layout, hp_collective_t id, size_t bytes)
{
    hp_locality_t *table = table_of(layout);
    job_t *job = make_job(layout, table);
    hp_choice_t choice;
    if (hp_select(job_comm(job, 0), id, bytes, &choice) == HP_OUTCOME_TAKEN) {
        const uint32_t calls = bytes >= LARGE_BYTES ? 1 : 8;
        const collective_t call = call_of(id, &choice, bytes), other = unlike(&call);
        char first[NAME_BYTES];
        snprintf(first, sizeof first, "%s/first", name);
        run(job, &call, calls);
        CALLGRIND_START_INSTRUMENTATION;
        run(job, &call, calls);
        CALLGRIND_DUMP_STATS_AT(name);
        if (id != HP_BARRIER) {
            run(job, &other, 1);
            CALLGRIND_DUMP_STATS_AT(first);
        }
        CALLGRIND_STOP_INSTRUMENTATION;
        printf("%s %s %u %u\n", name, choice.algorithm->name, calls, layout->nodes * layout->node_ranks);
    } else {
        printf("%s host\n", name);
    }
    fflush(stdout);
    job_destroy(job);
    free(table);
}

static bool is_wanted(const char *name, char **wanted)
{
    for (char **each = wanted; *each; each++)
        if (strcmp(*each, name) == 0)
            return true;
    return !*wanted;
}

int main(int argc, char **argv)
{
    (void)argc;
    printf("compiler %s\n", INSTRUCTIONS_COMPILER);
    for (unsigned id = 0; id < HP_PIPELINED_COUNT; id++)
        for (size_t layout = 0; layout < LENGTH(layouts); layout++)
            for (size_t size = 0; size < (id == HP_BARRIER ? 1 : LENGTH(sizes)); size++) {
                const size_t bytes = id == HP_BARRIER ? 0 : sizes[size];
                char name[NAME_BYTES];
                snprintf(name, sizeof name, "%s/%s/%zu", hp_collective_name((hp_collective_t)id),
                         layouts[layout].name, bytes);
                if (layouts[layout].collectives & 1U << id && is_wanted(name, argv + 1))
                    count(name, &layouts[layout], (hp_collective_t)id, bytes);
            }
    return 0;
}
