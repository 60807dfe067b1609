#include "hier/collectives/pipeline.h"

#include "hier/call/cut.h"
#include "hier/collectives/pipeline_plan.h"
#include "hier/modules/modules.h"
#include "hier/modules/node_steps.h"

typedef hp_pipeline_rotation_t rotation_t;
typedef hp_pipeline_plan_t plan_t;

/* The hierarchy that the call's order of operands allows, without late ranks that it goes around. */
static const hp_hierarchy_t *hierarchy_of(const plan_t *p)
{
    const hp_comm_t *comm = p->comm;
    if (p->around)
        return p->around->hierarchy;
    return p->call.commutative || p->in_order || !hp_pipeline_is_up(p) || !comm->rank_order
               ? comm->hierarchy
               : comm->rank_order;
}

static bool is_inter_node(const hp_hierarchy_t *h, const hp_team_t *team)
{
    return hp_hierarchy_node_count(h) > 1 &&
           (team->level == HP_LEVEL_NODE || hp_hierarchy_node_depth(h) == 0);
}

/* The wanted modules may be too much for this communicator or type. The same on all ranks. */
static void choose_modules(plan_t *p)
{
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        const bool inter_node = level == HP_LEVEL_NODE || (hp_hierarchy_node_count(p->comm->hierarchy) > 1 &&
                                                           hp_hierarchy_node_depth(hierarchy_of(p)) == 0);
        p->modules.module[level] = (uint8_t)hp_module_choose(
            p->comm, (hp_module_id_t)p->setting.modules.module[level], inter_node, &p->call);
    }
}

/* What was chosen goes into the trace. */
static void record_modules(const plan_t *p)
{
    hp_trace_call_t *call = hp_request_recorded(p->start.request);
    const hp_hierarchy_t *h = hierarchy_of(p);
    uint32_t levels = 0;

    if (!call)
        return;
    for (uint32_t depth = 0; depth < hp_hierarchy_level_count(h); depth++)
        levels |= 1u << hp_hierarchy_level(h, depth);
    hp_modules_format(&p->modules, levels, call->modules, sizeof call->modules);
}

/* On one of the levels that there are, intra-node or inter-node. */
static bool uses(const plan_t *p, hp_module_id_t id)
{
    const hp_hierarchy_t *h = hierarchy_of(p);
    bool found = false;

    for (uint32_t i = 0; i < hp_hierarchy_level_count(h); i++)
        found |= p->modules.module[hp_hierarchy_level(h, i)] == id;
    return found;
}

static bool uses_node(const plan_t *p)
{
    return uses(p, HP_MODULE_SHM) || uses(p, HP_MODULE_SINGLE_COPY);
}

/* Values of inner levels go through slots, whichever of the two modules reads them. */
static bool uses_slots(const plan_t *p)
{
    return uses(p, HP_MODULE_SHM) ||
           (uses_node(p) && hp_comm_node_shape(p->comm).levels > 1 && hp_pipeline_is_up(p));
}

/* Where all ranks of the nodes lead a barrier. The same on all ranks. */
static hp_leader_rounds_t choose_rounds(const plan_t *p)
{
    const hp_hierarchy_t *h = hierarchy_of(p);
    uint32_t least_ranks, most_ranks;

    if (p->call.collective != HP_BARRIER ||
        hp_hierarchy_node_depth(h) == 0) /* it does not tell nodes apart */
        return (hp_leader_rounds_t){.leaders = 1};
    hp_hierarchy_node_sizes(h, &least_ranks, &most_ranks);
    return hp_leader_rounds_of(hp_hierarchy_node_count(h), least_ranks, &p->setting);
}

/* Roots on different nodes among which an allreduce rotates. */
static uint32_t trees_of(const plan_t *p)
{
    const uint32_t nodes = hp_hierarchy_node_count(p->comm->hierarchy), trees = p->setting.trees;
    return trees > nodes ? nodes : trees ? trees : 1;
}

/* How many rotations, and who leads in which. A reduction around late ranks has one: its root, not on their nodes, carries the message
 * once when they have come. With several, what waits for them would be in the way of what does not. */
static uint32_t count_rotations(const plan_t *p)
{
    const hp_hierarchy_t *h = hierarchy_of(p);
    uint32_t most_ranks, least_ranks, rotations = 1;

    if ((hp_pipeline_is_up(p) && (!p->call.commutative || p->around)) || p->call.count == 0)
        return 1;
    hp_hierarchy_node_sizes(h, &least_ranks, &most_ranks);
    if (p->modules.module[HP_LEVEL_NODE] != HP_MODULE_NATIVE || hp_hierarchy_node_count(h) == 1)
        rotations = p->setting.leaders < most_ranks ? p->setting.leaders : most_ranks;
    if (p->call.collective == HP_ALLREDUCE)
        rotations *= trees_of(p);
    if (rotations > HP_ROTATIONS_MAX)
        rotations = HP_ROTATIONS_MAX;
    return rotations < p->segment_count ? (rotations ? rotations : 1) : (uint32_t)p->segment_count;
}

static hp_leaders_t leaders_of(const plan_t *p, uint32_t rotation)
{
    const hp_hierarchy_t *h = hierarchy_of(p);

    if (!p->call.commutative && hp_pipeline_is_up(p))
        return (hp_leaders_t){.root = 0};
    if (p->call.collective != HP_ALLREDUCE)
        return (hp_leaders_t){.root = p->call.root, .leader = rotation};
    const uint32_t trees = trees_of(p), leader = rotation / trees;
    const uint32_t first = hp_hierarchy_node_leader(h, rotation % trees);
    if (hp_hierarchy_node_depth(h) == 0 && hp_hierarchy_node_count(h) > 1)
        return (hp_leaders_t){.root = first};
    uint32_t count;
    const uint32_t *ranks = hp_hierarchy_node_ranks(h, first, &count);
    return (hp_leaders_t){.root = ranks[leader % count], .leader = leader};
}

/* Up to this size a reproducible reduction takes the fewest rounds, above it the fewest bytes over each link:
 * by the size alone, because the order of operations follows from it. */
enum { IN_ORDER_BINOMIAL_BYTES = 65536 };

/* The fan-in of a reproducible reduction: a tree over the ranks in their order. Ranks of a node that follow
 * each other keep their messages inside it; of a chain only one leaves each node. */
static hp_status_t prepare_in_order(const plan_t *p, rotation_t *rotation)
{
    const bool small = p->call.count * p->call.type.bytes <= IN_ORDER_BINOMIAL_BYTES;
    const hp_leaders_t leaders = {.root = 0};
    hp_setting_t in_order = p->setting;

    in_order.inter_node = HP_INTER_NODE_tree;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        in_order.shapes.shape[level] = small ? HP_SHAPE_BINOMIAL : HP_SHAPE_CHAIN;
    rotation->in_order = (hp_stage_t){.module = &hp_module_p2p,
                                      .start = &p->start,
                                      .collective = HP_REDUCE,
                                      .commutative = false,
                                      .team = hp_team_of(p->comm->flat, &leaders, 0, p->comm->rank),
                                      .inter_node = true,
                                      .outermost = true,
                                      .rotation_count = 1};
    return rotation->in_order.module->prepare(&rotation->in_order, &p->call, &in_order);
}

/* Does the group of that depth hold all that the stages join: all ranks, or those of the node? */
static bool is_whole(const plan_t *p, uint32_t depth)
{
    const hp_hierarchy_t *h = hierarchy_of(p);
    const uint32_t rank = p->comm->rank;
    uint32_t members, of_node;

    if (p->rounds.count == 0)
        return depth == 0;
    hp_hierarchy_members(h, depth, hp_hierarchy_group_of(h, depth, rank), &members);
    hp_hierarchy_node_ranks(h, rank, &of_node);
    return members == of_node;
}

/* The stages of this rank in one rotation, innermost first. Leaders' rounds take the place of the inter-node one. */
static hp_status_t prepare_rotation(plan_t *p, rotation_t *rotation)
{
    hp_comm_t *comm = p->comm;
    const hp_hierarchy_t *h = hierarchy_of(p);
    const uint32_t levels = hp_hierarchy_level_count(h),
                   top = hp_leader_top(h, &rotation->leaders, comm->rank),
                   highest = p->rounds.count ? hp_hierarchy_node_depth(h) : 0,
                   last = top > highest ? top - 1 : highest;

    for (uint32_t depth = levels; depth-- > last;) {
        const hp_team_t team = hp_team_of(h, &rotation->leaders, depth, comm->rank);
        if (team.count == 1)
            continue;
        hp_stage_t *stage = &rotation->stages[rotation->stage_count++];
        const bool inter_node = is_inter_node(h, &team);
        *stage = (hp_stage_t){.module = hp_module((hp_module_id_t)p->modules.module[team.level]),
                              .start = &p->start,
                              .collective = p->in_order ? HP_BCAST : p->call.collective,
                              .commutative = p->call.commutative,
                              .team = team,
                              .inter_node = inter_node,
                              .innermost = depth + 1 == levels,
                              .outermost = is_whole(p, depth) && !(p->around && hp_pipeline_is_up(p)),
                              .rotation_count = p->rotation_count,
                              .result_at_root = p->call.commutative || p->call.root == 0,
                              .node = inter_node ? NULL : p->node,
                              .node_level = levels > 1 ? depth - hp_hierarchy_node_depth(h) : depth};
        const hp_status_t status = stage->module->prepare(stage, &p->call, &p->setting);
        if (status != HP_OK)
            return status;
        p->modules_begin |= stage->module->begin != NULL;
    }
    return HP_OK;
}

/* Room for what one segment may emit. */
static void add_up(plan_t *p)
{
    hp_pipeline_t *pipeline = &p->pipeline;
    uint32_t finish = 0;

    for (uint32_t t = 0; t < p->rotation_count; t++) {
        const hp_stage_t *in_order = &p->rotations[t].in_order; /* or all zero */
        uint32_t tasks = 3 + in_order->tasks;                   /* forward, done */
        uint32_t edges = 3 + 2 * HP_LEVEL_COUNT + in_order->edges, scratch = in_order->scratch;
        tasks += (p->advance >= 0) + (p->rounds.count ? HP_LEADER_ROUNDS_TASKS : 0);
        edges += (p->advance >= 0) + (p->rounds.count ? HP_LEADER_ROUNDS_EDGES : 0);
        if (p->late) {
            const hp_late_ranks_t *late = &p->late[t];
            tasks += late->up.tasks + late->down.tasks;
            edges += late->up.edges + late->down.edges;
            scratch += late->up.scratch + late->down.scratch;
        }
        for (uint32_t k = 0; k < p->rotations[t].stage_count; k++) {
            const hp_stage_t *stage = &p->rotations[t].stages[k];
            tasks += stage->tasks;
            edges += stage->edges;
            scratch += stage->scratch;
            finish += stage->finish_tasks;
        }
        pipeline->tasks_per_segment =
            tasks > pipeline->tasks_per_segment ? tasks : pipeline->tasks_per_segment;
        pipeline->edges_per_segment =
            edges > pipeline->edges_per_segment ? edges : pipeline->edges_per_segment;
        pipeline->scratch_per_segment =
            scratch > pipeline->scratch_per_segment ? scratch : pipeline->scratch_per_segment;
    }
    pipeline->tasks_per_segment += finish;
}

static hp_status_t make_lanes(plan_t *p)
{
    hp_comm_t *comm = p->comm;

    p->forward = p->advance = -1;
    if (p->call.source) {
        p->advance = hp_request_advance_lane(p->start.request, comm->rank == p->call.root);
        if (p->advance < 0)
            return HP_ERR_NO_MEM;
    }
    if (p->call.collective == HP_REDUCE && !p->call.commutative && p->call.root != 0 &&
        (comm->rank == 0 || comm->rank == p->call.root)) {
        const bool sends = comm->rank == 0;
        const hp_direction_t direction = sends ? HP_LANE_SEND : HP_LANE_RECV;
        p->forward = hp_request_new_lane(p->start.request, direction, sends ? p->call.root : 0,
                                         HP_STREAM_FORWARD, hp_setting_lane_limit(&p->setting, direction));
        if (p->forward < 0)
            return HP_ERR_NO_MEM;
    }
    if (p->rounds.count > 0)
        p->round_lanes = hp_leader_rounds_prepare(&p->rounds, &p->start, hierarchy_of(p), &p->setting);
    return p->rounds.count == 0 || p->round_lanes ? HP_OK : HP_ERR_NO_MEM;
}

/* Makes the lanes for all rotations. */
static hp_status_t use_node(plan_t *p)
{
    hp_comm_t *comm = p->comm;
    hp_node_memory_t *memory = &comm->node_memory;
    const uint32_t members = memory->shape.members;

    if (!comm->has_node_memory)
        return HP_OK;
    hp_node_use_t *use = p->node = hp_arena_get(p->start.arena, sizeof *use);
    if (!use || !(use->done = hp_arena_get(p->start.arena, members * sizeof *use->done)))
        return HP_ERR_NO_MEM;
    use->memory = memory;
    use->around = p->around;
    p->slot_bytes = uses_slots(p) ? p->cut.segment_elements * p->cut.extent : 0;
    use->set_done = hp_request_set_lane(p->start.request, hp_node_done(memory, memory->own), false);
    bool made = use->set_done >= 0;
    for (uint32_t level = 0; level < memory->shape.levels; level++)
        for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++)
            made &= (use->set[level][fan] = hp_request_set_lane(
                         p->start.request, hp_node_counter(memory, memory->own, level, (hp_fan_t)fan),
                         true)) >= 0;
    for (uint32_t member = 0; member < members && made; member++)
        made = (use->done[member] =
                    hp_request_wait_lane(p->start.request, hp_node_done(memory, member), false)) >= 0;
    return made ? HP_OK : HP_ERR_NO_MEM;
}

/* Takes the next steps of the node's memory. */
static void take_steps(plan_t *p)
{
    hp_node_use_t *use = p->node;
    hp_node_memory_t *memory = use->memory;

    hp_node_use_slots(memory, p->slot_bytes, p->cut.segment_elements * p->cut.extent,
                      memory->step + p->step_count);
    use->first_step = p->pipeline.step = memory->step;
    use->end_step = memory->step += p->step_count;
    if (p->around)
        hp_around_take_steps(p->around, use->first_step, use->end_step);
    if (p->call.count > 0)
        p->pipeline.note = hp_note_make(memory->noted++, p->call.count * p->call.type.bytes);
}

/* What each start does, the first one too. */
static void begin(plan_t *p)
{
    p->pipeline.tag = hp_start_tag(&p->start);
    p->pipeline.source = p->call.source;
    p->own = (char *)p->call.send;
    p->result = p->call.recv;
    if (p->node)
        take_steps(p);
    for (uint32_t t = 0; t < p->rotation_count && p->modules_begin; t++)
        for (uint32_t k = 0; k < p->rotations[t].stage_count; k++) {
            const hp_stage_t *stage = &p->rotations[t].stages[k];
            if (stage->module->begin)
                stage->module->begin(stage, &p->call);
        }
}

/* What moves the data, and in which segments. */
static void cut(plan_t *p)
{
    const hp_call_t *call = &p->call;

    record_modules(p);
    if (uses_slots(p) && p->setting.segment_bytes > (size_t)p->comm->knobs.slot_bytes)
        p->setting.segment_bytes = (size_t)p->comm->knobs.slot_bytes;
    if (call->count > 0) {
        p->cut = hp_cut_make(call, &p->setting);
        p->pipeline = hp_cut_pipeline(&p->cut, call, &p->setting);
    } else {
        p->pipeline =
            (hp_pipeline_t){.segment_count = 1 + p->rounds.count,
                            .window_segments = 1, /* a round begins when the one before it is over */
                            .scratch_bytes = 1,
                            .type = call->type};
    }
    p->pipeline.segment_bytes = p->setting.segment_bytes;
    p->pipeline.commutative = call->commutative;
    p->pipeline.emit = p->around ? hp_pipeline_emit_around : hp_pipeline_emit;
    p->segment_count = p->step_count = p->pipeline.segment_count;
}

/* What runs, and how, as far as it is the same on all ranks. */
static void describe(plan_t *p, hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting,
                     hp_around_t *around)
{
    p->comm = comm;
    p->around = around;
    p->call = *call;
    p->setting = *setting;
    p->in_order =
        comm->knobs.reproducible && comm->flat && hp_pipeline_is_up(p) && call->count > 0 && comm->size > 1;
    if (p->in_order)
        p->call.commutative = false;
    choose_modules(p);
    p->rounds = choose_rounds(p);
}

bool hp_pipeline_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    plan_t plan;

    describe(&plan, comm, call, setting, NULL);
    return uses_node(&plan) || uses(&plan, HP_MODULE_NATIVE);
}

hp_pipeline_plan_t *hp_pipeline_plan(const hp_start_t *start, const hp_call_t *call,
                                     const hp_setting_t *setting, hp_around_t *around)
{
    const hp_comm_t *comm = start->comm;

    hp_arena_reset(start->arena);
    plan_t **plan = hp_request_plan(start->request, sizeof *plan);
    plan_t *p = plan ? hp_arena_get(start->arena, sizeof *p) : NULL;
    if (!p)
        return NULL;
    *plan = p;
    p->start = *start;
    p->in_place = call->send == call->recv;
    describe(p, start->comm, call, setting, around);
    p->result_here =
        call->collective == HP_ALLREDUCE || (call->collective == HP_REDUCE && comm->rank == call->root &&
                                             (p->call.commutative || call->root == 0));
    cut(p);
    return p;
}

hp_status_t hp_pipeline_prepare(hp_pipeline_plan_t *p)
{
    p->rotation_count = count_rotations(p);
    p->rotations = hp_arena_get(p->start.arena, p->rotation_count * sizeof *p->rotations);
    p->late = p->around ? hp_arena_get(p->start.arena, p->rotation_count * sizeof *p->late) : NULL;
    hp_status_t status = p->rotations && !p->late == !p->around ? make_lanes(p) : HP_ERR_NO_MEM;
    if (status == HP_OK && uses_node(p))
        status = use_node(p);
    for (uint32_t t = 0; t < p->rotation_count && status == HP_OK; t++) {
        p->rotations[t].leaders = leaders_of(p, t);
        if (p->in_order)
            status = prepare_in_order(p, &p->rotations[t]);
        if (p->around && status == HP_OK)
            status = hp_late_ranks_prepare(&p->late[t], p->around, &p->start, &p->rotations[t].leaders,
                                           p->rotation_count, &p->call, &p->setting);
        if (status == HP_OK && !(p->in_order && p->call.collective == HP_REDUCE) &&
            !(p->around && hp_around_is_late(p->around, p->comm->rank)))
            status = prepare_rotation(p, &p->rotations[t]);
    }
    if (status != HP_OK)
        return status;
    add_up(p);
    p->pipeline.node = p->node ? p->node->memory : NULL;
    begin(p);
    return HP_OK;
}

/* Are the tasks of the last start what would be emitted now, but for the step? */
static bool emits_the_same(const plan_t *p)
{
    return p->segment_count == 1 && !p->around && (!p->node || hp_node_fills_again(p->node));
}

/* Once more, for a call that differs in its buffers alone. */
static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    plan_t *p = plan;

    p->start = *start;
    p->call.send = call->send;
    p->call.recv = call->recv;
    p->call.source = call->source;
    record_modules(p);
    begin(p);
    return hp_request_start_again(start->request, &p->pipeline, emits_the_same(p));
}

static hp_status_t start_plan(const hp_start_t *start, plan_t *plan)
{
    const hp_status_t status = plan ? hp_pipeline_prepare(plan) : HP_ERR_NO_MEM;

    if (status != HP_OK)
        return status;
    if (start->again)
        *start->again = (hp_again_t){.start = start_again, .plan = plan};
    return hp_request_start(start->request, &plan->pipeline);
}

hp_status_t hp_pipeline_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    return start_plan(start, hp_pipeline_plan(start, call, setting, NULL));
}

hp_status_t hp_pipeline_around_start(const hp_start_t *start, const hp_call_t *call,
                                     const hp_setting_t *setting)
{
    return start_plan(start, hp_pipeline_plan(start, call, setting, start->comm->around));
}
