/* node_steps: what the modules on shared memory have in common: their lanes, and a value's way through a
 * slot.
 *
 * Counters and slots: event_engine/mem/node_memory.h. A step is a segment; its number is the same on all
 * ranks. Threads: as comm.h. Ownership: lanes lie in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_NODE_STEPS_H
#define HP_HIER_MODULES_NODE_STEPS_H

#include "hier/modules/module.h"
#include "topo_tree/shape.h"

typedef struct {
    uint32_t leader;   /* number of the leader in the node's memory */
    uint32_t *members; /* of the team's positions */
    /* At fan-in: who reads this rank's slot, and the positions whose slots it reads, ascending. */
    uint32_t parent;
    uint32_t *children;
    uint32_t child_count;
    int32_t set_up, set_down;
    int32_t leader_down;              /* of a member */
    int32_t *member_up, *member_down; /* by position; the own one is not used */
} hp_node_lanes_t;

/* Makes stage->own (a hp_node_lanes_t) and the stage's numbers of tasks. fan_in: the tree along which values are reduced.
 * HP_ERR_NO_MEM. */
hp_status_t hp_node_lanes_make(hp_stage_t *stage, hp_shape_t fan_in);

/* This rank's slot for the step, and the task before which it may not be written. */
hp_place_t hp_node_emit_place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow,
                              hp_fan_t fan);

/* A member's value goes to its slot, unless it was made there, and its counter says so to the leader. */
void hp_node_emit_contribute(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow);

/* The collective runs once more, and had one step. Would it emit the same tasks again, for the step that it has now? Then the
 * slots that it fills are those of this step. */
bool hp_node_fills_again(hp_node_use_t *use);

/* What a member hands over in the step: the task after which it is there, and where. */
typedef struct {
    hp_task_t *there;
    hp_operand_t slot;
} hp_node_filled_t;
static inline hp_node_filled_t hp_node_emit_wait_filled(const hp_stage_t *stage, hp_segment_t *segment, int32_t lane,
                                                        uint32_t member, hp_fan_t fan, uint64_t step)
{
    const hp_node_use_t *use = stage->node;
    const hp_node_memory_t *node = use->memory;

    /* Its owner has yet to say which ring it lies in; or the task runs again, for another step. */
    if (hp_node_borrows(node) || use->end_step - use->first_step == 1) {
        hp_task_t *there = hp_emit_wait_slot(segment, lane, step);
        return (hp_node_filled_t){there, hp_of(there)};
    }
    return (hp_node_filled_t){hp_emit_wait(segment, lane, step + 1),
                              hp_at(hp_node_slot(node, member, stage->node_level, fan, step))};
}

/* Reduces this rank's own value and the slots of its children, which it has, in the order of positions. */
void hp_node_emit_reduce_slots(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow,
                               hp_place_t into);

/* After `after`: value = value (op) operand, in the place that is wanted; to NULL: over the value. Returns the task. It waits
 * for flow->ready and to->free. */
hp_task_t *hp_node_emit_reduce(hp_segment_t *segment, hp_flow_t *flow, const hp_place_t *to, hp_operand_t operand,
                               hp_task_t *after);

/* Waits until member has read everything of the collective. */
void hp_node_emit_leave(const hp_stage_t *stage, hp_segment_t *segment, uint32_t member);

#endif
