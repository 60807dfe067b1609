/* inter_node: how the module p2p joins the nodes: the words of HANPMPI_BETWEEN_NODES and of the rules' column.
 *
 * The algorithms are for the outermost level, where the nodes' leaders meet. What one of them cannot do falls
 * to the tree: exchanges are for allreduce only, and operations that do not commute need positions in order.
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_CALL_INTER_NODE_H
#define HP_HIER_CALL_INTER_NODE_H

#include "hier/call/collective.h"

/* id, name, the collectives that it can serve, description. auto: as the rule says; no rule names it. */
#define HP_INTER_NODE_TABLE(X)                                                                               \
    X(AUTO, auto, ~0u, "as the rules say")                                                                   \
    X(TREE, tree, ~0u, "the tree of the shape that is set for the level node, segment after segment")        \
    X(RING, ring, 1u << HP_ALLREDUCE, "allreduce: reduce-scatter and allgather around a ring; others: tree") \
    X(RECURSIVE_DOUBLING, recursive_doubling, 1u << HP_ALLREDUCE,                                            \
      "allreduce: pairwise exchange of the whole segment, log2 n rounds; others: tree")                      \
    X(RABENSEIFNER, rabenseifner, 1u << HP_ALLREDUCE,                                                        \
      "allreduce: reduce-scatter by recursive halving, allgather by recursive doubling; others: tree")       \
    X(DOUBLE_TREE, double_tree, 1u << HP_BCAST | 1u << HP_REDUCE | 1u << HP_ALLREDUCE,                       \
      "two binary trees that take turns, each node inner in at most one of them")

typedef enum {
#define X(id, name, serves, text) HP_INTER_NODE_##id,
    HP_INTER_NODE_TABLE(X)
#undef X
        HP_INTER_NODE_COUNT
} hp_inter_node_t;

/* Both NULL past the last. */
const char *hp_inter_node_name(unsigned i);
const char *hp_inter_node_description(unsigned i);

/* Is it there for the collective? Where it is not, the tree is used. */
bool hp_inter_node_serves(hp_inter_node_t inter_node, hp_collective_t collective);

#endif
