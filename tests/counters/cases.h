/* cases: the collectives whose counters are kept, and the made-up machines they run on.
 *
 * Threads: pure. Ownership: texts are static; the caller frees the table of a layout (free). */
#ifndef HP_TESTS_COUNTERS_CASES_H
#define HP_TESTS_COUNTERS_CASES_H

#include "hier/collectives/algorithm.h"

enum { LAYOUT_NODES_MAX = 3 };

/* The ranks fill node after node, or (cyclic: nodes of the same size) go to the nodes in turn. The ranks of a
 * node are split evenly over its packages. */
typedef struct {
    const char *name;
    uint32_t nodes;
    uint32_t ranks[LAYOUT_NODES_MAX]; /* on each node; a 0 and what follows: as the first */
    uint32_t packages;
    uint32_t other_root; /* a root that leads nothing, where there is one */
    bool cyclic;
    size_t bytes_max; /* that the test double can hold on so many ranks, in good time */
} layout_t;

typedef struct {
    const layout_t *layout;
    hp_collective_t collective;
    const char *wanted; /* word of the collective's knob; "han:shm": and the module inside nodes */
    const char *between_nodes, *inside_node; /* shapes; NULL: by the rules */
    const char *joined;  /* word of HANPMPI_BETWEEN_NODES; NULL: tree with shapes, else by the rules */
    const char *pieces;  /* bytes of those in which a segment moves between nodes; NULL: whole */
    const char *leaders; /* ranks of a node that lead it; NULL: by the rules */
    size_t bytes;
    uint32_t root;
    bool commutative;
} case_t;

uint32_t layout_rank_count(const layout_t *layout);
hp_locality_t *layout_table(const layout_t *layout);

/* Calls visit for every case, in the order of the table. */
void cases_visit(void (*visit)(const case_t *c));

#endif
