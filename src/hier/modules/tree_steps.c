#include "hier/modules/tree_steps.h"

hp_status_t hp_tree_lanes_make(hp_tree_lanes_t *out, int32_t *children, const hp_start_t *start,
                               const hp_setting_t *setting, const hp_neighbors_t *neighbors, uint32_t stream,
                               bool shared)
{
    int32_t (*lane)(hp_request_t *, hp_direction_t, uint32_t, uint32_t, uint32_t) =
        shared ? hp_request_lane : hp_request_new_lane;
    const bool up = stream == HP_STREAM_UP;
    const hp_direction_t to_parent = up ? HP_LANE_SEND : HP_LANE_RECV;
    const hp_direction_t to_child = up ? HP_LANE_RECV : HP_LANE_SEND;

    *out = (hp_tree_lanes_t){.child_count = neighbors->child_count, .parent = -1, .children = children};
    if (neighbors->parent >= 0) {
        out->parent = lane(start->request, to_parent, (uint32_t)neighbors->parent, stream,
                           hp_setting_lane_limit(setting, to_parent));
        if (out->parent < 0)
            return HP_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < neighbors->child_count; i++) {
        children[i] = lane(start->request, to_child, neighbors->children[i], stream,
                           hp_setting_lane_limit(setting, to_child));
        if (children[i] < 0)
            return HP_ERR_NO_MEM;
    }
    return HP_OK;
}

/* Receives what a child sends into a scratch buffer. All pieces of a segment come on one lane, in order: when
 * one of them is posted, the first one has its buffer. */
static hp_task_t *recv_aside(hp_segment_t *segment, const hp_tree_lanes_t *lanes, uint32_t child,
                             const hp_contribution_t *c)
{
    if (c->holders && c->holders[child])
        return hp_emit_recv_within(segment, lanes->children[child], c->holders[child], c->piece_offset,
                                   c->count);
    hp_task_t *recv = hp_emit_recv_scratch(segment, lanes->children[child], c->count);
    if (c->holders)
        c->holders[child] = recv;
    return recv;
}

/* The reduction runs through the buffers that the children's data arrives in: own (op) child 0 is made in child
 * 0's buffer, that (op) child 1 in child 1's, and so on. So nothing is copied, the operands stay in tree
 * order, and the result does not depend on who comes first (docs/pitfalls.md 15). The last buffer is the result's
 * place itself where there is one. In place (own is result) that place is still being read:
 *      commutative:  every child is reduced into own
 *      otherwise:    the reduction ends in scratch and is copied */
hp_operand_t hp_tree_emit_reduce(hp_segment_t *segment, const hp_tree_lanes_t *lanes,
                                 const hp_contribution_t *c, hp_task_t **done, hp_task_t **own_read)
{
    const bool in_place = c->has_result && !c->own.task && c->result == c->own.address;
    hp_operand_t reduced = c->own;

    *done = NULL;
    *own_read = NULL;
    for (uint32_t left = lanes->child_count; left-- > 0;) { /* last to first: rank order, see tree.h */
        const bool into_result = left == 0 && c->has_result && !in_place;
        hp_task_t *child = into_result ? hp_emit_recv(segment, lanes->children[left], c->result, c->count)
                                       : recv_aside(segment, lanes, left, c);
        hp_task_t *reduce = in_place && c->commutative
                                ? hp_emit_reduce(segment, hp_of(child), c->own, c->count)
                                : hp_emit_reduce(segment, reduced, hp_of(child), c->count);
        hp_emit_after(reduce, child);
        hp_emit_after(reduce, *done ? *done : c->ready);
        if (into_result)
            hp_emit_after(child, c->result_free);
        if (!*own_read)
            *own_read = reduce;
        reduced = hp_of(reduce);
        *done = reduce;
    }
    if (c->has_result && !*done && !in_place) { /* no children: the own contribution is the result */
        *done = hp_emit_copy(segment, c->result, c->own, c->count);
        hp_emit_after(*done, c->ready);
        hp_emit_after(*done, c->result_free);
        reduced = hp_of(*done);
        *own_read = *done;
    } else if (*done && in_place && !c->commutative) {
        hp_task_t *copy = hp_emit_copy(segment, c->result, reduced, c->count);
        hp_emit_after(copy, *done);
        reduced = hp_of(copy);
        *done = copy;
    }
    return reduced;
}

hp_task_t *hp_tree_emit_down(hp_segment_t *segment, const hp_tree_lanes_t *lanes, char *address, size_t count,
                             hp_task_t *before)
{
    hp_task_t *recv = NULL;

    if (lanes->parent >= 0) {
        recv = hp_emit_recv(segment, lanes->parent, address, count);
        hp_emit_after(recv, before);
        before = recv;
    }
    for (uint32_t i = 0; i < lanes->child_count; i++)
        hp_emit_after(hp_emit_send(segment, lanes->children[i], hp_at(address), count), before);
    return recv;
}

uint32_t hp_tree_reduce_tasks(const hp_neighbors_t *neighbors)
{
    return 2 * neighbors->child_count + 1;
}

uint32_t hp_tree_reduce_edges(const hp_neighbors_t *neighbors)
{
    return 3 * neighbors->child_count + 2;
}

uint32_t hp_tree_down_tasks(const hp_neighbors_t *neighbors)
{
    return neighbors->child_count + 1;
}

uint32_t hp_tree_down_edges(const hp_neighbors_t *neighbors)
{
    return neighbors->child_count + 1;
}
