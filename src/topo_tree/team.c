#include "topo_tree/team.h"

#include <assert.h>

uint32_t hp_leader_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t group)
{
    uint32_t count;

    if (hp_hierarchy_group_of(h, depth, leaders->root) == group)
        return leaders->root;
    const uint32_t *members = hp_hierarchy_members(h, depth, group, &count);
    const uint32_t of_node = hp_hierarchy_node_depth(h);
    if (leaders->leader == 0 || depth < of_node || count == 1)
        return members[0];
    if (hp_hierarchy_group_of(h, of_node, leaders->root) == hp_hierarchy_group_of(h, of_node, members[0]))
        return members[0]; /* the root leads the node; this group does not hold it */
    uint32_t node_count;
    const uint32_t *ranks = hp_hierarchy_node_ranks(h, members[0], &node_count);
    const uint32_t chosen = ranks[leaders->leader % node_count];
    return hp_hierarchy_group_of(h, depth, chosen) == group ? chosen : members[0];
}

/* Of a team with sub-groups behind the ring: which one is at a position, counted from the first, and the other way round.
 * The ring begins with the one that is at position 0; where that is one from behind it, all follow in their order. */
static uint32_t trailing_at(const hp_team_t *team, uint32_t position)
{
    const uint32_t ring = team->count - team->trailing;

    if (team->start < ring)
        return position < ring ? (team->start + position) % ring : position;
    return position == 0 ? team->start : position <= team->start ? position - 1 : position;
}

static uint32_t trailing_position(const hp_team_t *team, uint32_t subgroup)
{
    const uint32_t ring = team->count - team->trailing;

    if (team->start < ring)
        return subgroup < ring ? (subgroup + ring - team->start) % ring : subgroup;
    return subgroup == team->start ? 0 : subgroup < team->start ? subgroup + 1 : subgroup;
}

hp_team_t hp_team_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t rank)
{
    hp_team_t team = {.hierarchy = h,
                      .leaders = *leaders,
                      .depth = depth,
                      .level = hp_hierarchy_level(h, depth),
                      .start = 0};
    const uint32_t group = hp_hierarchy_group_of(h, depth, rank);

    team.first = hp_hierarchy_subgroups(h, depth, group, &team.count);
    const uint32_t leader = hp_leader_of(h, leaders, depth, group);
    team.start = hp_hierarchy_group_of(h, depth + 1, leader) - team.first;
    const uint32_t own = hp_hierarchy_group_of(h, depth + 1, rank) - team.first;
    team.trailing = depth == 0 ? hp_hierarchy_trailing_nodes(h) : 0;
    team.position =
        team.trailing ? trailing_position(&team, own) : (own + team.count - team.start) % team.count;
    return team;
}

uint32_t hp_team_rank(const hp_team_t *team, uint32_t position)
{
    assert(position < team->count);
    if (team->ranks)
        return team->ranks[position];
    return hp_leader_of(team->hierarchy, &team->leaders, team->depth + 1,
                        team->first + (team->trailing ? trailing_at(team, position)
                                                      : (team->start + position) % team->count));
}

int32_t hp_team_parent(const hp_team_t *team, hp_shape_t shape)
{
    const int32_t position = hp_shape_parent(shape, team->count, team->position);
    return position < 0 ? -1 : (int32_t)hp_team_rank(team, (uint32_t)position);
}

uint32_t hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children, uint32_t capacity)
{
    const uint32_t count = hp_shape_children(shape, team->count, team->position, children, capacity);

    assert(capacity == 0 || capacity >= count);
    if (capacity == 0)
        return count;
    for (uint32_t low = 0, high = count; low + 1 < high; low++) { /* ascending to descending */
        const uint32_t position = children[--high];
        children[high] = children[low];
        children[low] = position;
    }
    for (uint32_t i = 0; i < count; i++)
        children[i] = hp_team_rank(team, children[i]);
    return count;
}

uint32_t hp_leader_top(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank)
{
    uint32_t depth = hp_hierarchy_level_count(h);
    while (depth > 0 &&
           hp_leader_of(h, leaders, depth - 1, hp_hierarchy_group_of(h, depth - 1, rank)) == rank)
        depth--;
    return depth;
}
