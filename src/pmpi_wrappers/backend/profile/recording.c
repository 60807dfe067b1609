#include "pmpi_wrappers/backend/profile/recording.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "pmpi_wrappers/backend/profile/book/arrival.h"
#include "pmpi_wrappers/backend/profile/book/polls.h"
#include "pmpi_wrappers/backend/profile/book/recent.h"
#include "pmpi_wrappers/backend/profile/facts.h"
#include "pmpi_wrappers/backend/profile/handles.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/polling.h"
#include "pmpi_wrappers/backend/profile/recorded_call.h"
#include "pmpi_wrappers/backend/profile/sequence.h"
#include "pmpi_wrappers/backend/profile/sites/python.h"
#include "pmpi_wrappers/backend/profile/sites/sites.h"
#include "pmpi_wrappers/backend/profile/unexpected.h"
#include "pmpi_wrappers/backend/profile/watch/watch.h"
#include "pmpi_wrappers/backend/start/job.h"

_Static_assert(sizeof(MPI_Status) <= sizeof(((hp_recording_t *)NULL)->status), "a status fits");

static _Thread_local hp_recorder_thread_t own_thread;
static atomic_bool busy;

/* Looking for a thread's own memory costs a call. */
static hp_recorder_thread_t *this_thread(void)
{
    return __builtin_expect(hp_job.has_threads, 0) ? &own_thread : &hp_recorder_only_thread;
}

void hp_recording_lock(void)
{
    if (__builtin_expect(hp_job.has_threads, 0))
        while (atomic_exchange_explicit(&busy, true, memory_order_acquire))
            sched_yield();
}

void hp_recording_unlock(void)
{
    if (__builtin_expect(hp_job.has_threads, 0))
        atomic_store_explicit(&busy, false, memory_order_release);
}

void hp_recording_set_accelerated(void)
{
    this_thread()->accelerated = true;
}

/* ---- before ---- */

/* Before anything else: nothing of the MPI may meet a page that is watched. */
static void stop_watch(void)
{
    hp_recording_lock();
    hp_watch_stop();
    hp_recording_unlock();
}

/* What is told whether or not the call is recorded. */
static void hear(const hp_call_shape_t *shape, const uintptr_t *x)
{
    hp_seen_request_t *request;

    hp_recording_lock();
    switch (shape->action) {
    case HP_DO_FREE_COMM:
        if (x[0])
            hp_handles_forget_comm(HP_HANDLE(*(const MPI_Comm *)x[0]));
        hp_polls_stop(); /* of communicators they have the handles */
        break;
    case HP_DO_FREE_TYPE:
        if (x[0])
            hp_handles_forget_type(HP_HANDLE(*(const MPI_Datatype *)x[0]));
        break;
    case HP_DO_NAME_TYPE:
        hp_handles_forget_type(HP_HANDLE((MPI_Datatype)x[0]));
        break;
    case HP_DO_FREE_REQUEST:
        request = x[0] ? hp_requests_find(HP_HANDLE(*(const MPI_Request *)x[0])) : NULL;
        if (request)
            hp_requests_remove(request);
        break;
    case HP_DO_SWITCH:
        hp_recorder.is_paused = (int)x[0] == 0;
        hp_polls_stop();
        break;
    default:
        break;
    }
    hp_recording_unlock();
    if (shape->action == HP_DO_ABORT && hp_recorder.on_abort)
        hp_recorder.on_abort((int)x[1]);
}

/* Keeps the handles that the call may set to MPI_REQUEST_NULL. */
static void keep_handles(hp_recording_t *recording, const hp_call_shape_t *shape, const uintptr_t *x)
{
    const MPI_Request *requests = (const MPI_Request *)x[shape->request];
    const int count = shape->requests < 0 ? 1 : (int)x[shape->requests];

    recording->handles = recording->few;
    if (count > HP_RECORDING_FEW)
        recording->handles = malloc((size_t)count * sizeof *recording->handles);
    recording->requests = recording->handles && requests && count > 0 ? count : 0;
    for (int i = 0; i < recording->requests; i++)
        recording->handles[i] = HP_HANDLE(requests[i]);
}

static void begin_locked(hp_recording_t *recording, const hp_call_shape_t *shape, const uintptr_t *x)
{
    const uint32_t under_way = hp_requests_active + hp_recorder.in_calls++;

    if (__builtin_expect(hp_unexpected_is_open, 0) && shape->kind == HP_KIND_RECEIVE && shape->comm >= 0)
        hp_unexpected_sample(&hp_recorder.book.unexpected, hp_comm_handle(x[shape->comm]));
    hp_book_count_simultaneous(&hp_recorder.book, under_way, 1);
    if (shape->kind == HP_KIND_COLLECTIVE && shape->action == HP_DO_CALL && shape->waiting <= HP_ROOT_TAKES) {
        hp_seen_comm_t *comm = hp_handles_comm(hp_comm_handle(x[shape->comm]));
        if (!comm || !comm->id || comm->size < 2)
            return;
        recording->number = comm->calls++;
        if (hp_arrivals_is_sampled(recording->number)) {
            recording->sampled = comm;
            recording->enter_ns = hp_machine_clock_ns();
        }
    }
}

bool hp_recording_begin(hp_recording_t *recording, uintptr_t *x, const void *return_address,
                        const void *frame)
{
    const hp_call_shape_t *shape = &hp_call_shapes[recording->row];
    hp_recorder_thread_t *thread = this_thread();

    if (__builtin_expect(!hp_recorder.exists, 0))
        return false;
    if (__builtin_expect(hp_watch_is_running, 0))
        stop_watch();
    if (__builtin_expect(shape->action >= HP_DO_FREE_REQUEST, 0))
        hear(shape, x);
    if (__builtin_expect(hp_recorder.is_paused && shape->makes_window, 0))
        hp_watch_forbid_pages();
    if (__builtin_expect(thread->inside || hp_recorder.is_paused, 0) ||
        (shape->kind == HP_KIND_NONE && shape->action != HP_DO_NAME_COMM))
        return false;
    thread->inside = true;
    thread->accelerated = false;
    recording->return_address = return_address;
    recording->frame = frame;
    recording->sampled = NULL;
    recording->handles = NULL;
    if (shape->status >= 0 && (MPI_Status *)x[shape->status] == MPI_STATUS_IGNORE)
        x[shape->status] = (uintptr_t)recording->status;
    if (shape->action >= HP_DO_START && shape->action <= HP_DO_TEST_ANY)
        keep_handles(recording, shape, x);
    hp_recording_lock();
    if (__builtin_expect(!thread->is_known, 0)) {
        thread->is_known = true;
        hp_recorder.threads++;
    }
    recording->is_only_thread = hp_recorder.threads == 1;
    begin_locked(recording, shape, x);
    hp_recording_unlock();
    return true;
}

/* ---- after ---- */

/* A call, as it goes to the book. */
typedef struct {
    const hp_recording_t *recording;
    const hp_call_shape_t *shape;
    const uintptr_t *x;
    hp_seen_comm_t *comm;
    uint16_t comm_row;
    hp_facts_t facts;
    uint64_t ns;
    uint32_t site;
    hp_place_t *place; /* NULL: it has none */
    int8_t bin;
    bool is_accelerated;
} seen_t;

static uint32_t world_peer(const seen_t *seen)
{
    const int peer = (int)seen->x[seen->shape->destination];

    if (peer < 0) /* MPI_PROC_NULL */
        return HP_NO_PEER;
    if (seen->comm && seen->comm->world_ranks && peer < seen->comm->remote_size)
        return seen->comm->world_ranks[peer];
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

static void count_peer(uint32_t peer, uint64_t bytes)
{
    if (peer == HP_NO_PEER)
        return;
    hp_book_peer_count(&hp_recorder.book, peer == HP_UNKNOWN_PEER ? NULL : find_peer(peer), 1, bytes);
}

static uint32_t kind_of(const seen_t *seen)
{
    hp_sequence_kind_t kind;
    bool is_whole;

    if (!hp_facts_kind(seen->shape, seen->x, seen->comm, &seen->facts, &kind, &is_whole)) {
        hp_recorder.book.lost[HP_LOST_sequence]++;
        return HP_SEQUENCE_NO_KIND;
    }
    hp_recorder.book.lost[HP_LOST_counts] += !is_whole;
    kind.site = seen->site;
    const uint32_t number = hp_sequence_kind(&kind, seen->comm);
    hp_recorder.book.lost[HP_LOST_sequence] += number == HP_SEQUENCE_NO_KIND;
    return number;
}

/* The operation has a request now. */
static void follow(const seen_t *seen, uint64_t event, uint32_t kind, bool is_persistent)
{
    const hp_call_shape_t *shape = seen->shape;
    const MPI_Request request = *(const MPI_Request *)seen->x[shape->request];
    const hp_seen_request_t row = {.handle = HP_HANDLE(request),
                                   .posted = seen->recording->leave,
                                   .bytes = seen->facts.bytes,
                                   .event = event,
                                   .peer = is_persistent && shape->kind == HP_KIND_SEND ? world_peer(seen)
                                                                                        : HP_NO_PEER,
                                   .site = seen->site,
                                   .kind = kind,
                                   .row = (uint16_t)(shape - hp_call_shapes),
                                   .comm = seen->comm_row,
                                   .type = seen->facts.type,
                                   .op = seen->facts.op,
                                   .bin = seen->bin,
                                   .on_device = seen->facts.on_device,
                                   .is_persistent = is_persistent,
                                   .is_active = !is_persistent,
                                   .is_accelerated = seen->is_accelerated};

    if (request != MPI_REQUEST_NULL && !hp_requests_add(&row))
        hp_recorder.book.lost[HP_LOST_requests]++;
}

/* MPI_Start and MPI_Startall: what they start is what the call is about. */
static void start_requests(seen_t *seen)
{
    const hp_recording_t *recording = seen->recording;

    for (int i = 0; i < recording->requests; i++) {
        hp_seen_request_t *request = hp_requests_find(recording->handles[i]);
        if (!request)
            continue;
        hp_requests_set_active(request, true);
        request->posted = recording->leave;
        request->site = seen->site;
        request->event =
            request->kind != HP_SEQUENCE_NO_KIND && hp_sequence_is_on()
                ? hp_sequence_add(request->kind, i ? recording->leave : recording->enter, recording->leave)
                : HP_NO_EVENT;
        count_peer(request->peer, request->bytes);
        seen->facts.bytes += request->bytes;
        seen->facts.has_bytes |= request->bin != HP_BOOK_NO_BYTES;
        seen->facts.type = request->type;
        seen->facts.op = request->op;
        seen->facts.on_device |= request->on_device;
        seen->is_accelerated |= request->is_accelerated;
        seen->comm_row = request->comm;
    }
}

static hp_book_wait_t *find_wait(const seen_t *seen, const hp_seen_request_t *request)
{
    static hp_recent_t recent;
    const hp_table_t *waits = &hp_recorder.book.waits;
    const uint16_t row = (uint16_t)(seen->shape - hp_call_shapes);
    uint32_t *next = hp_recent_row(&recent, (uint64_t)request->row << 16 | row,
                                   (uint64_t)request->site << 32 | seen->site);

    if (__builtin_expect(*next != 0, 1))
        return hp_table_row(waits, *next - 1);
    hp_book_wait_t *wait = hp_book_wait(&hp_recorder.book, &(hp_book_wait_t){.post_call = request->row,
                                                                             .wait_call = row,
                                                                             .post_site = request->site,
                                                                             .wait_site = seen->site});
    *next = wait ? hp_table_number(waits, wait) + 1 : 0;
    return wait;
}

static void count_wait(const seen_t *seen, const hp_seen_request_t *request, uint64_t share_ns)
{
    const uint64_t enter = seen->recording->enter;
    const uint64_t between = enter > request->posted ? enter - request->posted : 0;

    hp_book_wait_count(
        &hp_recorder.book, find_wait(seen, request),
        &(hp_book_wait_t){
            .count = 1, .bytes = request->bytes, .between_ns = hp_ticks_ns(between), .wait_ns = share_ns});
}

static void complete(const seen_t *seen, hp_seen_request_t *request, uint64_t share_ns)
{
    const hp_recording_t *recording = seen->recording;

    if (request->is_active)
        count_wait(seen, request, share_ns);
    if (request->is_active && request->event != HP_NO_EVENT)
        hp_sequence_add_wait((uint32_t)(seen->shape - hp_call_shapes), seen->site, request->event,
                             recording->enter, recording->leave);
    if (request->is_persistent)
        hp_requests_set_active(request, false);
    else
        hp_requests_remove(request);
}

/* Which of the handles were complete: all of them, or numbers. Returns how many. */
static int completions(const seen_t *seen, const int **numbers)
{
    const hp_call_shape_t *shape = seen->shape;
    const int count = seen->recording->requests;
    const int *flag = shape->flag >= 0 ? (const int *)seen->x[shape->flag] : NULL;

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
        *numbers = (const int *)seen->x[shape->flag - 1];
        return *flag && **numbers >= 0 && **numbers < count;
    case HP_DO_WAIT_SOME: /* and here behind the number of them */
        *numbers = (const int *)seen->x[shape->flag + 1];
        return *flag > 0 && *flag <= count ? *flag : 0;
    default:
        return 0;
    }
}

static void complete_requests(const seen_t *seen)
{
    const hp_handle_t *handles = seen->recording->handles, null = HP_HANDLE(MPI_REQUEST_NULL);
    const int *numbers, count = completions(seen, &numbers);
    uint64_t operations = 0;

    for (int i = 0; i < count; i++)
        operations += handles[numbers ? numbers[i] : i] != null;
    for (int i = 0; i < count; i++) {
        hp_seen_request_t *request = hp_requests_find(handles[numbers ? numbers[i] : i]);
        if (request)
            complete(seen, request, operations ? seen->ns / operations : 0);
    }
}

static void sample_arrival(const seen_t *seen)
{
    const hp_recording_t *recording = seen->recording;
    const hp_seen_comm_t *comm = recording->sampled;

    hp_arrivals_add(&(hp_arrivals_sample_t){.comm_id = comm->id,
                                            .number = recording->number,
                                            .enter_ns = recording->enter_ns,
                                            .leave_ns = recording->enter_ns + seen->ns,
                                            .site = seen->site,
                                            .size = (uint32_t)comm->size,
                                            .rank = (uint32_t)comm->rank,
                                            .call = (uint16_t)(seen->shape - hp_call_shapes),
                                            .comm = comm->row,
                                            .bin = seen->bin,
                                            .waiting = seen->shape->waiting,
                                            .is_root = seen->facts.is_root});
}

/* A receive: what came, instead of what there was room for. */
static void take_received(seen_t *seen)
{
    MPI_Status *status = (MPI_Status *)seen->x[seen->shape->status];
    int bytes = 0;

    if (P(Get_count)(status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) /* it does not fit into an int */
        return;
    if ((uint64_t)bytes > seen->facts.sent || seen->shape->send < 0)
        seen->facts.bytes = (uint64_t)bytes;
    else
        seen->facts.bytes = seen->facts.sent;
}

/* The record that a call from there had last, if it is this call's. */
static hp_book_record_t *record_at_place(const seen_t *seen)
{
    const hp_facts_t *facts = &seen->facts;

    if (!seen->place || !seen->place->number)
        return NULL;
    hp_book_record_t *record = hp_table_row(&hp_recorder.book.records, seen->place->number - 1);
    const bool is_same = record->call == (uint16_t)(seen->shape - hp_call_shapes) &&
                         record->comm == seen->comm_row && record->type == facts->type &&
                         record->op == facts->op && record->site == seen->site && record->bin == seen->bin &&
                         record->on_device == facts->on_device;
    return is_same ? record : NULL;
}

static hp_book_record_t *find_record(const seen_t *seen)
{
    static hp_recent_t recent;
    const hp_table_t *records = &hp_recorder.book.records;
    const hp_facts_t *facts = &seen->facts;
    const uint16_t row = (uint16_t)(seen->shape - hp_call_shapes);
    uint32_t *next = hp_recent_row(
        &recent,
        (uint64_t)row << 48 | (uint64_t)seen->comm_row << 32 | (uint64_t)facts->type << 16 | facts->op,
        (uint64_t)facts->on_device << 40 | (uint64_t)(uint8_t)seen->bin << 32 | seen->site);

    if (__builtin_expect(*next != 0, 1))
        return hp_table_row(records, *next - 1);
    const uint64_t lost = hp_recorder.book.lost[HP_LOST_records];
    hp_book_record_t *record =
        hp_book_record(&hp_recorder.book, &(hp_book_record_t){.call = row,
                                                              .comm = seen->comm_row,
                                                              .type = facts->type,
                                                              .op = facts->op,
                                                              .site = seen->site,
                                                              .bin = seen->bin,
                                                              .on_device = facts->on_device});
    if (record && hp_recorder.book.lost[HP_LOST_records] == lost) /* else it is to be counted each time */
        *next = hp_table_number(records, record) + 1;
    return record;
}

static hp_book_record_t *record_of(const seen_t *seen)
{
    hp_book_record_t *record = record_at_place(seen);

    if (__builtin_expect(record != NULL, 1))
        return record;
    const uint64_t lost = hp_recorder.book.lost[HP_LOST_records];
    record = find_record(seen);
    if (record && seen->place && hp_recorder.book.lost[HP_LOST_records] == lost)
        seen->place->number = hp_table_number(&hp_recorder.book.records, record) + 1;
    return record;
}

static void count_record(seen_t *seen)
{
    seen->bin = (int8_t)(seen->facts.has_bytes ? hp_book_bin(seen->facts.bytes) : HP_BOOK_NO_BYTES);
    hp_book_record_t *record = record_of(seen);
    if (record) {
        hp_book_record_add(record, 1, seen->facts.bytes, seen->ns);
        record->accelerated += seen->is_accelerated;
    }
}

static void follow_up(const seen_t *seen)
{
    const hp_call_shape_t *shape = seen->shape;
    uint32_t kind = HP_SEQUENCE_NO_KIND;
    uint64_t event = HP_NO_EVENT;

    if (shape->kind == HP_KIND_COLLECTIVE && hp_sequence_is_on() && shape->action <= HP_DO_INIT)
        kind = kind_of(seen);
    if (kind != HP_SEQUENCE_NO_KIND && shape->action != HP_DO_INIT)
        event = hp_sequence_add(kind, seen->recording->enter, seen->recording->leave);
    if (shape->action == HP_DO_POST || shape->action == HP_DO_INIT)
        follow(seen, event, kind, shape->action == HP_DO_INIT);
    else if (shape->action >= HP_DO_WAIT && shape->action <= HP_DO_TEST_ANY)
        complete_requests(seen);
    if (shape->kind == HP_KIND_SEND && shape->destination >= 0 && shape->action != HP_DO_INIT)
        count_peer(world_peer(seen), seen->facts.sent);
}

/* Chooses what is watched until the next call. */
static void choose_watch(const seen_t *seen)
{
    const hp_call_shape_t *shape = seen->shape;
    hp_watch_call_t call = {.site = seen->site,
                            .row = (uint16_t)(shape - hp_call_shapes),
                            .bin = seen->bin,
                            .is_blocking = shape->action == HP_DO_CALL &&
                                           (shape->kind == HP_KIND_COLLECTIVE ||
                                            shape->kind == HP_KIND_SEND || shape->kind == HP_KIND_RECEIVE)};

    if (shape->makes_window)
        hp_watch_forbid_pages();
    call.has_buffers = call.is_blocking && hp_watch_wants(&call);
    if (call.has_buffers)
        hp_facts_buffers(shape, seen->x, seen->comm, &call.send, &call.recv);
    hp_watch_end_call(&call);
}

static void end_locked(const hp_recording_t *recording, const hp_call_shape_t *shape, const uintptr_t *x,
                       int code, bool accelerated, hp_python_place_t *place)
{
    seen_t seen; /* one by one: to set all of it to zero takes longer than the rest */

    seen.recording = recording;
    seen.shape = shape;
    seen.x = x;
    seen.comm = recording->sampled;
    seen.ns = hp_ticks_ns(hp_ticks_between(recording->enter, recording->leave));
    seen.is_accelerated = accelerated;
    hp_recorder.in_calls--;
    if (shape->action == HP_DO_NAME_COMM) {
        hp_handles_rename_comm(hp_comm_handle(x[shape->comm]));
        return;
    }
    if (!seen.comm && shape->comm >= 0)
        seen.comm = hp_handles_comm(hp_comm_handle(x[shape->comm]));
    seen.comm_row = seen.comm ? seen.comm->row : 0;
    seen.place = place ? NULL : hp_sites_find(recording->return_address, recording->frame);
    seen.site = place ? hp_python_site(place) : seen.place->site;
    if (shape->action == HP_DO_START) {
        seen.facts = (hp_facts_t){.bytes = 0};
        start_requests(&seen);
    } else {
        hp_facts(&seen.facts, shape, x, seen.comm);
    }
    if (shape->status >= 0 && code == MPI_SUCCESS)
        take_received(&seen);
    count_record(&seen);
    hp_recorder.mpi_ns += seen.ns;
    hp_recorder.calls++;
    if (shape->kind == HP_KIND_TEST && seen.place)
        hp_polling_timed(recording, x, code, seen.place, seen.ns);
    if (code != MPI_SUCCESS && shape->action != HP_DO_WAIT_ALL &&
        shape->action != HP_DO_WAIT) /* these are done */
        return;
    follow_up(&seen);
    if (recording->sampled)
        sample_arrival(&seen);
    if (__builtin_expect(hp_watch_is_open, 0))
        choose_watch(&seen);
}

void hp_recording_end(hp_recording_t *recording, const uintptr_t *x, int code)
{
    hp_recorder_thread_t *thread = this_thread();
    hp_python_place_t *place = NULL;

    if (__builtin_expect(hp_python_is_there, 0) && recording->is_only_thread)
        place = hp_python_locate();
    hp_recording_lock();
    if (hp_recorder.exists && !place)
        hp_sites_expect(recording->return_address, recording->frame);
    if (hp_recorder.exists)
        end_locked(recording, &hp_call_shapes[recording->row], x, code, thread->accelerated, place);
    if (recording->handles && recording->handles != recording->few)
        free(recording->handles);
    thread->inside = false;
    if (__builtin_expect(hp_watch_is_open, 0))
        hp_watch_start();
    hp_recording_unlock();
}
