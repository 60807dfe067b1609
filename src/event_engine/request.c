#include "event_engine/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    TASK_SEND,
    TASK_RECV,
    TASK_REDUCE,
    TASK_REDUCE_TO,
    TASK_COPY,
    TASK_PULL,
    TASK_PUSH,
    TASK_WAIT,
    TASK_SET,
    TASK_NATIVE,
    TASK_JOIN
} task_kind_t;

struct hp_task {
    uint8_t kind;      /* task_kind_t */
    uint8_t label;     /* hp_label_t */
    uint8_t native;    /* hp_native_t */
    bool scratch;      /* the buffer comes from the pool, */
    bool scratch_held; /* and does now */
    bool complete;
    int32_t lane;
    uint32_t waits; /* tasks that must complete before this one may start */
    uint32_t
        first_edge; /* list of tasks that wait for this one: index + 1 into the segment's edges, 0 = none */
    uint32_t start_tick; /* recording: when it was posted, released or run; see tick() */
    hp_segment_t *segment;
    hp_task_t *next; /* in its lane, or in the ready queue */
    char *buffer; /* what the task reads from or fills; set when the task starts, for scratch and operands */
    hp_operand_t in, out;
    size_t count;
    union {
        hp_operand_t right; /* REDUCE_TO: its other operand */
        uint64_t value;     /* WAIT, SET */
        uint32_t root;      /* NATIVE */
        struct {
            void *const *address; /* PULL, PUSH: where the member says that its buffer is, */
            size_t offset;        /* and how far behind it to begin */
            uint32_t member;
        };
    };
};

typedef struct {
    hp_task_t *task;
    uint32_t next; /* index + 1 */
} edge_t;

struct hp_segment {
    hp_request_t *request;
    uint64_t index;
    uint32_t task_count, edge_count;
    uint32_t unfinished;
    hp_label_t label; /* of the tasks to come */
    hp_task_t *tasks;
    edge_t *edges;
};

typedef struct {
    hp_task_t *first, *last;
} queue_t;

typedef enum {
    LANE_SEND = HP_LANE_SEND,
    LANE_RECV = HP_LANE_RECV,
    LANE_WAIT,
    LANE_SET,
    LANE_NATIVE
} lane_kind_t;

typedef struct {
    lane_kind_t kind;
    uint32_t peer, tag;
    hp_counter_t *counter; /* WAIT, SET */
    hp_handle_t comm;      /* NATIVE */
    int32_t next_wait;     /* WAIT: the next such lane, -1 at the end */
    uint32_t limit, in_flight;
    queue_t waiting;  /* emitted and not posted yet, in segment order */
    uint64_t last_ns; /* recording: when the last operation of the lane was complete */
} lane_t;

/* Recording: one of the four tasks of a segment, from its first primitive to its last. */
typedef struct {
    uint64_t start_ns, end_ns; /* end_ns 0: nothing yet */
    uint64_t bytes;
} span_t;

typedef struct {
    span_t spans[HP_LABEL_COUNT];
} record_t;

struct hp_request {
    hp_transport_t *transport;
    hp_pool_t *pool;
    hp_pipeline_t pipeline;

    void *plan;
    size_t plan_bytes;
    lane_t *lanes;
    uint32_t lane_count, lane_capacity;
    int32_t first_wait;     /* list of the lanes that wait for counters */
    hp_segment_t *segments; /* the window */
    void *task_memory;
    size_t segment_capacity, task_memory_bytes;

    hp_step_fn_t step; /* NULL: there are segments */
    hp_direct_t *direct;
    uint64_t next_segment; /* the next one to emit */
    uint64_t done_segments;
    queue_t ready; /* what needs no message and whose turn has come; oldest segment first */
    hp_status_t error;
    uint32_t scratch_held;
    uint32_t cancelled; /* the transport's count, when the collective was started */
    hp_request_counters_t counters;

    hp_trace_t *trace; /* NULL: nothing is recorded */
    hp_trace_call_t *trace_call;
    record_t *records; /* of the window's segments */
    size_t record_capacity;
};

/* Task memory of one request at most, unless a single segment needs more: a window of 256 segments of a rank
 * with 16 children takes about half of it. */
enum { TASK_MEMORY_BYTES = 1 << 20, WINDOW_MIN = 8 };
/* Scratch memory of one request at most, unless WINDOW_MIN segments need more: a rank that waits for one slow
 * child holds what all others sent meanwhile. */
enum { SCRATCH_MEMORY_BYTES = 16 << 20 };
/* Completions taken from the transport at a time. */
enum { POLL_BATCH = 64 };

static void queue_push(queue_t *queue, hp_task_t *task)
{
    task->next = NULL;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
}

static void queue_push_front(queue_t *queue, hp_task_t *task)
{
    task->next = queue->first;
    queue->first = task;
    if (!queue->last)
        queue->last = task;
}

/* Behind everything of the same and of older segments. The oldest segment is what the outer levels and the
 * other ranks wait for: in the order of release each step of all segments in the window would come before the
 * next step of the first (traced: with 128 segments no message left a node before 50 of 120 ms). Releases
 * come in order or nearly so: the walk is short. */
static void queue_insert(queue_t *queue, hp_task_t *task)
{
    const uint64_t index = task->segment->index;

    if (!queue->last || queue->last->segment->index <= index) {
        queue_push(queue, task);
        return;
    }
    hp_task_t **place = &queue->first;
    while ((*place)->segment->index <= index)
        place = &(*place)->next;
    task->next = *place;
    *place = task;
}

static hp_task_t *queue_pop(queue_t *queue)
{
    hp_task_t *task = queue->first;
    if (task) {
        queue->first = task->next;
        if (!queue->first)
            queue->last = NULL;
    }
    return task;
}

hp_status_t hp_request_create(hp_transport_t *transport, hp_pool_t *pool, hp_request_t **out)
{
    hp_request_t *request = calloc(1, sizeof *request);
    if (!request)
        return HP_ERR_NO_MEM;
    request->transport = transport;
    request->pool = pool;
    request->first_wait = -1;
    *out = request;
    return HP_OK;
}

void hp_request_destroy(hp_request_t *request)
{
    if (!request)
        return;
    assert(hp_request_done(request));
    free(request->records);
    free(request->task_memory);
    free(request->segments);
    free(request->lanes);
    free(request->plan);
    free(request);
}

void *hp_request_plan(hp_request_t *request, size_t plan_bytes)
{
    assert(hp_request_done(request));
    request->lane_count = 0;
    request->first_wait = -1;
    if (plan_bytes > request->plan_bytes) {
        void *plan = realloc(request->plan, plan_bytes);
        if (!plan)
            return NULL;
        request->plan = plan;
        request->plan_bytes = plan_bytes;
    }
    return request->plan;
}

static int32_t add_lane(hp_request_t *request, const lane_t *lane)
{
    if (request->lane_count == request->lane_capacity) {
        uint32_t capacity = request->lane_capacity ? 2 * request->lane_capacity : 16;
        lane_t *lanes = realloc(request->lanes, capacity * sizeof *lanes);
        if (!lanes)
            return -1;
        request->lanes = lanes;
        request->lane_capacity = capacity;
    }
    request->lanes[request->lane_count] = *lane;
    return (int32_t)request->lane_count++;
}

int32_t hp_request_new_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                            uint32_t limit)
{
    return add_lane(
        request,
        &(lane_t){.kind = (lane_kind_t)direction, .peer = peer, .tag = tag, .limit = limit ? limit : 1});
}

int32_t hp_request_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                        uint32_t limit)
{
    for (uint32_t i = 0; i < request->lane_count; i++) {
        const lane_t *lane = &request->lanes[i];
        if (lane->peer == peer && lane->kind == (lane_kind_t)direction && lane->tag == tag)
            return (int32_t)i;
    }
    return hp_request_new_lane(request, direction, peer, tag, limit);
}

int32_t hp_request_wait_lane(hp_request_t *request, const hp_counter_t *counter)
{
    const int32_t lane = add_lane(
        request,
        &(lane_t){.kind = LANE_WAIT, .counter = (hp_counter_t *)counter, .next_wait = request->first_wait});
    if (lane >= 0)
        request->first_wait = lane;
    return lane;
}

int32_t hp_request_set_lane(hp_request_t *request, hp_counter_t *counter)
{
    return add_lane(request, &(lane_t){.kind = LANE_SET, .counter = counter, .limit = 1});
}

int32_t hp_request_native_lane(hp_request_t *request, hp_handle_t comm)
{
    for (uint32_t i = 0; i < request->lane_count; i++)
        if (request->lanes[i].kind == LANE_NATIVE && request->lanes[i].comm == comm)
            return (int32_t)i;
    return add_lane(request, &(lane_t){.kind = LANE_NATIVE, .comm = comm, .limit = 1});
}

/* ---- emitting ---- */

static hp_task_t *emit(hp_segment_t *segment, task_kind_t kind, size_t count)
{
    assert(segment->task_count < segment->request->pipeline.tasks_per_segment);
    hp_task_t *task = &segment->tasks[segment->task_count++];
    *task = (hp_task_t){.kind = (uint8_t)kind,
                        .label = (uint8_t)segment->label,
                        .lane = -1,
                        .segment = segment,
                        .count = count};
    return task;
}

hp_task_t *hp_emit_send(hp_segment_t *segment, int32_t lane, hp_operand_t from, size_t count)
{
    hp_task_t *task = emit(segment, TASK_SEND, count);
    task->lane = lane;
    task->in = from;
    return task;
}

hp_task_t *hp_emit_recv(hp_segment_t *segment, int32_t lane, void *to, size_t count)
{
    hp_task_t *task = emit(segment, TASK_RECV, count);
    task->lane = lane;
    task->out = hp_at(to);
    return task;
}

hp_task_t *hp_emit_recv_scratch(hp_segment_t *segment, int32_t lane, size_t count)
{
    hp_task_t *task = hp_emit_recv(segment, lane, NULL, count);
    task->scratch = true;
    return task;
}

hp_task_t *hp_emit_recv_within(hp_segment_t *segment, int32_t lane, const hp_task_t *holder, size_t offset,
                               size_t count)
{
    hp_task_t *task = hp_emit_recv(segment, lane, NULL, count);
    task->out = hp_within(hp_of(holder), offset);
    return task;
}

hp_task_t *hp_emit_join(hp_segment_t *segment)
{
    return emit(segment, TASK_JOIN, 0);
}

hp_task_t *hp_emit_reduce(hp_segment_t *segment, hp_operand_t in, hp_operand_t inout, size_t count)
{
    hp_task_t *task = emit(segment, TASK_REDUCE, count);
    task->in = in;
    task->out = inout;
    return task;
}

static void place(hp_task_t *task, hp_operand_t out)
{
    task->out = out;
    task->scratch = !out.task && !out.address;
}

hp_task_t *hp_emit_reduce_to(hp_segment_t *segment, hp_operand_t left, hp_operand_t right,
                             hp_operand_t result, size_t count)
{
    hp_task_t *task = emit(segment, TASK_REDUCE_TO, count);
    task->in = left;
    task->right = right;
    place(task, result);
    return task;
}

static hp_task_t *emit_peer(hp_segment_t *segment, task_kind_t kind, uint32_t member, void *const *address,
                            size_t offset, size_t count)
{
    hp_task_t *task = emit(segment, kind, count);
    task->member = member;
    task->address = address;
    task->offset = offset;
    return task;
}

hp_task_t *hp_emit_pull(hp_segment_t *segment, uint32_t member, void *const *address, size_t offset,
                        hp_operand_t to, size_t count)
{
    hp_task_t *task = emit_peer(segment, TASK_PULL, member, address, offset, count);
    place(task, to);
    return task;
}

hp_task_t *hp_emit_push(hp_segment_t *segment, uint32_t member, void *const *address, size_t offset,
                        hp_operand_t from, size_t count)
{
    hp_task_t *task = emit_peer(segment, TASK_PUSH, member, address, offset, count);
    task->in = from;
    return task;
}

static hp_task_t *emit_flag(hp_segment_t *segment, task_kind_t kind, int32_t lane, uint64_t value)
{
    hp_task_t *task = emit(segment, kind, 0);
    task->lane = lane;
    task->value = value;
    return task;
}

hp_task_t *hp_emit_wait(hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return emit_flag(segment, TASK_WAIT, lane, value);
}

hp_task_t *hp_emit_set(hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return emit_flag(segment, TASK_SET, lane, value);
}

hp_task_t *hp_emit_native(hp_segment_t *segment, int32_t lane, hp_native_t what, hp_operand_t from,
                          hp_operand_t to, size_t count, uint32_t root)
{
    hp_task_t *task = emit(segment, TASK_NATIVE, count);
    task->lane = lane;
    task->native = (uint8_t)what;
    task->in = from;
    place(task, to);
    task->root = root;
    return task;
}

void hp_segment_label(hp_segment_t *segment, hp_label_t label)
{
    segment->label = label;
}

hp_task_t *hp_emit_copy(hp_segment_t *segment, void *to, hp_operand_t from, size_t count)
{
    hp_task_t *task = emit(segment, TASK_COPY, count);
    task->in = from;
    task->out = hp_at(to);
    return task;
}

void hp_emit_after(hp_task_t *task, hp_task_t *before)
{
    if (!before)
        return;
    hp_segment_t *segment = task->segment;
    assert(segment == before->segment && segment->edge_count < segment->request->pipeline.edges_per_segment);
    edge_t *edge = &segment->edges[segment->edge_count++];
    *edge = (edge_t){.task = task, .next = before->first_edge};
    before->first_edge = segment->edge_count;
    task->waits++;
}

/* ---- recording ---- */

const char *hp_label_name(hp_label_t label)
{
    static const char *const names[] = {
#define X(id, name) #name,
        HP_LABEL_TABLE(X)
#undef X
    };
    return names[label];
}

void hp_request_record(hp_request_t *request, hp_trace_t *trace, hp_trace_call_t *call)
{
    request->trace = trace;
    request->trace_call = call;
}

hp_trace_call_t *hp_request_recorded(const hp_request_t *request)
{
    return request->trace ? request->trace_call : NULL;
}

/* A start is kept in 32 bits, in units of 32 ns, so that a task stays two cache lines: it comes round after
 * 137 s, longer than any task is expected to last. */
enum { TICK_SHIFT = 5 };

static void record_tick(const hp_request_t *request, hp_task_t *task)
{
    task->start_tick = (uint32_t)(hp_trace_now(request->trace) >> TICK_SHIFT);
}

static inline void record_start(const hp_request_t *request, hp_task_t *task)
{
    if (__builtin_expect(request->trace != NULL, 0))
        record_tick(request, task);
}

static void span_extend(span_t *span, uint64_t start_ns, uint64_t end_ns, uint64_t bytes)
{
    if (!span->end_ns || start_ns < span->start_ns)
        span->start_ns = start_ns;
    if (end_ns > span->end_ns)
        span->end_ns = end_ns;
    if (bytes > span->bytes)
        span->bytes = bytes;
}

static record_t *record_of(const hp_segment_t *segment)
{
    return &segment->request->records[segment - segment->request->segments];
}

static hp_trace_kind_t record_kind(const hp_task_t *task)
{
    switch ((task_kind_t)task->kind) {
    case TASK_SEND:
        return HP_TRACE_SEND;
    case TASK_RECV:
        return HP_TRACE_RECV;
    case TASK_REDUCE:
    case TASK_REDUCE_TO:
        return HP_TRACE_REDUCE;
    case TASK_COPY:
        return HP_TRACE_COPY;
    case TASK_PULL:
        return HP_TRACE_PULL;
    case TASK_PUSH:
        return HP_TRACE_PUSH;
    case TASK_WAIT:
        return HP_TRACE_WAIT;
    case TASK_SET:
        return HP_TRACE_SET;
    case TASK_NATIVE:
        return HP_TRACE_NATIVE;
    case TASK_JOIN:
        break;
    }
    return HP_TRACE_KIND_COUNT; /* nothing to be seen */
}

/* A task of the engine is complete. */
static void record_end(hp_request_t *request, const hp_task_t *task)
{
    const hp_trace_kind_t kind = record_kind(task);
    if (kind == HP_TRACE_KIND_COUNT)
        return;
    const uint64_t end_ns = hp_trace_now(request->trace), end_tick = end_ns >> TICK_SHIFT;
    lane_t *lane = task->lane >= 0 ? &request->lanes[task->lane] : NULL;
    record_t *record = record_of(task->segment);
    hp_trace_event_t event = {.start_ns = (end_tick - (uint32_t)((uint32_t)end_tick - task->start_tick))
                                          << TICK_SHIFT,
                              .end_ns = end_ns,
                              .bytes = task->count * request->pipeline.type.bytes,
                              .call = request->trace_call->number,
                              .segment = (uint32_t)task->segment->index,
                              .peer = -1,
                              .kind = (uint8_t)kind,
                              .label = task->label};

    event.turn_ns = lane && lane->last_ns > event.start_ns ? lane->last_ns : event.start_ns;
    if (lane) {
        lane->last_ns = end_ns;
        if (lane->kind == LANE_SEND || lane->kind == LANE_RECV)
            event.peer = (int32_t)lane->peer;
    }
    if (task->kind != TASK_WAIT && task->kind != TASK_SET)
        span_extend(&record->spans[task->label], event.turn_ns, end_ns, event.bytes);
    hp_trace_add(request->trace, &event);
}

static void record_segment_end(hp_request_t *request, const hp_segment_t *segment)
{
    const record_t *record = record_of(segment);

    for (unsigned label = 0; label < HP_LABEL_COUNT; label++) {
        const span_t *span = &record->spans[label];
        if (span->end_ns)
            hp_trace_add(request->trace, &(hp_trace_event_t){.start_ns = span->start_ns,
                                                             .turn_ns = span->start_ns,
                                                             .end_ns = span->end_ns,
                                                             .bytes = span->bytes,
                                                             .call = request->trace_call->number,
                                                             .segment = (uint32_t)segment->index,
                                                             .peer = -1,
                                                             .kind = HP_TRACE_TASK,
                                                             .label = (uint8_t)label});
    }
}

static hp_status_t record_prepare(hp_request_t *request, size_t window)
{
    if (window > request->record_capacity) {
        record_t *records = realloc(request->records, window * sizeof *records);
        if (!records)
            return HP_ERR_NO_MEM;
        request->records = records;
        request->record_capacity = window;
    }
    request->trace_call->segments = request->pipeline.segment_count;
    return HP_OK;
}

/* ---- running ---- */

static char *operand_address(hp_operand_t operand)
{
    char *base = operand.task ? operand.task->buffer : operand.address;
    return operand.offset ? base + operand.offset : base;
}

/* Where the task's data goes. A scratch buffer is its own until its segment is complete. */
static hp_status_t take_buffer(hp_request_t *request, hp_task_t *task)
{
    if (!task->scratch) {
        task->buffer = operand_address(task->out);
        return HP_OK;
    }
    char *raw = hp_pool_get(request->pool, request->pipeline.scratch_bytes);
    if (!raw)
        return HP_ERR_NO_MEM;
    task->buffer = raw + request->pipeline.scratch_shift;
    task->scratch_held = true;
    if (++request->scratch_held > request->counters.scratch_peak)
        request->counters.scratch_peak = request->scratch_held;
    return HP_OK;
}

static hp_status_t post_message(hp_request_t *request, const lane_t *lane, hp_task_t *task)
{
    const hp_transport_ops_t *ops = request->transport->ops;
    const hp_pipeline_t *p = &request->pipeline;

    record_start(request, task);
    if (task->kind == TASK_SEND) {
        task->buffer = operand_address(task->in);
        request->counters.sends++;
        return ops->isend(request->transport, task->buffer, task->count, &p->type, lane->peer, lane->tag,
                          task);
    }
    const hp_status_t status = take_buffer(request, task);
    if (status != HP_OK)
        return status;
    if (task->kind == TASK_RECV) {
        request->counters.recvs++;
        return ops->irecv(request->transport, task->buffer, task->count, &p->type, lane->peer, lane->tag,
                          task);
    }
    request->counters.natives++;
    return ops->icollective(request->transport, (hp_native_t)task->native, lane->comm,
                            operand_address(task->in), task->buffer, task->count, &p->type, p->op, task->root,
                            task);
}

static hp_status_t post(hp_request_t *request, lane_t *lane, hp_task_t *task)
{
    if (lane->kind == LANE_SET) {
        lane->in_flight++;
        queue_push_front(&request->ready, task); /* others wait for it, and it takes no time */
        return HP_OK;
    }
    hp_status_t status = post_message(request, lane, task);
    if (status == HP_OK) {
        lane->in_flight++;
        request->counters.in_flight++;
    }
    return status;
}

/* Posts from the head of a lane as long as the head is free to go and the lane has room. A lane of waits has
 * none: its counter is looked at in take_flags. */
static void lane_pump(hp_request_t *request, lane_t *lane)
{
    while (request->error == HP_OK && lane->waiting.first && lane->waiting.first->waits == 0 &&
           lane->in_flight < lane->limit)
        request->error = post(request, lane, queue_pop(&lane->waiting));
}

static void task_released(hp_request_t *request, hp_task_t *task)
{
    if (task->kind == TASK_WAIT)
        record_start(request, task);
    if (task->lane >= 0)
        lane_pump(request, &request->lanes[task->lane]);
    else
        queue_insert(&request->ready, task);
}

static void segment_release_scratch(hp_request_t *request, hp_segment_t *segment)
{
    for (uint32_t i = 0; i < segment->task_count; i++) {
        hp_task_t *task = &segment->tasks[i];
        if (task->scratch_held) {
            hp_pool_put(request->pool, task->buffer - request->pipeline.scratch_shift);
            task->scratch_held = false;
            request->scratch_held--;
        }
    }
}

static void segment_emit(hp_request_t *request, hp_segment_t *segment)
{
    segment->task_count = 0;
    segment->edge_count = 0;
    segment->label = HP_LABEL_OTHER;
    segment->index = request->next_segment++;
    if (request->trace)
        *record_of(segment) = (record_t){.spans = {{0}}};
    request->pipeline.emit(request->plan, segment, segment->index);
    segment->unfinished = segment->task_count;
    /* A lane holds its tasks in segment order from the moment they are emitted, whenever they become ready.
     */
    for (uint32_t i = 0; i < segment->task_count; i++)
        if (segment->tasks[i].lane >= 0)
            queue_push(&request->lanes[segment->tasks[i].lane].waiting, &segment->tasks[i]);
    for (uint32_t i = 0; i < segment->task_count; i++)
        if (segment->tasks[i].waits == 0)
            task_released(request, &segment->tasks[i]);
}

/* Emits into a free place of the window; a segment without tasks on this rank is done at once. */
static void segment_refill(hp_request_t *request, hp_segment_t *segment)
{
    while (request->error == HP_OK && request->next_segment < request->pipeline.segment_count) {
        segment_emit(request, segment);
        if (segment->unfinished)
            return;
        request->done_segments++;
    }
}

static void task_complete(hp_request_t *request, hp_task_t *task)
{
    hp_segment_t *segment = task->segment;

    task->complete = true;
    if (__builtin_expect(request->trace != NULL, 0))
        record_end(request, task);
    for (uint32_t e = task->first_edge; e; e = segment->edges[e - 1].next) {
        hp_task_t *waiter = segment->edges[e - 1].task;
        if (--waiter->waits == 0)
            task_released(request, waiter);
    }
    if (task->lane >= 0 && task->kind != TASK_WAIT) {
        lane_t *lane = &request->lanes[task->lane];
        lane->in_flight--;
        request->counters.in_flight -= lane->kind != LANE_SET;
        lane_pump(request, lane);
    }
    if (--segment->unfinished == 0) {
        if (request->trace)
            record_segment_end(request, segment);
        segment_release_scratch(request, segment);
        request->done_segments++;
        segment_refill(request, segment);
    }
}

/* inout = in (op) inout */
static hp_status_t reduce(hp_request_t *request, const char *in, char *inout, size_t count)
{
    const hp_pipeline_t *p = &request->pipeline;
    if (count == 0) /* a barrier */
        return HP_OK;
    if (p->kernel) {
        p->kernel(in, inout, inout, count);
        return HP_OK;
    }
    return request->transport->ops->reduce(request->transport, in, inout, count, &p->type, p->op);
}

static hp_status_t copy(hp_request_t *request, char *to, const char *from, size_t count)
{
    return request->transport->ops->copy(request->transport, to, from, count, &request->pipeline.type);
}

/* The MPI's own reduction has two buffers. The order of operands is kept: what is in the way of the result
 * moves. */
static hp_status_t reduce_to(hp_request_t *request, const char *left, char *right, char *result, size_t count)
{
    const hp_pipeline_t *p = &request->pipeline;
    hp_status_t status;

    if (p->kernel) {
        p->kernel(left, right, result, count);
        return HP_OK;
    }
    if (result == right)
        return reduce(request, left, right, count);
    if (result == left && p->commutative)
        return reduce(request, right, result, count);
    if (result != left) {
        status = copy(request, result, right, count);
        return status == HP_OK ? reduce(request, left, result, count) : status;
    }
    char *raw = hp_pool_get(request->pool, p->scratch_bytes);
    if (!raw)
        return HP_ERR_NO_MEM;
    char *aside = raw + p->scratch_shift;
    status = copy(request, aside, right, count);
    if (status == HP_OK)
        status = reduce(request, left, aside, count);
    if (status == HP_OK)
        status = copy(request, result, aside, count);
    hp_pool_put(request->pool, raw);
    return status;
}

static hp_status_t run_task(hp_request_t *request, hp_task_t *task)
{
    const hp_status_t status = take_buffer(request, task);
    if (status != HP_OK)
        return status;
    switch ((task_kind_t)task->kind) {
    case TASK_JOIN:
        return HP_OK;
    case TASK_REDUCE:
        request->counters.reductions++;
        return reduce(request, operand_address(task->in), task->buffer, task->count);
    case TASK_REDUCE_TO:
        request->counters.reductions++;
        return reduce_to(request, operand_address(task->in), operand_address(task->right), task->buffer,
                         task->count);
    case TASK_COPY:
        request->counters.copies++;
        return copy(request, task->buffer, operand_address(task->in), task->count);
    case TASK_PULL:
        request->counters.pulls++;
        return hp_node_pull(request->pipeline.node, task->member, (char *)*task->address + task->offset,
                            task->buffer, task->count * request->pipeline.type.bytes);
    case TASK_PUSH:
        request->counters.pushes++;
        return hp_node_push(request->pipeline.node, task->member, operand_address(task->in),
                            (char *)*task->address + task->offset,
                            task->count * request->pipeline.type.bytes);
    default: /* TASK_SET */
        request->counters.sets++;
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

/* While messages are in flight only a few at a time: what they make possible is not to wait for a window of
 * copies. */
enum { LOCAL_TASKS_AT_A_TIME = 4 };

static void run_ready(hp_request_t *request)
{
    hp_task_t *task;
    for (int i = 0; request->error == HP_OK && (i < LOCAL_TASKS_AT_A_TIME || !request->counters.in_flight) &&
                    (task = queue_pop(&request->ready));
         i++)
        run_local(request, task);
}

/* Completes the waits whose counter has come. Returns whether there were any. */
static bool take_flags(hp_request_t *request)
{
    bool moved = false;

    for (int32_t i = request->first_wait; i >= 0; i = request->lanes[i].next_wait) {
        lane_t *lane = &request->lanes[i];
        if (!lane->waiting.first || lane->waiting.first->waits)
            continue;
        const uint64_t value = atomic_load_explicit(lane->counter, memory_order_acquire);
        while (lane->waiting.first && !lane->waiting.first->waits && lane->waiting.first->value <= value &&
               request->error == HP_OK) {
            task_complete(request, queue_pop(&lane->waiting));
            moved = true;
        }
    }
    return moved;
}

/* After an error: nothing may touch a buffer any more, then the scratch buffers go back. */
static void give_up(hp_request_t *request, uint32_t window)
{
    request->transport->ops->cancel(request->transport);
    request->transport->cancelled++; /* the other requests' messages too */
    for (uint32_t i = 0; i < window; i++)
        segment_release_scratch(request, &request->segments[i]);
    request->counters.in_flight = 0;
    request->next_segment = request->pipeline.segment_count;
    request->done_segments = request->pipeline.segment_count;
}

/* Sets the window up. Its memory is kept between collectives, so a repeated call allocates nothing. */
static hp_status_t window_prepare(hp_request_t *request, uint32_t *window)
{
    const hp_pipeline_t *p = &request->pipeline;
    size_t segment_bytes = p->tasks_per_segment * sizeof(hp_task_t) + p->edges_per_segment * sizeof(edge_t);
    uint64_t fit = segment_bytes ? TASK_MEMORY_BYTES / segment_bytes : p->window_segments;
    uint64_t size = p->window_segments;

    if (p->scratch_per_segment && SCRATCH_MEMORY_BYTES / p->scratch_per_segment / p->scratch_bytes < fit)
        fit = SCRATCH_MEMORY_BYTES / p->scratch_per_segment / p->scratch_bytes;
    if (size > fit)
        size = fit < WINDOW_MIN ? WINDOW_MIN : fit;
    if (size > p->window_segments)
        size = p->window_segments;
    if (size > p->segment_count)
        size = p->segment_count;
    if (size > request->segment_capacity) {
        hp_segment_t *segments = realloc(request->segments, size * sizeof *segments);
        if (!segments)
            return HP_ERR_NO_MEM;
        request->segments = segments;
        request->segment_capacity = size;
    }
    if (size * segment_bytes > request->task_memory_bytes) {
        void *memory = malloc(size * segment_bytes);
        if (!memory)
            return HP_ERR_NO_MEM;
        free(request->task_memory);
        request->task_memory = memory;
        request->task_memory_bytes = size * segment_bytes;
    }
    *window = (uint32_t)size;
    if (request->trace) {
        const hp_status_t status = record_prepare(request, size);
        if (status != HP_OK)
            return status;
    }
    if (size == 0)
        return HP_OK;
    hp_task_t *tasks = request->task_memory;
    edge_t *edges = (edge_t *)(tasks + size * p->tasks_per_segment);
    for (size_t i = 0; i < size; i++)
        request->segments[i] = (hp_segment_t){.request = request,
                                              .tasks = tasks + i * p->tasks_per_segment,
                                              .edges = edges + i * p->edges_per_segment};
    return HP_OK;
}

hp_status_t hp_request_start(hp_request_t *request, const hp_pipeline_t *pipeline)
{
    assert(hp_request_done(request));
    request->pipeline = *pipeline;
    request->step = NULL;
    request->next_segment = pipeline->segment_count; /* done, until the window stands */
    request->done_segments = pipeline->segment_count;
    request->ready = (queue_t){NULL, NULL};
    request->error = HP_OK;
    request->scratch_held = 0;
    request->cancelled = request->transport->cancelled;
    request->counters = (hp_request_counters_t){0};

    uint32_t window;
    hp_status_t status = window_prepare(request, &window);
    if (status != HP_OK)
        return status;
    request->counters.window_segments = window;
    request->next_segment = 0;
    request->done_segments = 0;
    for (uint32_t i = 0; i < window && request->error == HP_OK; i++)
        segment_refill(request, &request->segments[i]);
    run_ready(request);
    if (request->error != HP_OK)
        give_up(request, window);
    return request->error;
}

static void step(hp_request_t *request)
{
    if (request->step(request, request->direct) || request->error != HP_OK)
        request->done_segments = 1;
}

hp_status_t hp_request_start_direct(hp_request_t *request, const hp_pipeline_t *pipeline, hp_step_fn_t first,
                                    hp_direct_t *direct)
{
    assert(hp_request_done(request));
    request->pipeline = *pipeline;
    request->pipeline.segment_count = 1;
    request->done_segments = 0;
    request->error = HP_OK;
    request->counters = (hp_request_counters_t){0};
    request->step = first;
    request->direct = direct;
    step(request);
    return request->error;
}

void hp_request_reduce(hp_request_t *request, const void *left, void *right, void *result, size_t count)
{
    request->counters.reductions++;
    const hp_status_t status = reduce_to(request, left, right, result, count);
    if (status != HP_OK)
        request->error = status;
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
            step(request);
        *moved = *moved && hp_request_done(request);
        return request->error;
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
    run_ready(request);
    if (request->error == HP_OK && take_flags(request)) {
        *moved = true;
        run_ready(request);
    }
    *moved = *moved || request->ready.first;
    if (request->error != HP_OK)
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
    return progress(request, ops->wait && !request->ready.first ? ops->wait : ops->poll, moved);
}

bool hp_request_waits_for_flags(const hp_request_t *request)
{
    return request->counters.in_flight == 0 && request->pipeline.node && !hp_request_done(request);
}

/* The counters that the heads of lanes wait for: how many, and the last of them. *set: one of them has come.
 */
static uint32_t pending_flags(const hp_request_t *request, const hp_counter_t **counter, bool *set)
{
    uint32_t count = 0;

    *set = false;
    if (request->step) {
        *counter = request->direct->counter;
        *set = atomic_load_explicit(*counter, memory_order_acquire) >= request->direct->value;
        return 1;
    }
    for (int32_t i = request->first_wait; i >= 0; i = request->lanes[i].next_wait) {
        const lane_t *lane = &request->lanes[i];
        if (!lane->waiting.first || lane->waiting.first->waits)
            continue;
        count++;
        *counter = lane->counter;
        *set |= atomic_load_explicit(lane->counter, memory_order_acquire) >= lane->waiting.first->value;
    }
    return count;
}

void hp_request_sleep(const hp_request_t *request, uint64_t timeout_ns)
{
    const hp_counter_t *counter = NULL;
    bool set;

    const uint32_t count = pending_flags(request, &counter, &set);
    if (set)
        return;
    const uint32_t rings = hp_node_sleep_begin(request->pipeline.node, count == 1 ? counter : NULL);
    pending_flags(request, &counter, &set);
    if (set)
        hp_node_sleep_cancel(request->pipeline.node);
    else
        hp_node_sleep_wait(request->pipeline.node, rings, timeout_ns);
}

bool hp_request_done(const hp_request_t *request)
{
    return request->done_segments == request->pipeline.segment_count;
}

static void tell_segment(const hp_request_t *request, const hp_segment_t *segment, hp_pending_fn_t tell,
                         void *context)
{
    for (uint32_t i = 0; i < segment->task_count; i++) {
        const hp_task_t *task = &segment->tasks[i];
        if (task->complete || task->waits || task->lane < 0 || task->kind == TASK_SET)
            continue;
        const lane_t *lane = &request->lanes[task->lane];
        hp_pending_t pending = {.segment = segment->index, .label = (hp_label_t)task->label};
        if (task->kind == TASK_WAIT) {
            pending.what = HP_PENDING_FLAG;
            pending.counter = lane->counter;
        } else if (task->kind == TASK_NATIVE) {
            pending.what = HP_PENDING_NATIVE;
        } else {
            pending.what = task->kind == TASK_SEND ? HP_PENDING_SEND : HP_PENDING_RECV;
            pending.peer = lane->peer;
        }
        tell(context, &pending);
    }
}

void hp_request_pending(const hp_request_t *request, hp_pending_fn_t tell, void *context)
{
    if (hp_request_done(request))
        return;
    if (request->step) {
        tell(context, &(hp_pending_t){.what = HP_PENDING_FLAG, .counter = request->direct->counter});
        return;
    }
    for (uint32_t i = 0; i < request->counters.window_segments; i++)
        if (request->segments[i].unfinished)
            tell_segment(request, &request->segments[i], tell, context);
}

const hp_request_counters_t *hp_request_counters(const hp_request_t *request)
{
    return &request->counters;
}
