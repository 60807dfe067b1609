/* limits: what the machine can do at most, measured in the same run, and the time that no algorithm can beat.
 *
 * Measured with plain messages and copies: half a round trip of 8 bytes, intra-node and inter-node; the
 * bandwidth of a stream between two nodes; the bytes that all ranks of a node read and write in a second when
 * all copy at the same time, for each message size (what fits a cache is copied faster).
 *
 * The bound of a call is the largest of three times (p ranks, c on the fullest of N nodes):
 *   latency  ceil(log2 p) intra-node messages; ceil(log2 N) inter-node, where a node sends one at a
 * time; one message if blocks are empty
 *   link     the bytes that have to pass a node's link, at the measured bandwidth
 *   memory   the bytes that have to be read and written on the fullest node, at the measured copy bandwidth
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HP_BENCH_LIMITS_H
#define HP_BENCH_LIMITS_H

#include "calls.h"

typedef struct {
    double node_latency_us, link_latency_us; /* 0: there are no two such ranks */
    double link_bytes_per_second;            /* 0: one node */
} bench_limits_t;

typedef struct {
    double latency_us, link_us, memory_us;
    double us; /* the largest */
} bench_bound_t;

/* Collective. The result is the same on all ranks. */
void bench_limits_measure(const bench_job_t *job, bench_limits_t *limits);

/* Bytes read and written in a second by all ranks of a node together, while each copies `bytes` between
 * places of regions of region_bytes (the same place, when it is less). The slowest node's. Collective. */
double bench_copy_bandwidth(const bench_job_t *job, size_t bytes, size_t region_bytes);

bench_bound_t bench_bound(const bench_job_t *job, const bench_limits_t *limits, const bench_case_t *what,
                          double copy_bytes_per_second);

#endif
