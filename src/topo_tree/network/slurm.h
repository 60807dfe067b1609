/* slurm: a network from Slurm's topology.conf, the form of its plugin topology/tree (topology.conf(5)).
 *
 *      SwitchName=s0 Nodes=n[0-3,8] LinkSpeed=10000
 *      SwitchName=s1 Nodes=n[4-7]
 *      SwitchName=top Switches=s[0-1]
 *
 * LinkSpeed, whose unit Slurm leaves open, is read as Mbit/s of each link of its line; without one: 1 Gbit/s. Every
 * node has room for one rank.
 *
 * Threads: pure. Ownership: see reader.h. */
#ifndef HP_TOPO_TREE_NETWORK_SLURM_H
#define HP_TOPO_TREE_NETWORK_SLURM_H

#include "topo_tree/network/reader.h"

/* Does the first line that is neither blank nor a comment begin as such a file's does? */
bool hp_network_is_slurm(const char *text);
/* text: ends with a 0, which is not among its length bytes; it is cut up. */
bool hp_network_take_slurm(hp_network_reader_t *reader, char *text, size_t length);

#endif
