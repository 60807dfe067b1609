/* names: the names that a list stands for, as clusters write them: "a,n[0-3,8],r[0-1]n[00-15]".
 *
 * Threads: one call at a time. Ownership: nothing is kept. */
#ifndef HP_TOPO_TREE_NETWORK_NAMES_H
#define HP_TOPO_TREE_NETWORK_NAMES_H

#include "topo_tree/network/reader.h"

/* false: it refused, and the list ends there. */
typedef bool (*hp_network_name_fn_t)(void *context, const char *name);

/* Calls take for each name, in order. false: take refused, or the list is none, which was refused. */
bool hp_network_each_name(hp_network_reader_t *reader, const char *list, hp_network_name_fn_t take,
                          void *context);
/* Adds the hosts of a list to a switch: "a", "a:4" with room for 4 ranks, "n[08-11]:2", which are four of 2 ranks. */
bool hp_network_take_hosts(hp_network_reader_t *reader, const char *list, uint32_t node_of_switch,
                           hp_network_speed_t up, hp_network_speed_t down);

#endif
