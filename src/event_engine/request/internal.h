/* internal: what the files of the engine's request share, and nobody else sees.
 *
 * Calls go one way: run (start, completions, local tasks) -> window (segments come and go) -> lane (operations are
 * posted in segment order) -> record. run and direct compute with reduce. Beside them stand object (a request and
 * its lanes), task (emitting) and pending (what a request waits for).
 *
 * Threads and ownership: request.h. */
#ifndef HP_EVENT_ENGINE_REQUEST_INTERNAL_H
#define HP_EVENT_ENGINE_REQUEST_INTERNAL_H

#include "event_engine/request.h"

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
    TASK_ADVANCE,
    TASK_NATIVE,
    TASK_JOIN
} task_kind_t;

struct hp_task {
    /* What the task reads from or fills; set when it starts, for scratch and operands. The first, for hp_of. */
    char *buffer;
    uint8_t kind;      /* task_kind_t */
    uint8_t label;     /* hp_label_t */
    uint8_t native;    /* hp_native_t */
    bool scratch;      /* the buffer comes from the pool, */
    bool scratch_held; /* and does now */
    bool complete;
    bool finds_slot; /* WAIT: its buffer is the slot that the counter's owner has filled */
    bool is_shared;  /* COPY, REDUCE_TO: others of the node read what it writes */
    int32_t lane;
    uint32_t waits;      /* tasks that must complete before this one may start */
    uint32_t first_edge; /* of those that wait for this one: index + 1 into the segment's edges, 0: none */
    uint32_t start_tick; /* recording: when it was posted, released or run (record.c) */
    hp_segment_t *segment;
    hp_task_t *next; /* in its lane, or in the ready queue */
    hp_operand_t in, out;
    size_t count;
    union {
        hp_operand_t right; /* REDUCE_TO: its other operand */
        uint64_t value;     /* WAIT, SET; ADVANCE: bytes */
        uint32_t root;      /* NATIVE */
        struct {
            const hp_node_buffer_t *peer_buffer; /* PULL, PUSH: where the member says that its buffer is, */
            size_t offset;                       /* and how far behind its beginning to begin */
            uint32_t member;
        };
    };
};

_Static_assert(offsetof(struct hp_task, buffer) == 0, "see hp_of");

typedef struct {
    hp_task_t *task;
    uint32_t next, last; /* index + 1; last: of the list, in its first edge */
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
    LANE_NATIVE, /* the last one whose operations are the transport's */
    LANE_WAIT,
    LANE_SET,
    LANE_ADVANCE
} lane_kind_t;

typedef struct {
    lane_kind_t kind;
    uint32_t peer, tag;
    hp_counter_t *counter; /* WAIT, SET */
    hp_handle_t comm;      /* NATIVE */
    int32_t next_awaited;  /* WAIT: the next one in the request's list, -1 at the end */
    bool is_late;          /* ADVANCE: nobody waits for it */
    bool is_awaited;       /* WAIT: in that list */
    bool notes;            /* SET: writes the pipeline's note, WAIT: compares it: once a collective, */
    hp_note_t noted;       /* and this was the last one. For */
    int32_t next_same;     /* SEND, RECV: the next one in its bucket, -1 at the end */
    uint32_t limit, in_flight;
    queue_t waiting;  /* emitted and not posted yet, in segment order */
    uint64_t last_ns; /* recording: when the last operation of the lane was complete */
} lane_t;

/* Recording: one label of a segment, from its first task to its last. */
typedef struct {
    uint64_t start_ns, end_ns; /* end_ns 0: nothing yet */
    uint64_t bytes;
} span_t;

typedef struct {
    span_t spans[HP_LABEL_COUNT];
} record_t;

enum { LANE_BUCKETS = 64 };

struct hp_request {
    hp_transport_t *transport;
    hp_pool_t *pool;
    hp_pipeline_t pipeline;

    void *plan;
    size_t plan_bytes;
    lane_t *lanes;
    uint32_t lane_count, lane_capacity;
    int32_t first_awaited,
        last_awaited;      /* list of the lanes whose first task waits for its counter, and nothing else */
    uint64_t used_buckets; /* bit b: buckets[b] is valid */
    int32_t buckets[LANE_BUCKETS]; /* lanes by kind, peer and tag */
    hp_segment_t *segments;        /* the window */
    uint32_t window;               /* segments of it */
    void *task_memory;
    size_t segment_capacity, task_memory_bytes;

    hp_step_fn_t step; /* NULL: there are segments */
    hp_direct_t *direct;
    uint64_t next_segment; /* the next one to emit */
    uint64_t done_segments;
    bool is_whole; /* the tasks of the one segment that there is are as they were emitted, or run */
    queue_t ready; /* what needs no message and may run now; oldest segment first */
    queue_t later; /* what nobody waits for, and may run when nothing is ready */
    hp_status_t error;
    uint64_t longer_bytes; /* of the longest message on the node that is longer than here; 0: none is */
    uint32_t scratch_held;
    uint32_t cancelled; /* the transport's count, when the collective was started */
    hp_request_counters_t counters;

    hp_trace_t *trace; /* NULL: nothing is recorded */
    hp_trace_call_t *trace_call;
    record_t *records; /* of the window's segments */
    size_t record_capacity;
};

/* ---- queues ---- */

static inline void queue_push(queue_t *queue, hp_task_t *task)
{
    task->next = NULL;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
}

static inline hp_task_t *queue_pop(queue_t *queue)
{
    hp_task_t *task = queue->first;
    if (task) {
        queue->first = task->next;
        if (!queue->first)
            queue->last = NULL;
    }
    return task;
}

/* ---- object.c ---- */

/* Takes back the scratch buffers of operations that were given up and have ended meanwhile. */
void hp_request_reclaim(hp_request_t *request);

/* ---- record.c ---- */

void hp_record_tick(const hp_request_t *request, hp_task_t *task);

/* A task is posted, released or run. */
static inline void record_start(const hp_request_t *request, hp_task_t *task)
{
    if (__builtin_expect(request->trace != NULL, 0))
        hp_record_tick(request, task);
}

/* The following are called while the request is recorded only. */
hp_status_t hp_record_prepare(hp_request_t *request, size_t window);
void hp_record_segment_begin(const hp_segment_t *segment);
void hp_record_end(hp_request_t *request, const hp_task_t *task);
void hp_record_segment_end(hp_request_t *request, const hp_segment_t *segment);

/* ---- lane.c ---- */

/* Sets task->buffer, where the task's data goes. A scratch buffer is its own until its segment is complete. */
hp_status_t hp_task_take_scratch(hp_request_t *request, hp_task_t *task);
static inline hp_status_t hp_task_take_buffer(hp_request_t *request, hp_task_t *task)
{
    if (task->scratch)
        return hp_task_take_scratch(request, task);
    task->buffer = hp_operand_address(task->out);
    return HP_OK;
}
/* Posts from the head of a lane as long as the head waits for nothing and the lane has room. */
void hp_lane_post_ready(hp_request_t *request, lane_t *lane);
/* Adds a lane of waits to the list of those whose counter is looked at. */
void hp_lane_await(hp_request_t *request, lane_t *lane);
/* All that the task had to wait for is complete: it is posted when its lane lets it, or is ready to run. */
void hp_task_release(hp_request_t *request, hp_task_t *task);

/* ---- window.c ---- */

/* Sets the window up. Its memory is kept between collectives, but see hp_request_rest. */
hp_status_t hp_window_prepare(hp_request_t *request);
/* Emits into a free place of the window; a segment without tasks on this rank is done at once. */
void hp_segment_refill(hp_request_t *request, hp_segment_t *segment);
/* The only segment is done: its tasks run again, with the values of flags greater by so much. */
void hp_segment_repeat(hp_request_t *request, uint64_t later);
/* in_use: operations that were given up may still use the buffers. */
void hp_segment_release_scratch(hp_request_t *request, hp_segment_t *segment, bool in_use);

/* ---- reduce.c: by the pipeline's kernel, or by the transport ---- */

hp_status_t hp_local_copy(hp_request_t *request, char *to, const char *from, size_t count);
/* inout = in (op) inout */
hp_status_t hp_local_reduce(hp_request_t *request, const char *in, char *inout, size_t count);
/* result = left (op) right */
hp_status_t hp_local_reduce_to(hp_request_t *request, const char *left, char *right, char *result,
                               size_t count);

/* ---- run.c ---- */

/* What to say when nothing has failed: of a collective that is done, that it was cut. */
static inline hp_status_t request_outcome(const hp_request_t *request)
{
    return __builtin_expect(request->longer_bytes != 0, 0) && hp_request_done(request) ? HP_ERR_TRUNCATED
                                                                                       : HP_OK;
}

/* ---- direct.c ---- */

void hp_direct_step(hp_request_t *request);

#endif
