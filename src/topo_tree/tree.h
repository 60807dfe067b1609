/* tree: the topology-aware tree of a hierarchy for one root: who is my parent, who are my children.
 *
 * The tree is never built as a whole: each rank computes its own neighbours in O(levels x degree x log)
 * steps, so a new root costs nothing. Re-shaping (X. Luo 2020, section 4.2.2): the root leads its innermost
 * group, that group comes first in its parent group, and so on up. "Comes first" is a rotation of the parent
 * group's members (paper: a swap): neighbours in a chain stay neighbours for every root.
 *
 * Threads: pure. Ownership: hp_neighbors_t owns its children array; hp_neighbors_fini frees it. */
#ifndef HP_TOPO_TREE_TREE_H
#define HP_TOPO_TREE_TREE_H

#include <stdint.h>
#include "base/status.h"
#include "topo_tree/hierarchy.h"
#include "topo_tree/shape.h"

/* One shape per level: shape[l] joins the groups of level l inside one group of the level above
 * (shape[HP_LEVEL_NODE]: inter-node; shape[HP_LEVEL_CORE]: between the ranks of an innermost group). */
typedef struct {
    hp_shape_t shape[HP_LEVEL_COUNT];
} hp_shapes_t;

typedef struct {
    int32_t parent; /* comm rank, -1 at the root */
    uint32_t child_count;
    /* Comm ranks. Order: outermost level first; in a level descending by position, so the largest subtrees of
     * k-nomial shapes come first (broadcast order). */
    uint32_t *children;
    /* The hp_level_t at which children[i] hangs, and at which this rank hangs from its parent (HP_LEVEL_COUNT
     * at the root). */
    uint8_t *child_level;
    uint8_t parent_level;
} hp_neighbors_t;

/* Computes rank's neighbours in the tree rooted at root. Returns HP_OK, HP_ERR_NO_MEM, HP_ERR_ARG.
 * Property kept (tested): with a contiguous hierarchy and root 0, walking a rank's children from the last to
 * the first visits their subtrees in ascending rank order (innermost level first), each subtree a contiguous
 * range of ranks directly after the one before: own rank, then innermost children, then outer ones. */
hp_status_t hp_neighbors_init(hp_neighbors_t *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes,
                              uint32_t root, uint32_t rank);
void hp_neighbors_fini(hp_neighbors_t *neighbors);

/* Parses "node:chain package:binary core:linear" over *inout (levels not named keep their shape).
 * Returns HP_OK, or HP_ERR_ARG with a message naming what is wrong and what is accepted. */
hp_status_t hp_shapes_parse(const char *text, hp_shapes_t *inout, char *error, unsigned error_bytes);
/* The shapes of the levels in the set (bit 1 << HP_LEVEL_x), as hp_shapes_parse reads them. Returns
 * buffer. */
const char *hp_shapes_format(const hp_shapes_t *shapes, uint32_t levels, char *buffer, unsigned buffer_bytes);
/* Parses a list of levels "node,package,l3" to a mask (bit per hp_level_t). Same errors. Empty text = no
 * level. */
hp_status_t hp_levels_parse(const char *text, uint32_t *mask, char *error, unsigned error_bytes);

#endif
