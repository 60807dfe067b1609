/* block_copies: collectives of blocks among the ranks of one node, each of which reads what is its own straight from the memory of its
 * peers (process_vm_readv; a single copy). Who has something for others writes into a cell (cells.h) where it lies and how
 * long it is, for each of them; or the blocks themselves, where all of them fit: its own business, of which nobody else has to know.
 *
 * In a gather it is the root that writes where there is room for whom, and the others write to its memory, all at a time.
 *
 *      writer   cell: where and how long | ...                    | wait until those that copy have done so
 *      reader   ...                      | each that has come: copy | DONE
 *
 * A block that is empty costs nothing: neither side waits for the other. What is reduced is read piece by piece, all ranks'
 * in their order while the piece is in the cache: the same bits from run to run.
 *
 * Rounds: 1.  Bytes: each block is copied once.
 * Constraints: one node, shared memory, processes that may read each other's memory, a dense type, an entry for each rank fits a cell; no
 * scan, in which the last rank would read all. Other calls are run as exchange.h says.
 *
 * Threads: as comm.h. Ownership: the plan lies in the arena. */
#ifndef HP_HIER_COLLECTIVES_BLOCK_COPIES_H
#define HP_HIER_COLLECTIVES_BLOCK_COPIES_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* See algorithm.h. */
hp_status_t hp_block_copies_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting);
bool hp_block_copies_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting);

#endif
