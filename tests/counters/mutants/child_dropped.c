/* Mutant: the root of a tree forgets its last child, which goes on waiting for it. */
#include "neighbors.h"

hp_status_t __wrap_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank)
{
    const hp_status_t status = __real_hp_neighbors_init(out, h, shapes, root, rank);
    if (status == HP_OK && rank == root && out->child_count)
        out->child_count--;
    return status;
}
