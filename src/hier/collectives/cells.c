#include "hier/collectives/cells.h"

bool hp_cells_serve(const hp_comm_t *comm, const hp_call_t *call)
{
    return comm->has_node_memory && comm->shares_memory && hp_hierarchy_node_count(comm->hierarchy) == 1 &&
           hp_type_is_dense(&call->type);
}

bool hp_cells_warm(hp_node_memory_t *node, hp_fan_t fan, size_t bytes, bool writes, const uint32_t *read,
                   uint32_t count)
{
    bool is_done = true;

    if (writes && bytes >= node->warm[fan].own) {
        hp_node_warm(node, node->own, fan, bytes);
        node->warm[fan].own = bytes + 1;
        is_done = false;
    }
    if (count > 0 && bytes >= node->warm[fan].read) {
        node->warm[fan].read = bytes + 1;
        is_done = false;
    }
    if (!is_done || count == 0 || bytes < node->warm[fan].others)
        return is_done;
    for (uint32_t i = 0; i < count; i++)
        if ((read ? read[i] : i) != node->own)
            hp_node_warm(node, read ? read[i] : i, fan, bytes);
    node->warm[fan].others = bytes + 1;
    return true;
}

hp_status_t hp_cells_start(const hp_start_t *start, const hp_call_t *call, const hp_node_memory_t *node,
                           size_t scratch_bytes, hp_step_fn_t step, hp_direct_t *direct)
{
    const hp_pipeline_t pipeline = {.scratch_bytes = scratch_bytes,
                                    .type = call->type,
                                    .op = call->op,
                                    .commutative = call->commutative,
                                    .kernel = call->kernel,
                                    .node = node};
    return hp_request_start_direct(start->request, &pipeline, step, direct);
}
