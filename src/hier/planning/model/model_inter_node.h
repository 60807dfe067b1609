/* model_inter_node: what one segment costs between the nodes, by the way in which the module p2p joins them: from the
 * schedules of the generator of that name (model_schedule.h), by formulas for more nodes than those are asked for.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_INTER_NODE_H
#define HP_HIER_PLANNING_MODEL_MODEL_INTER_NODE_H

#include "hier/call/setting.h"
#include "hier/comm/probes.h"

typedef struct {
    double fill_us;   /* from the first node's value to the last node's */
    double link_us;   /* the busiest link is used for, in its busier direction */
    double cpu_us;    /* work of the busiest leader: its messages, and reducing what comes */
    double serial_us; /* before this is over the next segment of the same leader cannot begin */
} hp_inter_node_cost_t;

/* nodes >= 2. bytes: of the segment. placement: where the ranks are on the network, for ways that are made for one; NULL: no
 * network is known. What messages share there does not count (model_network.h). */
hp_inter_node_cost_t hp_model_inter_node(const hp_probes_t *probes, uint32_t nodes,
                                         hp_collective_t collective, double bytes,
                                         const hp_setting_t *setting, const struct hp_placement *placement);

/* ceil(log2(count)), count >= 1. */
uint32_t hp_model_log2(uint32_t count);

/* What decides how long a tree takes: the longest way from the root has so many hops, and on it so many
 * messages go out one after the other; the root has so many children, the busiest other position so many. */
typedef struct {
    uint32_t hops, gaps, root, inner;
} hp_model_tree_t;

hp_model_tree_t hp_model_tree(hp_shape_t shape, uint32_t count);

#endif
