/* record: what a request does, for the trace (trace.h): each task of the engine, and for each segment the span of
 * each task of the hierarchical pipeline. */
#include "event_engine/request/internal.h"

#include <stdlib.h>

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

void hp_record_tick(const hp_request_t *request, hp_task_t *task)
{
    task->start_tick = (uint32_t)(hp_trace_now(request->trace) >> TICK_SHIFT);
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

void hp_record_segment_begin(const hp_segment_t *segment)
{
    *record_of(segment) = (record_t){.spans = {{0}}};
}

static hp_trace_kind_t trace_kind(const hp_task_t *task)
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
    case TASK_ADVANCE:
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

void hp_record_end(hp_request_t *request, const hp_task_t *task)
{
    const hp_trace_kind_t kind = trace_kind(task);
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

void hp_record_segment_end(hp_request_t *request, const hp_segment_t *segment)
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

hp_status_t hp_record_prepare(hp_request_t *request, size_t window)
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
