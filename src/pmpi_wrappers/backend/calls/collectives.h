/* collectives: the wrapped collectives, MPI_X and MPI_X_c.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the
 * call returns. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_COLLECTIVES_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"

#define HP_COUNT                                         int
#define HP_COLLECTIVE(name, host, parameters, arguments) int hp_mpi_##name parameters;
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#if HP_HAS_LARGE_COUNT
#define HP_COUNT                                         MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments) int hp_mpi_##name##_c parameters;
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#endif

int hp_mpi_barrier(MPI_Comm comm);

#endif
