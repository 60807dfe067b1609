/* hierarchy: the ranks of one communicator, grouped by level, with leaders.
 *
 * Built once per communicator from the exchanged table of localities and cached; afterwards read-only.
 * Pure arithmetic, no communication. Reference: X. Luo, dissertation 2020, section 4.2.2.
 * Threads: building is single-threaded; a built hierarchy may be read by any number of threads.
 * Ownership: hp_hierarchy_create allocates, hp_hierarchy_destroy frees; nothing else is kept. */
#ifndef HP_TOPO_TREE_HIERARCHY_H
#define HP_TOPO_TREE_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"
#include "topo_tree/locality.h"

typedef struct hp_hierarchy hp_hierarchy_t;

/* Builds the hierarchy of count ranks. table[r] is rank r's locality. level_mask: bit l set = level l may be
 * used (HP_LEVEL_CORE is always used: it is the level of single ranks and need not be set).
 * A level that splits no group is dropped (the node level too when all ranks share one node: then the ranks
 * of the node are split by the next level). The last level is the outermost one that tells all ranks apart:
 * the core level as a rule, the node level when every node has one rank, because it is nodes that are joined
 * then. Groups of a level are ordered by their lowest rank; members by rank; the default leader is the lowest
 * rank. flat: no levels from the table: one level, ranks in order (used for non-commutative reductions when
 * the ranks of a node are not contiguous). What the functions below say of nodes comes from the table all the
 * same. Takes O(count log count). Returns HP_OK with *out, HP_ERR_NO_MEM, or HP_ERR_ARG (count 0 or above
 * INT32_MAX). */
hp_status_t hp_hierarchy_create(uint32_t count, const hp_locality_t *table, uint32_t level_mask, bool flat,
                                hp_hierarchy_t **out);
/* The same ranks without some of them, which are in no group but that of themselves, on no node, and not counted below
 * except by hp_hierarchy_rank_count: for a collective in which they take part from outside. Among the nodes those that
 * lack a rank come last. Returns HP_OK with *out, HP_ERR_NO_MEM, or HP_ERR_ARG: h does not tell its nodes apart, or nobody
 * or everybody is absent. absent: different ranks. */
hp_status_t hp_hierarchy_create_without(const hp_hierarchy_t *h, const uint32_t *absent,
                                        uint32_t absent_count, hp_hierarchy_t **out);
void hp_hierarchy_destroy(hp_hierarchy_t *hierarchy); /* NULL is allowed */

bool hp_hierarchy_is_absent(const hp_hierarchy_t *h, uint32_t rank);
/* How many of the nodes, the last ones, lack a rank; 0 where all do. */
uint32_t hp_hierarchy_trailing_nodes(const hp_hierarchy_t *h);

uint32_t hp_hierarchy_rank_count(const hp_hierarchy_t *h);
/* Number of levels kept, >= 1; the groups of the last one are single ranks. */
uint32_t hp_hierarchy_level_count(const hp_hierarchy_t *h);
/* Which hp_level_t the i-th kept level is, outermost first. */
hp_level_t hp_hierarchy_level(const hp_hierarchy_t *h, uint32_t i);
/* Number of different nodes among the ranks (from the table, whether or not the node level was kept). */
uint32_t hp_hierarchy_node_count(const hp_hierarchy_t *h);
/* The largest and smallest number of ranks on one node. */
void hp_hierarchy_node_sizes(const hp_hierarchy_t *h, uint32_t *min_ranks, uint32_t *max_ranks);
/* Index 0..node_count-1 of the rank's node, in order of the nodes' lowest ranks. */
uint32_t hp_hierarchy_node_of(const hp_hierarchy_t *h, uint32_t rank);
/* Ranks of that node. Reads every rank. */
uint32_t hp_hierarchy_node_size(const hp_hierarchy_t *h, uint32_t node);
/* The first of the nodes with most ranks. Reads every rank once for each node before it. */
uint32_t hp_hierarchy_fullest_node(const hp_hierarchy_t *h);
/* Lowest rank of that node. */
uint32_t hp_hierarchy_node_leader(const hp_hierarchy_t *h, uint32_t node);
/* True when every group of every kept level is a contiguous range of ranks: then a tree rooted at rank 0
 * reduces in rank order. */
bool hp_hierarchy_is_contiguous(const hp_hierarchy_t *h);

/* The groups themselves, for those who walk them. They are nested by depth: depth 0 is one group of all
 * ranks, depth d > 0 has the groups of kept level d - 1, so at depth level_count a group is one rank. Group
 * numbers of a depth count up through the nesting: the sub-groups of a group are neighbours. */
uint32_t hp_hierarchy_group_count(const hp_hierarchy_t *h, uint32_t depth);
uint32_t hp_hierarchy_group_of(const hp_hierarchy_t *h, uint32_t depth, uint32_t rank);
/* The ranks of a group; *count says how many. members[0] is its lowest rank, the default leader; then in the
 * order of the nested groups. The array belongs to the hierarchy. */
const uint32_t *hp_hierarchy_members(const hp_hierarchy_t *h, uint32_t depth, uint32_t group,
                                     uint32_t *count);
/* Where the rank is among all members of the group of depth 0; where the groups of a depth begin there, and the end:
 * 0 < depth < level_count. */
uint32_t hp_hierarchy_place(const hp_hierarchy_t *h, uint32_t rank);
const uint32_t *hp_hierarchy_starts(const hp_hierarchy_t *h, uint32_t depth);
/* The number of the first of a group's sub-groups, which are of depth + 1; *count says how many there are.
 * depth < level_count. */
uint32_t hp_hierarchy_subgroups(const hp_hierarchy_t *h, uint32_t depth, uint32_t group, uint32_t *count);

/* The depth whose groups are nodes; 0 where no level tells nodes apart: all ranks share one, as a rule. */
uint32_t hp_hierarchy_node_depth(const hp_hierarchy_t *h);
/* The members of rank's group of that depth. */
const uint32_t *hp_hierarchy_node_ranks(const hp_hierarchy_t *h, uint32_t rank, uint32_t *count);

#endif
