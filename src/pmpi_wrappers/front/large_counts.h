/* large_counts: MPI_X_c over a host MPI that has only MPI_X.
 *
 * We export MPI_X_c whether or not the host MPI has it, and a program that looks for the symbol (mpi4py does)
 * then calls it. So where it is missing a count that fits is handed to MPI_X.
 *
 * Threads: any. Ownership: nothing is kept but the host. */
#ifndef HP_PMPI_WRAPPERS_FRONT_LARGE_COUNTS_H
#define HP_PMPI_WRAPPERS_FRONT_LARGE_COUNTS_H

#include "pmpi_wrappers/front/host_mpi.h"

/* What stands in for a wrapped function that the host MPI lacks; NULL: nothing, it is no MPI_X_c. host is
 * borrowed for good. */
hp_function_t hp_large_counts_function(hp_wrapped_t which, const hp_host_mpi_t *host);

#endif
