/* guidelines: a collective of the host MPI against the mock-ups of it (mockups), all of one size, interleaved: a repetition
 * is a call of each, every other one backwards. Every result is validated, as measure's are.
 *
 * Threads: one. Ownership: bench_guidelines_fini frees the times. */
#ifndef HP_BENCH_GUIDELINES_H
#define HP_BENCH_GUIDELINES_H

#include "measure.h"
#include "mockups.h"

/* Of one mock-up, filled in on rank 0. */
typedef struct {
    const bench_mockup_t *mockup;
    bench_side_result_t times;
    double ratio;                  /* median of the collective's by median of the mock-up's */
    bench_quantiles_t pair_ratios; /* of the two calls of each repetition */
    bool broken;                   /* the mock-up is faster, by more than noise */
} bench_guideline_t;

typedef struct {
    bench_result_t collective; /* side[BENCH_HOST] */
    bench_guideline_t guideline[BENCH_MOCKUPS_MAX];
    int count;
} bench_guidelines_t;

/* Collective. Ends the job when a result is wrong. */
void bench_guidelines_measure(const bench_job_t *job, const bench_case_t *what, bench_guidelines_t *result);
void bench_guidelines_fini(bench_guidelines_t *result);

#endif
