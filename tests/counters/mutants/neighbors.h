/* neighbors: for mutants that stand before hp_neighbors_init (-Wl,--wrap): the real one, and theirs. */
#ifndef HP_TESTS_COUNTERS_MUTANTS_NEIGHBORS_H
#define HP_TESTS_COUNTERS_MUTANTS_NEIGHBORS_H

#include "topo_tree/tree.h"

hp_status_t __real_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank);
hp_status_t __wrap_hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                                     uint32_t root, uint32_t rank);

#endif
