/* bcast_tree: MPI_Bcast down the topology-aware tree (ADAPT; X. Luo 2020, algorithms 3 to 5, section 4.2).
 *
 * Per segment:   root:  send -> every child         others:  recv, then send -> every child
 * Rounds: depth of the tree + segments - 1.  Bytes: each rank receives the message once; every node's link
 * carries it in once and out once per child node.  Constraints: none (the caller hands in contiguous bytes).
 */
#include "hier/collectives/trees.h"
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

typedef struct {
    hp_cut_t cut;
    char *buffer;
    hp_tree_lanes_t lanes;
    int32_t child_lanes[];
} plan_t;

static void emit(const void *plan, hp_segment_t *segment, uint64_t i)
{
    const plan_t *p = plan;
    hp_tree_emit_down(segment, &p->lanes, p->buffer + hp_cut_offset(&p->cut, i), hp_cut_count(&p->cut, i),
                      NULL);
}

hp_status_t hp_bcast_tree_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    hp_comm_t *comm = start->comm;
    const hp_neighbors_t *tree = hp_comm_tree(comm, &setting->shapes, call->root, false);
    if (!tree)
        return HP_ERR_NO_MEM;
    plan_t *plan = hp_request_plan(start->request, sizeof *plan + tree->child_count * sizeof(int32_t));
    if (!plan)
        return HP_ERR_NO_MEM;
    plan->cut = hp_cut_make(call, setting);
    plan->buffer = call->recv;
    hp_status_t status =
        hp_tree_lanes_make(&plan->lanes, plan->child_lanes, start, setting, tree, HP_CHANNEL_DOWN, false);
    if (status != HP_OK)
        return status;
    hp_pipeline_t pipeline = hp_cut_pipeline(&plan->cut, call, setting);
    pipeline.tasks_per_segment = hp_tree_down_tasks(tree);
    pipeline.edges_per_segment = hp_tree_down_edges(tree);
    pipeline.emit = emit;
    return hp_request_start(start->request, &pipeline);
}

bool hp_messages_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)comm, (void)call, (void)setting;
    return false;
}
