/* layout: on how many nodes the job's ranks are, as the library sees it: a machine that was made up with
 * HANPMPI_TOPOLOGY ("node:2 core:2") counts, else the hosts. Threads: pure. Ownership: plain data. */
#ifndef HP_TUNE_LAYOUT_H
#define HP_TUNE_LAYOUT_H

#include <stdbool.h>

typedef struct {
    int ranks, nodes;
    int least_ranks, most_ranks; /* on one node */
} tune_layout_t;

/* node_of: of every rank, 0 .. node_count - 1. */
void tune_layout_init(tune_layout_t *layout, const int *node_of, int ranks);

/* The node of every rank on a made-up machine: ranks fill it core by core, and begin again at its first node
 * when it is full. false: the text names no node, or is none that the library would take. */
bool tune_layout_synthetic(const char *topology, int *node_of, int ranks);

#endif
