/* allreduce_tree: MPI_Allreduce as reduce up and broadcast down, overlapping, over trees that take turns.
 *
 * Per segment i, in tree i mod T:
 *      up     recv <- children, fold, send -> parent       (as reduce_tree)
 *      down   recv <- parent, send -> children             (as bcast_tree; at the root right after the fold)
 * Both directions use the same tree and root, so they load opposite directions of the links (HAN, section
 * III-B). With one root, a node inside a chain of N sends the message twice (up and down), so 2 m/B is the
 * best. With T = N roots, one per node, every node is an end of the chain for some of the segments: each link
 * direction carries 2 (N-1)/N m, the lower bound of an allreduce, as a ring would.
 * Rounds: 2 x depth + segments - 1.  Constraints: non-commutative operations use one tree, in rank order,
 * rooted at 0. */
#include "hier/collectives/trees.h"
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

typedef struct {
    hp_tree_lanes_t up, down;
} turn_t;

typedef struct {
    hp_cut_t cut;
    char *own, *recv;
    bool commutative;
    uint32_t turn_count;
    turn_t turns[HP_ROTATIONS_MAX];
    int32_t child_lanes[];
} plan_t;

static void emit(const void *plan, hp_segment_t *segment, uint64_t i)
{
    const plan_t *p = plan;
    const turn_t *turn = &p->turns[i % p->turn_count];
    const size_t offset = hp_cut_offset(&p->cut, i), count = hp_cut_count(&p->cut, i);
    const bool root = turn->up.parent < 0, in_place = p->own == p->recv;
    const hp_contribution_t contribution = {.own = hp_at(p->own + offset),
                                            .has_result = root,
                                            .result = p->recv + offset,
                                            .count = count,
                                            .commutative = p->commutative};
    hp_task_t *folded, *own_read;
    hp_operand_t result = hp_tree_emit_fold(segment, &turn->up, &contribution, &folded, &own_read);

    if (root) {
        hp_tree_emit_down(segment, &turn->down, p->recv + offset, count, folded);
    } else {
        hp_task_t *up = hp_emit_send(segment, turn->up.parent, result, count);
        hp_emit_after(up, folded);
        if (!own_read)
            own_read = up;
        /* In place the result lands on the contribution: not before that has been read. */
        hp_tree_emit_down(segment, &turn->down, p->recv + offset, count, in_place ? own_read : NULL);
    }
}

/* The root of turn t: the leaders of the nodes, in order. */
static uint32_t turn_root(const hp_comm_t *comm, const hp_call_t *call, uint32_t turn)
{
    return call->commutative ? hp_hierarchy_node_leader(comm->hierarchy, turn) : 0;
}

hp_status_t hp_allreduce_tree_start(const hp_start_t *start, const hp_call_t *call,
                                    const hp_setting_t *setting)
{
    hp_comm_t *comm = start->comm;
    const hp_cut_t cut = hp_cut_make(call, setting);
    const hp_neighbors_t *trees[HP_ROTATIONS_MAX];
    uint32_t turns = 1, child_count = 0;

    if (call->commutative) {
        turns = setting->trees;
        if (turns > hp_hierarchy_node_count(comm->hierarchy))
            turns = hp_hierarchy_node_count(comm->hierarchy);
        if (turns > HP_ROTATIONS_MAX)
            turns = HP_ROTATIONS_MAX;
        if (turns > hp_cut_segments(&cut))
            turns = (uint32_t)hp_cut_segments(&cut);
    }
    for (uint32_t t = 0; t < turns; t++) {
        trees[t] = hp_comm_tree(comm, &setting->shapes, turn_root(comm, call, t), !call->commutative);
        if (!trees[t])
            return HP_ERR_NO_MEM;
        child_count += trees[t]->child_count;
    }
    plan_t *plan = hp_request_plan(start->request, sizeof *plan + 2 * child_count * sizeof(int32_t));
    if (!plan)
        return HP_ERR_NO_MEM;
    plan->cut = cut;
    plan->own = (char *)call->send;
    plan->recv = call->recv;
    plan->commutative = call->commutative;
    plan->turn_count = turns;

    hp_pipeline_t pipeline = hp_cut_pipeline(&cut, call, setting);
    int32_t *lanes = plan->child_lanes;
    for (uint32_t t = 0; t < turns; t++) {
        hp_status_t status =
            hp_tree_lanes_make(&plan->turns[t].up, lanes, start, setting, trees[t], HP_CHANNEL_UP, turns > 1);
        lanes += trees[t]->child_count;
        if (status == HP_OK)
            status = hp_tree_lanes_make(&plan->turns[t].down, lanes, start, setting, trees[t],
                                        HP_CHANNEL_DOWN, turns > 1);
        lanes += trees[t]->child_count;
        if (status != HP_OK)
            return status;
        uint32_t tasks = hp_tree_fold_tasks(trees[t]) + hp_tree_down_tasks(trees[t]) + 1;
        uint32_t edges = hp_tree_fold_edges(trees[t]) + hp_tree_down_edges(trees[t]) + 1;
        if (tasks > pipeline.tasks_per_segment)
            pipeline.tasks_per_segment = tasks;
        if (trees[t]->child_count > pipeline.scratch_per_segment)
            pipeline.scratch_per_segment = trees[t]->child_count;
        if (edges > pipeline.edges_per_segment)
            pipeline.edges_per_segment = edges;
    }
    pipeline.emit = emit;
    return hp_request_start(start->request, &pipeline);
}
