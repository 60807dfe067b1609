/* shm: bounce buffers and flags in the memory that the ranks of a node share (the SM module's job; X. Luo
 * 2020, section 5.2; flags with one writer after G. Katevenis, M. Ploumidis, M. Marazakis, A Framework for
 * Hierarchical Single-Copy MPI Collectives (XHC), 2022).
 *
 *      reduce   leaf:   copy -> own slot, set FAN_IN
 *               inner:  wait FAN_IN of every child in order, reduce its slot -> own slot, set FAN_IN
 *               leader: the same, reduce -> where it is wanted
 *      bcast    leader: copy -> own slot, set FAN_OUT
 *               member: wait FAN_OUT, copy out of the leader's slot
 *
 * The tree of a reduce has the level's shape, which is a schedule's (schedule/generators): linear, the leader reads all
 * slots; with others there are more hops, and what one rank reduces is less. A bcast needs none: one slot, which all read.
 * Rounds: 1, of a reduce the tree's.  Bytes: every member's value is written once and read once. Values of inner levels are
 * made in the slot at once, where the next reader finds them. A slot is used again `slots` steps later, when
 * everybody who may read it has finished that step (DONE).
 * Constraints: ranks that share memory; a dense type; a segment fits a slot (the pipeline cuts so). */
#include "hier/modules/node_steps.h"

static bool serves(const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    return !inter_node && comm->shares_memory && hp_type_is_dense(&call->type) &&
           call->type.bytes <= (size_t)comm->knobs.slot_bytes;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)call;
    return hp_node_lanes_make(stage, (hp_shape_t)setting->shapes.shape[stage->team.level]);
}

static hp_place_t place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    return hp_node_emit_place(stage, segment, flow, HP_FAN_IN);
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_node_lanes_t *lanes = stage->own;
    const bool is_member = stage->team.position > 0;

    if (lanes->child_count > 0) {
        if (is_member && flow->count > 0 && !hp_flow_is_made(flow))
            into = hp_node_emit_place(stage, segment, flow, HP_FAN_IN);
        hp_node_emit_reduce_slots(stage, segment, flow, into);
    }
    if (is_member)
        hp_node_emit_contribute(stage, segment, flow);
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step;

    if (stage->team.position == 0) {
        hp_task_t *filled = flow->ready;
        if (flow->count > 0) {
            const hp_place_t slot = hp_node_emit_place(stage, segment, flow, HP_FAN_OUT);
            filled = hp_emit_copy(segment, slot.at, flow->result, flow->count);
            hp_emit_shared(filled);
            hp_emit_after(filled, flow->ready);
            hp_emit_after(filled, slot.free);
        }
        hp_emit_after(hp_emit_set(segment, lanes->set_down, step + 1), filled);
        return;
    }
    if (flow->count == 0) { /* a barrier */
        flow->ready = hp_emit_wait(segment, lanes->leader_down, step + 1);
    } else {
        const hp_node_filled_t filled =
            hp_node_emit_wait_filled(stage, segment, lanes->leader_down, lanes->leader, HP_FAN_OUT, step);
        flow->ready = hp_emit_copy(segment, flow->result, filled.slot, flow->count);
        hp_emit_after(flow->ready, filled.there);
        hp_emit_after(flow->ready, flow->own_read);
        hp_flow_reads_node(flow, flow->ready);
    }
}

const hp_module_t hp_module_shm = {
    .serves = serves, .prepare = prepare, .place = place, .reduce = reduce, .bcast = bcast};
