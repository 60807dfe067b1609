/* nonblocking: the wrapped non-blocking collectives, MPI_IX and MPI_IX_c.
 *
 * Decided and run as the blocking ones (decision.h, hier/executions/execution.h). They do not wait for other ranks: a
 * communicator that is not set up yet, and a slot of the guard that is still in question, are left to the
 * blocking ones.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the request is
 * complete. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_NONBLOCKING_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_NONBLOCKING_H

#include "pmpi_wrappers/backend/calls/decision.h"

#define HP_COUNT int
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    int hp_mpi_i##name(HP_LIST parameters, MPI_Request *host_request);
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#if HP_HAS_LARGE_COUNT
#define HP_COUNT MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    int hp_mpi_i##name##_c(HP_LIST parameters, MPI_Request *host_request);
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#endif

int hp_mpi_ibarrier(MPI_Comm comm, MPI_Request *host_request);

/* ---- parts of a wrapped collective, for calls/blocks.c ---- */

/* Starts one that is taken; what it needs of the arguments it keeps. Returns an MPI code; the error handler has run then. */
int hp_nonblocking_run(const hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm,
                       MPI_Request *host_request);
/* Behind every call: counts it. Returns code. */
int hp_nonblocking_finish(const hp_ticket_t *ticket, int code);

#endif
