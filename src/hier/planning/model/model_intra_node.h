/* model_intra_node: what one segment costs the ranks of a node, by the module that moves it.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_INTRA_NODE_H
#define HP_HIER_PLANNING_MODEL_MODEL_INTRA_NODE_H

#include "hier/call/setting.h"
#include "hier/comm/probes.h"

typedef struct {
    double fill_us;              /* from the first rank's value to the last rank's */
    double leader_us, member_us; /* work of the leader, and of each other rank */
    double bus_us;               /* the node's memory is used for */
} hp_intra_node_cost_t;

/* One segment's fan-in (up: a reduction) or fan-out. ranks: of the node, the leader among them. everybody: all
 * ranks work on the message, see single_copy.c; they rotate in it, so leader_us is member_us. */
hp_intra_node_cost_t hp_model_intra_node(const hp_probes_t *probes, uint32_t ranks, hp_module_id_t module,
                                         hp_shape_t shape, bool up, bool everybody, double bytes);

/* A barrier of the ranks of a node that is no part of one among nodes. */
double hp_model_intra_node_barrier_us(const hp_probes_t *probes, uint32_t ranks, hp_module_id_t module);

/* The collective `flags` of the ranks of one node. */
double hp_model_flags_us(const hp_probes_t *probes, uint32_t ranks, hp_collective_t collective, double bytes);

/* A collective of blocks among the ranks of one node, by its algorithms `flags` and `single_copy`; bytes: of a
 * block, of scans the vector. */
double hp_model_block_flags_us(const hp_probes_t *probes, uint32_t ranks, hp_pattern_t pattern, double bytes);
double hp_model_block_copies_us(const hp_probes_t *probes, uint32_t ranks, hp_pattern_t pattern,
                                double bytes);

/* What all ranks of the node copy in a microsecond. */
double hp_model_node_rate(const hp_probes_t *probes, uint32_t ranks);

#endif
