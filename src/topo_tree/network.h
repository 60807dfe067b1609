/* network: a tree of switches, with machines as its leaves.
 *
 * Each link has a rate in either direction and a latency. Two machines talk over the one path that the tree has; ranks
 * of one machine over a link of its own, its memory, which costs nothing where nobody says otherwise. Read from a file:
 * network/file.h. Rates are in bytes per microsecond, which are MB/s, as in the probes.
 *
 * Links are numbered 0 .. hp_network_links() - 1, each direction of a cable by itself.
 *
 * Threads: pure. Ownership: init and fini; a network owns its names. */
#ifndef HP_TOPO_TREE_NETWORK_H
#define HP_TOPO_TREE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"

/* What a link has of which nothing is said: 1 Gbit/s. */
enum { HP_NETWORK_RATE = 125 };
enum { HP_NETWORK_NODES_MAX = 1 << 20, HP_NETWORK_RANKS_MAX = 1 << 20 };

typedef struct {
    double rate; /* > 0; INFINITY: no limit */
    double latency_us;
} hp_network_speed_t;

typedef struct {
    char *name;
    int32_t machine; /* its number; -1: a switch */
    uint32_t ranks;  /* of a machine: those it has room for */
    int32_t parent;  /* -1: the top */
    uint32_t depth;
    uint32_t part, part_nodes, links; /* of building: a node of the same part, that one's own at its last */
    hp_network_speed_t up, down;      /* to the parent, from it */
} hp_network_node_t;

typedef struct {
    hp_network_node_t *nodes;
    uint32_t node_count, node_room;
    uint32_t *machines; /* the node of each machine, in the order in which they were added */
    uint32_t machine_count, machine_room;
    uint32_t *names, name_room; /* a hash table: a node + 1, or 0 */
    hp_network_speed_t inside;  /* between ranks of one machine */
    double queue; /* bytes that a port holds before it drops any; 0: not known, INFINITY: it drops none */
} hp_network_t;

void hp_network_init(hp_network_t *network);
void hp_network_fini(hp_network_t *network);

/* ---- building: machines and switches, links between them, and finish ---- */

/* ranks: 0 for a switch. The node's number; -1: no memory, or too many nodes. No two have one name. */
int32_t hp_network_add(hp_network_t *network, const char *name, uint32_t ranks);
/* Connects two nodes that are not connected yet, machines at most once, and to a switch. to: from a to b; from: back.
 * HP_ERR_ARG: that would be no tree, or a speed is none. */
hp_status_t hp_network_connect(hp_network_t *network, uint32_t a, uint32_t b, hp_network_speed_t to,
                               hp_network_speed_t from);
typedef enum {
    HP_NETWORK_WHOLE,
    HP_NETWORK_EMPTY,    /* no machine */
    HP_NETWORK_PARTS,    /* *node is not connected with the first one */
    HP_NETWORK_DEAD_END, /* *node is a switch that leads nowhere */
} hp_network_fault_t;

/* After it the network can be asked, unless there is a fault. */
hp_network_fault_t hp_network_finish(hp_network_t *network, uint32_t *node);
/* One switch with so many machines, n0, n1, ..., of so many ranks. speed: between two machines. */
hp_status_t hp_network_flat(hp_network_t *network, uint32_t machines, uint32_t ranks,
                            hp_network_speed_t speed);

/* ---- asking ---- */

/* The node of that name, or -1. */
int32_t hp_network_node(const hp_network_t *network, const char *name);
/* The machine of that host name, or -1. Where no name is the same, those count that are the same before the first dot. */
int32_t hp_network_machine(const hp_network_t *network, const char *host);

/* How ranks are laid on machines: each machine's ranks one after the other, or one on each machine in turns. Where
 * there are more ranks than room every machine takes the same multiple of what it has room for. */
typedef enum { HP_NETWORK_BLOCK, HP_NETWORK_ROUND_ROBIN } hp_network_order_t;
void hp_network_place(const hp_network_t *network, uint32_t ranks, hp_network_order_t order,
                      uint32_t *machines);

uint32_t hp_network_links(const hp_network_t *network);

typedef struct {
    const char *from, *to; /* the same: inside a machine */
    hp_network_speed_t speed;
} hp_network_link_t;

hp_network_link_t hp_network_link(const hp_network_t *network, uint32_t link);

/* Entries that a path may have. */
uint32_t hp_network_path_most(const hp_network_t *network);
/* The links from one machine to another, or to itself; returns how many. */
uint32_t hp_network_path(const hp_network_t *network, uint32_t from, uint32_t to, uint32_t *links);

#endif
