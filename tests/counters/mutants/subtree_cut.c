/* Mutant: both ends of a link forget it, so nobody waits: the subtree of the root's last child gets no data
 * and contributes none. */
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

int32_t __wrap_hp_team_parent(const hp_team_t *team, hp_shape_t shape)
{
    uint32_t all[CHILDREN_MAX];
    hp_team_t root = *team;

    root.position = 0;
    const uint32_t count = team->depth == 0 ? __real_hp_team_children(&root, shape, all, CHILDREN_MAX) : 0;
    return count && all[count - 1] == hp_team_rank(team, team->position) ? -1
                                                                         : __real_hp_team_parent(team, shape);
}
