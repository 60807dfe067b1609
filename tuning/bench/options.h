/* options: what hanpmpi_bench is asked to do. Every rank reads the same command line; rank 0 speaks.
 *
 * Threads: one. Ownership: texts belong to the command line; bench_options_fini frees the rest. */
#ifndef HP_BENCH_OPTIONS_H
#define HP_BENCH_OPTIONS_H

#include "arrival.h"
#include "collectives.h"
#include "nonblocking.h"

enum { BENCH_SIZES_MAX = 128, BENCH_HINTS_MAX = 32, BENCH_SKEWS_MAX = 8, BENCH_COLLECTIVES_MAX = 32 };

typedef struct {
    const bench_collective_t *collectives[BENCH_COLLECTIVES_MAX];
    int collective_count;
    size_t bytes[BENCH_SIZES_MAX];
    int size_count;
    const bench_type_t *type;
    const bench_op_t *op;
    int root; /* or BENCH_ROTATE */
    bench_pattern_t pattern;
    int repeat, warmup;
    double seconds;
    bool warm, cold;
    size_t cold_bytes; /* of a node's regions; 0: twice the last-level cache */
    bench_arrival_t arrivals[BENCH_ARRIVAL_COUNT];
    int arrival_count;
    double skews[BENCH_SKEWS_MAX];
    int skew_count;
    uint64_t seed;
    bool sync_library; /* whose barrier is between repetitions */
    char *hints[BENCH_HINTS_MAX];
    int hint_count;
    bool raw;
    bool overlap; /* non-blocking collectives with a computation */
    bench_nonblocking_plan_t plan;
    bool guidelines;        /* the host MPI against mock-ups */
    const char *json, *csv; /* file names; "-": standard output; NULL: none */
} bench_options_t;

typedef enum { BENCH_OPTIONS_RUN, BENCH_OPTIONS_DONE, BENCH_OPTIONS_BAD } bench_options_result_t;

/* After bench_types_init. speak: on one rank, which prints help and errors. size: of MPI_COMM_WORLD. _DONE:
 * help or version was asked for, and given. */
bench_options_result_t bench_options_read(bench_options_t *options, int argc, char **argv, int size,
                                          bool speak);
void bench_options_fini(bench_options_t *options);

#endif
