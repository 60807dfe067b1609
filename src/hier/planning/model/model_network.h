/* model_network: what one segment of a vector costs between the nodes on the network that is known: what its busiest link has
 * to carry, and how long it is on its way, on processors as the probes found them (schedule/cost/cost.h). The rest of the
 * model knows of a link for each node, and of nothing that messages of several nodes share.
 *
 * Runs of all ways among 32 nodes on a network take 3 ms for bcasts, 22 ms for allreduces (test_model_network).
 *
 * Threads: any; what was found is kept for the next one who asks. Ownership: the caller's. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_NETWORK_H
#define HP_HIER_PLANNING_MODEL_MODEL_NETWORK_H

#include "hier/call/setting.h"
#include "hier/comm/layout.h"
#include "hier/comm/probes.h"

typedef struct {
    double fill_us; /* from the first node's value to the last node's: the longest way, or the busiest link */
    double link_us; /* the busiest link is used for, where roots rotate on average */
} hp_model_network_cost_t;

/* Of a segment of so many bytes from root 0. false: no network is known, nodes differ in size or are more than
 * HP_MODEL_SCHEDULE_NODES_MAX, or no memory. */
bool hp_model_network(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                      double bytes, const hp_setting_t *setting, hp_model_network_cost_t *cost);

#endif
