/* flags: collectives of short messages among the ranks of one node, straight through the cells of their
 * shared memory: a flag and the payload behind it, written by one rank and read by the others.
 *
 *      bcast      parent: payload, flag                      others: wait, copy out, and on to the children
 *      reduce     child: payload, flag -> parent             parent: reduce in the order of the tree
 *      allreduce  few ranks: everybody writes, everybody reduces all in the same order; else reduce, bcast
 *      barrier    likewise, without payload
 *
 * The tree is that of the levels within the node: on each, the leaders of the level below talk to the leader of
 * the group (XHC's hierarchy: G. Katevenis, M. Ploumidis, M. Marazakis, 2022). One step of the node's memory;
 * a cell is used again HP_CELLS steps later, when everybody has finished that step (DONE). Rounds: levels
 * within the node, times 2 for allreduce and barrier of many ranks. Bytes: the message once a rank and
 * direction. Constraints: one node, shared memory, a dense type, at most a cell's payload; operands in rank
 * order only where the hierarchy keeps it. Other calls are run by the pipeline.
 *
 * Threads: as comm.h. Ownership: the plan lies in the request. */
#ifndef HP_HIER_COLLECTIVES_FLAGS_H
#define HP_HIER_COLLECTIVES_FLAGS_H

#include <stdbool.h>
#include "event_engine/mem/node_memory.h"
#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* The longest message. */
enum { HP_FLAGS_BYTES_MAX = 16384 };
_Static_assert(HP_FLAGS_BYTES_MAX <= sizeof((hp_cell_t *)0)->payload, "a message fits a cell");

/* Starts call. HP_OK, or an error with nothing in flight. */
hp_status_t hp_flags_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
/* See algorithm.h. */
bool hp_flags_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

/* In an allreduce or a barrier: does everybody read everybody's cell, in one round instead of two? */
bool hp_flags_exchange(uint32_t ranks, size_t bytes);

#endif
