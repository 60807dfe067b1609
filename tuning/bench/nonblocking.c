#include "nonblocking.h"

#include <stdlib.h>
#include <string.h>

#include "nonblocking_overlap.h"
#include "repeat.h"

/* The kinds of calls of a repetition; _BOTH + n: with the nth number of tests. */
enum { BLOCKING, PURE, COMPUTE, BOTH, KINDS_MAX = BOTH + BENCH_TESTS_MAX };

typedef struct {
    bench_runner_t runner;
    const bench_nonblocking_plan_t *plan;
    bench_compute_t *compute;
    uint64_t products[BENCH_SIDES]; /* of a computation */
    int repetitions;
    MPI_Request persistent[BENCH_SIDES]; /* MPI_REQUEST_NULL: each call makes its own request */
    bench_times_t times[BENCH_SIDES][KINDS_MAX];
    bench_tally_t blocking, nonblocking, made; /* made: persistent requests */
} batch_t;

/* For bench_runner_call. */
typedef struct {
    batch_t *batch;
    bench_side_t side;
    uint64_t products; /* 0: no computation */
    int tests;
} start_t;

static int start_compute_wait(void *context, const bench_call_t *call)
{
    const start_t *start = context;
    const bench_collective_t *collective = start->batch->runner.what->collective;
    const uint64_t slices = (uint64_t)start->tests + 1;
    MPI_Request request = start->batch->persistent[start->side];
    int done = 0;
    int code = request == MPI_REQUEST_NULL ? collective->start(call, &request) : MPI_Start(&request);

    /* Slices differ by one product at most, and add up to all of them. */
    for (uint64_t slice = 0; slice < slices && code == MPI_SUCCESS && start->products > 0; slice++) {
        bench_compute(start->batch->compute, start->products / slices + (slice < start->products % slices));
        if (slice + 1 < slices && !done)
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static void compute_alone(batch_t *batch, uint64_t products, double *arrived, double *done)
{
    bench_runner_stop_if_wrong(&batch->runner);
    BENCH_MPI(MPI_Barrier(batch->runner.job->sync));
    const double start = MPI_Wtime();
    bench_compute(batch->compute, products);
    *arrived = 0;
    *done = MPI_Wtime() - start;
}

static void one_call(batch_t *batch, int kind, int side, int repetition)
{
    double *arrived = &batch->times[side][kind].arrived[repetition];
    double *done = &batch->times[side][kind].done[repetition];
    start_t start = {.batch = batch, .side = (bench_side_t)side};

    if (kind == COMPUTE) {
        compute_alone(batch, batch->products[side], arrived, done);
        return;
    }
    if (kind >= BOTH) {
        start.products = batch->products[side];
        start.tests = batch->plan->tests[kind - BOTH];
    }
    if (kind == BLOCKING)
        bench_runner_call(&batch->runner, (bench_side_t)side, 0, bench_run_blocking, &batch->runner,
                          &batch->blocking, arrived, done);
    else
        bench_runner_call(&batch->runner, (bench_side_t)side, 0, start_compute_wait, &start,
                          &batch->nonblocking, arrived, done);
}

/* Collective, like making them. */
static void free_persistent(batch_t *batch)
{
    for (int side = 0; side < batch->runner.job->side_count; side++)
        if (batch->persistent[side] != MPI_REQUEST_NULL)
            BENCH_MPI(MPI_Request_free(&batch->persistent[side]));
}

/* Anew: whether one is taken is decided when it is made, by what is known of blocking calls by then. */
static void make_persistent(batch_t *batch)
{
    free_persistent(batch);
    batch->made = (bench_tally_t){0};
    for (int side = 0; side < batch->runner.job->side_count && batch->plan->persistent; side++)
        bench_runner_make(&batch->runner, (bench_side_t)side, &batch->made, &batch->persistent[side]);
}

/* So many repetitions more, of the first `kinds` kinds. */
static void extend_kinds(batch_t *batch, int kinds, int repetitions)
{
    const int sides = batch->runner.job->side_count, first = batch->repetitions;

    batch->repetitions += repetitions;
    for (int side = 0; side < sides; side++)
        for (int kind = 0; kind < kinds; kind++)
            bench_times_extend(&batch->times[side][kind], batch->repetitions);
    for (int i = first; i < batch->repetitions; i++)
        for (int kind = 0; kind < kinds; kind++)
            for (int turn = 0; turn < sides; turn++) /* neither side always comes second */
                one_call(batch, kind, i % 2 ? sides - 1 - turn : turn, i);
    bench_runner_stop_if_wrong(&batch->runner);
}

static void extend_all(void *context, int repetitions)
{
    batch_t *batch = context;
    extend_kinds(batch, BOTH + batch->plan->test_count, repetitions);
}

/* Blocking calls too: a communicator is set up by them. Rounds overwrite each other's times. */
static void warm_up_round(void *context, int repetitions, double *medians_us)
{
    batch_t *batch = context;
    const bench_job_t *job = batch->runner.job;

    batch->repetitions = 0;
    extend_kinds(batch, COMPUTE, repetitions);
    for (int side = 0; side < job->side_count; side++)
        for (int kind = 0; kind < COMPUTE; kind++) {
            bench_summary_t all = bench_times_summarise(job, &batch->times[side][kind], repetitions);
            if (job->rank == 0)
                medians_us[side * COMPUTE + kind] = bench_quantiles(all.max, repetitions).median;
            bench_summary_fini(&all);
        }
}

/* Sets the products of each side's computation, so that the slowest rank takes as long as asked for. Ranks that share
 * cores take longer than their speed says, in every try; a second look corrects that. What else runs on the machine
 * makes some of the tries longer, so the shortest one counts. */
static void choose_products(batch_t *batch, const double *medians_us)
{
    const bench_job_t *job = batch->runner.job;
    const int tries = batch->runner.what->warmup;

    for (int side = 0; side < job->side_count; side++) {
        const double wanted_us = batch->plan->compute_factor * medians_us[side * COMPUTE + PURE];
        bench_times_t *times = &batch->times[side][COMPUTE];
        double shortest_us = 0;

        batch->products[side] = bench_compute_products(batch->compute, wanted_us);
        bench_times_extend(times, tries);
        for (int i = 0; i < tries; i++)
            one_call(batch, COMPUTE, side, i);
        bench_summary_t all = bench_times_summarise(job, times, tries);
        if (job->rank == 0)
            shortest_us = bench_quantiles(all.max, tries).min;
        bench_summary_fini(&all);
        BENCH_MPI(MPI_Bcast(&shortest_us, 1, MPI_DOUBLE, 0, job->sync));
        if (shortest_us > wanted_us)
            batch->products[side] =
                bench_compute_products(batch->compute, wanted_us * wanted_us / shortest_us);
    }
}

static bench_overlap_t overlap_of(double (*formula)(double, double, double),
                                  const bench_nonblocking_side_t *side, const bench_both_t *both,
                                  int repetitions)
{
    double *each = bench_allocate((size_t)repetitions * sizeof *each);

    for (int i = 0; i < repetitions; i++)
        each[i] = formula(side->pure_us[i], side->compute_us[i], both->both_us[i]);
    const bench_overlap_t overlap = {.of_medians =
                                         formula(side->pure.median, side->compute.median, both->both.median),
                                     .repetitions = bench_quantiles(each, repetitions)};
    free(each);
    return overlap;
}

/* What the times of one side say. Collective. */
static void report_side(const batch_t *batch, int which, bench_nonblocking_result_t *result)
{
    const bench_job_t *job = batch->runner.job;
    bench_nonblocking_side_t *side = &result->side[which];
    const bench_times_t *times = batch->times[which];
    const int n = batch->repetitions;

    result->blocking.side[which] = bench_times_result(job, &times[BLOCKING], n);
    const bench_side_result_t pure = bench_times_result(job, &times[PURE], n);
    const bench_side_result_t compute = bench_times_result(job, &times[COMPUTE], n);
    side->pure = pure.max;
    side->pure_us = pure.times_us;
    side->compute = compute.max;
    side->compute_us = compute.times_us;
    if (job->rank == 0)
        side->pure_by_blocking = pure.max.median / result->blocking.side[which].max.median;
    for (int t = 0; t < batch->plan->test_count; t++) {
        bench_both_t *with = &side->with[t];
        const bench_side_result_t both = bench_times_result(job, &times[BOTH + t], n);
        with->both = both.max;
        with->both_us = both.times_us;
        if (job->rank == 0) {
            with->imb = overlap_of(bench_overlap_imb, side, with, n);
            with->osu = overlap_of(bench_overlap_osu, side, with, n);
        }
    }
}

void bench_nonblocking_measure(const bench_job_t *job, const bench_case_t *what,
                               const bench_nonblocking_plan_t *plan, bench_compute_t *compute,
                               bench_nonblocking_result_t *result)
{
    batch_t batch = {.plan = plan, .compute = compute, .persistent = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
    const int sides = job->side_count, calls = sides * (BOTH - 1 + plan->test_count);
    bench_warm_t warm;

    bench_runner_init(&batch.runner, job, what, calls);
    make_persistent(&batch);
    bench_warm_up(job, what, sides * COMPUTE, warm_up_round, &batch, &warm);
    make_persistent(&batch);
    choose_products(&batch, warm.medians_us);
    batch.blocking = batch.nonblocking = (bench_tally_t){0};
    batch.repetitions = 0;
    /* The rounds to warm up made two kinds of call; the others take a computation too. A guess. */
    const double longer = 1 + (plan->compute_factor + plan->test_count * (1 + plan->compute_factor)) / 2;
    bench_repeat(job, what, longer * warm.seconds_each, extend_all, &batch);
    *result = (bench_nonblocking_result_t){.blocking = {.repetitions = batch.repetitions,
                                                        .warmup_repetitions = warm.repetitions,
                                                        .stable = warm.stable}};
    for (int side = 0; side < sides; side++) {
        report_side(&batch, side, result);
        for (int kind = 0; kind < KINDS_MAX; kind++)
            bench_times_fini(&batch.times[side][kind]);
    }
    bench_result_compare(job, &batch.blocking, &result->blocking);
    if (sides == BENCH_SIDES)
        result->taken = bench_tally_taken(job, &batch.nonblocking, &result->reason);
    if (sides == BENCH_SIDES && plan->persistent) { /* decided when they were made */
        const char *why;
        bench_tally_taken(job, &batch.made, &why);
        if (result->reason)
            result->reason = why;
    }
    free_persistent(&batch);
    bench_runner_fini(&batch.runner);
}

void bench_nonblocking_fini(bench_nonblocking_result_t *result)
{
    for (int side = 0; side < BENCH_SIDES; side++) {
        free(result->side[side].pure_us);
        free(result->side[side].compute_us);
        for (int t = 0; t < BENCH_TESTS_MAX; t++)
            free(result->side[side].with[t].both_us);
    }
    bench_result_fini(&result->blocking);
}
