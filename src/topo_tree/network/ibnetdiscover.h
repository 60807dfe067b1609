/* ibnetdiscover: a network from the dump that ibnetdiscover(8) prints of an InfiniBand fabric.
 *
 *      vendid=0x2c9
 *      switchguid=0x2c902004042a8(2c902004042a8)
 *      Switch  36 "S-0002c902004042a8"         # "leaf switch" base port 0 lid 3 lmc 0
 *      [1]     "H-0002c9030009e3fe"[1](2c9030009e3ff)          # "node01 HCA-1" lid 4 4xQDR
 *      [2]     "S-0002c9020040abcd"[7]         # "spine" lid 5 4xQDR
 *
 * A host's name is the first word of its adapter's description, "node01"; a switch is called by its id. A cable's rate
 * is what its width and speed leave of the encoding: 4xQDR: 32 Gbit/s. No latencies; every host has room for one rank.
 *
 * Several cables between two switches are one link of their rates together. A fabric of spines is made a tree: switches
 * without hosts that lead to the same switches below, on which the subnet manager spreads the traffic, count as one
 * (a folded Clos of any number of stages). What is still no tree, a torus for example, is refused. Routers,
 * adapters that nothing is plugged into, aggregation nodes inside switches, and switches that lead nowhere are left
 * out.
 *
 * Threads: pure. Ownership: see reader.h. */
#ifndef HP_TOPO_TREE_NETWORK_IBNETDISCOVER_H
#define HP_TOPO_TREE_NETWORK_IBNETDISCOVER_H

#include "topo_tree/network/reader.h"

/* Does the first line that is neither blank nor a comment begin as such a dump's does? */
bool hp_network_is_ibnetdiscover(const char *text);
/* text: ends with a 0, which is not among its length bytes; it is cut up. */
bool hp_network_take_ibnetdiscover(hp_network_reader_t *reader, char *text, size_t length);

#endif
