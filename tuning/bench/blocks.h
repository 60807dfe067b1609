/* blocks: the collectives whose ranks send or receive a block for each rank: which blocks a rank has where, what they hold
 * before a call and must hold after it, and what of them has to pass the links and the memory.
 *
 * A collective is described by roles (bench_blocks_t): how many blocks are in the send buffer and in the receive buffer, and
 * on which ranks. Everything else follows. Blocks lie one behind the other, in the order of the ranks they go to or come from.
 * The block from rank s to rank d starts at a place of the payload's period that belongs to s and d (bench_values_t), so a
 * block that came to a wrong place is found. What is reduced is a contribution as MPI_Reduce's, of all blocks together.
 *
 * Threads: one. Ownership: bench_layout_fini frees the arrays. */
#ifndef HP_BENCH_BLOCKS_H
#define HP_BENCH_BLOCKS_H

#include "job.h"
#include "values.h"

/* How the sizes of blocks differ, where they may. n: elements of the size that was asked for.
 *   equal   n
 *   ragged  0 to 2 n, pseudo-random, n in the mean
 *   sparse  n; 95 of 100 are empty
 *   hot     n to (or, if only senders differ, from) the rank in the middle; n/p elsewhere */
typedef enum { BENCH_EQUAL, BENCH_RAGGED, BENCH_SPARSE, BENCH_HOT, BENCH_PATTERNS } bench_pattern_t;

/* What a buffer holds. */
typedef enum { BENCH_ONE_BLOCK, BENCH_BLOCK_EACH } bench_extent_t;

/* Which ranks' contributions are in a rank's result. */
typedef enum { BENCH_NOT_REDUCED, BENCH_ALL_RANKS, BENCH_UP_TO_RANK, BENCH_BELOW_RANK } bench_contributors_t;

typedef struct {
    bench_extent_t sends, receives;
    bool root_sends, root_receives; /* the root alone does */
    bool sizes_differ;              /* a pattern may be chosen */
    bench_contributors_t contributors;
} bench_blocks_t;

/* Of one rank, elements. */
typedef struct {
    int *send_counts, *send_places, *recv_counts, *recv_places;
    int *send_bytes_places, *recv_bytes_places; /* of MPI_Alltoallw */
    MPI_Datatype *types;
    int send_total, recv_total;
} bench_layout_t;

/* "equal", ...; NULL behind the last one. */
const char *bench_pattern_name(int pattern);

/* Does a block of rank s become part of what rank d receives? */
bool bench_block_exists(const bench_blocks_t *blocks, int s, int d, int root);
/* Elements from rank s to rank d. */
int bench_block_count(const bench_blocks_t *blocks, bench_pattern_t pattern, int count, int s, int d,
                      int ranks);

void bench_layout_init(bench_layout_t *layout, const bench_blocks_t *blocks, bench_pattern_t pattern,
                       int count, const bench_type_t *type, int rank, int ranks);
/* The same for counts that are given, by rank: what this rank sends, and what it receives. */
void bench_layout_init_counts(bench_layout_t *layout, const bench_blocks_t *blocks, const int *send_counts,
                              const int *recv_counts, const bench_type_t *type, int rank, int ranks);
void bench_layout_fini(bench_layout_t *layout);

/* No rank's buffer is larger. */
size_t bench_blocks_most(const bench_blocks_t *blocks, size_t count, int ranks);
/* How many ranks' contributions are in the result of this one. */
int bench_contributors(const bench_blocks_t *blocks, int rank, int ranks);

/* What cannot be avoided in a call, in bytes. root < 0: any; what the cheapest one cannot avoid. */
typedef struct {
    double link;   /* into or out of the busiest node */
    double memory; /* on the busiest node: send buffers read once, receive buffers written once */
    bool all_wait; /* no block is empty: someone's result depends on all ranks */
} bench_traffic_t;
bench_traffic_t bench_blocks_traffic(const bench_job_t *job, const bench_blocks_t *blocks,
                                     bench_pattern_t pattern, int count, size_t type_bytes, int root);

#endif
