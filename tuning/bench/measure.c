#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "repeat.h"

typedef struct {
    bench_runner_t runner;
    double skew_seconds; /* 0: all arrive at once */
    int repetitions;
    bench_times_t times[BENCH_SIDES];
    bench_tally_t tally;
} batch_t;

static void batch_extend(void *context, int repetitions)
{
    batch_t *batch = context;
    const bench_job_t *job = batch->runner.job;
    const bench_case_t *what = batch->runner.what;
    const int sides = job->side_count, first = batch->repetitions;

    batch->repetitions += repetitions;
    for (int side = 0; side < sides; side++)
        bench_times_extend(&batch->times[side], batch->repetitions);
    for (int i = first; i < batch->repetitions; i++) {
        double delay = 0;
        if (batch->skew_seconds > 0)
            delay = batch->skew_seconds *
                    bench_arrival_delay(what->arrival, what->seed, (uint64_t)i, job->rank, job->size);
        for (int turn = 0; turn < sides; turn++) {
            const int side = i % 2 ? sides - 1 - turn : turn; /* neither side always comes second */
            bench_runner_call(&batch->runner, (bench_side_t)side, delay, bench_run_blocking, &batch->runner,
                              &batch->tally, &batch->times[side].arrived[i], &batch->times[side].done[i]);
        }
    }
    bench_runner_stop_if_wrong(&batch->runner);
}

/* Rounds to warm up overwrite each other's times. */
static void warm_up_round(void *context, int repetitions, double *medians_us)
{
    batch_t *batch = context;
    const bench_job_t *job = batch->runner.job;

    batch->repetitions = 0;
    batch_extend(batch, repetitions);
    for (int side = 0; side < job->side_count; side++) {
        bench_summary_t all = bench_times_summarise(job, &batch->times[side], repetitions);
        if (job->rank == 0)
            medians_us[side] = bench_quantiles(all.max, repetitions).median;
        bench_summary_fini(&all);
    }
}

void bench_result_compare(const bench_job_t *job, const bench_tally_t *tally, bench_result_t *result)
{
    const bench_side_result_t *host = &result->side[BENCH_HOST], *library = &result->side[BENCH_LIBRARY];

    if (job->side_count < BENCH_SIDES)
        return;
    if (job->rank == 0) {
        double *ratios = bench_allocate((size_t)result->repetitions * sizeof *ratios);
        for (int i = 0; i < result->repetitions; i++)
            ratios[i] = host->times_us[i] / library->times_us[i];
        result->pair_ratios = bench_quantiles(ratios, result->repetitions);
        result->ratio = host->max.median / library->max.median;
        free(ratios);
    }
    result->taken = bench_tally_taken(job, tally, &result->reason);
}

void bench_measure(const bench_job_t *job, const bench_case_t *what, bench_result_t *result)
{
    batch_t batch = {0};
    bench_warm_t warm;

    bench_runner_init(&batch.runner, job, what, job->side_count);
    bench_warm_up(job, what, job->side_count, warm_up_round, &batch, &warm);
    if (what->arrival != BENCH_ARRIVAL_NONE)
        batch.skew_seconds = 1e-6 * what->skew * warm.medians_us[BENCH_HOST];
    batch.tally = (bench_tally_t){0};
    batch.repetitions = 0;
    bench_repeat(job, what, warm.seconds_each, batch_extend, &batch);
    *result = (bench_result_t){.repetitions = batch.repetitions,
                               .warmup_repetitions = warm.repetitions,
                               .stable = warm.stable,
                               .skew_us = 1e6 * batch.skew_seconds};
    for (int side = 0; side < job->side_count; side++) {
        result->side[side] = bench_times_result(job, &batch.times[side], batch.repetitions);
        bench_times_fini(&batch.times[side]);
    }
    bench_result_compare(job, &batch.tally, result);
    bench_runner_fini(&batch.runner);
}

void bench_result_fini(bench_result_t *result)
{
    for (int side = 0; side < BENCH_SIDES; side++)
        free(result->side[side].times_us);
}
