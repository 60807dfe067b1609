#include "event_engine/trace.h"

#include <stdlib.h>

const char *hp_trace_kind_name(hp_trace_kind_t kind)
{
    static const char *const names[] = {
#define X(id, name, row) #name,
        HP_TRACE_KIND_TABLE(X)
#undef X
    };
    return names[kind];
}

hp_status_t hp_trace_init(hp_trace_t *trace, uint32_t events, hp_trace_clock_fn_t clock, void *clock_context)
{
    *trace =
        (hp_trace_t){.clock = clock, .clock_context = clock_context, .capacity = HP_TRACE_EVENTS_PER_CALL};
    while (trace->capacity < events)
        trace->capacity *= 2;
    trace->call_capacity = trace->capacity / HP_TRACE_EVENTS_PER_CALL;
    trace->events = malloc(trace->capacity * sizeof *trace->events);
    trace->calls = calloc(trace->call_capacity, sizeof *trace->calls);
    if (trace->events && trace->calls)
        return HP_OK;
    hp_trace_fini(trace);
    return HP_ERR_NO_MEM;
}

void hp_trace_fini(hp_trace_t *trace)
{
    free(trace->events);
    free(trace->calls);
    *trace = (hp_trace_t){.events = NULL};
}

hp_trace_call_t *hp_trace_begin_call(hp_trace_t *trace)
{
    const uint32_t number = atomic_fetch_add_explicit(&trace->call_count, 1, memory_order_relaxed) + 1;
    hp_trace_call_t *call = &trace->calls[number & (trace->call_capacity - 1)];
    *call = (hp_trace_call_t){.number = number};
    return call;
}

/* ---- snapshot ---- */

static unsigned class_of(const hp_trace_event_t *event)
{
    static const uint8_t classes[] = {
#define X(id, name, row) HP_TRACE_CLASS_##row,
        HP_TRACE_KIND_TABLE(X)
#undef X
    };
    return event->kind == HP_TRACE_TASK ? HP_TRACE_CLASS_TASK + event->label : classes[event->kind];
}

static int by_turn(const void *left, const void *right)
{
    const hp_trace_event_t *a = left, *b = right;
    if (a->turn_ns != b->turn_ns)
        return a->turn_ns < b->turn_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Each event goes to the first row of its class that is free. Returns how many stay, packed: those for which
 * there is no row are left out. */
static uint32_t give_rows(hp_trace_event_t *events, uint32_t count)
{
    /* Starts are known to 32 ns (request.c): an event may seem to begin before the one that it follows ends.
     */
    enum { GRAIN_NS = 32 };
    uint64_t free_from[HP_TRACE_CLASS_COUNT][HP_TRACE_ROWS] = {{0}};
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        hp_trace_event_t *event = &events[i];
        uint64_t *rows = free_from[class_of(event)];
        unsigned row = 0;
        while (row < HP_TRACE_ROWS && rows[row] > event->turn_ns + GRAIN_NS)
            row++;
        if (row == HP_TRACE_ROWS)
            continue;
        if (event->turn_ns < rows[row])
            event->turn_ns = rows[row];
        if (event->end_ns < event->turn_ns)
            event->end_ns = event->turn_ns;
        rows[row] = event->end_ns;
        event->row = (uint16_t)(class_of(event) * HP_TRACE_ROWS + row);
        events[kept++] = *event;
    }
    return kept;
}

/* The first call all of whose events are there; of the last call also a part is better than nothing. */
static uint32_t first_complete_call(const hp_trace_t *trace, uint64_t events, uint32_t calls)
{
    uint32_t first = calls >= trace->call_capacity ? calls - trace->call_capacity + 2 : 1;
    if (events > trace->capacity) {
        const uint32_t torn = trace->events[events & (trace->capacity - 1)].call;
        const uint32_t whole = torn < calls ? torn + 1 : torn;
        first = whole > first ? whole : first;
    }
    return first;
}

hp_status_t hp_trace_snapshot(const hp_trace_t *trace, hp_trace_snapshot_t *out)
{
    const uint64_t recorded = atomic_load(&trace->count);
    const uint32_t numbers = atomic_load(&trace->call_count);
    const uint64_t held = recorded < trace->capacity ? recorded : trace->capacity;
    const uint32_t first = first_complete_call(trace, recorded, numbers);

    *out = (hp_trace_snapshot_t){.events = malloc((held + 1) * sizeof *out->events),
                                 .calls = malloc((trace->call_capacity + 1) * sizeof *out->calls)};
    if (!out->events || !out->calls) {
        hp_trace_snapshot_fini(out);
        return HP_ERR_NO_MEM;
    }
    for (uint64_t i = recorded - held; i < recorded; i++) {
        const hp_trace_event_t *event = &trace->events[i & (trace->capacity - 1)];
        if (event->call >= first)
            out->events[out->event_count++] = *event;
    }
    for (uint32_t number = first; number <= numbers; number++) {
        const hp_trace_call_t *call = &trace->calls[number & (trace->call_capacity - 1)];
        if (call->number == number && call->end_ns)
            out->calls[out->call_count++] = *call;
    }
    qsort(out->events, out->event_count, sizeof *out->events, by_turn);
    out->event_count = give_rows(out->events, out->event_count);
    out->dropped = recorded - out->event_count;
    return HP_OK;
}

void hp_trace_snapshot_fini(hp_trace_snapshot_t *snapshot)
{
    free(snapshot->events);
    free(snapshot->calls);
    *snapshot = (hp_trace_snapshot_t){.events = NULL};
}
