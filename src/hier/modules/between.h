/* between: how the module p2p joins the nodes: the words of HANPMPI_BETWEEN_NODES and of the rules' column.
 *
 * The algorithms are for the outermost level, where the nodes' leads meet. What one of them cannot do falls
 * to the tree: exchanges are for allreduce only, and operations that do not commute need positions in order.
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_MODULES_BETWEEN_H
#define HP_HIER_MODULES_BETWEEN_H

#include "hier/call/collective.h"

/* id, name, the collectives that it can serve, description. auto: as the rule says; no rule names it. */
#define HP_BETWEEN_TABLE(X)                                                                                  \
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
#define X(id, name, serves, text) HP_BETWEEN_##id,
    HP_BETWEEN_TABLE(X)
#undef X
        HP_BETWEEN_COUNT
} hp_between_t;

/* Both NULL past the last. */
const char *hp_between_name(unsigned i);
const char *hp_between_description(unsigned i);

/* Is it there for the collective? Where it is not, the tree is used. */
bool hp_between_serves(hp_between_t between, hp_collective_t collective);

#endif
