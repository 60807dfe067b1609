/* trace_json: writes traces of many ranks as one file in Chrome's trace event format (JSON object format,
 * events "X" and "M"), which ui.perfetto.dev and chrome://tracing show.
 *
 * A node is a process and a rank a group of threads: one for its collectives, one for the tasks of each
 * label, and, in a second process of the node, those for its primitives. What overlaps lies on rows of its
 * own, so that the bars of a row never do. Events of cat collective   args: call (number on this rank), comm,
 * sequence, bytes, algorithm, modules, ... task         name "ib 3": label and segment; args: call, segment,
 * label, bytes primitive    name "recv 3"; from its turn to its end; posted_us: how long before its turn it
 * was posted Times are microseconds since the trace began on rank 0.
 *
 * Use: begin; node for each; rank, calls, events (in as many pieces as you like) for each rank; end.
 * Threads: one. Ownership: the file is the caller's. */
#ifndef HP_EVENT_ENGINE_TRACE_JSON_H
#define HP_EVENT_ENGINE_TRACE_JSON_H

#include <stdio.h>
#include "event_engine/trace.h"

/* How far a rank's clock is ahead of rank 0's, at two times of its own; in between it drifts evenly. */
typedef struct {
    uint64_t at_ns[2];
    int64_t ahead_ns[2];
    uint64_t error_ns[2]; /* by how much that may be wrong */
} hp_trace_clock_t;

/* Two comparisons that agree within their errors are no sign of a drift: then the better one holds
 * throughout. */
void hp_trace_clock_settle(hp_trace_clock_t *clock);

typedef struct {
    FILE *out;
    uint64_t origin_ns; /* by rank 0's clock */
    bool some;          /* an event is written */
    uint64_t events;    /* tasks and primitives written */
    /* of the rank that is being written: */
    uint32_t node, rank;
    hp_trace_clock_t clock;
    bool named[HP_TRACE_CLASS_COUNT * HP_TRACE_ROWS];
} hp_trace_json_t;

/* A rank's time by rank 0's clock. */
uint64_t hp_trace_clock_correct(const hp_trace_clock_t *clock, uint64_t ns);

void hp_trace_json_begin(hp_trace_json_t *json, FILE *out, uint64_t origin_ns);
void hp_trace_json_node(hp_trace_json_t *json, uint32_t node, const char *name);
void hp_trace_json_rank(hp_trace_json_t *json, uint32_t node, uint32_t rank, const hp_trace_clock_t *clock);
void hp_trace_json_calls(hp_trace_json_t *json, const hp_trace_call_t *calls, uint32_t count);
void hp_trace_json_events(hp_trace_json_t *json, const hp_trace_event_t *events, uint32_t count);
/* about: pairs of name and value, for the file's head; NULL ends them. False: something could not be written.
 */
bool hp_trace_json_end(hp_trace_json_t *json, const char *const *about);

#endif
