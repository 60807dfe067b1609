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

/* MPICH 4.0.2 (UCX) and 5.0.2 (MPI_Scatter ended the job in one of some hundred runs of the fuzzer), collectives that send a
 * datatype with gaps as it is, in messages that are not eager: they are cut into pieces, of which only whole basics arrive, unless
 * these divide a piece. Likewise MPI_Ibcast's like. bytes: of all that a rank sends or receives. */
bool hp_host_breaks_gaps(const hp_typemap_t *map, int64_t bytes);

/* Open MPI 5.0.11, complex numbers whose distance is no multiple of their bytes, in all but short messages: it rounds the distance down to
 * one. Asked while the program runs, which may have been built with Open MPI 4. */
bool hp_host_breaks_complex(const hp_typemap_t *map);

/* MPICH 5.0.2, MPI_Gather of a datatype with gaps, 4 processes and more: the inner nodes of its binomial tree make a datatype from
 * it that its own messages refuse (MPI_ERR_TYPE), from about 16 KiB in all. bytes: as above. */
bool hp_host_breaks_gather(const hp_typemap_t *map, int64_t bytes);

/* A communicator of one process: Open MPI 4.1.4 takes the displacements of MPI_Alltoallw for extents; MPICH 4.0.2 puts a block of
 * MPI_Allgatherv elsewhere, or hangs, where it is not at displacement 0. */
bool hp_host_breaks_displacement(int comm_size);

/* MPICH 4.0.2 and 5.0.2, MPI_Reduce_scatter in place: the rank's own block must not overlap its new place; 5.0.2 ends the job. */
bool hp_host_breaks_overlap(void);

/* MPI_Allgatherv whose ranks have unlike datatypes, which then take unlike algorithms or pieces: Open MPI 4.1.4 (of the send
 * side's), MPICH 4.0.2 (of the receive side's, beyond 32 KiB). */
bool hp_host_breaks_unlike_allgatherv(int64_t bytes);

/* MPICH 4.0.2, MPI_Reduce_scatter and MPI_Reduce_scatter_block with an operation that does not commute; MPICH 5.0.2 with
 * derived datatypes (a value lands between two elements). */
bool hp_host_breaks_ordered_scatter(hp_operation_t operation);

/* Collectives of blocks and scans that do not block, where the host runs them. Open MPI 4.1.4: MPI_Ialltoallv and MPI_Ialltoallw
 * in place (a message arrives truncated). MPICH 4.0.2: several in flight hang or truncate now and then (MPI_Igather,
 * MPI_Ialltoallw, MPI_Iexscan were seen), and persistent ones copy a rank's own block when they are made, not when
 * they are started. */
bool hp_host_breaks_iblocks(bool in_place);

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
