/* topology: the hierarchy of a machine, and the tree of a collective on it, as hanpmpi_info --topology shows them.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_TOPOLOGY_H
#define HANPMPI_INFO_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>
#include "hier/call/collective.h"

typedef struct {
    uint32_t ranks, root;       /* 0 ranks: as many as the machine has cores */
    const char *machine;        /* a synthetic one; NULL: HANPMPI_TOPOLOGY, or this machine */
    const char *dot, *svg;      /* files to write as well; NULL: none */
    hp_collective_t collective; /* whose tree */
    uint64_t bytes;
    bool json;
} info_topology_t;

/* What runs is found as --explain finds it, with the rules of HANPMPI_RULES. Returns the exit status. */
int info_print_topology(const info_topology_t *asked);

#endif
