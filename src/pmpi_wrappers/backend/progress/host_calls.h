/* host_calls: calls of the host MPI that wait, while collectives of ours are in flight.
 *
 * Where the MPI does not call us in its own progress (host_request.h), a rank that waits in MPI_Recv would
 * leave ours lying, and the ranks that wait for those. So calls that wait are intercepted there. With nothing
 * in flight they go straight on: a load and a branch. Else they look for what they wait for, move ours on, look
 * again, and end with the host MPI's call, which then finds it; so results, statuses and errors are those of the
 * MPI:
 *
 *      MPI_Send, Ssend, Rsend             MPI_Isend ..., then as MPI_Wait
 *      MPI_Recv                           MPI_Iprobe until the message is there, then MPI_Recv
 *      MPI_Sendrecv, Sendrecv_replace     both
 *      MPI_Probe, Mprobe                  MPI_Iprobe, Improbe
 *      MPI_Wait, Waitany, Waitsome         MPI_Test ...
 *      MPI_Waitall                        MPI_Request_get_status of each, then MPI_Waitall
 *      MPI_Test ..., Iprobe, Improbe, Request_get_status   ours are moved on once
 *      blocking collectives               host_collectives.h
 *
 * So nobody is in the host MPI's wait while a request of ours is incomplete. It may not even hear of one that another thread
 * completes: MPICH 4.0.2 stays in MPI_Wait for a persistent receive (persistent.h) whose message another thread
 * sends meanwhile, and in MPI_Waitall likewise; MPI_Test does see it.
 *
 * MPI_Bsend does not wait for others, MPI_Mrecv only for the sender of a message that is on its way.
 * MPI_Comm_create_group, MPI_Intercomm_create and merge, MPI_Comm_spawn, connect, accept, disconnect,
 * MPI_Win_fence and its siblings, MPI_File_* after MPI_File_open, MPI_Buffer_detach and
 * collectives over an intercommunicator are not intercepted: ours do not move on in
 * them, nor in a call in which another thread was waiting before the first of ours came. A program in which
 * other ranks wait for ours before they come to such a call needs HANPMPI_PROGRESS=thread.
 *
 * What remains different: the error handler sees an error of a request in MPI_Waitall twice, and the query
 * function of a generalized request is called twice there. With MPI_THREAD_MULTIPLE another thread may take the
 * message between MPI_Iprobe and MPI_Recv: there it is MPI_Irecv, and MPICH reports an error in the message to
 * the handler of MPI_COMM_WORLD, as it always does for MPI_Test and MPI_Wait.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_CALLS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_CALLS_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Fills in the rows of host_calls.def. */
void hp_host_calls_open(hp_find_fn_t find, hp_function_t *wrapped);

#endif
