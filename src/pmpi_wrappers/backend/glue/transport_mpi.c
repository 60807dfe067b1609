#include "pmpi_wrappers/backend/glue/transport_mpi.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/clock.h"
#include "pmpi_wrappers/backend/glue/machine.h"

/* Tag of a rank's message to itself, above the tags of hp_start_tag. */
enum { SELF_TAG = 32767 };
/* Of a message that there never is. */
enum { NUDGE_TAG = 32766 };
/* Tags with which communicators of teams are made. */
enum { TEAM_TAG = 32600 };
/* Up to this a message may take one of Open MPI's small fragments (btl_vader_max_inline_send). */
enum { SMALL_BYTES = 256 };
/* What is in flight. A collective can be neither cancelled nor freed. */
enum { SEND, RECV, COLLECTIVE };
/* How long cancel waits for what the host MPI does not cancel, before it lets that go on by itself. */
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
    unsigned char *kind = realloc(t->kind, (size_t)capacity);
    if (kind)
        t->kind = kind;
    if (!requests || !cookies || !kind)
        return HP_ERR_NO_MEM;
    t->capacity = capacity;
    return HP_OK;
}

static void started(hp_transport_mpi_t *t, void *cookie, unsigned char kind)
{
    t->cookies[t->in_flight] = cookie;
    t->kind[t->in_flight] = kind;
    t->in_flight++;
}

static hp_status_t transport_isend(hp_transport_t *transport, const void *buffer, size_t count,
                                   const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    hp_transport_mpi_t *t = self(transport);
    hp_status_t status = reserve(t);
    if (status == HP_OK)
        status = check(t, P(Isend)(buffer, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle),
                                   hp_route_rank(&t->route, (int)peer),
                                   hp_route_send_tag(&t->route, (int)peer, (int)tag), t->route.comm,
                                   &t->requests[t->in_flight]));
    if (status == HP_OK)
        started(t, cookie, SEND);
    if (count * type->bytes <= SMALL_BYTES)
        t->small_sends++;
    return status;
}

static hp_status_t transport_irecv(hp_transport_t *transport, void *buffer, size_t count,
                                   const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    hp_transport_mpi_t *t = self(transport);
    hp_status_t status = reserve(t);
    if (status == HP_OK)
        status =
            check(t, P(Irecv)(buffer, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle),
                              hp_route_rank(&t->route, (int)peer), hp_route_recv_tag(&t->route, (int)tag),
                              t->route.comm, &t->requests[t->in_flight]));
    if (status == HP_OK)
        started(t, cookie, RECV);
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
        t->kind[kept] = t->kind[i];
        kept++;
    }
    t->in_flight = kept;
}

/* Looks for a message that nobody sends: a probe that finds one (of a collective to come, say) returns at once,
 * and moves nothing. */
static void transport_nudge(hp_transport_t *transport)
{
    hp_transport_mpi_t *t = self(transport);
    int found;
    P(Iprobe)
    (t->route.self.rank, hp_route_recv_tag(&t->route, NUDGE_TAG), t->route.comm, &found, MPI_STATUS_IGNORE);
}

enum { SENDS_PER_LOOK = 16 };

/* Open MPI 4.1.4 has 512 small fragments, for messages with gaps and for what a full box has no room for. Those that have
 * arrived come back only while it makes progress, 31 at a time, and neither a send that is complete at once makes any, nor
 * a test that finds it complete. When none is left, the acknowledgement of a large message is put aside and looked at again
 * only when some control message completes (mca_pml_ob1_process_pending_packets). There may be none: then both ends of
 * the large message, which may be the program's or a collective of the host MPI, wait for ever. docs/pitfalls.md 51. */
static void take_fragments_back(hp_transport_mpi_t *t)
{
#ifdef OPEN_MPI
    for (; t->small_sends >= SENDS_PER_LOOK; t->small_sends -= SENDS_PER_LOOK)
        transport_nudge(&t->base);
#else
    (void)t;
#endif
}

static hp_status_t transport_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    hp_transport_mpi_t *t = self(transport);
    int indices[HP_TRANSPORT_MPI_TESTED], completed = 0;
    MPI_Status statuses[HP_TRANSPORT_MPI_TESTED];
    hp_status_t status = HP_OK;

    *count = 0;
    if (t->in_flight == 0)
        return HP_OK;
    take_fragments_back(t);
    int window = capacity < HP_TRANSPORT_MPI_TESTED ? (int)capacity : HP_TRANSPORT_MPI_TESTED;
    int first = t->in_flight <= window || t->next_window >= t->in_flight ? 0 : t->next_window;
    if (window > t->in_flight - first)
        window = t->in_flight - first;
    t->next_window = first + window;

    int code = P(Testsome)(window, t->requests + first, &completed, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return check(t, code);
    if (completed ==
        0) /* that was a look, too; one more would cost a busy rank its core, where the host MPI yields in it */
        t->small_sends -= t->small_sends < SENDS_PER_LOOK ? t->small_sends : SENDS_PER_LOOK;
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

static bool is_over(MPI_Request *request)
{
    int complete = 0;
    P(Test)(request, &complete, MPI_STATUS_IGNORE);
    return complete || *request == MPI_REQUEST_NULL;
}

/* Gives the operation until the deadline to end; then it goes on in t->given_up. */
static void give_up(hp_transport_mpi_t *t, int i, uint64_t deadline_ns)
{
    bool over;

    do
        over = is_over(&t->requests[i]);
    while (!over && hp_clock_ns() < deadline_ns);
    if (over)
        return;
    hp_given_up_t *given_up = realloc(t->given_up, ((size_t)t->given_up_count + 1) * sizeof *given_up);
    if (!given_up) {
        t->is_out_of_sight = true;
        return;
    }
    t->given_up = given_up;
    t->given_up[t->given_up_count++] = (hp_given_up_t){t->requests[i], t->kind[i]};
}

/* The newest receive first: with an older one gone, the message it was for would match a newer one, be too
 * long for it, or end in another segment's place. (Open MPI 4.1 writes such a message past the end of the
 * buffer.) Then the sends, when no message can reach a buffer of ours any more. A receive ends at once, unless its
 * message is already under way; then its sender decides when. */
static void transport_cancel(hp_transport_t *transport)
{
    hp_transport_mpi_t *t = self(transport);
    /* Nothing moves on while a rank polls and no other may run. */
    const uint64_t deadline_ns = hp_ranks_take_turns ? 0 : hp_clock_ns() + cancel_wait_ns;

    for (int i = t->in_flight - 1; i >= 0; i--)
        if (t->kind[i] == RECV) {
            P(Cancel)(&t->requests[i]);
            give_up(t, i, deadline_ns);
        }
    for (int i = 0; i < t->in_flight; i++)
        if (t->kind[i] != RECV)
            give_up(t, i, deadline_ns);
    t->in_flight = 0;
}

static bool transport_ended(hp_transport_t *transport)
{
    /* Asked by who has locked the communicator, and by a call that is over and has not. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    hp_transport_mpi_t *t = self(transport);
    int kept = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < t->given_up_count; i++)
        if (!is_over(&t->given_up[i].request))
            t->given_up[kept++] = t->given_up[i];
    t->given_up_count = kept;
    pthread_mutex_unlock(&lock);
    return kept == 0 && !t->is_out_of_sight;
}

static hp_status_t transport_team_comm(hp_transport_t *transport, const uint32_t *ranks, uint32_t count,
                                       uint32_t number, hp_handle_t *comm)
{
    hp_transport_mpi_t *t = self(transport);
    MPI_Group all, team;
    MPI_Comm made = MPI_COMM_NULL;

    MPI_Comm *teams = realloc(t->teams, ((size_t)t->team_count + 1) * sizeof *teams);
    if (!teams)
        return HP_ERR_NO_MEM;
    t->teams = teams;
    hp_status_t status = check(t, P(Comm_group)(t->route.comm, &all));
    if (status != HP_OK)
        return status;
    status = check(t, P(Group_incl)(all, (int)count, (const int *)ranks, &team));
    if (status == HP_OK) {
        status = check(t, P(Comm_create_group)(t->route.comm, team, (int)(TEAM_TAG + number), &made));
        P(Group_free)(&team);
    }
    P(Group_free)(&all);
    if (status != HP_OK)
        return status;
    P(Comm_set_errhandler)(made, MPI_ERRORS_RETURN);
    t->teams[t->team_count++] = made;
    *comm = HP_HANDLE(made);
    return HP_OK;
}

static hp_status_t transport_icollective(hp_transport_t *transport, hp_native_t what, hp_handle_t handle,
                                         const void *from, void *to, size_t count, const hp_type_t *type,
                                         hp_handle_t op, uint32_t root, void *cookie)
{
    hp_transport_mpi_t *t = self(transport);
    const MPI_Comm comm = HP_UNHANDLE(MPI_Comm, handle);
    const MPI_Datatype datatype = HP_UNHANDLE(MPI_Datatype, type->handle);
    hp_status_t status = reserve(t);
    if (status != HP_OK)
        return status;
    MPI_Request *request = &t->requests[t->in_flight];
    int rank = 0, code = MPI_SUCCESS;
    switch (what) {
    case HP_NATIVE_BCAST:
        code = P(Ibcast)(to, (int)count, datatype, (int)root, comm, request);
        break;
    case HP_NATIVE_REDUCE:
        P(Comm_rank)(comm, &rank);
        if (rank == (int)root && from == to)
            from = MPI_IN_PLACE;
        code = P(Ireduce)(from, to, (int)count, datatype, HP_UNHANDLE(MPI_Op, op), (int)root, comm, request);
        break;
    case HP_NATIVE_ALLREDUCE:
        code = P(Iallreduce)(from == to ? MPI_IN_PLACE : from, to, (int)count, datatype,
                             HP_UNHANDLE(MPI_Op, op), comm, request);
        break;
    case HP_NATIVE_BARRIER:
        code = P(Ibarrier)(comm, request);
        break;
    }
    status = check(t, code);
    if (status == HP_OK)
        started(t, cookie, COLLECTIVE);
    return status;
}

static hp_status_t transport_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                                    const hp_type_t *type, hp_handle_t op)
{
    return check(self(transport),
                 P(Reduce_local)(in, inout, (int)count, HP_UNHANDLE(MPI_Datatype, type->handle),
                                 HP_UNHANDLE(MPI_Op, op)));
}

enum { COPY_MOST = 1 << 30 }; /* elements at a time: an MPI counts in int */

static hp_status_t transport_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                                  const hp_type_t *type)
{
    hp_transport_mpi_t *t = self(transport);
    if (hp_type_is_dense(type)) {
        memcpy(to, from, count * type->bytes);
        return HP_OK;
    }
    const MPI_Datatype handle = HP_UNHANDLE(MPI_Datatype, type->handle);
    const int self_rank = t->route.self.rank, tag = hp_route_recv_tag(&t->route, SELF_TAG);
    hp_status_t status = HP_OK;
    for (size_t done = 0; done < count && status == HP_OK;) {
        const int part = count - done < COPY_MOST ? (int)(count - done) : COPY_MOST;
        const int64_t at = (int64_t)done * type->extent;
        status = check(t, P(Sendrecv)((const char *)from + at, part, handle, self_rank, tag, (char *)to + at,
                                      part, handle, self_rank, tag, t->route.comm, MPI_STATUS_IGNORE));
        done += (size_t)part;
    }
    return status;
}

#define OPS(blocking_wait, comm_of_team, collective_of_team)                                                 \
    {                                                                                                        \
        .isend = transport_isend, .irecv = transport_irecv, .poll = transport_poll, .wait = (blocking_wait), \
        .cancel = transport_cancel, .ended = transport_ended, .team_comm = (comm_of_team),                   \
        .icollective = (collective_of_team), .nudge = transport_nudge, .reduce = transport_reduce,           \
        .copy = transport_copy,                                                                              \
    }
static const hp_transport_ops_t polling_ops = OPS(NULL, transport_team_comm, transport_icollective),
                                blocking_ops =
                                    OPS(transport_wait, transport_team_comm, transport_icollective),
                                shared_ops = OPS(NULL, NULL, NULL);

void hp_transport_mpi_init(hp_transport_mpi_t *transport, const hp_route_t *route)
{
    const hp_transport_ops_t *ops = hp_ranks_take_turns ? &blocking_ops
                                    : route->ends       ? &shared_ops
                                                        : &polling_ops;
    *transport = (hp_transport_mpi_t){
        .base = {.ops = ops, .host_yields = hp_host_yields()}, .route = *route, .mpi_error = MPI_SUCCESS};
}

void hp_transport_mpi_fini(hp_transport_mpi_t *transport)
{
    transport_ended(&transport->base);
    for (int i = 0; i < transport->given_up_count; i++)
        if (transport->given_up[i].kind != COLLECTIVE)
            P(Request_free)(&transport->given_up[i].request);
    free(transport->given_up);
    free(transport->requests);
    free(transport->cookies);
    free(transport->kind);
    for (int i = 0; i < transport->team_count; i++)
        P(Comm_free)(&transport->teams[i]);
    free(transport->teams);
}
