/* lane: posting: a lane's tasks go out in segment order, so many at a time; what needs no lane is ready at once. */
#include "event_engine/request/internal.h"

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

hp_status_t hp_task_take_scratch(hp_request_t *request, hp_task_t *task)
{
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
        task->buffer = hp_operand_address(task->in);
        request->counters.sends++;
        return ops->isend(request->transport, task->buffer, task->count, &p->type, lane->peer,
                          p->tag + lane->tag, task);
    }
    const hp_status_t status = hp_task_take_buffer(request, task);
    if (status != HP_OK)
        return status;
    if (task->kind == TASK_RECV) {
        request->counters.recvs++;
        return ops->irecv(request->transport, task->buffer, task->count, &p->type, lane->peer,
                          p->tag + lane->tag, task);
    }
    request->counters.natives++;
    return ops->icollective(request->transport, (hp_native_t)task->native, lane->comm,
                            hp_operand_address(task->in), task->buffer, task->count, &p->type, p->op,
                            task->root, task);
}

/* What needs no message. */
static void post_local(hp_request_t *request, lane_t *lane, hp_task_t *task)
{
    lane->in_flight++;
    if (lane->kind == LANE_SET) /* others wait for it, and it takes no time */
        queue_push_front(&request->ready, task);
    else if (lane->is_late)
        queue_push(&request->later, task);
    else
        queue_insert(&request->ready, task);
}

static hp_status_t post(hp_request_t *request, lane_t *lane, hp_task_t *task)
{
    if (lane->kind > LANE_NATIVE) {
        post_local(request, lane, task);
        return HP_OK;
    }
    hp_status_t status = post_message(request, lane, task);
    if (status == HP_OK) {
        lane->in_flight++;
        request->counters.in_flight++;
    }
    return status;
}

void hp_lane_post_ready(hp_request_t *request, lane_t *lane)
{
    while (request->error == HP_OK && lane->waiting.first && lane->waiting.first->waits == 0 &&
           lane->in_flight < lane->limit)
        request->error = post(request, lane, queue_pop(&lane->waiting));
}

void hp_lane_await(hp_request_t *request, lane_t *lane)
{
    const int32_t index = (int32_t)(lane - request->lanes);

    if (lane->is_awaited)
        return;
    lane->is_awaited = true;
    lane->next_awaited = -1;
    if (request->last_awaited >= 0)
        request->lanes[request->last_awaited].next_awaited = index;
    else
        request->first_awaited = index;
    request->last_awaited = index;
}

void hp_task_release(hp_request_t *request, hp_task_t *task)
{
    lane_t *lane = task->lane >= 0 ? &request->lanes[task->lane] : NULL;

    if (task->kind == TASK_WAIT) {
        record_start(request, task);
        if (lane->waiting.first == task)
            hp_lane_await(request, lane);
    } else if (lane) {
        hp_lane_post_ready(request, lane);
    } else {
        queue_insert(&request->ready, task);
    }
}
