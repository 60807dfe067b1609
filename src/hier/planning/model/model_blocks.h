/* model_blocks: what a collective of blocks costs: flat and han from the very schedules that they run
 * (collectives/exchange.h), walked on a network made of the probes (schedule/cost/cost_walk.h); flags and
 * single_copy by formulas.
 *
 * Blocks are of one size, rank 0 is the root, operations commute, and ranks follow each other on the nodes; where nodes
 * differ in size, all count as the largest. A message between nodes takes what the probes say; one inside a node as much of
 * the processors as one between nodes, but no more than all of its time.
 *
 * Where a network is known (layout.h) no schedule takes less than its messages do on it (schedule/cost/cost.h).
 *
 * Threads: any. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_BLOCKS_H
#define HP_HIER_PLANNING_MODEL_MODEL_BLOCKS_H

#include "hier/collectives/algorithm.h"
#include "hier/comm/layout.h"
#include "hier/comm/probes.h"

enum { HP_MODEL_BLOCKS_NODES_MAX = 64 };

/* How much is looked at to answer: of what runs, or would by a rule; of what else might. Steps of the walk. */
enum { HP_MODEL_BLOCKS_STEPS = 1 << 15, HP_MODEL_BLOCKS_STEPS_FEW = 1 << 11 };

/* Microseconds, as hp_model_us (model.h); bytes: of a block, of scans the vector. < 0: not known: more nodes than
 * HP_MODEL_BLOCKS_NODES_MAX, more steps than steps_max, blocks whose sizes only some ranks know, or probes missing. */
double hp_model_blocks_us(const hp_probes_t *probes, const hp_layout_t *layout,
                          const hp_algorithm_t *algorithm, uint64_t bytes, const hp_setting_t *setting,
                          uint32_t steps_max);

/* What an algorithm with schedules runs: the generator among the nodes, or among all ranks; is there another one inside
 * the nodes, and does each rank lead for its own blocks? */
typedef struct {
    const hp_generator_t *generator;
    bool has_inside, all_lead;
} hp_model_blocks_schedule_t;

/* false: more nodes than HP_MODEL_BLOCKS_NODES_MAX, or nothing serves. */
bool hp_model_blocks_schedule(const hp_layout_t *layout, const hp_algorithm_t *algorithm,
                              const hp_setting_t *setting, hp_model_blocks_schedule_t *schedule);

/* Does the algorithm do what it is for, with blocks of that size? Else it runs as flat does. */
bool hp_model_blocks_has_way(const hp_layout_t *layout, const hp_algorithm_t *algorithm, uint64_t bytes);

/* As hp_model_bound_us: what must cross the link of a node; what ranks of a node must get over its link and through
 * its memory; one latency. 0: not known. */
double hp_model_blocks_bound_us(const hp_probes_t *probes, const hp_layout_t *layout,
                                hp_collective_t collective, uint64_t bytes);

/* A setting that is expected to take less than us_most, the fastest: of the algorithms with schedules, each with
 * every generator that does the collective, one leader or all, messages inside nodes direct or not; but for those of
 * more than HP_MODEL_BLOCKS_STEPS_FEW steps. usual: what it has beside those. false: there is none. *us: the time
 * expected. */
bool hp_model_blocks_find(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                          uint64_t bytes, const hp_setting_t *usual, double us_most,
                          hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us);

#endif
