/* draw: a hierarchy and a tree as text, as DOT and as SVG, for people.
 *
 * Threads: writes to the given stream only. Ownership: nothing kept.
 *
 * Not for the hot path: builds the whole tree. Whether the stream took it all, ferror tells the caller.
 * HP_ERR_NO_MEM and HP_ERR_ARG (root, shapes) come before the first byte is written. */
#ifndef HP_TOPO_TREE_DRAW_H
#define HP_TOPO_TREE_DRAW_H

#include <stdio.h>
#include "topo_tree/tree.h"

/* A table of levels: for each kept level its name, number of groups, group sizes (min..max), and the shape
 * used on it; then the groups nested, with their ranks as ranges "0-3". Long lists are elided: at most 16
 * groups a level, at most 16 ranges a group. */
void hp_draw_levels(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes);
/* The tree as an indented text with box-drawing lines (UTF-8): rank, level of its link; depth and per-level
 * link counts at the end. */
hp_status_t hp_draw_tree_text(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root);
/* Graphviz DOT: nested clusters per level, edges coloured by level. */
hp_status_t hp_draw_tree_dot(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root);
/* A self-contained SVG (no external program): tidy tree, boxes coloured by node, edges by level, a legend. */
hp_status_t hp_draw_tree_svg(FILE *out, const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root);

#endif
