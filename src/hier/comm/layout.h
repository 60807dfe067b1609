/* layout: what the selection knows of a communicator.
 *
 * Threads: plain data. Ownership: plain data. */
#ifndef HP_HIER_COMM_LAYOUT_H
#define HP_HIER_COMM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the selection knows of a communicator. The same on all ranks. */
typedef struct {
    uint32_t nodes;
    uint32_t least_ranks, most_ranks; /* on one node */
    bool shares_memory, reads_peers;  /* as in hp_comm_t */
    size_t slot_bytes;                /* the module shm has no larger segments */
} hp_layout_t;

#endif
