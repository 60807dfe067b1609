#include "pmpi_wrappers/backend/glue/host_request.h"

#include <pthread.h>
#include <sched.h>

typedef int (*poll_fn_t)(void *owner, MPI_Status *status);
typedef int (*wait_fn_t)(int count, void **owners, double timeout, MPI_Status *status);
typedef int (*start_with_poll_fn_t)(MPI_Grequest_query_function *, MPI_Grequest_free_function *,
                                    MPI_Grequest_cancel_function *, poll_fn_t, wait_fn_t, void *,
                                    MPI_Request *);
typedef int (*progress_fn_t)(void);

static start_with_poll_fn_t start_with_poll;    /* MPICH, Intel MPI */
static int (*progress_register)(progress_fn_t); /* Open MPI */
static int (*progress_unregister)(progress_fn_t);
static bool is_registered;
static bool (*poll)(void); /* moves on what is in flight */

void hp_host_request_open(hp_find_fn_t find, bool (*progress_poll)(void))
{
    poll = progress_poll;
    progress_register = (int (*)(progress_fn_t))find("opal_progress_register");
    progress_unregister = (int (*)(progress_fn_t))find("opal_progress_unregister");
    if (!progress_unregister)
        progress_register = NULL;
    start_with_poll = (start_with_poll_fn_t)find("PMPIX_Grequest_start");
    if (!start_with_poll)
        start_with_poll = (start_with_poll_fn_t)find("MPIX_Grequest_start");
}

bool hp_host_request_is_driven(void)
{
    return progress_register != NULL;
}

/* The standard leaves source and tag of a collective's status undefined. */
static int query(void *owner, MPI_Status *status)
{
    hp_host_request_t *request = owner;

    P(Status_set_elements)(status, MPI_BYTE, 0);
    P(Status_set_cancelled)(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    if (request->error != MPI_SUCCESS && request->on_error && !request->is_reported) {
        request->is_reported = true;
        request->on_error(request);
    }
    return request->error;
}

static void let_go(hp_host_request_t *request)
{
    if (atomic_fetch_sub_explicit(&request->held, 1, memory_order_acq_rel) == 1)
        request->on_free(request);
}

static int release(void *owner)
{
    let_go(owner);
    return MPI_SUCCESS;
}

/* A collective cannot be cancelled: the standard calls the attempt an error. */
static int cancel(void *owner, int complete)
{
    (void)owner;
    return complete ? MPI_SUCCESS : MPI_ERR_REQUEST;
}

static int poll_all(void *owner, MPI_Status *status)
{
    (void)owner;
    (void)status;
    poll();
    return MPI_SUCCESS;
}

static int wait_for(int count, void **owners, double timeout, MPI_Status *status)
{
    (void)timeout;
    (void)status;
    for (int i = 0; i < count; i++) {
        const hp_host_request_t *request = owners[i];
        while (!atomic_load_explicit(&request->is_complete, memory_order_acquire))
            if (!poll())
                sched_yield();
    }
    return MPI_SUCCESS;
}

static int progress(void)
{
    return poll();
}

static void register_once(void)
{
    is_registered = progress_register(progress) == 0;
}

void hp_host_request_drive(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (progress_register)
        pthread_once(&once, register_once);
}

int hp_host_request_start(hp_host_request_t *request)
{
    atomic_init(&request->is_complete, false);
    atomic_init(&request->held, 2);
    request->error = MPI_SUCCESS;
    request->is_reported = false;
    if (start_with_poll)
        return start_with_poll(query, release, cancel, poll_all, wait_for, request, &request->handle);
    hp_host_request_drive();
    return P(Grequest_start)(query, release, cancel, request, &request->handle);
}

void hp_host_request_complete(hp_host_request_t *request, int error)
{
    request->error = error;
    atomic_store_explicit(&request->is_complete, true, memory_order_release);
    P(Grequest_complete)(request->handle);
    let_go(request);
}

void hp_host_request_close(void)
{
    if (is_registered)
        progress_unregister(progress);
    is_registered = false;
}
