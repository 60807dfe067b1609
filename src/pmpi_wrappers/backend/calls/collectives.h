/* collectives: the wrapped collectives, MPI_X and MPI_X_c.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the
 * call returns. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

int hp_mpi_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int hp_mpi_reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm);
int hp_mpi_allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm);
int hp_mpi_barrier(MPI_Comm comm);
#if HP_HAS_LARGE_COUNT
int hp_mpi_bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm);
int hp_mpi_reduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm);
int hp_mpi_allreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm);
#endif

#endif
