/* Mutant: the children of a rank come in the opposite order, so the operands of a reduction do too: wrong for
 * operations that are not commutative. */
#include "neighbors.h"

hp_status_t __wrap_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank)
{
    const hp_status_t status = __real_hp_neighbors_init(out, h, shapes, root, rank);
    for (uint32_t low = 0, high = out->child_count; low + 1 < high; low++) {
        const uint32_t child = out->children[--high];
        const uint8_t level = out->child_level[high];
        out->children[high] = out->children[low];
        out->child_level[high] = out->child_level[low];
        out->children[low] = child;
        out->child_level[low] = level;
    }
    return status;
}
