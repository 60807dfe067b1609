/* p2p: the event-driven module (ADAPT; X. Luo 2020, chapter 3): messages along a tree among the team.
 *
 *      reduce   recv <- children, reduce, send -> parent
 *      bcast    recv <- parent, send -> children
 *
 * The tree has the shape of the level; positions are numbered in preorder, so rank order is kept where the
 * team's positions are in rank order. Between nodes other algorithms may be set (call/inter_node.h): two trees that
 * take turns (double_tree.h), and exchanges, whatever the generators of schedules have (schedule_steps.h). Between nodes a tree may move a
 * segment in pieces (HAN's ibs and irs): each goes on as soon as it is there, so that segments may be as
 * large as the memory inside a node likes them. Between nodes a barrier is a dissemination (D. Hensgen, R.
 * Finkel, U. Manber, Two Algorithms for Barrier Synchronization, 1988): ceil(log2 n) rounds, in round k a
 * message of no bytes to the position 2^k further on, and one from 2^k before. Constraints: none. */
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"
#include "hier/modules/schedule_steps.h"
#include "hier/modules/module.h"
#include "topo_tree/double_tree.h"

/* A segment has so many pieces at most: each takes task memory. */
enum { ROUNDS_MAX = 32, TREES_MAX = 2, PIECES_MAX = 256 };

typedef struct {
    hp_neighbors_t neighbors;
    hp_tree_lanes_t up, down;
    hp_task_t **holders; /* [child], while a segment is emitted: see tree_steps.h */
} tree_t;

typedef struct {
    hp_schedule_use_t *exchange; /* NULL: the trees */
    tree_t trees[TREES_MAX];
    uint32_t tree_count;
    hp_cut_t up_pieces, down_pieces; /* of a whole segment */
    uint32_t round_count;
    struct {
        int32_t send, recv;
    } rounds[ROUNDS_MAX]; /* dissemination */
} p2p_t;

static bool serves(const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    (void)comm;
    (void)inter_node;
    (void)call;
    return true;
}

/* Parent and children in the team, in a tree of the shape. */
static hp_status_t find_neighbors(hp_neighbors_t *out, hp_arena_t *arena, const hp_team_t *team,
                                  hp_shape_t shape)
{
    const uint32_t count = hp_team_children(team, shape, NULL, 0);

    *out = (hp_neighbors_t){.parent = hp_team_parent(team, shape), .child_count = count};
    out->children = hp_arena_get(arena, (count + 1) * sizeof *out->children);
    if (!out->children)
        return HP_ERR_NO_MEM;
    hp_team_children(team, shape, out->children, count);
    return HP_OK;
}

/* The same in one of two trees. */
static hp_status_t find_double_neighbors(hp_neighbors_t *out, hp_arena_t *arena, const hp_team_t *team,
                                         unsigned tree)
{
    const hp_double_links_t links = hp_double_tree_links(team->count, team->position, tree);

    *out = (hp_neighbors_t){.parent = -1, .child_count = links.child_count};
    out->children = hp_arena_get(arena, (links.child_count + 1) * sizeof *out->children);
    if (!out->children)
        return HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < links.child_count; i++)
        out->children[i] = hp_team_rank(team, links.children[i]);
    if (links.parent >= 0)
        out->parent = (int32_t)hp_team_rank(team, (uint32_t)links.parent);
    return HP_OK;
}

static bool disseminates(const hp_stage_t *stage)
{
    return stage->collective == HP_BARRIER && stage->outermost && stage->inter_node;
}

static hp_status_t prepare_dissemination(hp_stage_t *stage, p2p_t *own)
{
    const hp_team_t *team = &stage->team;

    for (uint32_t step = 1; step < team->count; step *= 2) {
        const uint32_t to = hp_team_rank(team, (team->position + step) % team->count);
        const uint32_t from = hp_team_rank(team, (team->position + team->count - step) % team->count);
        const uint32_t k = own->round_count++;
        own->rounds[k].send = hp_request_lane(stage->start->request, HP_LANE_SEND, to, HP_STREAM_UP, 1);
        own->rounds[k].recv = hp_request_lane(stage->start->request, HP_LANE_RECV, from, HP_STREAM_UP, 1);
        if (own->rounds[k].send < 0 || own->rounds[k].recv < 0)
            return HP_ERR_NO_MEM;
    }
    stage->tasks = 2 * own->round_count;
    stage->edges = 2 * own->round_count;
    return HP_OK;
}

/* What joins this team: the setting where it can be had, else the tree. The same on all ranks. */
static hp_inter_node_t inter_node_of(const hp_stage_t *stage, const hp_setting_t *setting)
{
    hp_problem_t problem;

    if (!stage->inter_node || !stage->outermost)
        return HP_INTER_NODE_tree;
    return hp_inter_node_problem(setting->inter_node, stage->collective, stage->team.count,
                                 !stage->commutative, &problem)
               ? setting->inter_node
               : HP_INTER_NODE_tree;
}

/* Trees that take turns may have lanes to the same peers. */
static hp_status_t make_lanes(hp_stage_t *stage, const hp_setting_t *setting, hp_tree_lanes_t *out,
                              const hp_neighbors_t *n, uint32_t stream)
{
    const p2p_t *own = stage->own;
    int32_t *lanes = hp_arena_get(stage->start->arena, (n->child_count + 1) * sizeof *lanes);

    return lanes ? hp_tree_lanes_make(out, lanes, stage->start, setting, n, stream,
                                      stage->rotation_count > 1 || own->tree_count > 1)
                 : HP_ERR_NO_MEM;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* A segment in pieces of so many bytes, 0: in one, as a message is cut into segments. */
static hp_cut_t cut_segment(const hp_call_t *call, const hp_setting_t *setting, size_t bytes)
{
    if (call->count == 0) /* a barrier */
        return (hp_cut_t){.count = 0, .segment_elements = 1};
    const size_t whole = hp_cut_make(call, setting).segment_elements;
    const size_t least = (whole + PIECES_MAX - 1) / PIECES_MAX, wanted = bytes / call->type.bytes;
    size_t elements = wanted > least ? wanted : least;
    if (bytes == 0 || elements > whole)
        elements = whole;
    return (hp_cut_t){.count = whole, .segment_elements = elements, .extent = call->type.extent};
}

static uint32_t piece_count(const hp_cut_t *cut)
{
    return cut->count > cut->segment_elements ? (uint32_t)hp_cut_segments(cut) : 1;
}

/* The last segment is shorter than the others. */
static hp_cut_t cut_flow(const hp_cut_t *whole, const hp_flow_t *flow)
{
    hp_cut_t cut = *whole;
    cut.count = flow->count;
    return cut;
}

/* The lanes of a tree, and room for a segment in the tree that needs most. */
static hp_status_t prepare_tree(hp_stage_t *stage, const hp_setting_t *setting, tree_t *tree)
{
    const hp_neighbors_t *n = &tree->neighbors;
    const p2p_t *own = stage->own;
    hp_status_t status = HP_OK;
    uint32_t tasks = 0, edges = 0;

    tree->holders = hp_arena_get(stage->start->arena, (n->child_count + 1) * sizeof(hp_task_t *));
    if (!tree->holders)
        return HP_ERR_NO_MEM;
    if (stage->collective != HP_BCAST) {
        const uint32_t pieces = piece_count(&own->up_pieces);
        status = make_lanes(stage, setting, &tree->up, n, HP_STREAM_UP);
        tasks += pieces * (hp_tree_reduce_tasks(n) + 1) + (pieces > 1 ? 2 : 0);
        edges += pieces * (hp_tree_reduce_edges(n) + 2) + (pieces > 1 ? 2 * pieces : 0);
        stage->scratch = most(stage->scratch, n->child_count);
    }
    if (stage->collective != HP_REDUCE && status == HP_OK) {
        const uint32_t pieces = piece_count(&own->down_pieces);
        status = make_lanes(stage, setting, &tree->down, n, HP_STREAM_DOWN);
        tasks += pieces * hp_tree_down_tasks(n) + (pieces > 1 ? 1 : 0);
        edges += pieces * (hp_tree_down_edges(n) + 1) + (pieces > 1 ? pieces : 0);
    }
    stage->tasks = most(stage->tasks, tasks);
    stage->edges = most(stage->edges, edges);
    return status;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    hp_arena_t *arena = stage->start->arena;
    hp_status_t status = HP_OK;

    p2p_t *own = stage->own = hp_arena_get(arena, sizeof *own);
    if (!own)
        return HP_ERR_NO_MEM;
    if (disseminates(stage))
        return prepare_dissemination(stage, own);
    const hp_inter_node_t inter_node = inter_node_of(stage, setting);
    if (inter_node != HP_INTER_NODE_tree && inter_node != HP_INTER_NODE_double_tree) {
        own->exchange = hp_schedule_prepare(stage, call, setting, hp_inter_node_generator(inter_node));
        return own->exchange ? HP_OK : HP_ERR_NO_MEM;
    }
    own->tree_count = inter_node == HP_INTER_NODE_double_tree ? 2 : 1;
    own->up_pieces = cut_segment(call, setting, stage->inter_node ? setting->ir_segment_bytes : 0);
    own->down_pieces = cut_segment(call, setting, stage->inter_node ? setting->ib_segment_bytes : 0);
    for (uint32_t t = 0; t < own->tree_count && status == HP_OK; t++) {
        tree_t *tree = &own->trees[t];
        status = own->tree_count == 2 ? find_double_neighbors(&tree->neighbors, arena, &stage->team, t)
                                      : find_neighbors(&tree->neighbors, arena, &stage->team,
                                                       setting->shapes.shape[stage->team.level]);
        if (status == HP_OK)
            status = prepare_tree(stage, setting, tree);
    }
    return status;
}

/* The trees alternate among the segments of the stage's own rotation. */
static const tree_t *tree_of(const hp_stage_t *stage, const hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    return &own->trees[flow->index / stage->rotation_count % own->tree_count];
}

/* An exchange works where the result goes. */
static hp_place_t place(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    (void)segment;

    if (!own->exchange)
        return (hp_place_t){.given = false};
    return (hp_place_t){
        .given = true, .address = flow->result, .free = flow->own == flow->result ? flow->own_read : NULL};
}

/* The task after the tasks of all pieces; where there is one piece, its own. */
static hp_task_t *gather(hp_segment_t *segment, uint32_t pieces, hp_task_t *gathered, hp_task_t *task)
{
    if (pieces == 1)
        return task;
    if (!gathered)
        gathered = hp_emit_join(segment);
    hp_emit_after(gathered, task);
    return gathered;
}

static hp_operand_t piece_of(hp_operand_t whole, size_t offset)
{
    return whole.task ? hp_within(whole, offset) : hp_at(whole.address + offset);
}

/* *ready: the piece is reduced. *read: its part of the own contribution is not needed any more. */
static hp_operand_t reduce_piece(const hp_stage_t *stage, hp_segment_t *segment, const hp_flow_t *flow,
                                 const hp_contribution_t *piece, hp_task_t **ready, hp_task_t **read)
{
    const tree_t *tree = tree_of(stage, flow);
    const hp_operand_t value = hp_tree_emit_reduce(segment, &tree->up, piece, ready, read);

    if (!*ready)
        *ready = flow->ready;
    if (tree->up.parent >= 0) {
        hp_task_t *up = hp_emit_send(segment, tree->up.parent, value, piece->count);
        hp_emit_after(up, *ready);
        if (!*read)
            *read = up;
    }
    return value;
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const tree_t *tree = tree_of(stage, flow);
    const hp_cut_t cut = cut_flow(&((const p2p_t *)stage->own)->up_pieces, flow);
    const uint32_t pieces = piece_count(&cut);
    hp_task_t *all_ready = NULL, *all_read = NULL;
    hp_operand_t value = flow->value;

    for (uint32_t child = 0; child < tree->neighbors.child_count; child++)
        tree->holders[child] = NULL;
    for (uint32_t i = 0; i < pieces; i++) {
        const size_t offset = hp_cut_offset(&cut, i);
        const hp_contribution_t piece = {.own = piece_of(flow->value, offset),
                                         .ready = flow->ready,
                                         .has_result = into.given,
                                         .result = into.given ? into.address + offset : NULL,
                                         .result_free = into.free,
                                         .count = hp_cut_count(&cut, i),
                                         .commutative = stage->commutative,
                                         .piece_offset = offset,
                                         .holders = tree->holders};
        hp_task_t *ready, *read;
        const hp_operand_t reduced = reduce_piece(stage, segment, flow, &piece, &ready, &read);
        if (i == 0)
            value = reduced; /* the others lie behind it */
        all_ready = gather(segment, pieces, all_ready, ready);
        all_read = gather(segment, pieces, all_read, read);
    }
    if (!flow->value.task) /* it was own */
        flow->own_read = all_read;
    flow->value = value;
    flow->ready = all_ready;
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const tree_t *tree = tree_of(stage, flow);
    const hp_cut_t cut = cut_flow(&((const p2p_t *)stage->own)->down_pieces, flow);
    const uint32_t pieces = piece_count(&cut);
    const bool receives = tree->down.parent >= 0;
    hp_task_t *before = receives ? flow->own_read : flow->ready, *all_arrived = NULL;

    for (uint32_t i = 0; i < pieces; i++) {
        hp_task_t *arrived = hp_tree_emit_down(segment, &tree->down, flow->result + hp_cut_offset(&cut, i),
                                               hp_cut_count(&cut, i), before);
        if (receives)
            all_arrived = gather(segment, pieces, all_arrived, arrived);
    }
    if (receives)
        flow->ready = all_arrived;
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

static bool fuses(const hp_stage_t *stage)
{
    const p2p_t *own = stage->own;
    return own->exchange || disseminates(stage);
}

static void allreduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const p2p_t *own = stage->own;
    if (own->exchange)
        hp_schedule_emit(own->exchange, segment, flow);
    else
        disseminate(stage, segment, flow);
}

const hp_module_t hp_module_p2p = {.serves = serves,
                                   .prepare = prepare,
                                   .place = place,
                                   .reduce = reduce,
                                   .bcast = bcast,
                                   .fuses = fuses,
                                   .allreduce = allreduce};
