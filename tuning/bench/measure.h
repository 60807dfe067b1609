/* measure: one case (a collective, a size, a way to arrive) on both sides, interleaved.
 *
 * A repetition is one call on each side, in turns: host library, library host, host library, ... (calls). Rounds to
 * warm up come first (repeat); no repetition that comes after them is left out. What a time is: times.
 *
 * Threads: one. Ownership: bench_result_fini frees the times. */
#ifndef HP_BENCH_MEASURE_H
#define HP_BENCH_MEASURE_H

#include "calls.h"
#include "times.h"

/* Filled in on rank 0; the other ranks know the numbers of repetitions only. */
typedef struct {
    int repetitions, warmup_repetitions;
    bool stable; /* the rounds to warm up ended because times no longer changed */
    double skew_us;
    bench_side_result_t side[BENCH_SIDES];
    double ratio;                  /* median of the host's by median of the library's */
    bench_quantiles_t pair_ratios; /* of the two calls of each repetition */
    double taken;                  /* share of the library side's calls that it ran, over all ranks */
    const char *reason;            /* of the most calls that it passed through; NULL: none */
} bench_result_t;

/* Collective. Ends the job when a result is wrong. */
void bench_measure(const bench_job_t *job, const bench_case_t *what, bench_result_t *result);
void bench_result_fini(bench_result_t *result);

/* Sets the ratios and what was taken from both sides' results. Collective. */
void bench_result_compare(const bench_job_t *job, const bench_tally_t *tally, bench_result_t *result);

#endif
