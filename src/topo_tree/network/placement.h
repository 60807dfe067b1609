/* placement: on which machines of a network ranks are, and what of the network matters to who places messages on it.
 *
 * Threads: pure. Ownership: a placement borrows the network and the list; what a function fills is the caller's. */
#ifndef HP_TOPO_TREE_NETWORK_PLACEMENT_H
#define HP_TOPO_TREE_NETWORK_PLACEMENT_H

#include <stddef.h>
#include "topo_tree/network.h"

typedef struct hp_placement {
    const hp_network_t *network;
    const uint32_t *machines; /* of each rank; several may have the same one */
    uint32_t count;           /* ranks */
} hp_placement_t;

/* ---- in which order ranks are laid on machines ---- */

/* X(id, word, text). */
#define HP_PLACEMENT_ORDER_TABLE(X)                                                                          \
    X(BLOCK, block, "one machine after the other")                                                           \
    X(ROUND_ROBIN, round_robin, "one on each machine in turns")                                              \
    X(OVER_SWITCHES, over_switches, "one on a machine of each switch in turns")

typedef enum {
#define X(id, word, text) HP_PLACEMENT_##id,
    HP_PLACEMENT_ORDER_TABLE(X)
#undef X
        HP_PLACEMENT_ORDERS
} hp_placement_order_t;

/* HP_PLACEMENT_ORDERS: there is none of that name. */
hp_placement_order_t hp_placement_order_find(const char *word);
const char *hp_placement_order_word(hp_placement_order_t order);
const char *hp_placement_order_text(hp_placement_order_t order);
/* The machine of each rank, with room for them as hp_network_place has it. HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_placement_lay(const hp_network_t *network, uint32_t ranks, hp_placement_order_t order,
                             uint32_t *machines);

/* Of the slowest link of a machine that has a rank, in its slower direction; INFINITY: none has a limit. */
double hp_placement_rate(const hp_placement_t *placement);

/* ---- the tree ---- */

/* numbers[node]: its place in a depth-first walk over the tree that visits the machines of a switch before the switches
 * below it. A ring through the machines in this order crosses each direction of a link once (A. Faraj, P. Patarasuk,
 * X. Yuan, Bandwidth Efficient All-to-all Broadcast on Switched Clusters, 2005). HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_network_walk(const hp_network_t *network, uint32_t *numbers);

/* ---- what rules ask for ---- */

typedef struct {
    uint32_t hosts_per_switch; /* of the switch that has most */
    /* What the hosts on the smaller side of a link between switches can send together, divided by what it carries: the
     * largest of all links, at least 1. */
    double blocking;
} hp_network_traits_t;

/* HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_network_traits(const hp_network_t *network, hp_network_traits_t *traits);

enum { HP_NETWORK_FINGERPRINT_BYTES = 64 };

/* "tree-32hosts-4switches-1a2b3c4d": the last part is a hash of who is connected with whom and of the rates. The names of
 * switches and latencies do not count. Returns text. */
const char *hp_network_fingerprint(const hp_network_t *network, char *text, size_t text_bytes);

#endif
