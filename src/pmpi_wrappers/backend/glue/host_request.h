/* host_request: a request of the host MPI that stands for something of ours.
 *
 * It is a generalized request, so everything that takes a request takes it: MPI_Wait and its family, Fortran, code
 * inside the MPI itself (docs/pitfalls.md 19). Whoever waits for it must move our collectives on:
 *   Open MPI            calls the function that opal_progress_register got in every call that makes progress
 *   MPICH, Intel MPI    MPIX_Grequest_start has a function for testing and one for waiting; other calls do not drive it
 *   others              MPI_Grequest_start alone; the calls that we intercept drive it, or the helper thread
 *
 * Threads: any. Ownership: the owner is given back through on_free. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_HOST_REQUEST_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_HOST_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* What such a request stands for: the first member of it. */
typedef struct hp_host_request {
    MPI_Request handle;
    atomic_bool is_complete;
    atomic_int
        held; /* by the MPI, until it is freed, and by us, until it is complete: MPICH does not wait with freeing */
    int error;                                  /* MPI code, once complete */
    bool is_reported;                           /* on_error has run */
    void (*on_error)(struct hp_host_request *); /* whoever waited is told; may be NULL */
    void (*on_free)(struct hp_host_request *);
} hp_host_request_t;

/* Looks for what the MPI offers. find: a symbol of the host MPI. poll: moves on what is in flight, without blocking, and
 * returns whether anything moved (progress.h). */
void hp_host_request_open(hp_find_fn_t find, bool (*poll)(void));
/* Does the MPI call us in all its calls? Else the blocking ones have to be intercepted. */
bool hp_host_request_is_driven(void);

/* From now on something of ours is in flight now and then: the MPI that calls us in its calls does so. */
void hp_host_request_drive(void);

/* Makes request->handle. Returns an MPI code; its error handler has run. */
int hp_host_request_start(hp_host_request_t *request);
/* error: the MPI code that whoever waits gets. */
void hp_host_request_complete(hp_host_request_t *request, int error);

/* Before MPI_Finalize, when nothing is in flight any more. */
void hp_host_request_close(void);

#endif
