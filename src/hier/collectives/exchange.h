/* exchange: a collective of blocks (allgather, alltoall, reduce_scatter, gather, scatter, scan), or a short allreduce: messages among all ranks, as a
 * schedule says (schedule/schedule.h). One graph of tasks: a task starts when what it needs is there, and of the
 * steps of the schedule only so many have messages under way (HANPMPI_MESSAGES), so that no receiver is flooded. Equal blocks
 * that are reduced through the nodes go in slices of HANPMPI_SEGMENT_BYTES, a segment each; other collectives are one segment.
 *
 *      flat   every rank for itself, in the order of the ranks
 *      han    through the nodes: what leaves a node is put together there first (schedule/two_level.h)
 *
 * Which schedule: hier/blocks/generator.h.
 * Of blocks whose sizes each rank knows for itself those up to a length that all ranks know may be carried on by others, in rows
 * (hp_call_t.row), as if they had that length; the others go straight from rank to rank meanwhile. (Padded Bruck: K. Fan,
 * T. Gilray, V. Pascucci, X. Huang, K. Micinski, S. Kumar, Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication, HPDC
 * 2022; there all blocks are made as long as the longest.)
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

/* Would ranks carry others' blocks, if the call were in rows (call->row; its collective, root and row count)? through_nodes: by the
 * second of the algorithms. The same on all ranks. */
bool hp_exchange_carries(const hp_comm_t *comm, const hp_call_t *call, bool through_nodes,
                         const hp_setting_t *setting);

#endif
