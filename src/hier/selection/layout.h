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

/* What was measured. Zero: not known. Bandwidths in bytes per microsecond (= MB/s). */
typedef struct {
    double flag_us;                /* one rank of a node sees what another has stored in shared memory */
    double inside_us, inside_rate; /* message between ranks of a node: half a round trip of 8 bytes; stream */
    double between_us, between_rate; /* the same between nodes */
    double between_cpu_us;           /* processor time of sending and receiving one such message */
    double copy_rate, reduce_rate;   /* one rank's memcpy; its sum of doubles, bytes of one operand */
    double overlap; /* 0..1: share of a copy's time that hides behind a stream between nodes */
    uint32_t cores; /* of a node: more ranks than these take turns */
} hp_probes_t;

#endif
