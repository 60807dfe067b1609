/* host_bugs: calls that the host MPI gets wrong by itself. The tests leave them out where the host would run
 * them, and keep them where the library is forced to: there they must work.
 *
 * Threads: any. */
#ifndef HP_TESTS_MPI_HOST_BUGS_H
#define HP_TESTS_MPI_HOST_BUGS_H

#include "typemap.h"

/* MPICH 4.0.2: MPI_Reduce with MPI_IN_PLACE at a root other than 0 and more than 2 KiB copies from the
 * address MPI_IN_PLACE (reduce_scatter_gather). MPICH 5.0.2 and Intel MPI 2021.16: as
 * hp_host_breaks_allreduce. */
bool hp_host_breaks_reduce(const hp_typemap_t *map, int64_t count, int root, bool in_place);

/* A datatype whose first byte is not at its origin is put outside of a scratch buffer: Open MPI 4.1.4
 * and 5.0.11 (ring), MPICH 5.0.2, Intel MPI 2021.16. */
bool hp_host_breaks_allreduce(const hp_typemap_t *map);

/* The same in MPI_Ireduce of the same MPIs and, unlike in its MPI_Reduce, of Open MPI (libnbc). */
bool hp_host_breaks_ireduce(const hp_typemap_t *map);

/* Open MPI 5.0.11, MPI_Ireduce and MPI_Reduce_init of no elements: two null pointers are an error, as the same buffer. */
bool hp_host_refuses_null_reduce(void);

/* Open MPI 4.1.4 and 5.0.11: MPI_Comm_free while a collective is in flight takes the communicator away from under it;
 * libnbc then crashes. Likewise of a persistent one, at its next start. */
bool hp_host_breaks_comm_free(void);

/* MPICH 4.0.2 and 5.0.2, requests of persistent collectives: MPI_Testall reports an error (MPI_ERR_IN_STATUS, but none in
 * any status) for one that has completed, and MPI_Testall, MPI_Testany and MPI_Testsome do not leave an inactive
 * one aside. */
bool hp_host_breaks_persistent(void);

/* Whether the environment forces the library to take the collective ("reduce"): HANPMPI_REDUCE names an
 * algorithm. */
bool hp_lib_forced(const char *collective);

#endif
