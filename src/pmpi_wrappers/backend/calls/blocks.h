/* blocks: the wrapped collectives of blocks, in all forms: MPI_X, MPI_IX, MPI_X_init, and X_c of each.
 *
 * Threads: any, as the MPI's thread level allows. Ownership: the program's buffers are borrowed until the call is complete. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_BLOCKS_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_BLOCKS_H

#include "pmpi_wrappers/backend/buffers/block_call.h"

#define HP_BLOCKS(id, name, host, parameters, arguments, ...)                                                \
    int hp_mpi_##name parameters;                                                                            \
    int hp_mpi_i##name(HP_LIST parameters, MPI_Request *request);                                            \
    int hp_mpi_##name##_init(HP_LIST parameters, MPI_Info info, MPI_Request *request);
#define HP_COUNT        int
#define HP_DISPLACEMENT int
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
#undef HP_COUNT
#undef HP_DISPLACEMENT
#define HP_BLOCKS(id, name, host, parameters, arguments, ...)                                                \
    int hp_mpi_##name##_c parameters;                                                                        \
    int hp_mpi_i##name##_c(HP_LIST parameters, MPI_Request *request);                                        \
    int hp_mpi_##name##_init_c(HP_LIST parameters, MPI_Info info, MPI_Request *request);
#define HP_COUNT        MPI_Count
#define HP_DISPLACEMENT MPI_Aint
#include "pmpi_wrappers/backend/calls/block_collectives.def"
#undef HP_BLOCKS
#undef HP_COUNT
#undef HP_DISPLACEMENT

#endif
