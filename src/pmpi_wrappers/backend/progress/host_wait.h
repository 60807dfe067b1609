/* host_wait: waits for something of the host MPI, and moves collectives of ours on meanwhile.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_WAIT_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_WAIT_H

#include "event_engine/wait.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* In a flag that a call should have set: it has failed. The code alone does not tell: MPICH 5 returns
 * MPI_SUCCESS where a handler of the program has seen the error. (A request that was to be made is
 * MPI_REQUEST_NULL then, which nobody waits for long.) */
enum { HP_UNSEEN = -1 };

/* Nothing has come: moves ours on, or gives way. */
void hp_host_idle(hp_wait_t *wait);

/* As MPI_Wait. */
int hp_host_wait(MPI_Request *request, MPI_Status *status);

#endif
