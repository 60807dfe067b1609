/* neighbors: for mutants that stand before the neighbours of a tree (-Wl,--wrap): the real ones, and theirs. */
#ifndef HP_TESTS_COUNTERS_MUTANTS_NEIGHBORS_H
#define HP_TESTS_COUNTERS_MUTANTS_NEIGHBORS_H

#include <stdbool.h>
#include "topo_tree/team.h"

uint32_t __real_hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children,
                                 uint32_t capacity);
uint32_t __wrap_hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children,
                                 uint32_t capacity);
int32_t __real_hp_team_parent(const hp_team_t *team, hp_shape_t shape);
int32_t __wrap_hp_team_parent(const hp_team_t *team, hp_shape_t shape);

/* Is the rank that asked the root of the whole tree? */
static inline bool is_root(const hp_team_t *team)
{
    return team->depth == 0 && team->position == 0;
}

#endif
