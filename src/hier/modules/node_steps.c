#include "hier/modules/node_steps.h"

#include <assert.h>

/* The leader does; so does everybody where all ranks reduce. */
static bool talks_to_all(const hp_stage_t *stage)
{
    return stage->team.position == 0 || (stage->outermost && stage->innermost);
}

static bool make_tree(hp_stage_t *stage, hp_shape_t shape)
{
    hp_node_lanes_t *lanes = stage->own;
    const uint32_t count = stage->team.count, position = stage->team.position;
    const int32_t parent = hp_shape_parent(shape, count, position);

    lanes->parent = lanes->members[parent < 0 ? 0 : parent];
    lanes->child_count = hp_shape_children(shape, count, position, NULL, 0);
    lanes->children = hp_arena_get(stage->start->arena, lanes->child_count * sizeof *lanes->children);
    if (!lanes->children)
        return false;
    hp_shape_children(shape, count, position, lanes->children, lanes->child_count);
    return true;
}

static bool is_child(const hp_node_lanes_t *lanes, uint32_t position)
{
    for (uint32_t i = 0; i < lanes->child_count; i++)
        if (lanes->children[i] == position)
            return true;
    return false;
}

hp_status_t hp_node_lanes_make(hp_stage_t *stage, hp_shape_t fan_in)
{
    hp_arena_t *arena = stage->start->arena;
    hp_request_t *request = stage->start->request;
    const hp_node_use_t *node = stage->node;
    const uint32_t level = stage->node_level, count = stage->team.count;
    const uint32_t slot_waits = node->memory->shape.members; /* who may still read a slot */
    /* A bcast's members say at fan-in that they are there; they hand nothing over. */
    const bool hands_in = stage->collective != HP_BCAST;
    bool made = true;

    hp_node_lanes_t *lanes = stage->own = hp_arena_get(arena, sizeof *lanes);
    if (!lanes || !(lanes->members = hp_arena_get(arena, count * sizeof *lanes->members)))
        return HP_ERR_NO_MEM;
    for (uint32_t position = 0; position < count; position++)
        lanes->members[position] =
            hp_comm_node_member(stage->start->comm, hp_team_rank(&stage->team, position));
    lanes->leader = lanes->members[0];
    if (!make_tree(stage, fan_in))
        return HP_ERR_NO_MEM;
    lanes->set_up = node->set[level][HP_FAN_IN];
    lanes->set_down = node->set[level][HP_FAN_OUT];
    lanes->member_up = hp_arena_get(arena, count * sizeof *lanes->member_up);
    lanes->member_down = hp_arena_get(arena, count * sizeof *lanes->member_down);
    made = lanes->member_up && lanes->member_down;
    for (uint32_t position = 0; position < count && made; position++) {
        if (position == stage->team.position ||
            (position > 0 && !talks_to_all(stage) && !is_child(lanes, position)))
            continue;
        const uint32_t member = lanes->members[position];
        lanes->member_up[position] =
            hp_request_wait_lane(request, hp_node_counter(node->memory, member, level, HP_FAN_IN), hands_in);
        lanes->member_down[position] =
            hp_request_wait_lane(request, hp_node_counter(node->memory, member, level, HP_FAN_OUT), true);
        made = lanes->member_up[position] >= 0 && lanes->member_down[position] >= 0;
    }
    if (stage->team.position > 0) {
        lanes->leader_down = lanes->member_down[0];
        stage->tasks = 6 + 2 * lanes->child_count + slot_waits;
        stage->scratch = lanes->child_count > 1;
        stage->edges = 10 + 8 * lanes->child_count + slot_waits;
        stage->finish_tasks = 1;
    } else {
        /* Wait, read and reduce, push; copy and set; a slot for what an inner stage makes, and one for
         * fan-out. */
        stage->tasks = 4 * count + 4 + 2 * slot_waits;
        stage->edges = 8 * count + 8 + 2 * slot_waits;
        stage->scratch = 2;
        stage->finish_tasks = count;
    }
    return made ? HP_OK : HP_ERR_NO_MEM;
}

/* This rank's. Several steps have tasks at a time, one step the same ones again. */
static hp_operand_t slot_of(const hp_stage_t *stage, hp_fan_t fan, uint64_t step)
{
    hp_node_use_t *use = stage->node;
    char *slot = hp_node_slot(use->memory, use->memory->own, stage->node_level, fan, step);

    if (use->end_step - use->first_step > 1)
        return hp_at(slot);
    use->slots[stage->node_level][fan] = slot;
    return hp_behind(&use->slots[stage->node_level][fan]);
}

static bool is_free(hp_node_memory_t *node, uint64_t step)
{
    const uint64_t slots = node->shape.slots;
    return step < slots || hp_node_is_clear(node, step - slots + 1);
}

bool hp_node_fills_again(hp_node_use_t *use)
{
    hp_node_memory_t *node = use->memory;
    bool again = !use->has_waited;

    for (uint32_t ring = 0; ring < node->shape.levels * HP_FAN_COUNT && again; ring++) {
        const uint32_t level = ring / HP_FAN_COUNT;
        const hp_fan_t fan = (hp_fan_t)(ring % HP_FAN_COUNT);
        if (!use->slots[level][fan])
            continue;
        hp_node_back_slots(node, level, fan);
        use->slots[level][fan] = hp_node_slot(node, node->own, level, fan, use->first_step);
        again = is_free(node, use->first_step);
    }
    use->has_waited = false;
    return again;
}

hp_place_t hp_node_emit_place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow,
                              hp_fan_t fan)
{
    hp_node_use_t *use = stage->node;
    hp_node_memory_t *node = use->memory;
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step, slots = node->shape.slots;

    assert(!node->bytes || node->slots.end_step >= use->end_step); /* else they may be given back meanwhile */
    hp_node_back_slots(node, stage->node_level, fan);
    hp_place_t place = {.given = true, .shared = true, .at = slot_of(stage, fan, step), .free = NULL};
    if (is_free(node, step))
        return place;
    const uint64_t value = step - slots + 1;
    /* What this collective put into a slot is read by whom it is for; before it there may have been other
     * leaders. */
    if (fan == HP_FAN_IN && value > use->first_step && stage->rotation_count == 1) {
        use->has_waited = true;
        place.free = hp_emit_wait(segment, use->done[lanes->parent], value);
        return place;
    }
    for (uint32_t member = 0; member < node->shape.members; member++) {
        const hp_counter_t *done = hp_node_done(node, member);
        const uint64_t finished = hp_around_waited_for(use->around, member, value);
        if (atomic_load_explicit(done, memory_order_acquire) < finished) {
            hp_task_t *wait = hp_emit_wait(segment, use->done[member], finished);
            hp_emit_after(wait, place.free);
            place.free = wait;
            use->has_waited = true;
        }
    }
    return place;
}

void hp_node_emit_contribute(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;
    hp_task_t *there = flow->ready;

    if (!hp_flow_is_made(flow) && flow->count > 0) { /* else it was made there, see place */
        const hp_place_t slot = hp_node_emit_place(stage, segment, flow, HP_FAN_IN);
        there = hp_emit_copy(segment, slot.at, flow->value, flow->count);
        hp_emit_shared(there);
        hp_emit_after(there, flow->ready);
        hp_emit_after(there, slot.free);
        flow->own_read = there;
    }
    hp_emit_after(hp_emit_set(segment, lanes->set_up, flow->step + 1), there);
}

hp_task_t *hp_node_emit_reduce(hp_segment_t *segment, hp_flow_t *flow, const hp_place_t *to,
                               hp_operand_t operand, hp_task_t *after)
{
    const hp_operand_t at = !to ? flow->value : to->given ? to->at : hp_scratch();
    hp_task_t *reduce = hp_emit_reduce_to(segment, flow->value, operand, at, flow->count);

    hp_emit_after(reduce, after);
    hp_emit_after(reduce, flow->ready);
    if (to)
        hp_emit_after(reduce, to->free);
    if (!hp_flow_is_made(flow))
        flow->own_read = reduce;
    flow->value = hp_of(reduce);
    flow->ready = reduce;
    return reduce;
}

void hp_node_emit_reduce_slots(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow,
                               hp_place_t into)
{
    static const hp_place_t anywhere = {.given = false};
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step;
    const bool is_there = stage->team.position > 0 && hp_flow_is_made(flow); /* in this rank's slot */
    /* What went past the caches is far to read back: then the slot is written once, at last. */
    const bool once = into.shared && !is_there && stage->node->memory->streams_from;

    for (uint32_t i = 0; i < lanes->child_count; i++) {
        const uint32_t child = lanes->children[i];
        const bool is_last = i + 1 == lanes->child_count;
        if (flow->count == 0) { /* a barrier: nothing to reduce */
            hp_task_t *there = hp_emit_wait(segment, lanes->member_up[child], step + 1);
            hp_emit_after(there, flow->ready);
            flow->ready = there;
            continue;
        }
        const hp_node_filled_t filled = hp_node_emit_wait_filled(stage, segment, lanes->member_up[child],
                                                                 lanes->members[child], HP_FAN_IN, step);
        const hp_place_t *to = i > 0 || is_there ? NULL : once ? &anywhere : &into;
        hp_task_t *reduce =
            hp_node_emit_reduce(segment, flow, once && is_last ? &into : to, filled.slot, filled.there);
        if (once && is_last)
            hp_emit_shared(reduce);
    }
    if (flow->count > 0)
        hp_flow_reads_node(flow, flow->ready);
}

void hp_node_emit_leave(const hp_stage_t *stage, hp_segment_t *segment, uint32_t member)
{
    hp_emit_wait(segment, stage->node->done[member], stage->node->end_step);
}
