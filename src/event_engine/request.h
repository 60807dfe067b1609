/* request: a collective in execution: a pipeline of segments, each a small graph of tasks.
 *
 * Vocabulary
 *   task     one send, receive, reduction, copy, wait for a flag, setting of a flag, advance of a source (source.h), or
 *            collective of the host MPI, of one segment
 *   segment  the tasks of one piece of the message; an algorithm emits them with their dependencies
 *   lane     all sends to one peer, or all receives from it, with one tag: a queue in segment order, of which at
 *            most `limit` are in flight (N sends per child, M receives per parent). Likewise all waits for one
 *            counter in shared memory, all settings of one, all collectives on one communicator, all
 *            advances of a source
 *   window   the number of segments that have tasks at a time: it bounds the memory, whatever the message size
 *
 * Design (X. Luo 2020, section 3.3, ADAPT): the completion of a task is an event. It releases the tasks that
 * depend on it and nothing else; there is no wait for "all" anywhere. Children and segments are independent
 * of each other, except that a lane goes out in segment order: the receiver posts its receives in that order
 * too, so the lowest unfinished segment can always move and no buffering by the host MPI is needed (a
 * transport that makes every send wait for its receive cannot deadlock; docs/pitfalls.md 26). Completions are taken
 * from one queue; a callback never calls a callback, so the stack is flat (docs/pitfalls.md 27).
 *
 * Several requests may be in execution on one transport. Its completions are one queue: whoever progresses takes
 * those of all. When one of them fails, what was in flight on the transport is given up, and the others fail too.
 * What cannot be cancelled goes on: its scratch buffers are kept out of use until it has ended. A user's buffer is the
 * user's: after an error the host MPI may read or fill it as long as hp_transport_ended says so.
 *
 * Threads: a transport and its requests are used by one thread at a time.
 * Ownership: a request owns its tasks and lanes and keeps that memory for the next collective; scratch
 * buffers come from the pool it was created with; user buffers are borrowed until the request is done. */
#ifndef HP_EVENT_ENGINE_REQUEST_H
#define HP_EVENT_ENGINE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/pool.h"
#include "base/status.h"
#include "event_engine/label.h"
#include "event_engine/mem/node_memory.h"
#include "event_engine/op/op.h"
#include "event_engine/source.h"
#include "event_engine/trace.h"
#include "event_engine/transport.h"

typedef struct hp_request hp_request_t;
typedef struct hp_segment hp_segment_t;
typedef struct hp_task hp_task_t;

/* Emits the tasks of segment index into segment, by the hp_emit_* functions below. */
typedef void (*hp_emit_fn_t)(const void *plan, hp_segment_t *segment, uint64_t index);

/* What a collective asks of the engine. */
typedef struct {
    uint64_t segment_count;
    uint32_t tasks_per_segment; /* at most; so are edges */
    uint32_t edges_per_segment;
    uint32_t window_segments;     /* wanted; the engine may use fewer to keep the task memory small */
    size_t scratch_bytes;         /* size of one scratch buffer */
    uint32_t scratch_per_segment; /* such buffers, at most */
    uint32_t tag;                 /* added to those of the lanes */
    ptrdiff_t scratch_shift;      /* added to a scratch buffer's address before use: -true_lb of the type */
    hp_type_t type;
    hp_handle_t op;
    bool commutative;             /* the operation */
    hp_kernel_fn_t kernel;        /* does the reductions; NULL: the transport does */
    const hp_node_memory_t *node; /* what tasks read from peers; NULL: there are no such tasks */
    hp_note_t note;               /* the length of the message; 0: nothing is noted or compared */
    size_t segment_bytes;         /* of a longer message; 0: it has no more segments */
    hp_source_t *source;          /* NULL: the buffers are plain memory; no source is advanced */
    uint64_t step;                /* values of flags count from here: see hp_request_start_again */
    hp_emit_fn_t emit;
} hp_pipeline_t;

hp_status_t hp_request_create(hp_transport_t *transport, hp_pool_t *pool, hp_request_t **out);
void hp_request_destroy(hp_request_t *request); /* NULL is allowed; must not be in execution */

/* It is done and will not be used for a while: what memory it has for long messages goes back. */
void hp_request_rest(hp_request_t *request);

/* Preparing a collective, in this order: plan, lanes, start. When it is done it may be started
 * again, as it is. */

/* Memory for the algorithm's plan, valid until the next collective on this request; NULL when out of memory.
 * Forgets all lanes of the previous collective. */
void *hp_request_plan(hp_request_t *request, size_t plan_bytes);

typedef enum { HP_LANE_SEND, HP_LANE_RECV } hp_direction_t;
/* Adds a lane and returns its index, or the index of the lane that is the same already; -1 when out of
 * memory. limit: operations in flight. */
int32_t hp_request_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                        uint32_t limit);
/* Like hp_request_lane for a lane the caller knows to be new: no search. */
int32_t hp_request_new_lane(hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
                            uint32_t limit);

/* A lane of waits for a counter, or of settings of one's own. They are in segment order, so their values
 * must grow; for the same reason a counter that is set has one lane. notes: the first time it is set, the pipeline's
 * note goes beside it. compares: who sets the counter hands data over, and its note is compared with the pipeline's. */
int32_t hp_request_wait_lane(hp_request_t *request, const hp_counter_t *counter, bool compares);
int32_t hp_request_set_lane(hp_request_t *request, hp_counter_t *counter, bool notes);
/* The lane in which the source advances, in segment order; there is one. is_awaited: other tasks wait for it; else it has
 * time until nothing else can run. */
int32_t hp_request_advance_lane(hp_request_t *request, bool is_awaited);
/* A lane of collectives on a communicator (transport.h): one at a time, in segment order, which is the same on
 * all ranks; so there is one lane for each. */
int32_t hp_request_native_lane(hp_request_t *request, hp_handle_t comm);

/* The next collective is recorded in trace, as call. trace NULL: it is not. Holds until it is called again; the
 * trace is borrowed. */
void hp_request_record(hp_request_t *request, hp_trace_t *trace, hp_trace_call_t *call);
/* The call that is being recorded, for who knows more of it. NULL: none is. */
hp_trace_call_t *hp_request_recorded(const hp_request_t *request);

/* Emits the first window of segments and posts what is ready. On an error nothing is in flight. */
hp_status_t hp_request_start(hp_request_t *request, const hp_pipeline_t *pipeline);

/* The same once more, with other tags, step, source and note; nothing else was prepared with the request meanwhile. as_emitted:
 * emitting would give the same tasks as at the last start, but that the values of all flags are greater by as much as the step
 * is; what operands point to may have changed. The tasks that are there then run again, where there is one segment. */
hp_status_t hp_request_start_again(hp_request_t *request, const hp_pipeline_t *pipeline, bool as_emitted);

/* A collective that needs no engine: so short that emitting tasks would cost more than it takes. Its step is
 * called until it says that it is done, the first time at once; it must not block. */
typedef struct {
    /* What it waits for, when the last step was not done: the counter to reach that value. */
    const hp_counter_t *counter;
    uint64_t value;
} hp_direct_t;
typedef bool (*hp_step_fn_t)(hp_request_t *request, hp_direct_t *direct);
/* direct: handed to step; stays where it is until the collective is done. pipeline: type, op, kernel, commutative,
 * scratch_bytes and node are used. */
hp_status_t hp_request_start_direct(hp_request_t *request, const hp_pipeline_t *pipeline, hp_step_fn_t step,
                                    hp_direct_t *direct);
/* The same once more: the request has done nothing else since, and direct is still there. */
hp_status_t hp_request_start_direct_again(hp_request_t *request);
/* result = left (op) right, as the pipeline says. result may be left or right. An error ends the collective
 * after the step. */
void hp_request_reduce(hp_request_t *request, const void *left, void *right, void *result, size_t count);
/* Copies bytes from the memory of a member of the node at its address `from`, or to its address `to`. false: it cannot be reached,
 * which ends the collective after the step. */
bool hp_request_pull(hp_request_t *request, uint32_t member, const void *from, void *to, size_t bytes);
bool hp_request_push(hp_request_t *request, uint32_t member, const void *from, void *to, size_t bytes);

/* Takes completions and does everything they make possible, without blocking. *moved: whether anything
 * happened. Returns HP_OK, also when the collective is done (hp_request_done), or the first error: then
 * everything in flight was given up and the request is done. */
hp_status_t hp_request_progress(hp_request_t *request, bool *moved);
/* The same for a caller that has nothing else to do: blocks until something moves where the transport can. */
hp_status_t hp_request_wait(hp_request_t *request, bool *moved);
bool hp_request_done(const hp_request_t *request);

/* A message of a rank of this node is longer than here. Such a collective runs to its end, with what there is room for,
 * and ends with HP_ERR_TRUNCATED. */
void hp_request_set_longer(hp_request_t *request, uint64_t bytes);
/* How many segments more the longest one has. */
uint64_t hp_request_segments_missed(const hp_request_t *request);

/* Is nothing in flight that the host MPI must move, and only flags of the node are waited for? Then the rank
 * may sleep until one of them is set, or the time is over. */
bool hp_request_waits_for_flags(const hp_request_t *request);
void hp_request_sleep(const hp_request_t *request, uint64_t timeout_ns);

/* Emitting. An operand is an address, or lies so many bytes behind what *base points to when its task starts. */
typedef struct {
    char *const *base; /* NULL: offset is the address */
    uintptr_t offset;
} hp_operand_t;
static inline hp_operand_t hp_at(const void *address)
{
    return (hp_operand_t){NULL, (uintptr_t)address};
}
/* *base stays where it is, and as it is while the collective runs. */
static inline hp_operand_t hp_behind(char *const *base)
{
    return (hp_operand_t){base, 0};
}
/* The buffer that an earlier task of the same segment filled. */
static inline hp_operand_t hp_of(const hp_task_t *task)
{
    return hp_behind((char *const *)task); /* begins with it */
}
static inline hp_operand_t hp_within(hp_operand_t operand, size_t offset)
{
    operand.offset += offset;
    return operand;
}
static inline char *hp_operand_address(hp_operand_t operand)
{
    return (char *)((operand.base ? (uintptr_t)*operand.base : 0) + operand.offset);
}

/* Every emitted task starts as soon as all tasks it depends on are complete. */
hp_task_t *hp_emit_send(hp_segment_t *segment, int32_t lane, hp_operand_t from, size_t count);
/* to may be any address, NULL too (MPI_BOTTOM with a type of absolute addresses). In the scratch buffer of an earlier task: the
 * caller sees to it that that task has started: by an edge, or because it is before this one in the same lane. */
hp_task_t *hp_emit_recv(hp_segment_t *segment, int32_t lane, hp_operand_t to, size_t count);
/* Into a scratch buffer, taken when the receive is posted, kept until the segment is complete. */
hp_task_t *hp_emit_recv_scratch(hp_segment_t *segment, int32_t lane, size_t count);
/* Does nothing: for those who wait for several tasks and want one to wait for. */
hp_task_t *hp_emit_join(hp_segment_t *segment);
/* inout = in (op) inout; hp_of() the new task is inout. */
hp_task_t *hp_emit_reduce(hp_segment_t *segment, hp_operand_t in, hp_operand_t inout, size_t count);
/* No place of its own: a scratch buffer, taken when the task starts, kept until the segment is complete. */
static inline hp_operand_t hp_scratch(void)
{
    return hp_at(NULL);
}
/* result = left (op) right. result may be left or right, or hp_scratch(). */
hp_task_t *hp_emit_reduce_to(hp_segment_t *segment, hp_operand_t left, hp_operand_t right,
                             hp_operand_t result, size_t count);
/* to: also hp_scratch(). */
hp_task_t *hp_emit_copy(hp_segment_t *segment, hp_operand_t to, hp_operand_t from, size_t count);
/* Others of the node read what the task, a copy or a reduce_to of a dense type, writes into its memory. */
void hp_emit_shared(hp_task_t *task);
/* Copies from the memory of a member of the node: from its buffer, which is looked up when the task starts, plus offset
 * bytes, as far as that reaches. to: also hp_scratch(). The type must be dense. */
hp_task_t *hp_emit_pull(hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer, size_t offset,
                        hp_operand_t to, size_t count);
/* Copies into the memory of a member of the node: to its buffer plus offset bytes, likewise. */
hp_task_t *hp_emit_push(hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer, size_t offset,
                        hp_operand_t from, size_t count);
/* Complete when the lane's counter is at least value. */
hp_task_t *hp_emit_wait(hp_segment_t *segment, int32_t lane, uint64_t value);
/* The same for the value step + 1; hp_of() the task is the slot of the step behind the counter: where that lies is known by
 * then. */
hp_task_t *hp_emit_wait_slot(hp_segment_t *segment, int32_t lane, uint64_t step);
/* Sets the lane's counter to value. */
hp_task_t *hp_emit_set(hp_segment_t *segment, int32_t lane, uint64_t value);
/* Advances the source to so many bytes; count elements of them are the segment's. */
hp_task_t *hp_emit_advance(hp_segment_t *segment, int32_t lane, uint64_t bytes, size_t count);
/* A collective of the host MPI on the lane's communicator: root is a rank there. Bcast: of `to`. Reduce:
 * from -> to, significant at the root; to may be hp_scratch(). */
hp_task_t *hp_emit_native(hp_segment_t *segment, int32_t lane, hp_native_t what, hp_operand_t from,
                          hp_operand_t to, size_t count, uint32_t root);
/* Tasks emitted from now on belong to this part of the pipeline: for the trace. */
void hp_segment_label(hp_segment_t *segment, hp_label_t label);
/* task waits for before; before = NULL is allowed and means nothing to wait for. Those that wait for one task are released
 * in the order of these calls: what should go out first is emitted first. */
void hp_emit_after(hp_task_t *task, hp_task_t *before);

/* What holds a request up: messages posted, or next in their lane, flags that are not set and collectives of the
 * host MPI that are not complete. For reports. */
typedef enum { HP_PENDING_SEND, HP_PENDING_RECV, HP_PENDING_FLAG, HP_PENDING_NATIVE } hp_pending_what_t;
typedef struct {
    hp_pending_what_t what;
    uint32_t peer;               /* SEND, RECV */
    const hp_counter_t *counter; /* FLAG: in the memory of the node; hp_node_owner says whose */
    uint64_t segment;
    hp_label_t label;
} hp_pending_t;
typedef void (*hp_pending_fn_t)(void *context, const hp_pending_t *pending);
void hp_request_pending(const hp_request_t *request, hp_pending_fn_t report, void *context);

/* Counters of the request since its last start, for tests and statistics. */
typedef struct {
    uint64_t sends, recvs, reductions, copies;
    uint64_t pulls, pushes, sets, natives;
    uint32_t window_segments; /* the window that was used */
    uint32_t scratch_peak;    /* scratch buffers held at the same time, at most */
    uint32_t in_flight;       /* sends and receives posted and not complete */
} hp_request_counters_t;
const hp_request_counters_t *hp_request_counters(const hp_request_t *request);

#endif
