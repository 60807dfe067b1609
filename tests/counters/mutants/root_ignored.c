/* Mutant: a tree asked for with another root than 0 has the parents and children of the tree for root 0. */
#include "neighbors.h"

hp_status_t __wrap_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank)
{
    (void)root;
    return __real_hp_neighbors_init(out, h, shapes, 0, rank);
}
