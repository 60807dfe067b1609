#include "pmpi_wrappers/backend/profile/operations.h"

#include "pmpi_wrappers/backend/profile/book/recent.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/book/recorder.h"
#include "pmpi_wrappers/backend/profile/sequence.h"
#include "pmpi_wrappers/backend/start/job.h"

/* ---- messages ---- */

static uint32_t world_peer(const hp_seen_call_t *call)
{
    const int peer = (int)call->x[call->shape->destination];

    if (peer < 0) /* MPI_PROC_NULL */
        return HP_NO_PEER;
    if (call->comm && call->comm->world_ranks && peer < call->comm->remote_size)
        return call->comm->world_ranks[peer];
    return HP_UNKNOWN_PEER;
}

static hp_book_peer_t *find_peer(uint32_t peer)
{
    static hp_recent_t recent;
    const hp_table_t *peers = &hp_recorder.book.peers;
    uint32_t *next = hp_recent_row(&recent, peer, 0);

    if (__builtin_expect(*next != 0, 1))
        return hp_table_row(peers, *next - 1);
    hp_book_peer_t *row = hp_book_peer(&hp_recorder.book, (uint32_t)hp_job.rank, peer);
    *next = row ? hp_table_number(peers, row) + 1 : 0;
    return row;
}

/* Returns its row; NULL: it has none. */
static hp_book_peer_t *count_peer(uint32_t peer, uint64_t bytes)
{
    hp_book_peer_t *row = peer == HP_NO_PEER || peer == HP_UNKNOWN_PEER ? NULL : find_peer(peer);

    if (peer != HP_NO_PEER)
        hp_book_peer_count(&hp_recorder.book, row, 1, bytes);
    return row;
}

void hp_operations_count_message(const hp_seen_call_t *call)
{
    const hp_table_t *peers = &hp_recorder.book.peers;

    if (call->is_like_last && call->last->peer) {
        hp_book_peer_count(&hp_recorder.book, hp_table_row(peers, call->last->peer - 1), 1, call->facts.sent);
        return;
    }
    const hp_book_peer_t *row = count_peer(world_peer(call), call->facts.sent);
    if (call->last)
        call->last->peer = row ? hp_table_number(peers, row) + 1 : 0;
}

/* ---- requests ---- */

void hp_operations_follow(const hp_seen_call_t *call, uint64_t event, uint32_t kind, bool is_persistent)
{
    const hp_call_shape_t *shape = call->shape;
    const MPI_Request request = *(const MPI_Request *)call->x[shape->request];
    const hp_seen_request_t row = {.handle = HP_HANDLE(request),
                                   .posted = call->recording->leave,
                                   .bytes = call->facts.bytes,
                                   .event = event,
                                   .peer = is_persistent && shape->kind == HP_KIND_SEND ? world_peer(call)
                                                                                        : HP_NO_PEER,
                                   .site = call->site,
                                   .kind = kind,
                                   .row = call->row,
                                   .comm = call->comm_row,
                                   .type = call->facts.type,
                                   .op = call->facts.op,
                                   .bin = call->bin,
                                   .on_device = call->facts.on_device,
                                   .is_persistent = is_persistent,
                                   .is_active = !is_persistent,
                                   .is_accelerated = call->is_accelerated};

    if (request != MPI_REQUEST_NULL && !hp_requests_add(&row))
        hp_recorder.book.lost[HP_LOST_requests]++;
}

void hp_operations_start(hp_seen_call_t *call)
{
    const hp_recording_t *recording = call->recording;

    for (int i = 0; i < recording->requests; i++) {
        hp_seen_request_t *request = hp_requests_find(recording->handles[i]);
        if (!request)
            continue;
        hp_requests_set_active(request, true);
        request->posted = recording->leave;
        request->site = call->site;
        request->event =
            request->kind != HP_SEQUENCE_NO_KIND && hp_sequence_is_on()
                ? hp_sequence_add(request->kind, i ? recording->leave : recording->enter, recording->leave, 0)
                : HP_NO_EVENT;
        count_peer(request->peer, request->bytes);
        call->facts.bytes += request->bytes;
        call->facts.has_bytes |= request->bin != HP_BOOK_NO_BYTES;
        call->facts.type = request->type;
        call->facts.op = request->op;
        call->facts.on_device |= request->on_device;
        call->is_accelerated |= request->is_accelerated;
        call->comm_row = request->comm;
    }
}

static hp_book_wait_t *find_wait(const hp_seen_call_t *call, const hp_seen_request_t *request)
{
    static hp_recent_t recent;
    const hp_table_t *waits = &hp_recorder.book.waits;
    uint32_t *next = hp_recent_row(&recent, (uint64_t)request->row << 16 | call->row,
                                   (uint64_t)request->site << 32 | call->site);

    if (__builtin_expect(*next != 0, 1))
        return hp_table_row(waits, *next - 1);
    hp_book_wait_t *wait = hp_book_wait(&hp_recorder.book, &(hp_book_wait_t){.post_call = request->row,
                                                                             .wait_call = call->row,
                                                                             .post_site = request->site,
                                                                             .wait_site = call->site});
    *next = wait ? hp_table_number(waits, wait) + 1 : 0;
    return wait;
}

static void count_wait(const hp_seen_call_t *call, const hp_seen_request_t *request, uint64_t share_ns)
{
    const uint64_t enter = call->recording->enter;
    const uint64_t between = enter > request->posted ? enter - request->posted : 0;

    hp_book_wait_count(
        &hp_recorder.book, find_wait(call, request),
        &(hp_book_wait_t){
            .count = 1, .bytes = request->bytes, .between_ns = hp_ticks_ns(between), .wait_ns = share_ns});
}

static void complete(const hp_seen_call_t *call, hp_seen_request_t *request, uint64_t share_ns)
{
    const hp_recording_t *recording = call->recording;

    if (request->is_active)
        count_wait(call, request, share_ns);
    if (request->is_active && request->event != HP_NO_EVENT)
        hp_sequence_add_wait(call->row, call->site, request->event, recording->enter, recording->leave);
    if (request->is_persistent)
        hp_requests_set_active(request, false);
    else
        hp_requests_remove(request);
}

/* Which of the handles were complete: all of them, or numbers. Returns how many. */
static int completions(const hp_seen_call_t *call, const int **numbers)
{
    const hp_call_shape_t *shape = call->shape;
    const int count = call->recording->requests;
    const int *flag = shape->flag >= 0 ? (const int *)call->x[shape->flag] : NULL;

    *numbers = NULL;
    switch (shape->action) {
    case HP_DO_WAIT:
    case HP_DO_WAIT_ALL:
        return count;
    case HP_DO_TEST:
    case HP_DO_TEST_ALL:
        return *flag ? count : 0;
    case HP_DO_WAIT_ANY:
        *numbers = flag;
        return *flag >= 0 && *flag < count;
    case HP_DO_TEST_ANY: /* the number stands before the flag */
        *numbers = (const int *)call->x[shape->flag - 1];
        return *flag && **numbers >= 0 && **numbers < count;
    case HP_DO_WAIT_SOME: /* and here behind the number of them */
        *numbers = (const int *)call->x[shape->flag + 1];
        return *flag > 0 && *flag <= count ? *flag : 0;
    default:
        return 0;
    }
}

void hp_operations_complete(const hp_seen_call_t *call)
{
    const hp_handle_t *handles = call->recording->handles, null = HP_HANDLE(MPI_REQUEST_NULL);
    const int *numbers, count = completions(call, &numbers);
    uint64_t operations = 0;

    for (int i = 0; i < count; i++)
        operations += handles[numbers ? numbers[i] : i] != null;
    for (int i = 0; i < count; i++) {
        hp_seen_request_t *request = hp_requests_find(handles[numbers ? numbers[i] : i]);
        if (request)
            complete(call, request, operations ? call->ns / operations : 0);
    }
}
