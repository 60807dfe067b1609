/* layout: what the selection knows of a communicator.
 *
 * Threads: plain data. Ownership: plain data. */
#ifndef HP_HIER_COMM_LAYOUT_H
#define HP_HIER_COMM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "topo_tree/network/placement.h"

/* Where the ranks are on a network: by their numbers, and by their places in the hierarchy, node by node. */
typedef struct {
    hp_placement_t ranks, places;
    uint64_t hash; /* of network and machines: the same for the same */
    hp_network_traits_t traits;
    double rate; /* of the slowest link of a machine */
    double room; /* bytes that a rank may have under way with no port full; 0: not known, INFINITY: any */
    char fingerprint[HP_NETWORK_FINGERPRINT_BYTES];
} hp_comm_network_t;

/* What the selection knows of a communicator. The same on all ranks. */
typedef struct {
    uint32_t nodes;
    uint32_t least_ranks, most_ranks; /* on one node */
    bool shares_memory, reads_peers;  /* as in hp_comm_t */
    size_t slot_bytes;                /* the module shm has no larger segments */
    const hp_comm_network_t *network; /* the communicator's, as long as that lives; NULL: none is known */
    uint64_t network_hash;            /* its hash; 0: none was known */
} hp_layout_t;

#endif
