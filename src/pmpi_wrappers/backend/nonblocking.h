/* nonblocking: the wrapped non-blocking collectives, MPI_IX and MPI_IX_c.
 *
 * Decided and run as the blocking ones (decision.h, hier/execution.h). They do not wait for other ranks: a
 * communicator that is not set up yet, and a slot of the guard that is still in question, are left to the
 * blocking ones.
 *
 * Persistent collectives (MPI_Bcast_init ...) stay with the MPI below. The standard has all ranks make them in
 * one order, but lets each rank start them in an order of its own. Here what belongs together is found by
 * order: the tags of a collective by how many were called on its communicator before it, the steps of the
 * node's memory likewise, and what runs alone waits for what came before. So each persistent operation would
 * need a communicator of its own below, with node memory of its own: a set-up of milliseconds and a context id
 * each, of which MPICH has about 2048 and the library takes at most HANPMPI_MAX_COMMS. The request would be a
 * second matter: a generalized one cannot be started again.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the request is
 * complete. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_NONBLOCKING_H
#define HP_PMPI_WRAPPERS_BACKEND_NONBLOCKING_H

#include "pmpi_wrappers/backend/mpi_glue.h"

int hp_mpi_ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request *request);
int hp_mpi_ireduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root,
                   MPI_Comm comm, MPI_Request *request);
int hp_mpi_iallreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Request *request);
int hp_mpi_ibarrier(MPI_Comm comm, MPI_Request *request);
int hp_mpi_ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Request *request);
int hp_mpi_ireduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     int root, MPI_Comm comm, MPI_Request *request);
int hp_mpi_iallreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Request *request);

#endif
