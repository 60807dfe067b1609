/* task: emitting: the tasks of a segment and what waits for what. */
#include "event_engine/request/internal.h"

#include <assert.h>

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

/* A lane holds its tasks in segment order from the moment they are emitted, whenever they become ready. */
static hp_task_t *emit_in_lane(hp_segment_t *segment, task_kind_t kind, int32_t lane, size_t count)
{
    hp_task_t *task = emit(segment, kind, count);
    task->lane = lane;
    queue_push(&segment->request->lanes[lane].waiting, task);
    return task;
}

hp_task_t *hp_emit_send(hp_segment_t *segment, int32_t lane, hp_operand_t from, size_t count)
{
    hp_task_t *task = emit_in_lane(segment, TASK_SEND, lane, count);
    task->in = from;
    return task;
}

hp_task_t *hp_emit_recv(hp_segment_t *segment, int32_t lane, hp_operand_t to, size_t count)
{
    hp_task_t *task = emit_in_lane(segment, TASK_RECV, lane, count);
    task->out = to;
    return task;
}

hp_task_t *hp_emit_recv_scratch(hp_segment_t *segment, int32_t lane, size_t count)
{
    hp_task_t *task = emit_in_lane(segment, TASK_RECV, lane, count);
    task->scratch = true;
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
    task->scratch = !out.base && !out.offset;
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

static hp_task_t *emit_peer(hp_segment_t *segment, task_kind_t kind, uint32_t member,
                            const hp_node_buffer_t *buffer, size_t offset, size_t count)
{
    hp_task_t *task = emit(segment, kind, count);
    task->member = member;
    task->peer_buffer = buffer;
    task->offset = offset;
    return task;
}

hp_task_t *hp_emit_pull(hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer, size_t offset,
                        hp_operand_t to, size_t count)
{
    hp_task_t *task = emit_peer(segment, TASK_PULL, member, buffer, offset, count);
    place(task, to);
    return task;
}

hp_task_t *hp_emit_push(hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer, size_t offset,
                        hp_operand_t from, size_t count)
{
    hp_task_t *task = emit_peer(segment, TASK_PUSH, member, buffer, offset, count);
    task->in = from;
    return task;
}

static hp_task_t *emit_flag(hp_segment_t *segment, task_kind_t kind, int32_t lane, uint64_t value)
{
    hp_task_t *task = emit_in_lane(segment, kind, lane, 0);
    task->value = value;
    return task;
}

hp_task_t *hp_emit_wait(hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return emit_flag(segment, TASK_WAIT, lane, value);
}

hp_task_t *hp_emit_wait_slot(hp_segment_t *segment, int32_t lane, uint64_t step)
{
    hp_task_t *task = hp_emit_wait(segment, lane, step + 1);
    task->finds_slot = true;
    return task;
}

hp_task_t *hp_emit_set(hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return emit_flag(segment, TASK_SET, lane, value);
}

hp_task_t *hp_emit_advance(hp_segment_t *segment, int32_t lane, uint64_t bytes, size_t count)
{
    hp_task_t *task = emit_in_lane(segment, TASK_ADVANCE, lane, count);
    task->value = bytes;
    return task;
}

hp_task_t *hp_emit_native(hp_segment_t *segment, int32_t lane, hp_native_t what, hp_operand_t from,
                          hp_operand_t to, size_t count, uint32_t root)
{
    hp_task_t *task = emit_in_lane(segment, TASK_NATIVE, lane, count);
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

hp_task_t *hp_emit_copy(hp_segment_t *segment, hp_operand_t to, hp_operand_t from, size_t count)
{
    hp_task_t *task = emit(segment, TASK_COPY, count);
    task->in = from;
    place(task, to);
    return task;
}

void hp_emit_shared(hp_task_t *task)
{
    task->is_shared = true;
}

void hp_emit_after(hp_task_t *task, hp_task_t *before)
{
    if (!before)
        return;
    hp_segment_t *segment = task->segment;
    assert(segment == before->segment && segment->edge_count < segment->request->pipeline.edges_per_segment);
    const uint32_t added = segment->edge_count + 1;
    segment->edges[segment->edge_count++] = (edge_t){.task = task, .last = added};
    task->waits++;
    if (!before->first_edge) {
        before->first_edge = added;
        return;
    }
    edge_t *first = &segment->edges[before->first_edge - 1];
    segment->edges[first->last - 1].next = added;
    first->last = added;
}
