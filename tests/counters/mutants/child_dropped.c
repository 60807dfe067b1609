/* Mutant: the root of a tree forgets its last child, which goes on waiting for it. */
#include "neighbors.h"

enum { CHILDREN_MAX = 4096 };

uint32_t __wrap_hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children,
                                 uint32_t capacity)
{
    uint32_t all[CHILDREN_MAX];
    const uint32_t count = __real_hp_team_children(team, shape, all, CHILDREN_MAX);
    const uint32_t kept = is_root(team) && count ? count - 1 : count;

    for (uint32_t i = 0; i < kept && i < capacity; i++)
        children[i] = all[i];
    return kept;
}
