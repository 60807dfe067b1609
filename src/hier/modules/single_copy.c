/* single_copy: each rank copies straight from the memory of the process that has the data (the SOLO module's
 * job; X. Luo 2020, section 5.3), by process_vm_readv.
 *
 *      reduce   member: set UP once, for all segments         lead: pull the segment of every member in
 * order, fold bcast    lead: set DOWN when the segment is there      member: wait DOWN, pull
 *
 * Every segment has its lead; with several leaders a node (the pipeline's turns) all ranks of the node read,
 * fold and write disjoint parts of the message at the same time: SOLO's reduction phase over slices, and its
 * distribution. Rounds: 1.  Bytes: each value is read once, nothing is copied twice. A rank leaves when its
 * buffers have been read. On levels above the innermost one values lie in slots of the shared memory: they
 * are read there, as by shm. Constraints: as shm, and that the processes may read each other's memory. */
#include "hier/collectives/algorithm.h"
#include "hier/modules/node_steps.h"

static bool serves(const hp_comm_t *comm, bool between_nodes, const hp_call_t *call)
{
    return comm->reads_peers && hp_module_shm.serves(comm, between_nodes, call);
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_node_memory_t *node = stage->node->memory;
    (void)setting;

    /* Nobody reads what stood there before: this rank waited for that before it left. */
    *hp_node_address(node, node->own, HP_WAY_UP) = (void *)call->send;
    *hp_node_address(node, node->own, HP_WAY_DOWN) = call->recv;
    return hp_node_lanes_make(stage);
}

static hp_place_t place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    return hp_node_emit_place(stage, segment, flow, HP_WAY_UP);
}

static void fold_members(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = stage->node->first_step + flow->index;
    hp_operand_t pulled = hp_scratch();

    for (uint32_t position = 1; position < stage->team.count; position++) {
        const uint32_t member = lanes->members[position];
        hp_task_t *there = hp_emit_wait(segment, lanes->member_up[position], step + 1);
        hp_task_t *pull =
            hp_emit_pull(segment, member, hp_node_address(stage->node->memory, member, HP_WAY_UP),
                         flow->offset, pulled, flow->count);
        hp_emit_after(pull, there);
        if (position > 1)
            hp_emit_after(pull, flow->ready); /* the one buffer is free again */
        pulled = hp_of(pull);
        hp_node_emit_fold(segment, flow, &into, pulled, pull, position == 1);
    }
    hp_flow_reads_node(flow, flow->ready);
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_node_lanes_t *lanes = stage->own;

    if (!stage->innermost || flow->count == 0)
        hp_module_shm.reduce(stage, segment, flow, into);
    else if (stage->team.position == 0)
        fold_members(stage, segment, flow, into);
    else if (flow->index == 0 || stage->many_turns)
        hp_emit_set(segment, lanes->set_up, stage->node->end_step);
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = stage->node->first_step + flow->index;

    if (flow->count == 0) {
        hp_module_shm.bcast(stage, segment, flow);
        return;
    }
    if (stage->team.position == 0) {
        hp_emit_after(hp_emit_set(segment, lanes->set_down, step + 1), flow->ready);
        return;
    }
    hp_task_t *there = hp_emit_wait(segment, lanes->lead_down, step + 1);
    flow->ready =
        hp_emit_pull(segment, lanes->lead, hp_node_address(stage->node->memory, lanes->lead, HP_WAY_DOWN),
                     flow->offset, hp_at(flow->result), flow->count);
    hp_emit_after(flow->ready, there);
    hp_emit_after(flow->ready, flow->own_read);
    hp_flow_reads_node(flow, flow->ready);
}

/* Who may still read this rank's buffers. */
static void finish(const hp_stage_t *stage, hp_segment_t *segment)
{
    const hp_node_lanes_t *lanes = stage->own;

    if (stage->team.position > 0) {
        if (stage->collective != HP_BCAST && stage->innermost)
            hp_node_emit_leave(stage, segment, lanes->lead);
        return;
    }
    if (stage->collective != HP_REDUCE)
        for (uint32_t position = 1; position < stage->team.count; position++)
            hp_node_emit_leave(stage, segment, lanes->members[position]);
}

const hp_module_t hp_module_single_copy = {.name = "single_copy",
                                           .serves = serves,
                                           .prepare = prepare,
                                           .place = place,
                                           .reduce = reduce,
                                           .bcast = bcast,
                                           .finish = finish};
