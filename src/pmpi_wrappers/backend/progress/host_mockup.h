/* host_mockup: a collective made of the host MPI's other ones (the rows of tuning/mockups.def that are offered).
 *
 * All ranks do the same, with arguments that each may describe in its own way: another datatype, MPI_IN_PLACE, a count that only
 * the root gives. So a mock-up hands the program's own buffers and datatypes on and needs memory for counts alone. Blocks of all
 * ranks together are less than 2 GiB (planning/select.c).
 *
 * Threads: any that may call collectives. Ownership: the program's buffers are borrowed. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_MOCKUP_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_MOCKUP_H

#include "pmpi_wrappers/backend/buffers/block_call.h"

/* Each returns an MPI error code; the error handler has run then. */
/* MPI_Gather, MPI_Scatter, MPI_Alltoall, MPI_Reduce_scatter_block. ranks: of comm. */
int hp_host_mockup(const hp_block_arguments_t *arguments, uint32_t ranks, MPI_Comm comm);
/* rank: the own one in comm. */
int hp_host_mockup_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int rank,
                             MPI_Comm comm);

#endif
