/* reduce_tree: MPI_Reduce up the topology-aware tree (ADAPT's reduce; X. Luo 2020, section 3.3.3 and 4.2).
 *
 * Per segment:   leaf:   send -> parent
 *                inner:  recv <- children, fold, send -> parent
 *                root:   recv, fold
 *
 * Rounds: depth of the tree + segments - 1.  Bytes: each rank sends the message once.
 * Non-commutative operations use the tree in rank order rooted at rank 0, which forwards each segment to the
 * root as soon as it is folded.  Constraints: none. */
#include "hier/collectives/trees.h"
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

typedef struct {
    hp_cut_t cut;
    char *own, *recv;
    bool commutative;
    bool result_here; /* this rank folds the final result into recv */
    int32_t forward;  /* lane from rank 0 to the root or its other end, -1: not needed or not here */
    hp_tree_lanes_t lanes;
    int32_t child_lanes[];
} plan_t;

static void emit(const void *plan, hp_segment_t *segment, uint64_t i)
{
    const plan_t *p = plan;
    const size_t offset = hp_cut_offset(&p->cut, i), count = hp_cut_count(&p->cut, i);
    const hp_contribution_t contribution = {.own = hp_at(p->own + offset),
                                            .has_result = p->result_here,
                                            .result = p->result_here ? p->recv + offset : NULL,
                                            .count = count,
                                            .commutative = p->commutative};
    hp_task_t *folded, *own_read;
    hp_operand_t result = hp_tree_emit_fold(segment, &p->lanes, &contribution, &folded, &own_read);

    if (p->lanes.parent >= 0) {
        hp_task_t *up = hp_emit_send(segment, p->lanes.parent, result, count);
        hp_emit_after(up, folded);
        if (!own_read)
            own_read = up;
        if (p->forward >=
            0) { /* the root of the call; in place its contribution lies where the result goes */
            hp_task_t *recv = hp_emit_recv(segment, p->forward, p->recv + offset, count);
            if (p->recv == p->own)
                hp_emit_after(recv, own_read);
        }
    } else if (p->forward >= 0) {
        hp_emit_after(hp_emit_send(segment, p->forward, result, count), folded);
    }
}

hp_status_t hp_reduce_tree_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    hp_comm_t *comm = start->comm;
    const uint32_t tree_root = call->commutative ? call->root : 0;
    const hp_neighbors_t *tree = hp_comm_tree(comm, &setting->shapes, tree_root, !call->commutative);
    if (!tree)
        return HP_ERR_NO_MEM;
    plan_t *plan = hp_request_plan(start->request, sizeof *plan + tree->child_count * sizeof(int32_t));
    if (!plan)
        return HP_ERR_NO_MEM;
    plan->cut = hp_cut_make(call, setting);
    plan->own = (char *)call->send;
    plan->recv = call->recv;
    plan->commutative = call->commutative;
    plan->result_here = tree_root == call->root && comm->rank == call->root;
    plan->forward = -1;
    hp_status_t status =
        hp_tree_lanes_make(&plan->lanes, plan->child_lanes, start, setting, tree, HP_CHANNEL_UP, false);
    if (status != HP_OK)
        return status;
    if (tree_root != call->root && (comm->rank == tree_root || comm->rank == call->root)) {
        const bool sends = comm->rank == tree_root;
        const hp_direction_t direction = sends ? HP_LANE_SEND : HP_LANE_RECV;
        plan->forward = hp_request_new_lane(start->request, direction, sends ? call->root : tree_root,
                                            hp_start_tag(start, HP_CHANNEL_FORWARD),
                                            hp_setting_lane_limit(setting, direction));
        if (plan->forward < 0)
            return HP_ERR_NO_MEM;
    }
    hp_pipeline_t pipeline = hp_cut_pipeline(&plan->cut, call, setting);
    pipeline.tasks_per_segment = hp_tree_fold_tasks(tree) + 2; /* up, forward */
    pipeline.edges_per_segment = hp_tree_fold_edges(tree) + 2;
    pipeline.scratch_per_segment = tree->child_count;
    pipeline.emit = emit;
    return hp_request_start(start->request, &pipeline);
}
