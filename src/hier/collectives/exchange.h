/* exchange: a collective of blocks (allgather, alltoall, reduce_scatter, gather, scatter, scan): messages among all ranks, as a
 * schedule says (schedule/schedule.h). One graph of tasks, no segments: a task starts when what it needs is there, and of the
 * steps of the schedule only so many have messages under way (HANPMPI_MESSAGES), so that no receiver is flooded.
 *
 *      flat   every rank for itself, in the order of the ranks
 *      han    through the nodes: what leaves a node is put together there first (schedule/two_level.h)
 *
 * Which schedule: the setting's way to join nodes (call/inter_node.h) where it can do the collective among so many, else for
 * gather and scatter the tree of the level's shape, and for the others a usual one.
 * Where blocks differ in size a schedule is used only if each rank knows the sizes of what it sends and receives.
 *
 * Threads: as comm.h. Ownership: everything lies in start->arena until the collective is done. */
#ifndef HP_HIER_COLLECTIVES_EXCHANGE_H
#define HP_HIER_COLLECTIVES_EXCHANGE_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* See algorithm.h. */
hp_status_t hp_exchange_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
bool hp_exchange_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);
hp_status_t hp_exchange_nodes_start(const hp_start_t *start, const hp_call_t *call,
                                    const hp_setting_t *setting);
bool hp_exchange_nodes_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

#endif
