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

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

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
