/* Mutant: both ends of a link forget it, so nobody waits: the subtree of the root's last child gets no data
 * and contributes none. */
#include "neighbors.h"

hp_status_t __wrap_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank)
{
    hp_neighbors_t of_root;
    hp_status_t status = __real_hp_neighbors_init(&of_root, h, shapes, root, root);
    if (status != HP_OK)
        return status;
    status = __real_hp_neighbors_init(out, h, shapes, root, rank);
    if (status == HP_OK && of_root.child_count) {
        if (rank == root)
            out->child_count--;
        else if (rank == of_root.children[of_root.child_count - 1])
            out->parent = -1;
    }
    hp_neighbors_fini(&of_root);
    return status;
}
