#include "pmpi_wrappers/backend/transport_mpi.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/clock.h"
#include "pmpi_wrappers/backend/machine.h"

/* Requests that one poll tests: more cost time that other ranks wait for. */
enum { TEST_MAX = 64 };
/* Tag of a rank's message to itself, above the tags of hp_comm_tag. */
enum { SELF_TAG = 32767 };
/* How long cancel waits for sends that the MPI below will not cancel, before it lets go of them. */
static const uint64_t cancel_wait_ns = 1000000000u;

static hp_transport_mpi_t *self(hp_transport_t *transport)
{
    return (hp_transport_mpi_t *)transport;
}

static hp_status_t check(hp_transport_mpi_t *t, int code)
{
    if (code == MPI_SUCCESS)
        return HP_OK;
    if (t->mpi_error == MPI_SUCCESS)
        t->mpi_error = code;
    return HP_ERR_TRANSPORT;
}

static hp_status_t reserve(hp_transport_mpi_t *t)
{
    if (t->in_flight < t->capacity)
        return HP_OK;
    int capacity = t->capacity ? 2 * t->capacity : 32;
    MPI_Request *requests = realloc(t->requests, (size_t)capacity * sizeof *requests);
    if (requests)
        t->requests = requests;
    void **cookies = realloc(t->cookies, (size_t)capacity * sizeof *cookies);
    if (cookies)
        t->cookies = cookies;
    unsigned char *is_recv = realloc(t->is_recv, (size_t)capacity);
    if (is_recv)
        t->is_recv = is_recv;
    if (!requests || !cookies || !is_recv)
        return HP_ERR_NO_MEM;
    t->capacity = capacity;
    return HP_OK;
}

static void started(hp_transport_mpi_t *t, void *cookie, bool is_recv)
{
    t->cookies[t->in_flight] = cookie;
    t->is_recv[t->in_flight] = is_recv;
    t->in_flight++;
}

static hp_status_t transport_isend(hp_transport_t *transport, const void *buffer, size_t count,
                                   const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    hp_transport_mpi_t *t = self(transport);
    hp_status_t status = reserve(t);
    if (status == HP_OK)
        status = check(t, P(Isend)(buffer, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle), (int)peer,
                                   (int)tag, t->comm, &t->requests[t->in_flight]));
    if (status == HP_OK)
        started(t, cookie, false);
    return status;
}

static hp_status_t transport_irecv(hp_transport_t *transport, void *buffer, size_t count,
                                   const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    hp_transport_mpi_t *t = self(transport);
    hp_status_t status = reserve(t);
    if (status == HP_OK)
        status = check(t, P(Irecv)(buffer, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle), (int)peer,
                                   (int)tag, t->comm, &t->requests[t->in_flight]));
    if (status == HP_OK)
        started(t, cookie, true);
    return status;
}

/* Closes the holes that completed operations left in [from, in_flight). */
static void compact(hp_transport_mpi_t *t, int from)
{
    int kept = from;
    for (int i = from; i < t->in_flight; i++) {
        if (!t->cookies[i])
            continue;
        t->requests[kept] = t->requests[i];
        t->cookies[kept] = t->cookies[i];
        t->is_recv[kept] = t->is_recv[i];
        kept++;
    }
    t->in_flight = kept;
}

static hp_status_t transport_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    hp_transport_mpi_t *t = self(transport);
    int indices[TEST_MAX], completed = 0;
    MPI_Status statuses[TEST_MAX];
    hp_status_t status = HP_OK;

    *count = 0;
    if (t->in_flight == 0)
        return HP_OK;
    int window = capacity < TEST_MAX ? (int)capacity : TEST_MAX;
    int first = t->in_flight <= window || t->next_window >= t->in_flight ? 0 : t->next_window;
    if (window > t->in_flight - first)
        window = t->in_flight - first;
    t->next_window = first + window;

    int code = P(Testsome)(window, t->requests + first, &completed, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return check(t, code);
    if (completed == MPI_UNDEFINED || completed == 0)
        return HP_OK;
    int lowest = t->in_flight;
    for (int i = 0; i < completed; i++) {
        int index = first + indices[i];
        if (code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_SUCCESS)
            status = check(t, statuses[i].MPI_ERROR);
        done[(*count)++] = t->cookies[index];
        t->cookies[index] = NULL;
        if (index < lowest)
            lowest = index;
    }
    compact(t, lowest);
    return status;
}

/* Waits for all that is in flight: what lies beyond a window may be what everything else waits for. Then
 * takes what has completed besides. */
static hp_status_t transport_wait(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    hp_transport_mpi_t *t = self(transport);
    uint32_t others = 0;
    int index;

    *count = 0;
    if (t->in_flight == 0)
        return HP_OK;
    hp_status_t status = check(t, P(Waitany)(t->in_flight, t->requests, &index, MPI_STATUS_IGNORE));
    if (status != HP_OK || index == MPI_UNDEFINED)
        return status;
    done[0] = t->cookies[index];
    t->cookies[index] = NULL;
    compact(t, index);
    status = transport_poll(transport, done + 1, capacity - 1, &others);
    *count = 1 + others;
    return status;
}

static void transport_cancel(hp_transport_t *transport)
{
    hp_transport_mpi_t *t = self(transport);
    /* Nothing moves on while a rank polls whose turn it is. */
    const uint64_t deadline = hp_clock_ns() + (hp_ranks_take_turns ? 0 : cancel_wait_ns);

    for (int i = 0; i < t->in_flight; i++) {
        int complete = 0;
        if (t->is_recv[i]) {
            P(Cancel)(&t->requests[i]);
            P(Wait)(&t->requests[i], MPI_STATUS_IGNORE);
            continue;
        }
        do
            P(Test)(&t->requests[i], &complete, MPI_STATUS_IGNORE);
        while (!complete && hp_clock_ns() < deadline);
        if (!complete)
            P(Request_free)(&t->requests[i]);
    }
    t->in_flight = 0;
}

static hp_status_t transport_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                                    const hp_type_t *type, hp_handle_t op)
{
    return check(self(transport),
                 P(Reduce_local)(in, inout, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle),
                                 HP_UNHANDLE(MPI_Op, op)));
}

static hp_status_t transport_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                                  const hp_type_t *type)
{
    hp_transport_mpi_t *t = self(transport);
    if (hp_type_is_dense(type)) {
        memcpy(to, from, count * type->bytes);
        return HP_OK;
    }
    MPI_Datatype handle = HP_UNHANDLE(MPI_Datatype, type->handle);
    return check(t, P(Sendrecv)(from, (int)count, handle, t->rank, SELF_TAG, to, (int)count, handle, t->rank,
                                SELF_TAG, t->comm, MPI_STATUS_IGNORE));
}

#define OPS(blocking_wait)                                                                                   \
    {                                                                                                        \
        .isend = transport_isend, .irecv = transport_irecv, .poll = transport_poll, .wait = (blocking_wait), \
        .cancel = transport_cancel, .reduce = transport_reduce, .copy = transport_copy,                      \
    }
static const hp_transport_ops_t polling_ops = OPS(NULL), blocking_ops = OPS(transport_wait);

void hp_transport_mpi_init(hp_transport_mpi_t *transport, MPI_Comm comm, int rank)
{
    *transport = (hp_transport_mpi_t){.base = {.ops = hp_ranks_take_turns ? &blocking_ops : &polling_ops},
                                      .comm = comm,
                                      .rank = rank,
                                      .mpi_error = MPI_SUCCESS};
}

void hp_transport_mpi_fini(hp_transport_mpi_t *transport)
{
    free(transport->requests);
    free(transport->cookies);
    free(transport->is_recv);
}
