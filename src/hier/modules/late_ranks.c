#include "hier/modules/late_ranks.h"

/* Who hands the result to a late rank. */
static uint32_t parent_of(const hp_comm_t *comm, const hp_around_t *around, const hp_leaders_t *leaders,
                          uint32_t late)
{
    const hp_hierarchy_t *h = around->hierarchy;
    uint32_t count;
    const uint32_t *ranks = hp_hierarchy_node_ranks(comm->hierarchy, late, &count);

    for (uint32_t i = 0; i < count; i++)
        if (!hp_around_is_late(around, ranks[i]))
            return hp_leader_of(h, leaders, 1, hp_hierarchy_group_of(h, 1, ranks[i]));
    const hp_team_t nodes = hp_team_of(h, leaders, 0, leaders->root);
    return hp_team_rank(&nodes, nodes.count - 1);
}

/* parent and the late ranks whose parent it is; in the fan-in it is that of all. */
static hp_status_t make_team(hp_stage_t *stage, const hp_around_t *around, const hp_leaders_t *leaders,
                             uint32_t parent)
{
    const hp_comm_t *comm = stage->start->comm;
    uint32_t *ranks = hp_arena_get(stage->start->arena, (around->count + 1) * sizeof *ranks);

    if (!ranks)
        return HP_ERR_NO_MEM;
    stage->team = (hp_team_t){.level = HP_LEVEL_NODE, .ranks = ranks, .count = 1};
    ranks[0] = parent;
    for (uint32_t i = 0; i < around->count; i++) {
        const uint32_t late = around->ranks[i];
        if (stage->collective == HP_BCAST && parent_of(comm, around, leaders, late) != parent)
            continue;
        if (late == comm->rank)
            stage->team.position = stage->team.count;
        ranks[stage->team.count++] = late;
    }
    return HP_OK;
}

/* Sets *stage up if this rank takes part. */
static hp_status_t prepare(hp_stage_t *stage, const hp_around_t *around, const hp_leaders_t *leaders,
                           hp_collective_t collective, const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_comm_t *comm = stage->start->comm;
    const bool is_late = hp_around_is_late(around, comm->rank);
    hp_setting_t star = *setting;

    star.inter_node = HP_INTER_NODE_tree;
    star.shapes.shape[HP_LEVEL_NODE] = HP_SHAPE_LINEAR;
    stage->collective = collective;
    const uint32_t parent = collective == HP_REDUCE ? leaders->root
                            : is_late               ? parent_of(comm, around, leaders, comm->rank)
                                                    : comm->rank;
    const hp_status_t status = make_team(stage, around, leaders, parent);
    const bool takes_part = is_late || (parent == comm->rank && stage->team.count > 1);
    if (status != HP_OK || !takes_part)
        return status;
    stage->module = &hp_module_p2p;
    return stage->module->prepare(stage, call, &star);
}

hp_status_t hp_late_ranks_prepare(hp_late_ranks_t *late, const hp_around_t *around, const hp_start_t *start,
                                  const hp_leaders_t *leaders, uint32_t rotation_count, const hp_call_t *call,
                                  const hp_setting_t *setting)
{
    const hp_stage_t stage = {.start = start,
                              .commutative = true,
                              .inter_node = true,
                              .outermost = true,
                              .rotation_count = rotation_count};
    hp_status_t status = HP_OK;

    late->up = late->down = stage;
    if (call->collective != HP_BCAST)
        status = prepare(&late->up, around, leaders, HP_REDUCE, call, setting);
    if (call->collective != HP_REDUCE && status == HP_OK)
        status = prepare(&late->down, around, leaders, HP_BCAST, call, setting);
    return status;
}

void hp_late_ranks_reduce(const hp_late_ranks_t *late, hp_segment_t *segment, hp_flow_t *flow, bool in_place)
{
    const hp_stage_t *stage = &late->up;
    const hp_place_t into = {
        .given = stage->team.position == 0, .at = flow->result, .free = in_place ? flow->own_read : NULL};

    if (!stage->module)
        return;
    hp_segment_label(segment, HP_LABEL_IR);
    stage->module->reduce(stage, segment, flow, into);
}

void hp_late_ranks_bcast(const hp_late_ranks_t *late, hp_segment_t *segment, hp_flow_t *flow)
{
    if (!late->down.module)
        return;
    hp_segment_label(segment, HP_LABEL_IB);
    late->down.module->bcast(&late->down, segment, flow);
}
