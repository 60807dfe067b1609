/* block_flags: collectives of short blocks among the ranks of one node, through the cells of their shared memory (flags.h): who
 * has something for others writes all of it into a cell of its own, once, and everybody reads what is meant for it.
 *
 *      allgather, gather      the own block
 *      alltoall, scatter      the blocks for all ranks
 *      reduce_scatter, scan   the whole vector; the reader reduces, in the order of the ranks: the same bits from run to run
 *
 * Rounds: 1.  Bytes: each value is written once and read once by each reader; there is no message.
 * Constraints: one node, shared memory, a dense type; what a rank writes fits a cell, of which all ranks must know. Other calls are
 * run as exchange.h says.
 *
 * Threads: as comm.h. Ownership: the plan lies in the arena. */
#ifndef HP_HIER_COLLECTIVES_BLOCK_FLAGS_H
#define HP_HIER_COLLECTIVES_BLOCK_FLAGS_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* See algorithm.h. */
hp_status_t hp_block_flags_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
bool hp_block_flags_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

#endif
