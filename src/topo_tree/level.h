/* level: the levels of the hierarchy and their names.
 *
 * Threads: pure. Ownership: names are static. */
#ifndef HP_TOPO_TREE_LEVEL_H
#define HP_TOPO_TREE_LEVEL_H

/* The levels of the hierarchy, outermost first. Name and what a member of the level is.
 * The table gives the names used by knobs, by hanpmpi_info and by the drawings. */
#define HP_LEVEL_TABLE(X)                                                                                    \
    X(HP_LEVEL_NODE, "node", "processes of one host (one operating-system image)")                           \
    X(HP_LEVEL_PACKAGE, "package", "processes of one processor package (socket)")                            \
    X(HP_LEVEL_NUMA, "numa", "processes of one NUMA domain")                                                 \
    X(HP_LEVEL_L3, "l3", "processes that share one last-level cache")                                        \
    X(HP_LEVEL_CORE, "core", "single processes")

typedef enum {
#define X(id, name, text) id,
    HP_LEVEL_TABLE(X)
#undef X
        HP_LEVEL_COUNT
} hp_level_t;

/* "node", "package", ... ; NULL for an id out of range. */
const char *hp_level_name(hp_level_t level);
/* The level of that name, or HP_LEVEL_COUNT. */
hp_level_t hp_level_find(const char *name);

#endif
