#include "guidelines.h"

#include <stdlib.h>

#include "repeat.h"

/* A guideline is broken where the mock-up is so many times as fast, by the medians, and faster in three of four
 * repetitions. Less cannot be told from the spread of the barrier. */
static const double clearly = 1.05;

enum { KINDS_MAX = 1 + BENCH_MOCKUPS_MAX }; /* the collective, then its mock-ups */

typedef struct {
    bench_runner_t runner;
    bench_mockup_memory_t memory;
    const bench_mockup_t *mockup[KINDS_MAX]; /* [0]: NULL */
    const bench_mockup_t *now;
    int kinds, repetitions;
    bench_times_t times[KINDS_MAX];
    bench_tally_t tally;
} batch_t;

static int run_mockup(void *context, const bench_call_t *call)
{
    const batch_t *batch = context;
    return batch->now->run(&batch->memory, call);
}

static void one_call(batch_t *batch, int kind, int repetition)
{
    bench_runner_t *runner = &batch->runner;
    bench_times_t *times = &batch->times[kind];

    batch->now = batch->mockup[kind];
    runner->mockup = batch->now ? batch->now->made_of : NULL;
    bench_runner_call(runner, BENCH_HOST, 0, batch->now ? run_mockup : bench_run_blocking,
                      batch->now ? (void *)batch : runner, &batch->tally, &times->arrived[repetition],
                      &times->done[repetition]);
}

static void extend(void *context, int repetitions)
{
    batch_t *batch = context;
    const int first = batch->repetitions;

    batch->repetitions += repetitions;
    for (int kind = 0; kind < batch->kinds; kind++)
        bench_times_extend(&batch->times[kind], batch->repetitions);
    for (int i = first; i < batch->repetitions; i++)
        for (int turn = 0; turn < batch->kinds; turn++)
            one_call(batch, i % 2 ? batch->kinds - 1 - turn : turn, i);
    bench_runner_stop_if_wrong(&batch->runner);
}

/* Rounds to warm up overwrite each other's times. */
static void warm_up_round(void *context, int repetitions, double *medians_us)
{
    batch_t *batch = context;
    const bench_job_t *job = batch->runner.job;

    batch->repetitions = 0;
    extend(batch, repetitions);
    for (int kind = 0; kind < batch->kinds; kind++) {
        bench_summary_t all = bench_times_summarise(job, &batch->times[kind], repetitions);
        if (job->rank == 0)
            medians_us[kind] = bench_quantiles(all.max, repetitions).median;
        bench_summary_fini(&all);
    }
}

static void compare(const bench_side_result_t *own, int repetitions, bench_guideline_t *guideline)
{
    double *ratios = bench_allocate((size_t)repetitions * sizeof *ratios);

    for (int i = 0; i < repetitions; i++)
        ratios[i] = own->times_us[i] / guideline->times.times_us[i];
    guideline->pair_ratios = bench_quantiles(ratios, repetitions);
    guideline->ratio = own->max.median / guideline->times.max.median;
    guideline->broken = guideline->ratio > clearly && guideline->pair_ratios.q1 > 1;
    free(ratios);
}

void bench_guidelines_measure(const bench_job_t *job, const bench_case_t *what, bench_guidelines_t *result)
{
    batch_t batch = {.kinds = 1};
    bench_warm_t warm;

    _Static_assert((int)KINDS_MAX <= (int)BENCH_MEDIANS_MAX, "a median each");
    while (batch.kinds < KINDS_MAX &&
           (batch.mockup[batch.kinds] = bench_mockup(what->collective->name, batch.kinds - 1)))
        batch.kinds++;
    bench_runner_init(&batch.runner, job, what, batch.kinds);
    bench_mockup_memory_init(&batch.memory, what);
    bench_warm_up(job, what, batch.kinds, warm_up_round, &batch, &warm);
    batch.repetitions = 0;
    bench_repeat(job, what, warm.seconds_each, extend, &batch);
    *result = (bench_guidelines_t){.collective = {.repetitions = batch.repetitions,
                                                  .warmup_repetitions = warm.repetitions,
                                                  .stable = warm.stable},
                                   .count = batch.kinds - 1};
    bench_side_result_t *own = &result->collective.side[BENCH_HOST];
    *own = bench_times_result(job, &batch.times[0], batch.repetitions);
    for (int i = 0; i < result->count; i++) {
        bench_guideline_t *guideline = &result->guideline[i];
        guideline->mockup = batch.mockup[1 + i];
        guideline->times = bench_times_result(job, &batch.times[1 + i], batch.repetitions);
        if (job->rank == 0)
            compare(own, batch.repetitions, guideline);
    }
    for (int kind = 0; kind < batch.kinds; kind++)
        bench_times_fini(&batch.times[kind]);
    bench_mockup_memory_fini(&batch.memory);
    bench_runner_fini(&batch.runner);
}

void bench_guidelines_fini(bench_guidelines_t *result)
{
    bench_result_fini(&result->collective);
    for (int i = 0; i < result->count; i++)
        free(result->guideline[i].times.times_us);
}
