/* double_tree: two binary trees over the same positions, in which every position is inner in at most one.
 *
 * P. Sanders, J. Speck, J. L. Traeff, Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan,
 * 2009. In a binary tree the inner positions send everything twice and the leaves nothing. With a second tree
 * that has its leaves where the first one has inner positions, and every other segment sent along it, each
 * position sends what it receives: the full bandwidth of its link in both directions, at the depth of a
 * binary tree.
 *
 * Position 0 is the root of both and has one child in each. The others, 1 to m = count - 1, form an in-order
 * tree: the subtree of a position is a range that has the position in its middle, odd positions are leaves.
 * The second tree is the first one mirrored (m even) or shifted by one (m odd): odd positions get the place
 * of even ones. Depth: floor(log2 m) + 2 at most. Positions of a subtree are a range, but the leader is not at
 * its end: operations that do not commute cannot use it.
 * Threads: pure. Ownership: plain data. */
#ifndef HP_TOPO_TREE_DOUBLE_TREE_H
#define HP_TOPO_TREE_DOUBLE_TREE_H

#include <stdint.h>

typedef struct {
    int32_t parent; /* -1: the root */
    uint32_t child_count;
    uint32_t children[2];
} hp_double_links_t;

/* Who is above position and who is below in tree 0 or 1. position < count <= INT32_MAX. */
hp_double_links_t hp_double_tree_links(uint32_t count, uint32_t position, unsigned tree);

#endif
