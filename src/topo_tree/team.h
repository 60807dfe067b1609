/* team: the ranks that take part in a collective on one level of the hierarchy, one for each sub-group.
 *
 * In a collective with a given root every group has a leader that stands for it on the level above: the root in
 * the groups that hold it, the chosen leader of the node in the other nodes' groups, the lowest rank
 * elsewhere. A team is the leaders of all sub-groups of one group; position 0 is the leader of the group itself,
 * the others follow in a ring (X. Luo 2020, section 4.2.2; the paper swaps two groups where we rotate:
 * neighbours of a chain stay neighbours for every root). Nodes that lack a rank (hp_hierarchy_create_without) are not in
 * the ring, but behind it, where all shapes have leaves.
 *
 * Threads: pure. Ownership: plain data that borrows the hierarchy. */
#ifndef HP_TOPO_TREE_TEAM_H
#define HP_TOPO_TREE_TEAM_H

#include <stdbool.h>
#include <stdint.h>
#include "topo_tree/hierarchy.h"
#include "topo_tree/shape.h"

/* Who leads. leader: which rank of each node that does not hold the root leads it, counted through the node's
 * ranks and around: several leaders a node share the work, segment by segment. */
typedef struct {
    uint32_t root;
    uint32_t leader;
} hp_leaders_t;

typedef struct {
    const hp_hierarchy_t *hierarchy;
    hp_leaders_t leaders;
    uint32_t depth;        /* of the group, see hierarchy.h */
    hp_level_t level;      /* that tells the members apart */
    uint32_t first;        /* number of the first sub-group */
    uint32_t count;        /* members */
    uint32_t start;        /* which sub-group, counted from first, is at position 0 */
    uint32_t trailing;     /* sub-groups behind the ring, the last ones; 0: none */
    uint32_t position;     /* of the rank that asked */
    const uint32_t *ranks; /* the ranks at the positions, of a team that is no group's; NULL: it is one's */
} hp_team_t;

/* The leader of a group. */
uint32_t hp_leader_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t group);

/* The team of rank's group of that depth, < level_count. position is rank's only if it is a member: if it
 * leads its group of depth + 1. */
hp_team_t hp_team_of(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t rank);
/* The rank at a position. */
uint32_t hp_team_rank(const hp_team_t *team, uint32_t position);

/* The neighbours of the team's position in a tree of that shape over the team, as ranks. Parent: -1 at position 0.
 * Children: in broadcast order, descending by position, so that the largest subtrees of k-nomial shapes come first;
 * returns how many there are. capacity: of children, at least that many, or 0 to count them only. */
int32_t hp_team_parent(const hp_team_t *team, hp_shape_t shape);
uint32_t hp_team_children(const hp_team_t *team, hp_shape_t shape, uint32_t *children, uint32_t capacity);

/* The depth of the outermost group that rank leads: 0 for the root. Rank is a member of the teams of depth
 * level_count - 1 up to that depth - 1 (0 for the root), and of no other. */
uint32_t hp_leader_top(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank);

#endif
