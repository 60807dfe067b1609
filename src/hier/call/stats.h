/* stats: which calls came, what became of them, how many bytes, how long.
 *
 * Threads: any number of threads count at the same time when hp_stats_threads is set.
 * Ownership: one static table a process. */
#ifndef HP_HIER_CALL_STATS_H
#define HP_HIER_CALL_STATS_H

#include <stdio.h>
#include "hier/call/collective.h"

/* Message sizes fall into bins by powers of 16: 0, 1-15, 16-255, 256-4095, ... The last one is for calls
 * passed through before their size was looked at. */
enum { HP_STATS_BINS = 12, HP_STATS_BIN_UNKNOWN = HP_STATS_BINS - 1 };

typedef struct {
    uint64_t calls[HP_OUTCOME_COUNT];
    uint64_t taken_bytes;
    uint64_t taken_ns, passed_ns; /* where somebody wants to know how long */
} hp_stats_bin_t;

extern hp_stats_bin_t hp_stats[HP_COLLECTIVE_COUNT][HP_STATS_BINS];
extern uint64_t hp_stats_setup_ns; /* in setting communicators up, likewise */

static inline unsigned hp_stats_bin(uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    unsigned bin = (unsigned)(63 - __builtin_clzll(bytes)) / 4 + 1;
    return bin < HP_STATS_BIN_UNKNOWN ? bin : HP_STATS_BIN_UNKNOWN - 1;
}

/* Several threads may count at the same time. Without that a plain addition does, and saves a pass-through
 * call the 5 ns of an atomic one. Set before the first count. */
extern bool hp_stats_threads;

static inline void hp_stats_add(uint64_t *counter, uint64_t amount)
{
    if (hp_stats_threads)
        __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
    else
        *counter += amount;
}

static inline void hp_stats_count(hp_collective_t collective, unsigned bin, hp_outcome_t outcome)
{
    hp_stats_add(&hp_stats[collective][bin].calls[outcome], 1);
}

/* Sums over all sizes: calls intercepted, calls taken, bytes of the taken ones. */
void hp_stats_totals(hp_collective_t collective, uint64_t *calls, uint64_t *taken, uint64_t *bytes);

/* Calls of one outcome, over all sizes. */
uint64_t hp_stats_outcome(hp_collective_t collective, hp_outcome_t outcome);

/* The table that HANPMPI_STATS=1 prints at MPI_Finalize. rank: whose figures these are. */
void hp_stats_print(FILE *out, unsigned rank);

#endif
