/* nonblocking: one case's non-blocking collective on both sides, alone and with a computation while it is under way.
 *
 * A repetition is these calls, each on the host's side and on the library's in turns, all with the same root:
 *   blocking     MPI_Bcast
 *   pure         MPI_Ibcast, MPI_Wait; or MPI_Start, MPI_Wait, of one that MPI_Bcast_init has made for all repetitions
 *   compute      the computation alone, after the same barrier
 *   both, N      MPI_Ibcast; the computation in N + 1 slices with an MPI_Test between two of them, until one says that
 *                the collective is complete; MPI_Wait. For each N that is asked for
 * The computation takes a multiple of that side's own pure time, as the rounds to warm up found it. How many products
 * that is, is found out once, while all ranks compute, and stays the same for all repetitions (compute.h).
 *
 * A call costs what its slowest rank takes; overlaps are of the medians over the repetitions (nonblocking_overlap.h),
 * with quartiles of the repetitions' own.
 *
 * Threads: one. Ownership: bench_nonblocking_fini frees the times. */
#ifndef HP_BENCH_NONBLOCKING_H
#define HP_BENCH_NONBLOCKING_H

#include "compute.h"
#include "measure.h"

enum { BENCH_TESTS_MAX = 8, BENCH_TESTS_MOST = 1000000 };

typedef struct {
    int tests[BENCH_TESTS_MAX]; /* calls of MPI_Test while computing: each is measured */
    int test_count;
    bool persistent;       /* needs warm buffers, and a root that stays */
    double compute_factor; /* length of the computation as a multiple of the pure time */
} bench_nonblocking_plan_t;

typedef struct {
    double of_medians;
    bench_quantiles_t repetitions;
} bench_overlap_t;

/* One side with one number of tests. */
typedef struct {
    bench_quantiles_t both;
    double *both_us; /* of every repetition */
    bench_overlap_t imb, osu;
} bench_both_t;

typedef struct {
    bench_quantiles_t pure, compute;
    double *pure_us, *compute_us;
    double pure_by_blocking; /* of the medians */
    bench_both_t with[BENCH_TESTS_MAX];
} bench_nonblocking_side_t;

/* Microseconds; on rank 0. */
typedef struct {
    bench_result_t blocking; /* as if it alone were measured */
    bench_nonblocking_side_t side[BENCH_SIDES];
    double taken; /* of the non-blocking calls */
    const char *reason;
} bench_nonblocking_result_t;

/* Collective. Ends the job when a result is wrong. The case has no arrival pattern. */
void bench_nonblocking_measure(const bench_job_t *job, const bench_case_t *what,
                               const bench_nonblocking_plan_t *plan, bench_compute_t *compute,
                               bench_nonblocking_result_t *result);
void bench_nonblocking_fini(bench_nonblocking_result_t *result);

#endif
