/* instructions: runs every case in the simulated world of tests/sim, for callgrind to count what the library executes.
 *
 * usage: valgrind --tool=callgrind (options: instructions.py) instructions [CASE...]
 *
 * Callgrind turns its counting over whenever it enters or leaves one of these functions (--toggle-collect): counted_find,
 * counted_start and counted_progress, by which the simulated ranks call the library, and sim_*, by which the library calls the simulated network.
 * The exchanges of tests/sim, which make data and check results, are replaced: none is looked at here. For the same reason neither the
 * network nor the reduction kernel touches the data, so that 16 ranks with 16 blocks of 4 MiB each need
 * time for their tasks alone, and hardly any memory.
 *
 * A case is run some times first, so that its communicator owns all the memory it will ever want; then its calls are counted
 * and dumped under its name, and one whose plan is not there yet under NAME/first (barriers are all alike). Prints a line a case: name, algorithm (with a *
 * where the rules leave the call to the host MPI), calls, ranks. Threads: single-threaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>
#include "hier/executions/plan.h"
#include "hier/planning/select.h"
#include "sim/job.h"

enum { KIB = 1 << 10, MIB = 1 << 20, LARGE_BYTES = MIB, NAME_BYTES = 64, BLOCKS_MAX = 16 };

typedef struct {
    const char *name;
    uint32_t nodes, node_ranks; /* of those with collectives of blocks: BLOCKS_MAX ranks at most */
    unsigned collectives;       /* bits of hp_collective_t */
} layout_t;

enum { ALL = (1U << HP_COLLECTIVE_COUNT) - 1 };
/* A node of 64 ranks has the most to lay out: allreduces of 192 KiB and more have 16 leaders there. */
static const layout_t layouts[] = {
    {"2x1", 2, 1, ALL}, {"1x2", 1, 2, ALL}, {"4x4", 4, 4, ALL}, {"1x64", 1, 64, 1U << HP_ALLREDUCE}};
static const size_t sizes[] = {8, 64 * KIB, 4 * MIB};

/* What is asked for by its knob where the rules leave a size and all larger ones to the host MPI: as they choose among more nodes,
 * where they do. */
static const char *const asked_for[HP_COLLECTIVE_COUNT] = {
    [HP_ALLTOALLV] = "flat", [HP_ALLTOALLW] = "flat", [HP_GATHERV] = "han",
    [HP_SCATTERV] = "han",   [HP_SCAN] = "flat",      [HP_EXSCAN] = "flat"};
static const hp_knob_id_t knob_of[HP_COLLECTIVE_COUNT] = {
#define X(id, name, ...) [HP_##id] = HP_KNOB_ID_##name,
    HP_COLLECTIVE_TABLE(X)
#undef X
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- what is counted ---- */

static bool counts;    /* no warm-up */
static unsigned depth; /* of library functions that are being counted */

static void reduce_nothing(const void *left, const void *right, void *result, size_t count)
{
    (void)left, (void)right, (void)result, (void)count;
}

/* A reduction is done by a kernel, as in an MPI program. */
static hp_call_t with_kernel(const hp_call_t *call)
{
    hp_call_t changed = *call;
    changed.kernel = reduce_nothing;
    return changed;
}

/* The linker puts the next ones in place of those of the library and of tests/sim (--wrap). */
hp_status_t __real_hp_request_progress(hp_request_t *request, bool *moved);
hp_status_t __wrap_hp_request_progress(hp_request_t *request, bool *moved);
void __wrap_exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count);
hp_call_t __real_exchange_call(const exchange_t *x, uint32_t rank);
hp_call_t __wrap_exchange_call(const exchange_t *x, uint32_t rank);
uint64_t __wrap_exchange_check(exchange_t *x, uint32_t rank, problem_t *problem);
void __wrap_elements_pack(char *packed, const void *buffer, size_t count, const hp_type_t *type);
void __wrap_elements_unpack(void *buffer, const char *packed, size_t count, const hp_type_t *type);
bool __wrap_elements_equal(const void *buffer, const char *packed, size_t count, const hp_type_t *type);
void __wrap_elements_fill(void *buffer, int byte, size_t count, const hp_type_t *type);

__attribute__((noinline)) static hp_status_t counted_progress(hp_request_t *request, bool *moved)
{
    return __real_hp_request_progress(request, moved);
}

hp_status_t __wrap_hp_request_progress(hp_request_t *request, bool *moved)
{
    if (!counts || depth) /* depth: within a start, or itself: is being counted */
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
hp_status_t __real_hp_plan_start(hp_plans_t *plans, hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                 const hp_algorithm_t *algorithm, const hp_call_t *call,
                                 const hp_setting_t *setting);
hp_status_t __wrap_hp_plan_start(hp_plans_t *plans, hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
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
    return (counts ? counted_find : __real_hp_plans_find)(plans, algorithm, &changed, setting);
}

__attribute__((noinline)) static hp_status_t counted_start(hp_plans_t *plans, hp_plan_t *plan,
                                                           hp_comm_t *comm, uint32_t number,
                                                           const hp_algorithm_t *algorithm,
                                                           const hp_call_t *call, const hp_setting_t *setting)
{
    return __real_hp_plan_start(plans, plan, comm, number, algorithm, call, setting);
}

hp_status_t __wrap_hp_plan_start(hp_plans_t *plans, hp_plan_t *plan, hp_comm_t *comm, uint32_t number,
                                 const hp_algorithm_t *algorithm, const hp_call_t *call,
                                 const hp_setting_t *setting)
{
    const hp_call_t changed = with_kernel(call);
    if (!counts)
        return __real_hp_plan_start(plans, plan, comm, number, algorithm, &changed, setting);
    depth++;
    const hp_status_t status = counted_start(plans, plan, comm, number, algorithm, &changed, setting);
    depth--;
    return status;
}

/* ---- buffers without data ---- */

/* Of the collective of blocks that runs: where they lie, which is the same on both sides and all ranks; and the row (hp_call_t). */
static size_t block_counts[BLOCKS_MAX];
static ptrdiff_t block_offsets[BLOCKS_MAX];
static const hp_blocks_t blocks = {{block_counts, block_offsets}, {block_counts, block_offsets}, false};
static size_t row;

static buffer_t buffer_of(size_t bytes)
{
    char *raw = bytes ? sim_alloc_unset(1, bytes) : NULL;
    return (buffer_t){.raw = raw, .address = raw, .raw_bytes = bytes};
}

void __wrap_exchange_init(exchange_t *x, const collective_t *c, uint32_t rank_count)
{
    const hp_type_t type = elements_type(c->kind);
    const size_t bytes = row > c->count ? row : c->count * type.bytes;
    const hp_problem_t problem = {
        .pattern = hp_collective_pattern(c->algorithm->collective), .count = rank_count, .root = c->root};
    *x = (exchange_t){.collective = c,
                      .type = type,
                      .send = sim_alloc(rank_count, sizeof(buffer_t)),
                      .recv = sim_alloc(rank_count, sizeof(buffer_t))};
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        x->send[rank] = buffer_of(bytes * hp_problem_blocks(&problem, 1, HP_SPACE_SEND, rank));
        x->recv[rank] = buffer_of(bytes * hp_problem_blocks(&problem, 1, HP_SPACE_RECV, rank));
    }
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        block_counts[i] = c->count;
        block_offsets[i] = (ptrdiff_t)(i * bytes);
    }
}

hp_call_t __wrap_exchange_call(const exchange_t *x, uint32_t rank)
{
    hp_call_t call = __real_exchange_call(x, rank);
    if (!hp_collective_is(call.collective, HP_BLOCKS_DIFFER))
        return call;
    call.blocks = &blocks;
    call.count = 0;
    call.row = row;
    return call;
}

uint64_t __wrap_exchange_check(exchange_t *x, uint32_t rank, problem_t *problem)
{
    (void)x, (void)rank, (void)problem;
    return 0;
}

void __wrap_elements_pack(char *packed, const void *buffer, size_t count, const hp_type_t *type)
{
    (void)packed, (void)buffer, (void)count, (void)type;
}

void __wrap_elements_unpack(void *buffer, const char *packed, size_t count, const hp_type_t *type)
{
    (void)buffer, (void)packed, (void)count, (void)type;
}

bool __wrap_elements_equal(const void *buffer, const char *packed, size_t count, const hp_type_t *type)
{
    (void)buffer, (void)packed, (void)count, (void)type;
    return true;
}

void __wrap_elements_fill(void *buffer, int byte, size_t count, const hp_type_t *type)
{
    (void)buffer, (void)byte, (void)count, (void)type;
}

static hp_status_t copy_nothing(hp_transport_t *transport, void *to, const void *from, size_t count,
                                const hp_type_t *type)
{
    (void)transport, (void)to, (void)from, (void)count, (void)type;
    return HP_OK;
}

/* The ranks' transports copy nothing, either. */
static void leave_data(job_t *job, uint32_t rank_count)
{
    static hp_transport_ops_t without_data;
    without_data = *sim_transport(job_sim(job), 0)->ops;
    without_data.copy = copy_nothing;
    for (uint32_t rank = 0; rank < rank_count; rank++)
        sim_transport(job_sim(job), rank)->ops = &without_data;
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

/* algorithm: asked for by the collective's knob; NULL: none is. */
static job_t *make_job(const layout_t *layout, const hp_locality_t *table, hp_collective_t id,
                       const char *algorithm)
{
    char error[HP_KNOB_TEXT_BYTES];
    sim_config_t config = {.rank_count = layout->nodes * layout->node_ranks,
                           .table = table,
                           .eager_bytes = 4 * KIB,
                           .lends_slots = true};
    hp_knobs_t knobs = job_knobs();
    knobs.pool_rings = HP_POOL_RINGS_MAX; /* of all ranks, which are one process here */
    knobs.guard = knobs.model = 0;        /* what the built-in rules say */
    if (algorithm && !hp_knob_parse(&knobs, knob_of[id], algorithm, error, sizeof error))
        abort();
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        config.links[level] = level == HP_LEVEL_NODE ? (sim_link_t){.latency_ns = 10000, .ns_per_byte = 1}
                                                     : (sim_link_t){.latency_ns = 500, .ns_per_byte = 0.125};
    job_t *job = job_create(&config, &knobs);
    leave_data(job, config.rank_count);
    return job;
}

static collective_t call_of(hp_collective_t id, const hp_choice_t *choice, size_t bytes)
{
    const bool reduces = hp_pattern_is(hp_collective_pattern(id), HP_PATTERN_REDUCES);
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

/* What the rules choose for so many bytes, else for the next size for which they choose anything: *passes. False: there is none. */
static bool choose(job_t *job, hp_collective_t id, size_t bytes, hp_choice_t *choice, bool *passes)
{
    *passes = false;
    for (size_t wider = bytes; wider <= sizes[LENGTH(sizes) - 1]; wider = wider ? 2 * wider : 1) {
        if (hp_select(job_comm(job, 0), id, wider, choice) == HP_OUTCOME_TAKEN)
            return true;
        *passes = true;
    }
    return false;
}

/* That of a call among ranks that have agreed on the size of their blocks (hp_call_t). */
static size_t row_of(job_t *job, hp_collective_t id, size_t bytes, const hp_choice_t *choice, uint32_t ranks)
{
    hp_comm_t *comm = job_comm(job, 0);
    if (!hp_collective_is(id, HP_OWN_SIZES))
        return 0;
    hp_select_agree(comm, id, (hp_seen_t){.longest = bytes, .peers = ranks});
    return hp_select_row(comm, id, 0, choice);
}

static void count(const char *name, const layout_t *layout, hp_collective_t id, size_t bytes)
{
    const uint32_t calls = bytes >= LARGE_BYTES ? 1 : 8, ranks = layout->nodes * layout->node_ranks;
    hp_locality_t *table = table_of(layout);
    job_t *job = make_job(layout, table, id, NULL);
    hp_choice_t choice;
    bool passes;
    if (!choose(job, id, bytes, &choice, &passes)) {
        job_destroy(job);
        job = make_job(layout, table, id, asked_for[id]);
        if (hp_select(job_comm(job, 0), id, bytes, &choice) != HP_OUTCOME_TAKEN) {
            fprintf(stderr, "instructions: nothing runs %s\n", name);
            exit(1);
        }
    }
    row = row_of(job, id, bytes, &choice, ranks);
    const collective_t call = call_of(id, &choice, bytes), other = unlike(&call);
    char first[NAME_BYTES + sizeof "/first"];
    snprintf(first, sizeof first, "%s/first", name);
    run(job, &call, calls + 1); /* of lists of blocks the second one makes the plan that is kept */
    counts = true;
    run(job, &call, calls);
    CALLGRIND_DUMP_STATS_AT(name);
    if (id != HP_BARRIER) {
        run(job, &other, 1);
        CALLGRIND_DUMP_STATS_AT(first);
    }
    counts = false;
    printf("%s %s%s %u %u\n", name, choice.algorithm->name, passes ? "*" : "", calls, ranks);
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
    CALLGRIND_START_INSTRUMENTATION;
    printf("compiler %s\n", INSTRUCTIONS_COMPILER);
    for (unsigned id = 0; id < HP_COLLECTIVE_COUNT; id++)
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
