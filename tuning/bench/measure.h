/* measure: one case (a collective, a size, a way to arrive) on both sides, interleaved.
 *
 * A repetition is one call on each side, in turns: host library, library host, host library, ... Each call is
 * started by the same barrier, has freshly filled buffers, is timed on every rank, and is validated, all
 * elements, outside the timed part. Rounds to warm up come first, until the medians of both sides stay within
 * a tenth or half of the time is used; no repetition that comes after them is left out.
 *
 * Times. A rank arrives when it calls the collective and is done when the call returns. Without an arrival
 * pattern a rank's time is from its own arrival. With one it is from the arrival of the last rank (0 for a
 * rank that was done by then), because before that the collective cannot be complete; the time from the first
 * rank's arrival to the last one's end is kept beside it. Arrivals on different ranks are compared by their
 * distance from the barrier that started the call, so no clocks need to agree. The barrier's own spread is
 * part of every time, on both sides.
 *
 * Buffers. Warm: the same place each time, filled just before. Cold: another part of a region each time,
 * filled one turn around the region earlier, so that the last-level cache has been used up since.
 *
 * Threads: one. Ownership: bench_result_fini frees the times. */
#ifndef HP_BENCH_MEASURE_H
#define HP_BENCH_MEASURE_H

#include "arrival.h"
#include "collectives.h"
#include "job.h"
#include "quantiles.h"

typedef struct {
    const bench_collective_t *collective;
    const bench_type_t *type;
    const bench_op_t *op; /* reductions */
    size_t bytes;         /* of data: a multiple of the type's */
    int root;             /* BENCH_ROTATE: another one each repetition */
    bool cold;
    size_t region_bytes; /* cold: each buffer of each rank moves through so much */
    bench_arrival_t arrival;
    double skew; /* multiple of the host's own median time */
    uint64_t seed;
    int warmup; /* repetitions of one round to warm up */
    int repeat; /* 0: as many as fit into seconds, at least BENCH_REPEAT_MIN */
    double seconds;
} bench_case_t;

enum { BENCH_ROTATE = -1, BENCH_REPEAT_MIN = 10, BENCH_REPEAT_MAX = 100000 };

/* Over the repetitions: the fastest, mean and slowest rank's time, and first arrival to last end.
 * Microseconds. */
typedef struct {
    bench_quantiles_t min, avg, max, from_first;
    double *times_us; /* of every repetition: the slowest rank */
} bench_side_result_t;

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

/* Memory of one rank's buffers. */
size_t bench_buffer_bytes(const bench_case_t *what);

#endif
