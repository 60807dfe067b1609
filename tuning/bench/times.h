/* times: when each rank arrived and was done in each of many calls, and what that says of all ranks together.
 *
 * A rank arrives when it calls the collective and is done when the call returns. Without an arrival pattern a
 * rank's time is from its own arrival. With one it is from the arrival of the last rank (0 for a rank that was
 * done by then), because before that the collective cannot be complete; the time from the first rank's arrival to
 * the last one's end is kept beside it. Arrivals on different ranks are compared by their distance from the barrier
 * that started the call, so no clocks need to agree. The barrier's own spread is part of every time, on both sides.
 *
 * Threads: one. Ownership: bench_times_fini and bench_summary_fini free the arrays. */
#ifndef HP_BENCH_TIMES_H
#define HP_BENCH_TIMES_H

#include "job.h"
#include "quantiles.h"

/* As one rank saw them. Begins as {0}. Seconds after the barrier; index: repetition. */
typedef struct {
    double *arrived, *done;
} bench_times_t;

/* Over all ranks, of every repetition, on rank 0; elsewhere the arrays are scratch. Microseconds. */
typedef struct {
    double *min, *avg, *max, *from_first;
} bench_summary_t;

/* Over the repetitions: the fastest, mean and slowest rank's time, and first arrival to last end. Microseconds. */
typedef struct {
    bench_quantiles_t min, avg, max, from_first;
    double *times_us; /* of every repetition: the slowest rank */
} bench_side_result_t;

/* Room for so many repetitions in all. */
void bench_times_extend(bench_times_t *times, int repetitions);
void bench_times_fini(bench_times_t *times);

/* Collective. */
bench_summary_t bench_times_summarise(const bench_job_t *job, const bench_times_t *times, int repetitions);
void bench_summary_fini(bench_summary_t *all);

/* The result of one side, which takes times_us from the summary. The quantiles on rank 0 only. Collective. */
bench_side_result_t bench_times_result(const bench_job_t *job, const bench_times_t *times, int repetitions);

#endif
