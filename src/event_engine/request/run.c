/* run: completions are taken and make tasks ready; those that need no message run here. */
#include "event_engine/request/internal.h"

#include <assert.h>

/* Completions taken from the transport at a time. */
enum { POLL_BATCH = 64 };

static void task_complete(hp_request_t *request, hp_task_t *task)
{
    hp_segment_t *segment = task->segment;

    task->complete = true;
    if (__builtin_expect(request->trace != NULL, 0))
        hp_record_end(request, task);
    for (uint32_t e = task->first_edge; e; e = segment->edges[e - 1].next) {
        hp_task_t *waiter = segment->edges[e - 1].task;
        if (--waiter->waits == 0)
            hp_task_release(request, waiter);
    }
    if (task->lane >= 0 && task->kind != TASK_WAIT) {
        lane_t *lane = &request->lanes[task->lane];
        lane->in_flight--;
        request->counters.in_flight -= lane->kind <= LANE_NATIVE;
        hp_lane_post_ready(request, lane);
    }
    if (--segment->unfinished == 0) {
        if (request->trace)
            hp_record_segment_end(request, segment);
        if (request->scratch_held)
            hp_segment_release_scratch(request, segment, false);
        request->done_segments++;
        hp_segment_refill(request, segment);
    }
}

static size_t bytes_of(const hp_request_t *request, const hp_task_t *task)
{
    return task->count * request->pipeline.type.bytes;
}

/* What of a task's data lies inside the member's buffer, which may be shorter than this rank's. */
static size_t bytes_at_peer(const hp_request_t *request, const hp_task_t *task)
{
    const size_t wanted = bytes_of(request, task);
    const uint64_t there = task->peer_buffer->bytes;

    if (__builtin_expect(task->offset + wanted <= there, 1))
        return wanted;
    return task->offset < there ? there - task->offset : 0;
}

/* Is it the first time in this collective that the lane's counter is set, or read? */
static bool has_note(const hp_request_t *request, const lane_t *lane)
{
    return lane->notes && lane->noted != request->pipeline.note;
}

/* The length of this rank's message. */
static void write_note(const hp_request_t *request, lane_t *lane)
{
    lane->noted = request->pipeline.note;
    if (request->pipeline.note)
        hp_note_write(lane->counter, request->pipeline.note);
}

static bool streams(const hp_request_t *request, const hp_task_t *task)
{
    return hp_node_streams(request->pipeline.node, bytes_of(request, task));
}

/* Part by part, each made where it stays in the cache. */
static void reduce_past_caches(const hp_request_t *request, const hp_task_t *task)
{
    enum { PART = 4096 };
    _Alignas(64) char part[PART];
    const char *left = hp_operand_address(task->in), *right = hp_operand_address(task->right);
    const size_t element = request->pipeline.type.bytes, most = PART / element;

    for (size_t done = 0; done < task->count; done += most) {
        const size_t left_over = task->count - done, count = left_over < most ? left_over : most,
                     at = done * element;
        request->pipeline.kernel(left + at, right + at, part, count);
        hp_stream_copy(task->buffer + at, part, count * element);
    }
}

static hp_status_t run_task(hp_request_t *request, hp_task_t *task)
{
    const hp_status_t status = hp_task_take_buffer(request, task);
    if (status != HP_OK)
        return status;
    switch ((task_kind_t)task->kind) {
    case TASK_JOIN:
        return HP_OK;
    case TASK_REDUCE:
        request->counters.reductions++;
        return hp_local_reduce(request, hp_operand_address(task->in), task->buffer, task->count);
    case TASK_REDUCE_TO:
        request->counters.reductions++;
        if (task->is_shared && request->pipeline.kernel && streams(request, task)) {
            reduce_past_caches(request, task);
            return HP_OK;
        }
        return hp_local_reduce_to(request, hp_operand_address(task->in), hp_operand_address(task->right),
                                  task->buffer, task->count);
    case TASK_COPY:
        request->counters.copies++;
        if (task->is_shared && streams(request, task)) {
            hp_stream_copy(task->buffer, hp_operand_address(task->in), bytes_of(request, task));
            return HP_OK;
        }
        return hp_local_copy(request, task->buffer, hp_operand_address(task->in), task->count);
    case TASK_PULL:
        request->counters.pulls++;
        return hp_node_pull(request->pipeline.node, task->member,
                            (char *)task->peer_buffer->address + task->offset, task->buffer,
                            bytes_at_peer(request, task));
    case TASK_PUSH:
        request->counters.pushes++;
        return hp_node_push(request->pipeline.node, task->member, hp_operand_address(task->in),
                            (char *)task->peer_buffer->address + task->offset, bytes_at_peer(request, task));
    case TASK_ADVANCE:
        return request->pipeline.source->advance(request->pipeline.source, task->value);
    default: /* TASK_SET */
        request->counters.sets++;
        if (has_note(request, &request->lanes[task->lane]))
            write_note(request, &request->lanes[task->lane]);
        hp_node_set(request->pipeline.node, request->lanes[task->lane].counter, task->value);
        return HP_OK;
    }
}

static void run_local(hp_request_t *request, hp_task_t *task)
{
    record_start(request, task);
    request->error = run_task(request, task);
    if (request->error == HP_OK)
        task_complete(request, task);
}

static inline bool has_ready(const hp_request_t *request)
{
    return request->ready.first || request->later.first;
}

/* While messages are in flight only a few at a time: what they make possible is not to wait for a window of
 * copies. */
enum { LOCAL_TASKS_AT_A_TIME = 4 };

static void run_ready(hp_request_t *request)
{
    for (int i = 0; request->error == HP_OK && (i < LOCAL_TASKS_AT_A_TIME || !request->counters.in_flight);
         i++) {
        hp_task_t *task = queue_pop(&request->ready);
        if (!task && __builtin_expect(request->later.first == NULL, 1))
            return;
        run_local(request, task ? task : queue_pop(&request->later));
    }
}

/* Who has set the lane's counter may have a longer message. */
static void compare_notes(hp_request_t *request, lane_t *lane)
{
    const hp_note_t own = request->pipeline.note, note = own ? hp_note_read(lane->counter, own) : own;

    lane->noted = own;
    if (hp_note_is_longer(note, own))
        hp_request_set_longer(request, hp_note_bytes(note));
}

/* Completes the waits at the head of the lane whose value its counter has reached. Returns whether there were any. */
static bool take_flag(hp_request_t *request, lane_t *lane)
{
    const uint64_t value = atomic_load_explicit(lane->counter, memory_order_acquire);
    bool moved = false;

    while (lane->waiting.first && !lane->waiting.first->waits && lane->waiting.first->value <= value &&
           request->error == HP_OK) {
        if (has_note(request, lane))
            compare_notes(request, lane);
        hp_task_t *task = queue_pop(&lane->waiting);
        if (task->finds_slot)
            task->buffer = hp_node_find_slot(request->pipeline.node, lane->counter, task->value - 1);
        task_complete(request, task);
        moved = true;
    }
    return moved;
}

/* Looks at each awaited counter once. What is completed may add lanes to the list: those are looked at next time. */
static bool take_flags(hp_request_t *request)
{
    int32_t next = request->first_awaited;
    bool moved = false;

    request->first_awaited = request->last_awaited = -1;
    while (next >= 0) {
        lane_t *lane = &request->lanes[next];
        next = lane->next_awaited;
        lane->is_awaited = false;
        moved |= take_flag(request, lane);
        if (lane->waiting.first && !lane->waiting.first->waits)
            hp_lane_await(request, lane);
    }
    return moved;
}

/* After an error. Scratch buffers go back, unless an operation goes on that could not be cancelled. */
static void give_up(hp_request_t *request, uint32_t window)
{
    request->transport->ops->cancel(request->transport);
    request->transport->cancelled++; /* the other requests' messages too */
    const bool in_use = !hp_transport_ended(request->transport);
    for (uint32_t i = 0; i < window; i++)
        hp_segment_release_scratch(request, &request->segments[i], in_use);
    for (uint32_t i = 0; i < request->lane_count; i++) { /* as new: the collective may be started again */
        lane_t *lane = &request->lanes[i];
        lane->in_flight = 0;
        lane->waiting = (queue_t){NULL, NULL};
        lane->is_awaited = false;
    }
    request->first_awaited = request->last_awaited = -1;
    request->counters.in_flight = 0;
    request->next_segment = request->pipeline.segment_count;
    request->done_segments = request->pipeline.segment_count;
    request->is_whole = false;
}

static void begin(hp_request_t *request, uint32_t window)
{
    request->ready = request->later = (queue_t){NULL, NULL};
    request->error = HP_OK;
    request->longer_bytes = 0;
    request->scratch_held = 0;
    request->cancelled = request->transport->cancelled;
    request->counters = (hp_request_counters_t){.window_segments = window};
    request->next_segment = 0;
    request->done_segments = 0;
}

/* The first segments have tasks. */
static hp_status_t run_first(hp_request_t *request, uint32_t window)
{
    run_ready(request);
    if (request->error != HP_OK)
        give_up(request, window);
    return request->error;
}

/* The window stands. */
static hp_status_t start(hp_request_t *request)
{
    const uint32_t window = request->window;

    begin(request, window);
    for (uint32_t i = 0; i < window && request->error == HP_OK; i++)
        hp_segment_refill(request, &request->segments[i]);
    request->is_whole = request->pipeline.segment_count == 1;
    return run_first(request, window);
}

hp_status_t hp_request_start(hp_request_t *request, const hp_pipeline_t *pipeline)
{
    assert(hp_request_done(request));
    hp_request_reclaim(request);
    request->pipeline = *pipeline;
    request->step = NULL;
    request->next_segment = pipeline->segment_count; /* done, until the window stands */
    request->done_segments = pipeline->segment_count;

    const hp_status_t status = hp_window_prepare(request);
    return status == HP_OK ? start(request) : status;
}

hp_status_t hp_request_start_again(hp_request_t *request, const hp_pipeline_t *pipeline, bool as_emitted)
{
    const uint64_t later = pipeline->step - request->pipeline.step;
    hp_status_t status = HP_OK;

    assert(hp_request_done(request) && !request->step);
    hp_request_reclaim(request);
    request->pipeline.step = pipeline->step;
    request->pipeline.tag = pipeline->tag;
    request->pipeline.note = pipeline->note;
    request->pipeline.source = pipeline->source;
    if (!request->task_memory)
        status = hp_window_prepare(request);
    else if (request->trace)
        status = hp_record_prepare(request, request->window);
    if (status != HP_OK) {
        request->is_whole = false; /* the tasks' flags are not those of the step */
        return status;
    }
    if (!as_emitted || !request->is_whole)
        return start(request);
    begin(request, 1);
    hp_segment_repeat(request, later);
    return run_first(request, 1);
}

/* Of whatever request: all that use the transport are in one queue. What a completion makes ready another request
 * runs when it is progressed itself. */
static void take_completions(void *const *done, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hp_task_t *task = done[i];
        hp_request_t *owner = task->segment->request;
        if (owner->error == HP_OK)
            task_complete(owner, task);
    }
}

typedef hp_status_t (*take_fn_t)(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count);

static hp_status_t progress(hp_request_t *request, take_fn_t take, bool *moved)
{
    void *done[POLL_BATCH];
    uint32_t count = 0;

    if (request->step) {
        *moved = !hp_request_done(request);
        if (*moved)
            hp_direct_step(request);
        *moved = *moved && hp_request_done(request);
        return request->error == HP_OK ? request_outcome(request) : request->error;
    }
    hp_status_t status = HP_OK;
    if (!request->counters.in_flight)
        request->cancelled = request->transport->cancelled; /* it had nothing to lose */
    else if (request->cancelled != request->transport->cancelled)
        status = HP_ERR_TRANSPORT;
    else
        status = take(request->transport, done, POLL_BATCH, &count);
    *moved = count > 0;
    take_completions(done, count);
    if (request->error == HP_OK)
        request->error = status;
    if (has_ready(request))
        run_ready(request);
    if (request->error == HP_OK && take_flags(request)) {
        *moved = true;
        run_ready(request);
    }
    *moved = *moved || has_ready(request);
    if (request->error == HP_OK)
        return request_outcome(request);
    give_up(request, request->counters.window_segments);
    return request->error;
}

hp_status_t hp_request_progress(hp_request_t *request, bool *moved)
{
    return progress(request, request->transport->ops->poll, moved);
}

hp_status_t hp_request_wait(hp_request_t *request, bool *moved)
{
    const hp_transport_ops_t *ops = request->transport->ops;
    return progress(request, ops->wait && !has_ready(request) ? ops->wait : ops->poll, moved);
}
