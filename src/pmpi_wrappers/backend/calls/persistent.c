#include "pmpi_wrappers/backend/calls/persistent.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/clock.h"
#include "pmpi_wrappers/backend/calls/channel.h"
#include "pmpi_wrappers/backend/calls/flight.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/comm_release.h"
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/comms/self_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/glue/host_request.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { BUCKETS = 256, TAGS = 32768 };

/* What stands behind a request. */
typedef struct persistent {
    hp_flight_t flight; /* the first member */
    hp_ticket_t ticket; /* its state: the channel's */
    hp_channel_t *channel;
    MPI_Request host_request; /* the program's: receives a message with this tag from the rank itself */
    int tag;
    int held; /* by the program until it frees the request, and by a flight; under the lock */
    hp_setting_t setting;
    hp_call_t call;
    hp_block_call_t *blocks; /* NULL: none */
    MPI_Datatype datatype;   /* of a bcast, ours; MPI_DATATYPE_NULL: a predefined one */
    struct persistent *next;
} persistent_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static persistent_t *buckets[BUCKETS];                   /* by request */
static _Atomic uint32_t count_of_all;                    /* in the buckets */
static uint64_t used_tags[TAGS / 64];
static int first_word; /* of used_tags: those before it have no bit free */

/* ---- requests ---- */

static persistent_t **place_of(MPI_Request host_request)
{
    return &buckets[(HP_HANDLE(host_request) * 0x9e3779b97f4a7c15u) >> 56];
}

/* NULL: not one of ours. */
static persistent_t *find(MPI_Request host_request)
{
    pthread_mutex_lock(&lock);
    persistent_t *found = *place_of(host_request);
    while (found && HP_HANDLE(found->host_request) != HP_HANDLE(host_request))
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static void enlist(persistent_t *persistent)
{
    pthread_mutex_lock(&lock);
    persistent_t **place = place_of(persistent->host_request);
    persistent->next = *place;
    *place = persistent;
    atomic_fetch_add_explicit(&count_of_all, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void delist(persistent_t *persistent)
{
    pthread_mutex_lock(&lock);
    persistent_t **place = place_of(persistent->host_request);
    while (*place != persistent)
        place = &(*place)->next;
    *place = persistent->next;
    atomic_fetch_sub_explicit(&count_of_all, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

/* -1: all are in use. */
static int take_tag(void)
{
    int tag = -1;

    pthread_mutex_lock(&lock);
    while (first_word < TAGS / 64 && !~used_tags[first_word])
        first_word++;
    if (first_word < TAGS / 64) {
        const int bit = __builtin_ctzll(~used_tags[first_word]);
        used_tags[first_word] |= 1ull << bit;
        tag = first_word * 64 + bit;
    }
    pthread_mutex_unlock(&lock);
    return tag;
}

/* The caller holds the lock. */
static void return_tag(int tag)
{
    used_tags[tag / 64] &= ~(1ull << tag % 64);
    if (tag / 64 < first_word)
        first_word = tag / 64;
}

static void destroy(persistent_t *persistent)
{
    if (persistent->datatype != MPI_DATATYPE_NULL)
        P(Type_free)(&persistent->datatype);
    pthread_mutex_lock(&lock);
    if (persistent->tag >= 0)
        return_tag(persistent->tag);
    pthread_mutex_unlock(&lock);
    if (persistent->channel)
        hp_channel_put(persistent->channel);
    if (persistent->blocks) {
        hp_block_call_drop(persistent->blocks);
        free(persistent->blocks);
    }
    free(persistent);
}

static void let_go(persistent_t *persistent)
{
    pthread_mutex_lock(&lock);
    const bool is_last = --persistent->held == 0;
    pthread_mutex_unlock(&lock);
    if (is_last)
        destroy(persistent);
}

/* The collective is done. An error is told to the program's handler; whoever waits gets one, too: a message for which the
 * receive has no room. */
static void on_complete(hp_flight_t *flight, int code)
{
    persistent_t *persistent = (persistent_t *)flight;
    static const char bytes[1];
    MPI_Request send;

    if (code != MPI_SUCCESS)
        P(Comm_call_errhandler)(flight->comm, code);
    if (P(Isend)(bytes, code == MPI_SUCCESS ? 0 : sizeof bytes, MPI_BYTE, 0, persistent->tag, hp_self_comm(), &send) ==
        MPI_SUCCESS)
        P(Request_free)(&send);
    let_go(persistent);
}

/* NULL: something lacks on this rank. */
static persistent_t *create(MPI_Comm comm)
{
    persistent_t *persistent = calloc(1, sizeof *persistent);

    if (!persistent)
        return NULL;
    persistent->flight.comm = comm;
    persistent->flight.on_complete = on_complete;
    persistent->datatype = MPI_DATATYPE_NULL;
    persistent->held = 1;
    persistent->tag = take_tag();
    if (persistent->tag >= 0 && hp_self_comm() != MPI_COMM_NULL &&
        P(Recv_init)(NULL, 0, MPI_BYTE, 0, persistent->tag, hp_self_comm(), &persistent->host_request) ==
            MPI_SUCCESS)
        return persistent;
    destroy(persistent);
    return NULL;
}

static void undo(persistent_t *persistent)
{
    if (!persistent)
        return;
    P(Request_free)(&persistent->host_request);
    destroy(persistent);
}

void hp_persistent_fini(void)
{
    hp_channels_fini();
}

/* ---- starting, freeing ---- */

static int open_request(hp_flight_t *flight)
{
    persistent_t *persistent = (persistent_t *)flight;

    pthread_mutex_lock(&lock);
    persistent->held++;
    pthread_mutex_unlock(&lock);
    const int code = P(Start)(&persistent->host_request);
    if (code != MPI_SUCCESS)
        let_go(persistent);
    return code;
}

static int pack(persistent_t *persistent)
{
    hp_packed_t *packed = &persistent->flight.packed;
    const int root = (int)persistent->call.root;

    const int code = hp_packed_init(packed, &persistent->ticket, packed->buffer, packed->count,
                                    persistent->datatype, root, false);
    persistent->call.recv = hp_packed_call(packed, &persistent->ticket, root).recv;
    return code;
}

static int begin_blocks(persistent_t *persistent)
{
    const int code = hp_block_call_begin(persistent->blocks, persistent->flight.state);
    persistent->call = persistent->blocks->call;
    return code;
}

static int start(persistent_t *persistent)
{
    hp_flight_t *flight = &persistent->flight;
    const hp_ticket_t ticket = persistent->ticket; /* it may be over, and freed, when it has been started */
    const uint64_t start_ns = hp_job.knobs.stats ? hp_clock_ns() : 0;

    int code = persistent->blocks              ? begin_blocks(persistent)
               : ticket.collective == HP_BCAST ? pack(persistent)
                                               : MPI_SUCCESS;
    code = code == MPI_SUCCESS ? hp_flight_start(flight, ticket.choice.algorithm, &persistent->setting,
                                                 &persistent->call, open_request)
                               : hp_flight_miss(flight->state, flight->comm, code);
    hp_ticket_count(&ticket, start_ns ? hp_clock_ns() - start_ns : 0);
    return code;
}

static bool has_any(void)
{
    return atomic_load_explicit(&count_of_all, memory_order_relaxed) != 0;
}

int hp_mpi_start(MPI_Request *host_request)
{
    persistent_t *persistent = has_any() && host_request ? find(*host_request) : NULL;
    return persistent ? start(persistent) : P(Start)(host_request);
}

int hp_mpi_startall(int count, MPI_Request *host_requests)
{
    bool any = false;
    int code = MPI_SUCCESS;

    for (int i = 0; has_any() && host_requests && i < count && !any; i++)
        any = find(host_requests[i]) != NULL;
    if (!any)
        return P(Startall)(count, host_requests);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = hp_mpi_start(&host_requests[i]);
    return code;
}

int hp_mpi_request_free(MPI_Request *host_request)
{
    persistent_t *persistent = has_any() && host_request ? find(*host_request) : NULL;

    if (persistent)
        delist(persistent);
    const int code = P(Request_free)(host_request);
    if (persistent)
        let_go(persistent);
    return code;
}

/* ---- making ---- */

static int find_or_report(const hp_ticket_t *ticket, MPI_Comm comm, bool is_ready, hp_channel_t **channel)
{
    int code = hp_host_collective_begin(comm);
    if (code != MPI_SUCCESS)
        return code;
    code = hp_channel_get(ticket->state, comm, is_ready, channel);
    if (code != MPI_SUCCESS && !hp_shared_comm_exists()) /* else on comm: the MPI has called it */
        P(Comm_call_errhandler)(comm, code);
    return code;
}

/* persistent: NULL where something lacks. Where some rank lacks something, ticket->outcome says so. */
static int make(persistent_t *persistent, hp_ticket_t *ticket, MPI_Comm comm, MPI_Request *host_request)
{
    hp_channel_t *channel = NULL;

    const int code = find_or_report(ticket, comm, persistent != NULL, &channel);
    if (!channel) {
        ticket->outcome = code == MPI_SUCCESS ? HP_OUTCOME_NO_DUPLICATE : HP_OUTCOME_FAILED;
        undo(persistent);
        return code;
    }
    persistent->channel = channel;
    persistent->flight.state = channel->state;
    persistent->setting = *ticket->choice.setting;
    persistent->ticket = *ticket;
    persistent->ticket.state = channel->state;
    hp_host_request_drive();
    enlist(persistent);
    *host_request = persistent->host_request;
    return code;
}

static int make_plain(hp_ticket_t *ticket, const hp_call_t *call, MPI_Comm comm, MPI_Request *host_request)
{
    persistent_t *persistent = create(comm);

    if (persistent)
        persistent->call = *call;
    return make(persistent, ticket, comm, host_request);
}

/* Each decides, and makes the collective. Where it passes, nothing is left of it. */

static int make_bcast(hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                      MPI_Comm comm, MPI_Request *host_request)
{
    if (hp_decide_bcast(ticket, buffer, count, datatype, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    persistent_t *persistent = create(comm);
    if (persistent && hp_datatype_keep(datatype, &persistent->datatype) != MPI_SUCCESS) {
        persistent->datatype = MPI_DATATYPE_NULL;
        undo(persistent);
        persistent = NULL;
    }
    if (persistent) {
        persistent->flight.packed = (hp_packed_t){.buffer = buffer, .count = count};
        persistent->call = hp_call_bcast(ticket, buffer, root);
    }
    return make(persistent, ticket, comm, host_request);
}

static int make_reduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                       MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *host_request)
{
    hp_call_t call = {.collective = HP_REDUCE};
    if (hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return make_plain(ticket, &call, comm, host_request);
}

static int make_allreduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *host_request)
{
    hp_call_t call = {.collective = HP_ALLREDUCE};
    if (hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, 0, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return make_plain(ticket, &call, comm, host_request);
}

int hp_persistent_make(hp_ticket_t *ticket, const hp_block_call_t *call, MPI_Comm comm,
                       MPI_Request *host_request)
{
    persistent_t *persistent = create(comm);
    hp_block_call_t *blocks = persistent ? malloc(sizeof *blocks) : NULL;

    if (blocks) {
        *blocks = *call;
        persistent->blocks = persistent->flight.blocks = blocks;
    }
    if (persistent && (!blocks || hp_block_call_keep(blocks, ticket->state) != MPI_SUCCESS)) {
        undo(persistent);
        persistent = NULL;
    }
    return make(persistent, ticket, comm, host_request);
}

bool hp_persistent_passes(const hp_ticket_t *ticket)
{
    if (ticket->outcome != HP_OUTCOME_TAKEN)
        hp_ticket_count(ticket, 0);
    return hp_ticket_passes(ticket);
}

/* The host MPI's mpi.h may be older than its library: the type of its function is written out. */
#define DEFINE(function, host, make, parameters, arguments)                                                  \
    int function(HP_LIST parameters, MPI_Info info, MPI_Request *host_request)                               \
    {                                                                                                        \
        typedef int (*host_fn_t)(HP_LIST parameters, MPI_Info, MPI_Request *);                               \
        hp_ticket_t ticket = {.nonblocking = true, .persistent = true};                                      \
        const int code = make(&ticket, HP_LIST arguments, host_request);                                     \
        if (!hp_persistent_passes(&ticket))                                                                  \
            return code;                                                                                     \
        return ((host_fn_t)hp_mpi_calls[HP_MPI_CALL_##host])(HP_LIST arguments, info, host_request);         \
    }

#define HP_COUNT int
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_##name##_init, host##_init, make_##name, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#define HP_COUNT MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_##name##_init_c, host##_init_c, make_##name, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT

static int make_barrier(hp_ticket_t *ticket, MPI_Comm comm, MPI_Request *host_request)
{
    const hp_call_t call = hp_call_barrier();
    if (hp_decide_barrier(ticket, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return make_plain(ticket, &call, comm, host_request);
}

DEFINE(hp_mpi_barrier_init, Barrier_init, make_barrier, (MPI_Comm comm), (comm))
