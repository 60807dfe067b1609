/* shape: tree shapes as pure arithmetic on positions 0..count-1, root at position 0.
 *
 * All shapes number their tree in preorder: the subtree of every position is the contiguous range that starts
 * with it. So a tree over ranks in ascending order keeps rank order, and the same shapes serve
 * non-commutative reductions.
 * Threads: pure. Ownership: the caller's buffers. */
#ifndef HP_TOPO_TREE_SHAPE_H
#define HP_TOPO_TREE_SHAPE_H

#include <stdint.h>

/* id, name, description. A new shape is one row here and one function in shape.c. */
#define HP_SHAPE_TABLE(X)                                                                                    \
    X(LINEAR, linear, "the root talks to everybody: one hop, the root's link carries count-1 messages")      \
    X(CHAIN, chain, "a pipeline: every link carries the message once, count-1 hops")                         \
    X(BINARY, binary, "two children a position: floor(log2 count) hops, two messages a position")            \
    X(BINOMIAL, binomial, "k-nomial with k = 2: ceil(log2 count) rounds")                                    \
    X(KNOMIAL4, knomial4, "k-nomial with k = 4: fewer hops, up to 3 children a round")                       \
    X(KNOMIAL8, knomial8, "k-nomial with k = 8: fewer hops still, up to 7 children a round")                 \
    X(POSTAL, postal,                                                                                        \
      "everybody goes on sending until all have it, where a message takes as long as four sends")

typedef enum {
#define X(id, name, text) HP_SHAPE_##id,
    HP_SHAPE_TABLE(X)
#undef X
        HP_SHAPE_COUNT
} hp_shape_t;

typedef struct {
    const char *name;
    const char *description;
} hp_shape_info_t;

/* Name and description; shape must be < HP_SHAPE_COUNT. */
const hp_shape_info_t *hp_shape_info(hp_shape_t shape);
/* The shape of that name, or HP_SHAPE_COUNT. */
hp_shape_t hp_shape_find(const char *name);

/* The parent position of position (0 <= position < count <= INT32_MAX), -1 for position 0. */
int32_t hp_shape_parent(hp_shape_t shape, uint32_t count, uint32_t position);

/* Writes the children of position, ascending, to children (capacity entries); returns how many there are
 * (which may be more than capacity: nothing past capacity is written; call again with room). */
uint32_t hp_shape_children(hp_shape_t shape, uint32_t count, uint32_t position, uint32_t *children,
                           uint32_t capacity);

#endif
