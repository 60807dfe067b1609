/* hints: per-communicator settings through info keys (include/hanpmpi/hanpmpi.h lists them).
 *
 * Threads: as MPI_Comm_set_info, one thread a communicator. Ownership: the hints live in the communicator's
 * state. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_HINTS_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_HINTS_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Reads the hints of info on rank 0 of comm and applies them on all ranks. Collective over comm (the MPI
 * functions that carry an info are too), so the ranks cannot disagree, even when the program gives them
 * different infos. Returns an MPI error code; the communicator's error handler has run then. */
int hp_hints_apply(MPI_Comm comm, MPI_Info info);

#endif
