/* host_bugs: calls that the MPI below gets wrong by itself. The tests leave them out where the host would run
 * them, and keep them where the library is forced to: there they must work.
 *
 * Threads: any. */
#ifndef HP_TESTS_MPI_HOST_BUGS_H
#define HP_TESTS_MPI_HOST_BUGS_H

#include "typemap.h"

/* MPICH 4.0.2: MPI_Reduce with MPI_IN_PLACE at a root other than 0 and more than 2 KiB copies from the
 * address MPI_IN_PLACE (reduce_scatter_gather). */
bool hp_host_breaks_reduce(const hp_typemap_t *map, int64_t count, int root, bool in_place);

/* Open MPI 4.1.4: the ring algorithm of MPI_Allreduce puts a datatype whose first byte is not at its origin
 * outside of its scratch buffer. */
bool hp_host_breaks_allreduce(const hp_typemap_t *map);

/* Whether the environment forces the library to take the collective ("reduce"): HANPMPI_REDUCE names an
 * algorithm. */
bool hp_lib_forced(const char *collective);

#endif
