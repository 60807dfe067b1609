/* single_copy: each rank copies straight from or to the memory of another process, by process_vm_readv and
 * process_vm_writev (the SOLO module's job; X. Luo 2020, section 5.3).
 *
 *      reduce   member: set FAN_IN once, for all segments
 *               worker: pull the segment of every other rank in order, reduce
 *      bcast    leader: set FAN_OUT when the segment is there
 *               member: wait FAN_OUT, pull
 *
 * All ranks work, on disjoint parts of the message (SOLO's reduction phase over slices, and its
 * distribution); a part is a segment. Where the team is all there is, one level on one node:
 *
 *      reduce      segment i is reduced by the member at position i mod n, which pushes the result to the leader
 *      bcast       of every n segments the leader pushes one to all members, which pull the others meanwhile
 *      allreduce   with several leaders (the pipeline's rotations) each segment's leader pushes its result at once,
 *                  while it is in the cache: 16 MiB between two ranks 0.9 of the time of pulling it
 *
 * Elsewhere the leader has messages to handle: it reduces, and members pull.
 * Rounds: 1.  Bytes: each value is read once, nothing is copied twice. A rank leaves when nobody needs its
 * buffers any more. On levels above the innermost one values lie in slots of the shared memory: they are read
 * there, as by shm.
 * Constraints: as shm, and that the processes may read and write each other's memory. */
#include "hier/modules/node_steps.h"

static bool serves(const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    return comm->reads_peers && hp_module_shm.serves(comm, inter_node, call);
}

/* Is the team the whole communicator? Then nobody has anything else to do. */
static bool is_everybody(const hp_stage_t *stage)
{
    return stage->outermost && stage->innermost;
}

/* Each leader hands its segments out at once. */
static bool pushes_all(const hp_stage_t *stage)
{
    return is_everybody(stage) && stage->collective == HP_ALLREDUCE && stage->rotation_count > 1;
}

static bool pushes(const hp_stage_t *stage, const hp_flow_t *flow)
{
    return pushes_all(stage) || (is_everybody(stage) && stage->collective == HP_BCAST &&
                                 flow->index % stage->team.count == stage->team.count - 1);
}

/* In a reduce all ranks do the operation, and push what they made to the leader. */
static bool all_work(const hp_stage_t *stage)
{
    return is_everybody(stage) && stage->collective == HP_REDUCE && stage->result_at_root;
}

/* The position that reduces a segment. */
static uint32_t worker_of(const hp_stage_t *stage, const hp_flow_t *flow)
{
    return all_work(stage) ? (uint32_t)(flow->index % stage->team.count) : 0;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)call;
    (void)setting;

    const hp_status_t status = hp_node_lanes_make(stage, HP_SHAPE_LINEAR);
    if (is_everybody(stage)) {
        stage->tasks += 3 * stage->team.count + 4; /* every rank is a worker */
        stage->edges += 6 * stage->team.count;
        stage->scratch = 3;
        stage->finish_tasks = stage->team.count;
    }
    return status;
}

static void begin(const hp_stage_t *stage, const hp_call_t *call)
{
    const hp_node_memory_t *node = stage->node->memory;
    const uint64_t bytes = call->count * call->type.bytes;

    /* Nobody reads what stood there before: this rank waited for that before it left. */
    *hp_node_buffer(node, node->own, HP_FAN_IN) = (hp_node_buffer_t){(void *)call->send, bytes};
    *hp_node_buffer(node, node->own, HP_FAN_OUT) = (hp_node_buffer_t){call->recv, bytes};
}

static hp_place_t place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    return hp_node_emit_place(stage, segment, flow, HP_FAN_IN);
}

/* All members' contributions in the order of positions, this rank's own among them. */
static void reduce_members(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step;
    const hp_operand_t mine = flow->value;
    hp_operand_t pulled = hp_scratch(); /* one buffer for all but the value of position 0 */
    hp_task_t *reduced = NULL;          /* what it held */

    for (uint32_t position = 0; position < stage->team.count; position++) {
        const uint32_t member = lanes->members[position];
        if (position == stage->team.position) {
            if (position > 0)
                hp_node_emit_reduce(segment, flow, position == 1 ? &into : NULL, mine, NULL);
            continue;
        }
        hp_task_t *there = hp_emit_wait(segment, lanes->member_up[position], step + 1);
        hp_task_t *pull =
            hp_emit_pull(segment, member, hp_node_buffer(stage->node->memory, member, HP_FAN_IN),
                         flow->offset, position ? pulled : hp_scratch(), flow->count);
        hp_emit_after(pull, there);
        hp_emit_after(pull, reduced);
        if (position == 0) {
            flow->value = hp_of(pull);
            flow->ready = pull;
        } else {
            pulled = hp_of(pull);
            reduced = hp_node_emit_reduce(segment, flow, position == 1 ? &into : NULL, pulled, pull);
        }
    }
    hp_flow_reads_node(flow, flow->ready);
}

/* A worker that is not the leader: reduces, and hands the result over. */
static void work(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;

    reduce_members(stage, segment, flow, (hp_place_t){.given = false});
    hp_task_t *push =
        hp_emit_push(segment, lanes->leader, hp_node_buffer(stage->node->memory, lanes->leader, HP_FAN_OUT),
                     flow->offset, flow->value, flow->count);
    hp_emit_after(push, flow->ready);
    hp_emit_after(hp_emit_set(segment, lanes->set_down, flow->step + 1), push);
}

/* Announces to the others that this rank has come, and where its buffers are: once. */
static void enter(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;
    if (flow->index == 0 || stage->rotation_count > 1)
        hp_emit_set(segment, lanes->set_up, stage->node->end_step);
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint32_t position = stage->team.position, worker = worker_of(stage, flow);

    if (!stage->innermost || flow->count == 0) {
        hp_module_shm.reduce(stage, segment, flow, into);
        return;
    }
    if (position > 0 || is_everybody(stage))
        enter(stage, segment, flow);
    if (position == worker && worker == 0) {
        reduce_members(stage, segment, flow, into);
    } else if (position == worker) {
        work(stage, segment, flow);
    } else if (position == 0) {
        flow->ready = hp_emit_wait(segment, lanes->member_down[worker], flow->step + 1);
        flow->value = into.given ? into.at : flow->value;
    } else if (stage->collective == HP_REDUCE && flow->in_place) {
        /* In place, and the result is made elsewhere and sent here: to where the leader still reads. */
        flow->own_read = hp_emit_wait(segment, stage->node->done[lanes->leader], flow->step + 1);
    }
}

static void push_to_members(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow,
                            hp_task_t *announced)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step;

    for (uint32_t position = 1; position < stage->team.count; position++) {
        const uint32_t member = lanes->members[position];
        hp_task_t *push =
            hp_emit_push(segment, member, hp_node_buffer(stage->node->memory, member, HP_FAN_OUT),
                         flow->offset, flow->result, flow->count);
        if (stage->collective == HP_BCAST) { /* in an allreduce the members' contributions have been read */
            hp_task_t *entered = hp_emit_wait(segment, lanes->member_up[position], step + 1);
            hp_emit_after(push, entered);
        }
        hp_emit_after(push, flow->ready);
        hp_emit_after(announced, push);
    }
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_node_lanes_t *lanes = stage->own;
    const uint64_t step = flow->step;
    const bool pushed = pushes(stage, flow);

    if (flow->count == 0) {
        hp_module_shm.bcast(stage, segment, flow);
        return;
    }
    if (stage->team.position == 0) {
        hp_task_t *announced = hp_emit_set(segment, lanes->set_down, step + 1);
        hp_emit_after(announced, flow->ready);
        if (pushed)
            push_to_members(stage, segment, flow, announced);
        return;
    }
    if (stage->collective == HP_BCAST && is_everybody(stage))
        enter(stage, segment, flow);
    flow->ready = hp_emit_wait(segment, lanes->leader_down, step + 1);
    if (pushed)
        return;
    hp_task_t *pull =
        hp_emit_pull(segment, lanes->leader, hp_node_buffer(stage->node->memory, lanes->leader, HP_FAN_OUT),
                     flow->offset, flow->result, flow->count);
    hp_emit_after(pull, flow->ready);
    hp_emit_after(pull, flow->own_read);
    flow->ready = pull;
    hp_flow_reads_node(flow, pull);
}

/* Who may still need this rank's buffers. In an allreduce a result comes only after its contributions have
 * been read. */
static void finish(const hp_stage_t *stage, hp_segment_t *segment)
{
    const hp_node_lanes_t *lanes = stage->own;

    if (stage->collective == HP_REDUCE) {
        const uint32_t workers = all_work(stage) ? stage->team.count : stage->innermost ? 1 : 0;
        for (uint32_t position = 0; position < workers; position++)
            if (position != stage->team.position)
                hp_node_emit_leave(stage, segment, lanes->members[position]);
    } else if (stage->team.position == 0 && !pushes_all(stage)) {
        for (uint32_t position = 1; position < stage->team.count; position++)
            hp_node_emit_leave(stage, segment, lanes->members[position]);
    }
}

const hp_module_t hp_module_single_copy = {.serves = serves,
                                           .prepare = prepare,
                                           .begin = begin,
                                           .place = place,
                                           .reduce = reduce,
                                           .bcast = bcast,
                                           .finish = finish};
