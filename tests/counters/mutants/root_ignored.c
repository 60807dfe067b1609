/* Mutant: a tree asked for with another root than 0 has the parents and children of the tree for root 0. */
#include "topo_tree/team.h"

hp_team_t __real_hp_team_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth,
                            uint32_t rank);
hp_team_t __wrap_hp_team_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth,
                            uint32_t rank);
uint32_t __real_hp_leader_top(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank);
uint32_t __wrap_hp_leader_top(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank);

hp_team_t __wrap_hp_team_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth,
                            uint32_t rank)
{
    const hp_leaders_t first = {.root = 0, .leader = leaders->leader};
    return __real_hp_team_of(h, &first, depth, rank);
}

uint32_t __wrap_hp_leader_top(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank)
{
    const hp_leaders_t first = {.root = 0, .leader = leaders->leader};
    return __real_hp_leader_top(h, &first, rank);
}
