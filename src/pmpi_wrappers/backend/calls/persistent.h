/* persistent: the wrapped persistent collectives, MPI_X_init and MPI_X_init_c, and what starts and frees them.
 *
 * Matching. The standard has all ranks make them in one order, but lets each rank start them in an order of its own. The
 * library finds by order what belongs together (tags, the node's memory, who runs alone), so each persistent collective
 * has a communicator to itself, its channel: there, the n-th start is the n-th start on all ranks. A channel is made in
 * MPI_X_init, which may wait for the other ranks, costs milliseconds and two context ids, counts towards
 * HANPMPI_MAX_COMMS, and goes to a later collective of the same communicator once all ranks have freed the one before.
 * With MPI_THREAD_MULTIPLE, where none may be made then, a channel is a state of its own whose messages have a block of tags
 * on the shared communicator (comms/shared_comm.h), and returns it when it is freed.
 *
 * Request. A generalized request cannot be started again. The program gets a persistent receive of a message from this
 * rank to itself, which the library sends when the collective is done. So it is the host MPI's request, and everything
 * that takes one takes it, but it is started here (MPI_Start, MPI_Startall).
 *
 * Decision. As a non-blocking collective on its communicator would be decided, in MPI_X_init, for good: what happens on
 * the communicator later may come before a start on one rank, and behind it on another. It sets the communicator up,
 * and has the ranks agree (host_collectives.h), if need be.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: this file owns channels and what stands behind requests;
 * the program's buffers are borrowed until MPI_Request_free. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_PERSISTENT_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_PERSISTENT_H

#include "pmpi_wrappers/backend/calls/decision.h"

#define HP_COUNT int
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    int hp_mpi_##name##_init(HP_LIST parameters, MPI_Info info, MPI_Request *host_request);
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#define HP_COUNT MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    int hp_mpi_##name##_init_c(HP_LIST parameters, MPI_Info info, MPI_Request *host_request);
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT

int hp_mpi_barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *host_request);
int hp_mpi_start(MPI_Request *host_request);
int hp_mpi_startall(int count, MPI_Request *host_requests);
int hp_mpi_request_free(MPI_Request *host_request);

/* In MPI_Finalize, behind hp_comm_states_fini. */
void hp_persistent_fini(void);

/* ---- parts of a wrapped collective, for calls/blocks.c ---- */

/* Makes one that is taken; what it needs of the arguments it keeps. Where some rank lacks something, ticket->outcome says so, on all
 * ranks. Returns an MPI code; the error handler has run then. */
int hp_persistent_make(hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm,
                       MPI_Request *host_request);
/* Counts what is not made; what is, is counted at its starts. Is it the host MPI's? */
bool hp_persistent_passes(const hp_ticket_t *ticket);

#endif
