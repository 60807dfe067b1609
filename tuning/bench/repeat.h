/* repeat: how often a case is repeated: rounds to warm up until times no longer change, then as often as asked for or
 * as fits into the time. What is repeated is a function.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HP_BENCH_REPEAT_H
#define HP_BENCH_REPEAT_H

#include "calls.h"

enum { BENCH_MEDIANS_MAX = 8 }; /* kinds of calls */

/* Makes so many repetitions; on rank 0, medians_us gets the median of each kind of call in them. Collective. */
typedef void (*bench_round_fn_t)(void *context, int repetitions, double *medians_us);
/* Makes so many more repetitions. Collective. */
typedef void (*bench_extend_fn_t)(void *context, int repetitions);

typedef struct {
    int repetitions;
    bool stable;                          /* the rounds ended because times no longer changed */
    double medians_us[BENCH_MEDIANS_MAX]; /* of the last round; the same on all ranks */
    double seconds_each;                  /* of a repetition, on rank 0 */
} bench_warm_t;

/* Rounds of what->warmup repetitions, until the medians of all kinds stay within a tenth or half of the time is used.
 * Collective. */
void bench_warm_up(const bench_job_t *job, const bench_case_t *what, int kinds, bench_round_fn_t round,
                   void *context, bench_warm_t *warm);

/* The measured repetitions: as many as asked for, or until the time is used up. Returns how many were made.
 * Collective. */
int bench_repeat(const bench_job_t *job, const bench_case_t *what, double seconds_each,
                 bench_extend_fn_t extend, void *context);

#endif
