/* smpi_trace: the sequence as a time-independent trace of SimGrid's SMPI: an index, and a file of actions for each
 * rank.
 *
 *   gaps                     compute, flops: seconds times the speed of a host of the recording
 *   collectives of all ranks the action of that name; reduce_scatter_block: reducescatter; alltoallw: alltoallv
 *   on other communicators   messages, for actions know MPI_COMM_WORLD alone: binomial trees for bcast, reduce and
 *                            allreduce, a dissemination barrier, direct messages for those of blocks. Scans are that always.
 *   non-blocking ones        blocking, where they were started: actions know no others
 *
 * All types are bytes (`init` without a number); a reduction computes a flop an element. Written for SimGrid 3.32,
 * whose counts are ints.
 *
 * Threads: one, rank 0's. Ownership: borrows the plan. */
#ifndef HP_REPLAY_SMPI_TRACE_H
#define HP_REPLAY_SMPI_TRACE_H

#include "match.h"

/* Makes the folder, writes `index` and rank-N.txt into it, and says how to go on. false: it could not, and why was
 * said. */
bool replay_smpi_write(const replay_plan_t *plan, const char *folder, double flops);

#endif
