/* p2p: the event-driven module (ADAPT; X. Luo 2020, chapter 3): messages along a tree among the team.
 *
 *      reduce   recv <- children, fold, send -> parent        bcast   recv <- parent, send -> children
 *
 * The tree has the shape of the level; positions are numbered in preorder, so rank order is kept where the
 * team's positions are in rank order. Between nodes a barrier is a dissemination (D. Hensgen, R. Finkel, U.
 * Manber, Two Algorithms for Barrier Synchronization, 1988): ceil(log2 n) rounds, in round k a message of no
 * bytes to the position 2^k further on, and one from 2^k before. Constraints: none. */
#include "hier/collectives/algorithm.h"
#include "hier/collectives/tree_steps.h"
#include "hier/modules/module.h"

enum { ROUNDS_MAX = 32 };

typedef struct {
    hp_neighbors_t neighbors;
    hp_tree_lanes_t up, down;
    uint32_t round_count;
    struct {
        int32_t send, recv;
    } rounds[ROUNDS_MAX]; /* dissemination */
} p2p_t;

static bool serves(const hp_comm_t *comm, bool between_nodes, const hp_call_t *call)
{
    (void)comm;
    (void)between_nodes;
    (void)call;
    return true;
}

/* Parent and children in the team; children in broadcast order, largest subtrees first, as in tree.h. */
static hp_status_t find_neighbors(hp_neighbors_t *out, hp_arena_t *arena, const hp_team_t *team,
                                  hp_shape_t shape)
{
    const uint32_t count = hp_shape_children(shape, team->count, team->position, NULL, 0);
    uint32_t *children = hp_arena_get(arena, (count + 1) * sizeof *children);

    if (!children)
        return HP_ERR_NO_MEM;
    hp_shape_children(shape, team->count, team->position, children, count);
    *out = (hp_neighbors_t){.parent = -1, .child_count = count};
    out->children = hp_arena_get(arena, (count + 1) * sizeof *out->children);
    if (!out->children)
        return HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < count; i++)
        out->children[i] = hp_team_rank(team, children[count - 1 - i]);
    if (team->position > 0)
        out->parent =
            (int32_t)hp_team_rank(team, (uint32_t)hp_shape_parent(shape, team->count, team->position));
    return HP_OK;
}

static bool disseminates(const hp_stage_t *stage)
{
    return stage->collective == HP_BARRIER && stage->outermost && stage->between_nodes;
}

static hp_status_t prepare_dissemination(hp_stage_t *stage, p2p_t *own)
{
    const hp_team_t *team = &stage->team;
    const uint32_t tag = hp_comm_tag(stage->comm, HP_CHANNEL_UP);

    for (uint32_t step = 1; step < team->count; step *= 2) {
        const uint32_t to = hp_team_rank(team, (team->position + step) % team->count);
        const uint32_t from = hp_team_rank(team, (team->position + team->count - step) % team->count);
        const uint32_t k = own->round_count++;
        own->rounds[k].send = hp_request_lane(stage->comm->request, HP_LANE_SEND, to, tag, 1);
        own->rounds[k].recv = hp_request_lane(stage->comm->request, HP_LANE_RECV, from, tag, 1);
        if (own->rounds[k].send < 0 || own->rounds[k].recv < 0)
            return HP_ERR_NO_MEM;
    }
    stage->tasks = 2 * own->round_count;
    stage->edges = 2 * own->round_count;
    return HP_OK;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)call;
    p2p_t *own = stage->own = hp_arena_get(&stage->comm->arena, sizeof *own);
    if (!own)
        return HP_ERR_NO_MEM;
    if (disseminates(stage))
        return prepare_dissemination(stage, own);
    hp_status_t status = find_neighbors(&own->neighbors, &stage->comm->arena, &stage->team,
                                        setting->shapes.shape[stage->team.level]);
    if (status != HP_OK)
        return status;
    const hp_neighbors_t *n = &own->neighbors;
    if (stage->collective != HP_BCAST) {
        int32_t *lanes = hp_arena_get(&stage->comm->arena, (n->child_count + 1) * sizeof *lanes);
        status = lanes ? hp_tree_lanes_make(&own->up, lanes, stage->comm, n, HP_CHANNEL_UP, stage->many_turns)
                       : HP_ERR_NO_MEM;
        if (status != HP_OK)
            return status;
        stage->tasks += hp_tree_fold_tasks(n) + 1;
        stage->edges += hp_tree_fold_edges(n) + 2;
        stage->scratch += n->child_count;
    }
    if (stage->collective != HP_REDUCE) {
        int32_t *lanes = hp_arena_get(&stage->comm->arena, (n->child_count + 1) * sizeof *lanes);
        status =
            lanes ? hp_tree_lanes_make(&own->down, lanes, stage->comm, n, HP_CHANNEL_DOWN, stage->many_turns)
                  : HP_ERR_NO_MEM;
        stage->tasks += hp_tree_down_tasks(n);
        stage->edges += hp_tree_down_edges(n) + 1;
    }
    return status;
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const p2p_t *own = stage->own;
    const hp_contribution_t contribution = {.own = flow->value,
                                            .ready = flow->ready,
                                            .has_result = into.given,
                                            .result = into.address,
                                            .result_free = into.free,
                                            .count = flow->count,
                                            .commutative = stage->commutative};
    hp_task_t *folded, *read;
    const hp_operand_t value = hp_tree_emit_fold(segment, &own->up, &contribution, &folded, &read);

    if (!folded)
        folded = flow->ready;
    if (own->up.parent >= 0) {
        hp_task_t *up = hp_emit_send(segment, own->up.parent, value, flow->count);
        hp_emit_after(up, folded);
        if (!read)
            read = up;
    }
    if (!flow->value.task) /* it was own */
        flow->own_read = read;
    flow->value = value;
    flow->ready = folded;
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    hp_task_t *before = own->down.parent >= 0 ? flow->own_read : flow->ready;
    hp_task_t *arrived = hp_tree_emit_down(segment, &own->down, flow->result, flow->count, before);

    if (arrived)
        flow->ready = arrived;
    flow->value = hp_at(flow->result);
}

static void disseminate(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const p2p_t *own = stage->own;

    for (uint32_t k = 0; k < own->round_count; k++) {
        hp_emit_after(hp_emit_send(segment, own->rounds[k].send, hp_at(flow->own), 0), flow->ready);
        hp_task_t *recv = hp_emit_recv(segment, own->rounds[k].recv, flow->own, 0);
        hp_emit_after(recv, flow->ready);
        flow->ready = recv;
    }
}

const hp_module_t hp_module_p2p = {.name = "p2p",
                                   .serves = serves,
                                   .prepare = prepare,
                                   .reduce = reduce,
                                   .bcast = bcast,
                                   .fuses = disseminates,
                                   .allreduce = disseminate};
