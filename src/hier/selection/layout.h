/* layout: what the selection knows of a communicator and of the machine, as plain data.
 *
 * Threads: plain data. Ownership: plain data. */
#ifndef HP_HIER_SELECTION_LAYOUT_H
#define HP_HIER_SELECTION_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* What the selection knows of a communicator. The same on all ranks. */
typedef struct {
    uint32_t nodes;
    uint32_t least_ranks, most_ranks; /* on one node */
    bool shares_memory, reads_peers;  /* as in hp_comm_t */
} hp_layout_t;

/* X(field, unit, largest believable value, text). What was measured; zero: not known. Rates in bytes per
 * microsecond (= MB/s). */
#define HP_PROBE_TABLE(X)                                                                                    \
    X(flag_us, "us", 1e5, "one rank of a node sees what another has stored in shared memory")                \
    X(inside_us, "us", 1e6, "message between ranks of a node: half a round trip of 8 bytes")                 \
    X(inside_rate, "MB/s", 1e7, "stream of messages between two ranks of a node")                            \
    X(between_us, "us", 1e6, "message between nodes: half a round trip of 8 bytes")                          \
    X(between_rate, "MB/s", 1e7, "stream of messages between two nodes")                                     \
    X(between_cpu_us, "us", 1e5, "processor time that a message between nodes takes at each end")            \
    X(copy_rate, "MB/s", 1e7, "one rank's memcpy")                                                           \
    X(node_copy_rate, "MB/s", 1e9, "memcpy of all ranks of a node at a time, together")                      \
    X(reduce_rate, "MB/s", 1e7, "one rank's sum of doubles, bytes of one operand")                           \
    X(overlap, "of 1", 1, "share of a copy's time that hides behind a stream between nodes")                 \
    X(cores, "", 1 << 20, "cores of a node: more ranks than these take turns")

typedef struct {
#define X(field, unit, most, text) double field;
    HP_PROBE_TABLE(X)
#undef X
} hp_probes_t;

#endif
