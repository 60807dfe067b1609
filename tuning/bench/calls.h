/* calls: what a case is (a collective, a size, ...), and its calls one by one: each has freshly filled buffers, is
 * started by the same barrier on both sides, is timed on every rank, and is validated, all elements, outside the
 * timed part.
 *
 * Buffers. Warm: the same place each time, filled just before. Cold: another part of a region each time, filled
 * one turn around the region earlier, so that the last-level cache has been used up since.
 *
 * Threads: one. Ownership: bench_runner_fini frees the buffers; job, case and tallies are the caller's. */
#ifndef HP_BENCH_CALLS_H
#define HP_BENCH_CALLS_H

#include "arrival.h"
#include "collectives.h"
#include "job.h"

typedef struct {
    const bench_collective_t *collective;
    const bench_type_t *type;
    const bench_op_t *op;    /* reductions */
    size_t bytes;            /* of data, a block's if there are blocks: a multiple of the type's */
    bench_pattern_t pattern; /* of blocks whose sizes may differ */
    int ranks;
    int root; /* BENCH_ROTATE: another one each repetition */
    bool cold;
    size_t region_bytes; /* cold: each buffer of each rank moves through so much */
    bench_arrival_t arrival;
    double skew; /* multiple of the host MPI's median time */
    uint64_t seed;
    int warmup; /* repetitions of one round to warm up */
    int repeat; /* 0: as many as fit into seconds, at least BENCH_REPEAT_MIN */
    double seconds;
} bench_case_t;

enum { BENCH_ROTATE = -1, BENCH_REPEAT_MIN = 10, BENCH_REPEAT_MAX = 100000 };

/* What became of the calls of the library's side. */
typedef struct {
    uint64_t calls;                        /* made by this rank */
    uint64_t outcomes[BENCH_OUTCOMES_MAX]; /* as the library counted them */
    const char *words[BENCH_OUTCOMES_MAX];
} bench_tally_t;

typedef struct {
    const bench_job_t *job;
    const bench_case_t *what;
    bench_values_t values;
    bench_layout_t layout;        /* of blocks */
    size_t count;                 /* elements of a call */
    size_t stride;                /* from one place of a buffer to the next */
    uint64_t places;              /* 1: warm */
    char *send, *recv;            /* `places` places each */
    uint64_t calls;               /* made until now, on both sides */
    uint64_t calls_of_repetition; /* they have the same root */
    const char *mockup;           /* what stands for the collective, in messages; NULL: itself */
    int wrong;                    /* this rank got a wrong result */
} bench_runner_t;

/* What is timed: one collective from its call to its end. Returns MPI's code. */
typedef int (*bench_timed_fn_t)(void *context, const bench_call_t *call);

/* Collective, like all of these. */
void bench_runner_init(bench_runner_t *runner, const bench_job_t *job, const bench_case_t *what,
                       int calls_of_repetition);
void bench_runner_fini(bench_runner_t *runner);

/* A persistent request for the calls of a side: warm ones, with a root that stays. tally: of the library's side, where
 * one that passes is counted here. */
void bench_runner_make(const bench_runner_t *runner, bench_side_t side, bench_tally_t *tally,
                       MPI_Request *request);

/* Seconds after the barrier: when this rank arrived, `delay` after it, and when it was done. tally: of the
 * library's side. */
void bench_runner_call(bench_runner_t *runner, bench_side_t side, double delay, bench_timed_fn_t timed,
                       void *context, bench_tally_t *tally, double *arrived, double *done);

/* A barrier that also ends all ranks when one of them got a wrong result. */
void bench_runner_stop_if_wrong(const bench_runner_t *runner);

/* For bench_runner_call: the blocking collective. The context is not used. */
int bench_run_blocking(void *context, const bench_call_t *call);

/* On rank 0, over all ranks: the share of the calls that the library ran, and why it passed the most of the others
 * through; NULL: none of them. */
double bench_tally_taken(const bench_job_t *job, const bench_tally_t *tally, const char **reason);

/* The pattern of the blocks' sizes: equal where they cannot differ. */
static inline bench_pattern_t bench_case_pattern(const bench_case_t *what)
{
    return what->collective->blocks.sizes_differ ? what->pattern : BENCH_EQUAL;
}

/* Of one place of a buffer, a multiple of a page; and of all buffers of a rank. */
size_t bench_place_bytes(const bench_case_t *what);
size_t bench_buffer_bytes(const bench_case_t *what);

#endif
