#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/quantiles.h"
#include "model.h"
#include "tasks/hanpmpi_tasks.h"

enum { WARM_UP_BYTES = 1 << 20, BATCHES_MAX = 3 };
/* A pipeline of so many segments shows its steady state, or never does; no longer messages than that for
 * it. */
enum { LOCKSTEP_SEGMENTS = 8, LOCKSTEP_SEGMENTS_MAX = 32, LOCKSTEP_RUNS = 3, LOCKSTEP_BYTES_MAX = 8 << 20 };

/* What rank 0 sends to the others. */
typedef struct {
    int stop;
    tune_key_t key;
    double enough_us;
} order_t;

bool tune_runner_has_lockstep(void)
{
    return hanpmpi_find_run_tasks() != NULL;
}

/* ---- hints ---- */

static void set(MPI_Info info, const char *key, const char *value)
{
    char hint[64];
    snprintf(hint, sizeof hint, "hanpmpi_%s", key);
    BENCH_MPI(MPI_Info_set(info, hint, value));
}

/* The algorithm that the configuration names is there on all ranks, or made now. */
static bool has_algorithm(const tune_runner_t *runner, int side, int collective, const tune_config_t *config)
{
    const hanpmpi_make_routine_fn_t make_routine = hanpmpi_find_make_routine();
    int made;

    if (!config->words[0])
        return true;
    made = make_routine &&
           make_routine(&runner->sides[side].comm, tune_collective_name((tune_collective_t)collective),
                        config->words, config->routine, NULL) == 0;
    BENCH_MPI(MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_INT, MPI_MIN, runner->job->sync));
    return made;
}

/* Every key that the algorithm looks at each time: what is not said stays as it was. false: there is no such algorithm. */
static bool hint(tune_runner_t *runner, int side, int collective, int index)
{
    const tune_config_t *config = &runner->lists[collective].configs[index];
    tune_setting_t settings[TUNE_SETTINGS_MAX];
    const int count = tune_config_settings(config, settings);
    MPI_Info info;

    if (runner->sides[side].collective == collective && runner->sides[side].config == index)
        return true;
    if (!has_algorithm(runner, side, collective, config))
        return false;
    BENCH_MPI(MPI_Info_create(&info));
    BENCH_MPI(MPI_Info_set(info, HANPMPI_HINT_GUARD, "0"));
    set(info, tune_collective_name((tune_collective_t)collective), tune_config_algorithm(config));
    for (int i = 0; i < count; i++)
        set(info, settings[i].key, settings[i].text);
    BENCH_MPI(MPI_Comm_set_info(runner->sides[side].comm, info));
    BENCH_MPI(MPI_Info_free(&info));
    runner->sides[side].collective = collective;
    runner->sides[side].config = index;
    return true;
}

/* ---- one call ---- */

/* What a vector is reduced from are all ranks' contributions. */
static bench_contributors_t contributors_of(const bench_collective_t *collective)
{
    return collective->reduces && !collective->has_blocks ? BENCH_ALL_RANKS : collective->blocks.contributors;
}

static bench_call_t make_call(tune_runner_t *runner, const bench_collective_t *collective, int side,
                              size_t bytes)
{
    const bench_values_t *values = &runner->values[contributors_of(collective)];
    return (bench_call_t){.send = runner->send,
                          .recv = runner->recv,
                          .count = bytes / values->type->bytes,
                          .values = values,
                          .op = bench_op_default(values->type),
                          .shift = bench_shift(runner->calls++, 0),
                          .root = 0,
                          .rank = runner->job->rank,
                          .comm = runner->sides[side].comm,
                          .blocks = collective->has_blocks ? &collective->blocks : NULL,
                          .layout = &runner->layout,
                          .ranks = runner->job->size};
}

static void run_call(const bench_collective_t *collective, const bench_call_t *call)
{
    const int code = collective->run(call);
    if (code != MPI_SUCCESS)
        bench_abort("%s returned the error code %d", collective->name, code);
}

static double timed_call(tune_runner_t *runner, const bench_collective_t *collective, int side, size_t bytes)
{
    const bench_call_t call = make_call(runner, collective, side, bytes);

    BENCH_MPI(MPI_Barrier(runner->job->sync));
    const double start = MPI_Wtime();
    run_call(collective, &call);
    return 1e6 * (MPI_Wtime() - start);
}

/* A wrong result is told here; the job ends at the end of the measurement, when all ranks know. */
static void validated_call(tune_runner_t *runner, const bench_collective_t *collective, int side,
                           size_t bytes)
{
    const bench_call_t call = make_call(runner, collective, side, bytes);
    size_t element;

    collective->fill(&call);
    run_call(collective, &call);
    const char *wrong = collective->validate(&call, &element);
    if (wrong)
        fprintf(stderr, "hanpmpi_tune: wrong result: %s of %zu bytes, %s, on rank %d: element %zu %s\n",
                collective->name, bytes,
                runner->lists[runner->sides[side].collective].configs[runner->sides[side].config].id,
                runner->job->rank, element, wrong);
    runner->wrong |= wrong != NULL;
}

/* ---- the blocks of a pattern ---- */

/* Elements from rank s to rank d. */
static int pattern_elements(const tune_pattern_t *pattern, const bench_blocks_t *blocks, int s, int d,
                            int ranks)
{
    if (blocks->sends == BENCH_BLOCK_EACH && blocks->receives == BENCH_BLOCK_EACH)
        return pattern->elements[s * ranks + d];
    return pattern->elements[blocks->sends == BENCH_ONE_BLOCK ? s : d];
}

static void pattern_layout(tune_runner_t *runner, const tune_pattern_t *pattern, const bench_blocks_t *blocks,
                           const bench_type_t *type)
{
    const int ranks = runner->job->size, self = runner->job->rank;
    int *counts = bench_allocate(2 * (size_t)ranks * sizeof *counts);

    for (int r = 0; r < ranks; r++) { /* the root is rank 0 */
        counts[r] = blocks->root_sends && self != 0 ? 0 : pattern_elements(pattern, blocks, self, r, ranks);
        counts[ranks + r] =
            blocks->root_receives && self != 0 ? 0 : pattern_elements(pattern, blocks, r, self, ranks);
    }
    bench_layout_init_counts(&runner->layout, blocks, counts, counts + ranks, type, self, ranks);
    free(counts);
}

/* ---- a measurement ---- */

static uint64_t calls_taken(const char *collective)
{
    bench_outcomes_t outcomes;
    bench_outcomes_get(collective, &outcomes);
    return outcomes.count ? outcomes.calls[0] : 0;
}

/* The first call of a configuration, not timed. Returns whether the library left it to the host MPI
 * although it was meant to run it. */
static int prepare(tune_runner_t *runner, const tune_key_t *key, const bench_collective_t *collective,
                   int side)
{
    const int index = side ? key->other : key->config;
    const size_t bytes = tune_key_bytes(runner->options, key);
    bool *validated = &runner->validated[key->collective][index];

    if (!hint(runner, side, key->collective, index))
        return true;
    const uint64_t before = calls_taken(collective->name);
    if (!*validated || bytes < WARM_UP_BYTES)
        validated_call(runner, collective, side, bytes);
    else
        return 0;
    *validated = true;
    return runner->lists[key->collective].configs[index].algorithm != TUNE_NATIVE &&
           calls_taken(collective->name) == before;
}

/* Of all ranks: is any result wrong, did the library pass any call through? A wrong one ends the run, not by
 * MPI_Abort: a launcher may kill the ranks before it has passed on what they said. */
static bool passed_through(const tune_runner_t *runner, int passed)
{
    int mine[2] = {runner->wrong, passed}, all[2];

    BENCH_MPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, runner->job->sync));
    if (all[0]) {
        fflush(NULL);
        MPI_Finalize();
        exit(EXIT_FAILURE);
    }
    return all[1];
}

/* The times of each side's calls, batch after batch: of this rank, and on rank 0 of the slowest one. */
typedef struct {
    double *mine[TUNE_SIDES], *slowest[TUNE_SIDES];
    int sides, count;
} times_t;

/* A call of each side in turns, the other one first every second time. */
static void repeat(tune_runner_t *runner, const tune_key_t *key, const bench_collective_t *collective,
                   times_t *times, int repetitions)
{
    for (int i = times->count; i < times->count + repetitions; i++)
        for (int turn = 0; turn < times->sides; turn++) {
            const int side = i % 2 ? times->sides - 1 - turn : turn;
            times->mine[side][i] = timed_call(runner, collective, side, tune_key_bytes(runner->options, key));
        }
    for (int side = 0; side < times->sides; side++)
        BENCH_MPI(MPI_Reduce(times->mine[side] + times->count, times->slowest[side] + times->count,
                             repetitions, MPI_DOUBLE, MPI_MAX, 0, runner->job->sync));
    times->count += repetitions;
}

/* Something else had the machine when half of the calls took so much longer than the fastest. Rank 0's
 * answer. */
static int is_noisy(const tune_runner_t *runner, const times_t *times)
{
    const double noise = 1.5;
    int noisy = 0;

    for (int side = 0; side < times->sides && runner->job->rank == 0; side++) {
        const bench_quantiles_t us = bench_quantiles(times->slowest[side], times->count);
        noisy |= us.median > noise * us.min;
    }
    BENCH_MPI(MPI_Bcast(&noisy, 1, MPI_INT, 0, runner->job->sync));
    return noisy;
}

/* Rank 0's answer: was even the fastest call slower than what is worth going on for? */
static int is_far_behind(const tune_runner_t *runner, const times_t *times)
{
    int behind = 0;

    if (runner->job->rank == 0)
        behind = bench_quantiles(times->slowest[0], times->count).min > runner->enough_us;
    BENCH_MPI(MPI_Bcast(&behind, 1, MPI_INT, 0, runner->job->sync));
    return behind;
}

/* The first batch; false: its first few calls told enough. */
static bool first_batch(tune_runner_t *runner, const tune_key_t *key, const bench_collective_t *collective,
                        times_t *times, int repetitions)
{
    enum { FEW = 10 };

    if (runner->enough_us > 0 && repetitions > FEW && times->count < FEW) {
        repeat(runner, key, collective, times, FEW - times->count);
        if (is_far_behind(runner, times))
            return false;
    }
    repeat(runner, key, collective, times, repetitions - times->count);
    return true;
}

/* Rank 0's answer: how often calls that take as long as these are worth being repeated. */
static int worth_repeating(const tune_runner_t *runner, const tune_key_t *key, const times_t *times)
{
    int repetitions = 0;

    if (runner->job->rank == 0) {
        double us = 0;
        for (int side = 0; side < times->sides; side++)
            us += bench_quantiles(times->slowest[side], times->count).median / times->sides;
        repetitions =
            tune_repetitions_of(runner->options, key->kind, tune_key_bytes(runner->options, key), us);
    }
    BENCH_MPI(MPI_Bcast(&repetitions, 1, MPI_INT, 0, runner->job->sync));
    return repetitions;
}

static void measure_batches(tune_runner_t *runner, const tune_key_t *key,
                            const bench_collective_t *collective, tune_record_t *record)
{
    const size_t bytes = tune_key_bytes(runner->options, key);
    const int most = tune_repetitions(runner->options, key->kind, bytes),
              least = tune_repetitions_of(runner->options, key->kind, bytes, INFINITY);
    times_t times = {.sides = tune_kind_is_pair(key->kind) ? 2 : 1};

    for (int side = 0; side < times.sides; side++) {
        times.mine[side] = bench_allocate((size_t)(BATCHES_MAX * most) * sizeof(double));
        times.slowest[side] = bench_allocate((size_t)(BATCHES_MAX * most) * sizeof(double));
    }
    repeat(runner, key, collective, &times, least);
    const int repetitions = worth_repeating(runner, key, &times);
    const bool more = first_batch(runner, key, collective, &times, repetitions);
    while (more && times.count < BATCHES_MAX * repetitions && is_noisy(runner, &times))
        repeat(runner, key, collective, &times, repetitions);
    for (int side = 0; side < times.sides; side++) {
        if (record)
            record->us[record->count++] = bench_quantiles(times.slowest[side], times.count).median;
        free(times.mine[side]);
        free(times.slowest[side]);
    }
}

static void time_calls(tune_runner_t *runner, const tune_key_t *key, tune_record_t *record)
{
    const bench_collective_t *collective = bench_collective_find(tune_collective_name(key->collective));
    const bench_type_t *type = runner->values[BENCH_NOT_REDUCED].type;

    if (tune_kind_has_pattern(key->kind))
        pattern_layout(runner, &runner->options->patterns->list[key->bytes], &collective->blocks, type);
    else if (collective->has_blocks)
        bench_layout_init(&runner->layout, &collective->blocks, BENCH_EQUAL, (int)(key->bytes / type->bytes),
                          type, runner->job->rank, runner->job->size);
    int passed = prepare(runner, key, collective, 0);
    if (tune_kind_is_pair(key->kind))
        passed |= prepare(runner, key, collective, 1);
    if (!passed_through(runner, passed))
        measure_batches(runner, key, collective, record);
    bench_layout_fini(&runner->layout);
    runner->layout = (bench_layout_t){0};
}

/* ---- lock-step ---- */

/* The median of each iteration of some runs. false: the library cannot run this configuration so. */
static bool run_lockstep(tune_runner_t *runner, const tune_key_t *key, unsigned segments,
                         double *iteration_us)
{
    enum { ROOM = LOCKSTEP_SEGMENTS_MAX + TUNE_TASKS_MAX };
    const unsigned wanted = tune_iterations(key->collective, segments);
    const bench_collective_t *collective = bench_collective_find(tune_collective_name(key->collective));
    const bench_call_t call = make_call(runner, collective, 0, key->bytes * segments);
    const uint64_t count = key->bytes * segments / sizeof(double); /* what hanpmpi_run_tasks takes */
    const hanpmpi_run_tasks_fn_t run_tasks = hanpmpi_find_run_tasks();
    double runs[ROOM][LOCKSTEP_RUNS];
    int good = 1;

    for (int run = 0; run < LOCKSTEP_RUNS && good; run++) {
        double us[ROOM];
        unsigned iterations = 0;
        BENCH_MPI(MPI_Barrier(runner->job->sync));
        good = run_tasks(&call.comm, collective->name, call.send, call.recv, count, ROOM, us, &iterations) ==
                   0 &&
               iterations == wanted;
        BENCH_MPI(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, runner->job->sync));
        for (unsigned i = 0; i < wanted && good; i++)
            runs[i][run] = us[i];
    }
    for (unsigned i = 0; i < wanted && good; i++)
        iteration_us[i] = bench_quantiles(runs[i], LOCKSTEP_RUNS).median;
    return good;
}

/* Longer and longer until the steady iteration is steady on rank 0. */
static void time_tasks(tune_runner_t *runner, const tune_key_t *key, tune_record_t *record)
{
    const double steady = 0.1;
    double iteration_us[LOCKSTEP_SEGMENTS_MAX + TUNE_TASKS_MAX], task_us[TUNE_TASKS_MAX] = {0};
    unsigned segments = LOCKSTEP_SEGMENTS;
    int more = 1;

    hint(runner, 0, key->collective, key->config);
    while (more) {
        if (!run_lockstep(runner, key, segments, iteration_us))
            return;
        tune_tasks_from_iterations(key->collective, iteration_us, segments, task_us);
        more = !tune_iterations_are_steady(key->collective, iteration_us, segments, steady) &&
               2 * segments <= LOCKSTEP_SEGMENTS_MAX && 2 * segments * key->bytes <= LOCKSTEP_BYTES_MAX;
        BENCH_MPI(MPI_Bcast(&more, 1, MPI_INT, 0, runner->job->sync));
        segments *= 2;
    }
    BENCH_MPI(MPI_Gather(task_us, TUNE_TASKS_MAX, MPI_DOUBLE, record ? record->us : NULL, TUNE_TASKS_MAX,
                         MPI_DOUBLE, 0, runner->job->sync));
    if (record)
        record->count = runner->job->size * TUNE_TASKS_MAX;
}

/* ---- orders ---- */

/* record: rank 0's. */
static void obey(tune_runner_t *runner, const order_t *order, tune_record_t *record)
{
    const tune_key_t *key = &order->key;

    runner->enough_us = order->enough_us;
    if (key->kind != TUNE_KIND_LOCKSTEP)
        time_calls(runner, key, record);
    else if (hanpmpi_find_run_tasks())
        time_tasks(runner, key, record);
}

static void give(const tune_runner_t *runner, order_t *order)
{
    BENCH_MPI(MPI_Bcast(order, sizeof *order, MPI_BYTE, 0, runner->job->sync));
}

void tune_runner_measure(void *context, tune_record_t *record)
{
    tune_runner_t *runner = context;
    order_t order = {.stop = 0, .key = record->key, .enough_us = record->enough_us};
    const double start = MPI_Wtime();

    record->count = 0;
    record->us = bench_allocate((size_t)runner->job->size * TUNE_TASKS_MAX * sizeof *record->us);
    give(runner, &order);
    obey(runner, &order, record);
    record->seconds = MPI_Wtime() - start;
}

void tune_runner_dismiss(tune_runner_t *runner)
{
    order_t order = {.stop = 1};
    give(runner, &order);
}

void tune_runner_follow(tune_runner_t *runner)
{
    order_t order;

    for (give(runner, &order); !order.stop; give(runner, &order))
        obey(runner, &order, NULL);
}

/* ---- life ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What the longest call needs, or a pipeline in lock-step. */
static size_t largest_buffer(const tune_options_t *options, int ranks)
{
    size_t largest = 0;

    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++) {
        const bool is_block = tune_collective_family((tune_collective_t)c) == TUNE_OF_BLOCKS;
        if (options->collectives[c])
            largest = larger(largest, tune_size(options, c, tune_size_count(options, c) - 1) *
                                          (is_block ? (size_t)ranks : 1));
    }
    for (int i = 0; options->patterns && i < options->patterns->count; i++)
        largest = larger(largest, tune_pattern_buffer_bytes(&options->patterns->list[i], ranks));
    const size_t segment = options->choices.segments[options->choices.segment_count - 1];
    return larger(largest, larger(segment * LOCKSTEP_SEGMENTS, LOCKSTEP_BYTES_MAX));
}

static void init_values(tune_runner_t *runner)
{
    const bench_type_t *type = bench_type_find("MPI_FLOAT");

    for (int who = BENCH_NOT_REDUCED; who <= BENCH_BELOW_RANK; who++) {
        const bench_blocks_t blocks = {.contributors = (bench_contributors_t)who};
        bench_values_init(&runner->values[who], type,
                          who == BENCH_NOT_REDUCED ? NULL : bench_op_default(type), runner->job->rank,
                          bench_contributors(&blocks, runner->job->rank, runner->job->size));
    }
}

void tune_runner_init(tune_runner_t *runner, const bench_job_t *job, const tune_options_t *options,
                      const tune_list_t *lists)
{
    *runner = (tune_runner_t){.job = job, .options = options, .lists = lists};
    init_values(runner);
    runner->buffer_bytes = largest_buffer(options, job->size);
    runner->send = bench_allocate(runner->buffer_bytes);
    runner->recv = bench_allocate(runner->buffer_bytes);
    memset(runner->send, 0, runner->buffer_bytes);
    memset(runner->recv, 0, runner->buffer_bytes);
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        const size_t bytes = (size_t)lists[collective].count * sizeof(bool);
        runner->validated[collective] = memset(bench_allocate(bytes), 0, bytes);
    }
    for (int side = 0; side < TUNE_SIDES; side++) {
        BENCH_MPI(MPI_Comm_dup(runner->job->all, &runner->sides[side].comm));
        runner->sides[side].config = -1;
        hint(runner, side, TUNE_BCAST, lists[TUNE_BCAST].count - 1);
        bench_set_up(runner->sides[side].comm);
    }
}

void tune_runner_fini(tune_runner_t *runner)
{
    for (int side = 0; side < TUNE_SIDES; side++)
        BENCH_MPI(MPI_Comm_free(&runner->sides[side].comm));
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        free(runner->validated[collective]);
    for (int who = BENCH_NOT_REDUCED; who <= BENCH_BELOW_RANK; who++)
        bench_values_fini(&runner->values[who]);
    free(runner->send);
    free(runner->recv);
}
