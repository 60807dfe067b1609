/* pipeline: a hierarchical collective as a pipeline of tasks, one a level and segment (HAN; X. Luo 2020,
 * section 5.2; X. Luo et al., HAN: a Hierarchical AutotuNed Collective Communication Framework, CLUSTER 2020,
 * section III).
 *
 *      bcast       leader  ib -> sb                 others  sb
 *      reduce      leader  sr -> ir                 others  sr
 *      allreduce   leader  sr -> ir -> ib -> sb     others  sr -> sb
 *      barrier     as allreduce, without data; or, where all ranks lead, sr -> sb -> ir, and so on (leader_rounds.h)
 *
 * s: intra-node, i: inter-node; b: broadcast, r: reduction. An allreduce of 6 segments on a leader,
 * time to the right, where every task takes as long:
 *
 *      sr   0 1 2 3 4 5
 *      ir     0 1 2 3 4 5
 *      ib       0 1 2 3 4 5
 *      sb         0 1 2 3 4 5
 *
 * The paper's pipeline runs in lock-step: column k + 1 starts when all of column k is done. Here tasks are
 * events: task t of segment i starts as soon as task t - 1 of segment i is done and its lanes have room.
 * Columns do not exist; a level that is faster runs ahead by as much as the window allows. ir and ib use the
 * same tree and root, so that they load opposite directions of the links. There may be any number of levels
 * within the node (package, NUMA, L3, core): s is then a chain of stages itself.
 *
 * Rotations: segment i is led by rotation i mod T. In an allreduce the rotations have different roots (trees:
 * nodes; leaders: ranks of each node), in the other collectives other leaders of the nodes that do not hold the
 * root. Operations that do not commute have one rotation, in rank order, rooted at rank 0, which forwards the
 * result to the root.
 *
 * Threads: as comm.h. Ownership: everything lies in start->arena until the collective is done. */
#ifndef HP_HIER_COLLECTIVES_PIPELINE_H
#define HP_HIER_COLLECTIVES_PIPELINE_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* Starts call as a pipeline. HP_OK, or an error with nothing in flight. */
hp_status_t hp_pipeline_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
/* Likewise, around the ranks of start->comm->around, none of which is the root: they hand their values in last, and are handed
 * the result by one other rank. The operation commutes, no module is native, and the nodes are joined by trees. */
hp_status_t hp_pipeline_around_start(const hp_start_t *start, const hp_call_t *call,
                                     const hp_setting_t *setting);
/* See algorithm.h: where one of the modules that it really runs is not of messages alone. */
bool hp_pipeline_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

#endif
