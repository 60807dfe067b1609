/* arrival: how ranks that do not come at the same time come.
 *
 * A pattern gives each rank a delay, between 0 and the skew; the first rank's is 0 and the last one's is the
 * skew. Both sides of a repetition get the same delays. none       all at once ascending  rank r of p comes
 * at r/(p-1) of the skew late       one rank comes after the skew, another one each time random     uniformly
 * distributed
 *
 * Threads: any. Ownership: nothing is kept. */
#ifndef HP_BENCH_ARRIVAL_H
#define HP_BENCH_ARRIVAL_H

#include <stdint.h>

#define BENCH_ARRIVAL_TABLE(X)                                                                               \
    X(NONE, none)                                                                                            \
    X(ASCENDING, ascending)                                                                                  \
    X(LATE, late)                                                                                            \
    X(RANDOM, random)

typedef enum {
#define X(id, name) BENCH_ARRIVAL_##id,
    BENCH_ARRIVAL_TABLE(X)
#undef X
        BENCH_ARRIVAL_COUNT
} bench_arrival_t;

const char *bench_arrival_name(bench_arrival_t arrival);

/* The delay of a rank in a repetition, as a fraction of the skew: 0..1. */
double bench_arrival_delay(bench_arrival_t arrival, uint64_t seed, uint64_t repetition, int rank, int size);

/* Waits until `seconds` after start (MPI_Wtime), leaving the core to others while there is time. Returns how
 * long after start it is now. */
double bench_arrival_wait(double start, double seconds);

#endif
