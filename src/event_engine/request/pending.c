/* pending: what a request waits for: to sleep until it arrives, and for reports. */
#include "event_engine/request/internal.h"

bool hp_request_waits_for_flags(const hp_request_t *request)
{
    return request->counters.in_flight == 0 && request->pipeline.node && !hp_request_done(request);
}

/* The awaited counters: how many, and the last of them. *set: one of them is there. */
static uint32_t pending_flags(const hp_request_t *request, const hp_counter_t **counter, bool *set)
{
    uint32_t count = 0;

    *set = false;
    if (request->step) {
        *counter = request->direct->counter;
        *set = atomic_load_explicit(*counter, memory_order_acquire) >= request->direct->value;
        return 1;
    }
    for (int32_t i = request->first_awaited; i >= 0; i = request->lanes[i].next_awaited) {
        const lane_t *lane = &request->lanes[i];
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

static void report_segment(const hp_request_t *request, const hp_segment_t *segment, hp_pending_fn_t report,
                           void *context)
{
    for (uint32_t i = 0; i < segment->task_count; i++) {
        const hp_task_t *task = &segment->tasks[i];
        if (task->complete || task->waits || task->lane < 0 || task->kind == TASK_SET ||
            task->kind == TASK_ADVANCE)
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
        report(context, &pending);
    }
}

void hp_request_pending(const hp_request_t *request, hp_pending_fn_t report, void *context)
{
    if (hp_request_done(request))
        return;
    if (request->step) {
        report(context, &(hp_pending_t){.what = HP_PENDING_FLAG, .counter = request->direct->counter});
        return;
    }
    for (uint32_t i = 0; i < request->counters.window_segments; i++)
        if (request->segments[i].unfinished)
            report_segment(request, &request->segments[i], report, context);
}
