/* between: how the module p2p joins the nodes: the words of HANPMPI_BETWEEN_NODES and of the rules' column.
 *
 * The algorithms are for the outermost level, where the nodes' leads meet. What one of them cannot do falls
 * to the tree: exchanges are for allreduce only, and operations that do not commute need positions in order.
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_MODULES_BETWEEN_H
#define HP_HIER_MODULES_BETWEEN_H

/* id, name, description. auto: as the rule says; no rule names it. */
#define HP_BETWEEN_TABLE(X)                                                                                  \
    X(AUTO, auto, "as the rules say")                                                                        \
    X(TREE, tree, "the tree of the shape that is set for the level node, segment after segment")             \
    X(RING, ring, "allreduce: reduce-scatter and allgather around a ring; others: tree")                     \
    X(RECURSIVE_DOUBLING, recursive_doubling,                                                                \
      "allreduce: pairwise exchange of the whole segment, log2 n rounds; others: tree")                      \
    X(RABENSEIFNER, rabenseifner,                                                                            \
      "allreduce: reduce-scatter by recursive halving, allgather by recursive doubling; others: tree")       \
    X(DOUBLE_TREE, double_tree, "two binary trees that take turns, each node inner in at most one of them")

typedef enum {
#define X(id, name, text) HP_BETWEEN_##id,
    HP_BETWEEN_TABLE(X)
#undef X
        HP_BETWEEN_COUNT
} hp_between_t;

/* Both NULL past the last. */
const char *hp_between_name(unsigned i);
const char *hp_between_description(unsigned i);

#endif
