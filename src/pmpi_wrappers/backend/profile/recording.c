#include "pmpi_wrappers/backend/profile/recording.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "pmpi_wrappers/backend/glue/device.h"
#include "pmpi_wrappers/backend/profile/book/arrival.h"
#include "pmpi_wrappers/backend/profile/book/polls.h"
#include "pmpi_wrappers/backend/profile/book/recent.h"
#include "pmpi_wrappers/backend/profile/book/requests.h"
#include "pmpi_wrappers/backend/profile/book/ticks.h"
#include "pmpi_wrappers/backend/profile/operations.h"
#include "pmpi_wrappers/backend/profile/polling.h"
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
    return __builtin_expect(hp_job.has_threads, 0) ? &own_thread : &hp_recorder.only_thread;
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
        hp_handles_rename_type(HP_HANDLE((MPI_Datatype)x[0]));
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

static void begin_locked(const hp_call_shape_t *shape, const uintptr_t *x)
{
    const uint32_t under_way = hp_requests_active + hp_recorder.in_calls++;

    if (__builtin_expect(hp_unexpected_is_open, 0) && shape->kind == HP_KIND_RECEIVE && shape->comm >= 0)
        hp_unexpected_sample(&hp_recorder.book.unexpected, hp_comm_handle(x[shape->comm]));
    hp_book_count_simultaneous(&hp_recorder.book, under_way, 1);
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
    recording->way = NULL;
    recording->handles = NULL;
    if (shape->status >= 0 && (MPI_Status *)x[shape->status] == MPI_STATUS_IGNORE)
        x[shape->status] = (uintptr_t)recording->status;
    if (shape->action >= HP_DO_START && shape->action <= HP_DO_TEST_ANY)
        keep_handles(recording, shape, x);
    hp_recording_lock();
    if (__builtin_expect(!thread->is_known, 0)) {
        thread->is_known = true;
        hp_recorder.threads++;
        hp_recorder.is_plain =
            !hp_job.has_threads && !hp_watch_is_open && !hp_sequence_is_on() && !hp_python_is_there;
    }
    recording->is_only_thread = hp_recorder.threads == 1;
    begin_locked(shape, x);
    hp_recording_unlock();
    recording->counts_faults = hp_sequence_is_on() && hp_facts_may_fill_pages(shape, x);
    recording->faults = recording->counts_faults ? hp_sequence_faults() : 0;
    return true;
}

/* ---- after ---- */

static uint32_t kind_of(const hp_seen_call_t *call)
{
    hp_sequence_kind_t kind;
    bool is_whole;

    if (!hp_facts_kind(call->shape, call->x, call->comm, &call->facts, &kind, &is_whole)) {
        hp_recorder.book.lost[HP_LOST_sequence]++;
        return HP_SEQUENCE_NO_KIND;
    }
    hp_recorder.book.lost[HP_LOST_counts] += !is_whole;
    kind.site = call->site;
    const uint32_t number = hp_sequence_kind(&kind, call->comm);
    hp_recorder.book.lost[HP_LOST_sequence] += number == HP_SEQUENCE_NO_KIND;
    return number;
}

static uint32_t kind_by_last(const hp_seen_call_t *call)
{
    if (call->is_like_last && call->last->kind != HP_SEQUENCE_NO_KIND)
        return call->last->kind;
    const uint32_t number = kind_of(call);
    if (call->last)
        call->last->kind = number;
    return number;
}

/* Is sampled when ranks come to such calls? */
static bool arrives(const hp_seen_call_t *call)
{
    const hp_call_shape_t *shape = call->shape;

    return shape->kind == HP_KIND_COLLECTIVE && shape->action == HP_DO_CALL &&
           shape->waiting <= HP_ROOT_TAKES && call->comm && call->comm->id && call->comm->size > 1;
}

/* Every rank of the communicator counts the call, whatever became of it here. */
static void sample_arrival(const hp_seen_call_t *call, int code)
{
    const hp_call_shape_t *shape = call->shape;
    hp_seen_comm_t *comm = call->comm;

    if (!arrives(call))
        return;
    const uint64_t number = comm->calls++;
    if (!hp_arrivals_is_sampled(comm->id, number, comm->sampled_first) || code != MPI_SUCCESS)
        return;
    const uint64_t leave_ns = hp_machine_clock_ns() - hp_ticks_ns(hp_ticks() - call->recording->leave);
    hp_arrivals_add(&(hp_arrivals_sample_t){.comm_id = comm->id,
                                            .number = number,
                                            .enter_ns = leave_ns - call->ns,
                                            .leave_ns = leave_ns,
                                            .site = call->site,
                                            .size = (uint32_t)comm->size,
                                            .rank = (uint32_t)comm->rank,
                                            .call = call->row,
                                            .comm = comm->row,
                                            .bin = call->bin,
                                            .waiting = shape->waiting,
                                            .is_root = call->facts.is_root});
}

/* A receive: what came, instead of what there was room for. */
static void take_received(hp_seen_call_t *call)
{
    MPI_Status *status = (MPI_Status *)call->x[call->shape->status];
    int bytes = 0;

    if (P(Get_count)(status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) /* it does not fit into an int */
        return;
    if ((uint64_t)bytes > call->facts.sent || call->shape->send < 0)
        call->facts.bytes = (uint64_t)bytes;
    else
        call->facts.bytes = call->facts.sent;
}

/* The record that a call from there had last, if it is this call's. */
static hp_book_record_t *record_at_place(const hp_seen_call_t *call)
{
    const hp_facts_t *facts = &call->facts;

    if (!call->last || !call->last->record)
        return NULL;
    hp_book_record_t *record = hp_table_row(&hp_recorder.book.records, call->last->record - 1);
    const bool is_same = record->call == call->row && record->comm == call->comm_row &&
                         record->type == facts->type && record->op == facts->op &&
                         record->site == call->site && record->bin == call->bin &&
                         record->on_device == facts->on_device;
    return is_same ? record : NULL;
}

static hp_book_record_t *find_record(const hp_seen_call_t *call)
{
    static hp_recent_t recent;
    const hp_table_t *records = &hp_recorder.book.records;
    const hp_facts_t *facts = &call->facts;
    uint32_t *next = hp_recent_row(
        &recent,
        (uint64_t)call->row << 48 | (uint64_t)call->comm_row << 32 | (uint64_t)facts->type << 16 | facts->op,
        (uint64_t)facts->on_device << 40 | (uint64_t)(uint8_t)call->bin << 32 | call->site);

    if (__builtin_expect(*next != 0, 1))
        return hp_table_row(records, *next - 1);
    const uint64_t lost = hp_recorder.book.lost[HP_LOST_records];
    hp_book_record_t *record =
        hp_book_record(&hp_recorder.book, &(hp_book_record_t){.call = call->row,
                                                              .comm = call->comm_row,
                                                              .type = facts->type,
                                                              .op = facts->op,
                                                              .site = call->site,
                                                              .bin = call->bin,
                                                              .on_device = facts->on_device});
    if (record && hp_recorder.book.lost[HP_LOST_records] == lost) /* else it is to be counted each time */
        *next = hp_table_number(records, record) + 1;
    return record;
}

static hp_book_record_t *record_of(const hp_seen_call_t *call)
{
    hp_book_record_t *record = record_at_place(call);

    if (__builtin_expect(record != NULL, 1))
        return record;
    const uint64_t lost = hp_recorder.book.lost[HP_LOST_records];
    record = find_record(call);
    if (record && call->last && hp_recorder.book.lost[HP_LOST_records] == lost)
        call->last->record = hp_table_number(&hp_recorder.book.records, record) + 1;
    return record;
}

static hp_book_record_t *count_record(hp_seen_call_t *call)
{
    call->bin = (int8_t)(call->facts.has_bytes ? hp_book_bin(call->facts.bytes) : HP_BOOK_NO_BYTES);
    hp_book_record_t *record = record_of(call);
    if (record) {
        hp_book_record_add(record, 1, call->facts.bytes, call->ns);
        record->accelerated += call->is_accelerated;
    }
    return record;
}

static void follow_up(const hp_seen_call_t *call)
{
    const hp_call_shape_t *shape = call->shape;
    uint32_t kind = HP_SEQUENCE_NO_KIND;
    uint64_t event = HP_NO_EVENT;

    if (shape->kind == HP_KIND_COLLECTIVE && hp_sequence_is_on() && shape->action <= HP_DO_INIT)
        kind = kind_by_last(call);
    if (kind != HP_SEQUENCE_NO_KIND && shape->action != HP_DO_INIT)
        event =
            hp_sequence_add(kind, call->recording->enter, call->recording->leave, call->recording->faults);
    if (shape->action == HP_DO_POST || shape->action == HP_DO_INIT)
        hp_operations_follow(call, event, kind, shape->action == HP_DO_INIT);
    else if (shape->action >= HP_DO_WAIT && shape->action <= HP_DO_TEST_ANY)
        hp_operations_complete(call);
    if (shape->kind == HP_KIND_SEND && shape->destination >= 0 && shape->action != HP_DO_INIT)
        hp_operations_count_message(call);
}

/* Chooses what is watched until the next call. */
static void choose_watch(const hp_seen_call_t *call)
{
    const hp_call_shape_t *shape = call->shape;
    hp_watch_call_t watched = {.site = call->site,
                               .row = call->row,
                               .bin = call->bin,
                               .is_blocking =
                                   shape->action == HP_DO_CALL &&
                                   (shape->kind == HP_KIND_COLLECTIVE || shape->kind == HP_KIND_SEND ||
                                    shape->kind == HP_KIND_RECEIVE)};

    if (shape->makes_window)
        hp_watch_forbid_pages();
    watched.has_buffers = watched.is_blocking && hp_watch_wants(&watched);
    if (watched.has_buffers)
        hp_facts_buffers(shape, call->x, call->comm, &watched.send, &watched.recv);
    hp_watch_end_call(&watched);
}

/* Is the call like the last one on its way, and are the handles still what they were? (Of memory of a device each call is asked.) */
static inline bool is_like(const hp_last_call_t *last, uint16_t row, const uintptr_t *x)
{
    const hp_seen_comm_t *comm = last->comm;

    return hp_last_call_is(last, row, x) && (!comm || comm->known == last->known) &&
           last->types == hp_types_changed[last->is_derived] && !hp_device_is_possible();
}

/* What is known of the call without looking at its arguments again. */
static void take_last(hp_seen_call_t *call)
{
    const hp_last_call_t *last = call->last;

    call->comm = last->comm;
    call->comm_row = call->comm ? call->comm->row : 0;
    call->facts = (hp_facts_t){.bytes = last->bytes,
                               .sent = last->sent,
                               .type = last->type,
                               .op = last->op,
                               .has_bytes = last->has_bytes,
                               .is_root = last->is_root};
}

static void keep_as_last(const hp_seen_call_t *call)
{
    const hp_facts_t *facts = &call->facts;
    hp_last_call_t *last = call->last;

    if (!call->shape->given || hp_device_is_possible()) {
        last->given = 0;
        return;
    }
    hp_last_call_keep(last, call->row, call->shape->given, call->x);
    last->peer = 0;
    last->kind = HP_SEQUENCE_NO_KIND;
    last->is_derived = facts->is_derived;
    last->types = hp_types_changed[facts->is_derived];
    last->comm = call->comm;
    last->known = call->comm ? call->comm->known : 0;
    last->type = facts->type;
    last->op = facts->op;
    last->bytes = facts->bytes;
    last->sent = facts->sent;
    last->has_bytes = facts->has_bytes;
    last->is_root = facts->is_root;
    last->is_alone = false;
}

/* Is one more such call no more than what count_like_last does? */
static void tell_alone(const hp_seen_call_t *call, const hp_book_record_t *record)
{
    const hp_call_shape_t *shape = call->shape;
    const bool is_blocking =
        shape->action == HP_DO_CALL && (shape->kind == HP_KIND_COLLECTIVE || shape->kind == HP_KIND_SEND);
    hp_last_call_t *last = call->last;

    last->arrives = arrives(call);
    last->is_alone =
        is_blocking && shape->status < 0 && record &&
        last->record == hp_table_number(&hp_recorder.book.records, record) + 1 &&
        (shape->destination < 0 || last->peer || (int)call->x[shape->destination] < 0); /* MPI_PROC_NULL */
}

static void look_at_arguments(hp_seen_call_t *call)
{
    const hp_call_shape_t *shape = call->shape;

    call->comm = shape->comm < 0 ? NULL : hp_handles_comm(hp_comm_handle(call->x[shape->comm]));
    call->comm_row = call->comm ? call->comm->row : 0;
    if (shape->action == HP_DO_START) {
        call->facts = (hp_facts_t){.bytes = 0};
        hp_operations_start(call);
    } else {
        hp_facts(&call->facts, shape, call->x, call->comm);
    }
    if (call->last)
        keep_as_last(call);
}

static void end_locked(const hp_recording_t *recording, const hp_call_shape_t *shape, const uintptr_t *x,
                       int code, bool accelerated, hp_python_place_t *place)
{
    hp_seen_call_t call; /* one by one: to set all of it to zero takes longer than the rest */

    call.recording = recording;
    call.shape = shape;
    call.x = x;
    call.row = (uint16_t)recording->row;
    call.ns = hp_ticks_ns(hp_ticks_between(recording->enter, recording->leave));
    call.is_accelerated = accelerated;
    hp_recorder.in_calls--;
    if (shape->action == HP_DO_NAME_COMM) {
        hp_handles_rename_comm(hp_comm_handle(x[shape->comm]));
        return;
    }
    hp_site_way_t *way = place            ? NULL
                         : recording->way ? recording->way
                                          : hp_sites_find(recording->return_address, recording->frame);
    call.site = place ? hp_python_site(place) : way->site;
    call.last = way && way->depth ? &way->last : NULL;
    call.is_like_last = call.last && is_like(call.last, call.row, x);
    if (__builtin_expect(call.is_like_last, 1))
        take_last(&call);
    else
        look_at_arguments(&call);
    if (shape->status >= 0 && code == MPI_SUCCESS)
        take_received(&call);
    const hp_book_record_t *record = count_record(&call);
    hp_recorder.mpi_ns += call.ns;
    hp_recorder.calls++;
    if (shape->kind == HP_KIND_TEST && way)
        hp_polling_timed(recording, x, code, way, call.ns);
    sample_arrival(&call, code);
    if (code != MPI_SUCCESS && shape->action != HP_DO_WAIT_ALL &&
        shape->action != HP_DO_WAIT) /* these are done */
        return;
    if (shape->new_comm >= 0 && code == MPI_SUCCESS) /* all of its ranks are here, now */
        hp_handles_comm(HP_HANDLE(*(const MPI_Comm *)x[shape->new_comm]));
    follow_up(&call);
    if (call.last && call.last->given && !call.is_like_last)
        tell_alone(&call, record);
    if (__builtin_expect(hp_watch_is_open, 0))
        choose_watch(&call);
}

void hp_recording_end(hp_recording_t *recording, const uintptr_t *x, int code)
{
    hp_recorder_thread_t *thread = this_thread();
    hp_python_place_t *place = NULL;

    if (__builtin_expect(recording->counts_faults, 0))
        recording->faults = hp_sequence_faults() - recording->faults;
    if (__builtin_expect(hp_python_is_there, 0) && recording->is_only_thread)
        place = hp_python_locate();
    hp_recording_lock();
    if (hp_recorder.exists && !place && !recording->way)
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

/* ---- a call like the last one ---- */

static bool count_like_last(const hp_recording_t *recording, const hp_last_call_t *last, const uintptr_t *x)
{
    hp_book_t *book = &hp_recorder.book;

    if (!is_like(last, (uint16_t)recording->row, x) || !last->is_alone)
        return false;
    if (last->arrives) {
        hp_seen_comm_t *comm = last->comm;
        if (hp_arrivals_is_sampled(comm->id, comm->calls, comm->sampled_first))
            return false;
        comm->calls++;
    }
    const uint64_t ns = hp_ticks_ns(hp_ticks_between(recording->enter, recording->leave));
    hp_book_record_t *record = hp_table_row(&book->records, last->record - 1);
    hp_book_record_add(record, 1, last->bytes, ns);
    record->accelerated += hp_recorder.only_thread.accelerated;
    if (last->peer)
        hp_book_peer_count(book, hp_table_row(&book->peers, last->peer - 1), 1, last->sent);
    hp_recorder.mpi_ns += ns;
    hp_recorder.calls++;
    return true;
}

void hp_recording_end_plain(hp_recording_t *recording, const uintptr_t *x, int code)
{
    if (__builtin_expect(hp_recorder.exists, 1))
        recording->way = hp_sites_find(recording->return_address, recording->frame);
    if (__builtin_expect(recording->way && code == MPI_SUCCESS &&
                             count_like_last(recording, &recording->way->last, x),
                         1)) {
        hp_recorder.only_thread.inside = false;
        return;
    }
    recording->is_only_thread = true;
    recording->handles = NULL;
    recording->counts_faults = false;
    hp_recorder.in_calls++; /* as after hp_recording_begin */
    hp_recording_end(recording, x, code);
}
