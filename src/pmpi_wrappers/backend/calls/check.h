/* check: HANPMPI_CHECK=1: the ranks compare the arguments of a collective before it runs.
 *
 * Before each blocking collective, and each MPI_X_init, all ranks of the communicator gather what they are about to do: always by
 * the same MPI_Iallgather, so that a rank in another collective is found, too. Where something differs that MPI wants to be
 * the same, the first rank says who does what, and the call is an error on all ranks. Non-blocking collectives must not wait
 * for other ranks: what they are is compared at the next call that may, as one number. Calls that are wrong by themselves are left out:
 * the host MPI reports them at once, on that rank alone. Of blocks whose sizes are each rank's own (alltoallv, gatherv) no size is
 * compared, of those that differ (allgatherv, reduce_scatter) all together.
 *
 * It is a message of its own, not one that a collective sends anyway: what differs may be which collective that is.
 *
 * Threads: one a communicator (MPI's rule for collectives). Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_CHECK_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_CHECK_H

#include <stdbool.h>
#include "hier/call/collective.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

typedef enum { HP_CHECK_BLOCKING, HP_CHECK_NONBLOCKING, HP_CHECK_PERSISTENT } hp_check_form_t;

/* What a rank is about to do. op: MPI_OP_NULL without a reduction. */
typedef struct {
    hp_collective_t collective;
    hp_check_form_t form;
    const void *send, *recv; /* of a reduction; recv: of a bcast, too */
    int64_t count;
    MPI_Datatype datatype; /* MPI_DATATYPE_NULL: none that is the same everywhere */
    uint64_t block_bytes;  /* of collectives of blocks: what all ranks know of the size */
    MPI_Op op;
    int root;
    MPI_Comm comm;
} hp_check_t;

/* Only with hp_job.knobs.check, on all ranks. Returns an MPI code; the communicator's error handler has run when it is an error. */
int hp_check(const hp_check_t *check);

#endif
