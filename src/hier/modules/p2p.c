/* p2p: the event-driven module (ADAPT; X. Luo 2020, chapter 3): messages among the team, by a schedule (schedule_steps.h).
 *
 *      reduce     up the tree
 *      bcast      down the tree, or as the inter-node algorithm that is set says
 *      allreduce  up and down; both at once, where the inter-node algorithm is an exchange
 *      barrier    on the outermost level a dissemination
 *
 * The tree has the shape of the level; positions are numbered in preorder, so rank order is kept where the team's
 * positions are in rank order. Other inter-node algorithms may be set (call/inter_node.h): two trees that take turns,
 * and whatever the generators of schedules have for broadcasts and allreduces. An inter-node tree may move a segment in
 * pieces (HAN's ibs and irs): each goes on as soon as it is there, so that segments may be as large as the memory within a
 * node likes them.
 * Constraints: none. */
#include "hier/modules/module.h"
#include "hier/modules/schedule_steps.h"
#include "schedule/generators/generators.h"

typedef struct {
    hp_schedule_use_t *up, *down; /* NULL: not in this collective, */
    hp_schedule_use_t *fused;     /* or both are one: an allreduce or a barrier */
} p2p_t;

static bool serves(const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    (void)comm;
    (void)inter_node;
    (void)call;
    return true;
}

static bool disseminates(const hp_stage_t *stage)
{
    return stage->collective == HP_BARRIER && stage->outermost;
}

/* What joins this team: the setting where it can be had, else the tree. The same on all ranks. */
static hp_inter_node_t inter_node_of(const hp_stage_t *stage, const hp_setting_t *setting)
{
    hp_problem_t problem;

    if (!stage->inter_node || (!stage->outermost && !hp_inter_node_is_tree(setting->inter_node)))
        return HP_INTER_NODE_tree;
    return hp_inter_node_problem(
               setting->inter_node, stage->collective, stage->team.count, !stage->commutative,
               stage->start->comm->network ? &stage->start->comm->network->ranks : NULL, &problem)
               ? setting->inter_node
               : HP_INTER_NODE_tree;
}

static const hp_generator_t *tree_of(const hp_stage_t *stage, const hp_setting_t *setting,
                                     hp_inter_node_t inter_node)
{
    return inter_node == HP_INTER_NODE_double_tree
               ? &hp_generator_double_tree
               : hp_inter_node_tree((hp_shape_t)setting->shapes.shape[stage->team.level]);
}

/* A segment goes through it as a whole. */
static hp_status_t prepare_whole(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                 hp_pattern_t pattern, const hp_generator_t *generator)
{
    const hp_schedule_wanted_t wanted = {.generator = generator, .pattern = pattern};
    p2p_t *own = stage->own;
    hp_schedule_use_t **use = pattern == HP_PATTERN_BCAST ? &own->down : &own->fused;

    *use = hp_schedule_prepare(stage, call, setting, &wanted);
    return *use ? HP_OK : HP_ERR_NO_MEM;
}

static hp_status_t prepare_tree(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                const hp_generator_t *tree)
{
    hp_schedule_wanted_t wanted = {.generator = tree, .takes_turns = true};
    p2p_t *own = stage->own;

    if (stage->collective != HP_BCAST) {
        wanted.pattern = HP_PATTERN_REDUCE;
        wanted.piece_bytes = stage->inter_node ? setting->ir_segment_bytes : 0;
        if (!(own->up = hp_schedule_prepare(stage, call, setting, &wanted)))
            return HP_ERR_NO_MEM;
    }
    if (stage->collective != HP_REDUCE) {
        wanted.pattern = HP_PATTERN_BCAST;
        wanted.piece_bytes = stage->inter_node ? setting->ib_segment_bytes : 0;
        if (!(own->down = hp_schedule_prepare(stage, call, setting, &wanted)))
            return HP_ERR_NO_MEM;
    }
    return HP_OK;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    stage->own = hp_arena_get(stage->start->arena, sizeof(p2p_t));
    if (!stage->own)
        return HP_ERR_NO_MEM;
    if (disseminates(stage))
        return prepare_whole(stage, call, setting, HP_PATTERN_BARRIER, &hp_generator_dissemination);
    const hp_inter_node_t inter_node = inter_node_of(stage, setting);
    if (hp_inter_node_is_tree(inter_node))
        return prepare_tree(stage, call, setting, tree_of(stage, setting, inter_node));
    return prepare_whole(stage, call, setting,
                         stage->collective == HP_BCAST ? HP_PATTERN_BCAST : HP_PATTERN_ALLREDUCE,
                         hp_inter_node_generator(inter_node));
}

static bool fuses(const hp_stage_t *stage)
{
    const p2p_t *own = stage->own;
    return own->fused;
}

/* An exchange works where the result goes. */
static hp_place_t place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    (void)segment;
    if (!fuses(stage) || stage->collective == HP_BARRIER)
        return (hp_place_t){.given = false};
    return (hp_place_t){.given = true, .at = flow->result, .free = flow->in_place ? flow->own_read : NULL};
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const p2p_t *own = stage->own;
    hp_schedule_reduce(own->up, segment, flow, into);
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    hp_schedule_bcast(own->down, segment, flow);
}

static void allreduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    (stage->collective == HP_BARRIER ? hp_schedule_barrier : hp_schedule_allreduce)(own->fused, segment,
                                                                                    flow);
}

const hp_module_t hp_module_p2p = {.serves = serves,
                                   .prepare = prepare,
                                   .place = place,
                                   .reduce = reduce,
                                   .bcast = bcast,
                                   .fuses = fuses,
                                   .allreduce = allreduce};
