/* host_collectives: blocking collectives of the host MPI, while non-blocking ones of ours are in flight.
 *
 * Where the MPI does not call us in its own progress (host_request.h), a rank that blocks in, say,
 * MPI_Allgather cannot move ours on, and another rank may wait for one of ours before it comes to that
 * MPI_Allgather: a deadlock. So there no rank goes in before all ranks of the communicator are about to: an
 * MPI_Ibarrier goes before, and ours move on until it is done. Behind it the collective needs nobody but those
 * who are in it.
 *
 * Either all ranks do that or none: an MPI_Ibarrier does not match an MPI_Barrier, nor nothing at all. It costs a barrier, so
 * programs without non-blocking collectives shall not pay for it: calls/agreement.h says how the ranks agree on it.
 *
 * Threads: any that may call collectives. Ownership: none. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_COLLECTIVES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_COLLECTIVES_H

#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Blocking collectives of the host MPI begin with hp_host_collective_enter. The same on all ranks. */
extern bool hp_host_collectives_enter;

/* Waits until all ranks of the communicator have come, moving ours on; *entered, unless NULL, says whether it
 * did: not over communicators of one rank, of two groups, or with ranks of other jobs. Returns an MPI error
 * code; the error handler has run then. */
int hp_host_collective_enter(MPI_Comm comm, bool *entered);

/* Before every blocking collective of the host MPI, which is called only if this is a success. Returns as above. */
static inline int hp_host_collective_begin(MPI_Comm comm)
{
    return hp_host_collectives_enter ? hp_host_collective_enter(comm, NULL) : MPI_SUCCESS;
}

/* MPI_Barrier of the host MPI, which entering replaces. */
int hp_host_barrier(MPI_Comm comm);

#endif
