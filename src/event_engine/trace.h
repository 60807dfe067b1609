/* trace: what really happened, and when: the last tasks and the last collectives of a process, in memory.
 *
 * Vocabulary
 *   call       one collective, from its start to its return; calls are numbered from 1
 *   primitive  one task of the engine: send, recv, reduce, ...
 *   task       all primitives of one segment with one label: the sr, ir, ib, sb of HAN. It lasts from the
 *              first one's start to the last one's end; waits for counters and settings of them do not count
 *   start      when a primitive was posted, released or run; an operation of a lane may then still stand
 *              behind others
 *   turn       when it came to the head of its lane: after its start and after the end of the one before it
 *
 * A trace is a ring: when it is full the oldest events make room, and are counted. Who records pays about 75
 * ns a primitive (two looks at the clock, a store of 48 bytes, its share of the task's), who does not 1 ns,
 * the branches (a relay of 100 segments with messages that take no time: 104, 28.4 and, before there were
 * traces, 27.9 ns a primitive).
 *
 * Threads: any number may record; a snapshot is taken when none does. Ownership: init allocates, fini frees;
 * what a snapshot returns is the caller's. */
#ifndef HP_EVENT_ENGINE_TRACE_H
#define HP_EVENT_ENGINE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"

/* id, name, and the row of a rank on which it is drawn. */
#define HP_TRACE_KIND_TABLE(X)                                                                               \
    X(TASK, task, TASK)                                                                                      \
    X(SEND, send, SEND)                                                                                      \
    X(RECV, recv, RECV)                                                                                      \
    X(REDUCE, reduce, CPU)                                                                                   \
    X(COPY, copy, CPU)                                                                                       \
    X(PULL, pull, CPU)                                                                                       \
    X(PUSH, push, CPU)                                                                                       \
    X(SET, set, CPU)                                                                                         \
    X(NATIVE, native, NATIVE)                                                                                \
    X(WAIT, wait, WAIT)
typedef enum {
#define X(id, name, row) HP_TRACE_##id,
    HP_TRACE_KIND_TABLE(X)
#undef X
        HP_TRACE_KIND_COUNT
} hp_trace_kind_t;

const char *hp_trace_kind_name(hp_trace_kind_t kind);

typedef struct {
    uint64_t start_ns, turn_ns, end_ns;
    uint64_t bytes;
    uint32_t call;
    uint32_t segment;
    int32_t peer;  /* rank in the communicator; -1: none */
    uint8_t kind;  /* hp_trace_kind_t */
    uint8_t label; /* hp_label_t */
    uint16_t row;  /* set by a snapshot: no two events of a row overlap */
} hp_trace_event_t;

enum { HP_TRACE_WORD_BYTES = 24, HP_TRACE_TEXT_BYTES = 96 };

typedef struct {
    uint64_t start_ns, end_ns; /* end_ns 0: it has not returned */
    uint64_t bytes, segment_bytes;
    uint64_t comm; /* the same on all its ranks, another than any other's */
    uint64_t segments;
    uint32_t number, sequence; /* sequence: of the communicator, the same on all ranks */
    uint32_t root, rank, size; /* in the communicator */
    char collective[HP_TRACE_WORD_BYTES], algorithm[HP_TRACE_WORD_BYTES];
    char modules[HP_TRACE_TEXT_BYTES]; /* empty: not known */
} hp_trace_call_t;

typedef uint64_t (*hp_trace_clock_fn_t)(void *context);

typedef struct hp_trace {
    hp_trace_clock_fn_t clock;
    void *clock_context;
    hp_trace_event_t *events;
    hp_trace_call_t *calls;
    uint32_t capacity, call_capacity; /* powers of two */
    _Atomic uint64_t count;           /* of events recorded until now */
    _Atomic uint32_t call_count;
} hp_trace_t;

/* Events of one call at least, on average, before its call is forgotten. */
enum { HP_TRACE_EVENTS_PER_CALL = 16 };

/* events: to be kept, at least (rounded up to a power of two). HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_trace_init(hp_trace_t *trace, uint32_t events, hp_trace_clock_fn_t clock, void *clock_context);
void hp_trace_fini(hp_trace_t *trace);

static inline uint64_t hp_trace_now(const hp_trace_t *trace)
{
    return trace->clock(trace->clock_context);
}

/* A call begins: its number is set, the rest is the caller's to fill in. */
hp_trace_call_t *hp_trace_begin_call(hp_trace_t *trace);

static inline void hp_trace_add(hp_trace_t *trace, const hp_trace_event_t *event)
{
    const uint64_t at = atomic_fetch_add_explicit(&trace->count, 1, memory_order_relaxed);
    trace->events[at & (trace->capacity - 1)] = *event;
}

/* Rows: HP_TRACE_ROWS of every class. Class 0 is for calls, then one for the tasks of each label, then one
 * for each kind of primitives that can be under way together. */
#define HP_TRACE_CLASS_TABLE(X)                                                                              \
    X(SEND, "send")                                                                                          \
    X(RECV, "receive")                                                                                       \
    X(CPU, "processor")                                                                                      \
    X(NATIVE, "native")                                                                                      \
    X(WAIT, "wait")
enum { HP_TRACE_ROWS = 400, HP_TRACE_LABELS_MAX = 6 };
typedef enum {
    HP_TRACE_CLASS_CALL,
    HP_TRACE_CLASS_TASK,
    HP_TRACE_CLASS_TASK_LAST = HP_TRACE_CLASS_TASK + HP_TRACE_LABELS_MAX - 1,
#define X(id, name) HP_TRACE_CLASS_##id,
    HP_TRACE_CLASS_TABLE(X)
#undef X
        HP_TRACE_CLASS_COUNT
} hp_trace_class_t;

/* What is there at one moment. */
typedef struct {
    hp_trace_event_t *events; /* of complete calls only, by their turn */
    hp_trace_call_t *calls;   /* those events' calls, by number */
    uint32_t event_count, call_count;
    uint64_t dropped; /* events that were recorded and are not here */
} hp_trace_snapshot_t;

/* HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_trace_snapshot(const hp_trace_t *trace, hp_trace_snapshot_t *out);
void hp_trace_snapshot_fini(hp_trace_snapshot_t *snapshot);

#endif
