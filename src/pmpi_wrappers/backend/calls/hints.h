/* hints: the wrapped functions that carry an info: settings of a communicator (include/hanpmpi/hanpmpi.h lists the keys).
 *
 * Threads: as MPI_Comm_set_info, one thread a communicator. Ownership: the hints live in the communicator's
 * state. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_HINTS_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_HINTS_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

int hp_mpi_comm_set_info(MPI_Comm comm, MPI_Info info);
int hp_mpi_comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *duplicate);

#endif
