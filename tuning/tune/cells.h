/* cells: what a recorded program calls, for each kind of communicator that it has: which collectives at which sizes,
 * and the patterns of blocks that differ. Communicators of one layout (nodes, ranks on each) are one kind, for rules
 * cannot tell them apart.
 *
 * Threads: one. Ownership: tune_cells_fini frees. */
#ifndef HP_TUNE_CELLS_H
#define HP_TUNE_CELLS_H

#include <mpi.h>

#include "options.h"

/* The calls on communicators of one layout. */
typedef struct {
    tune_layout_t layout;
    int *world_ranks; /* of the one that is measured on: one that rank 0 is in. Ascending */
    double share;     /* of the recorded time in collectives */
    bool collectives[TUNE_COLLECTIVES], on_patterns[TUNE_COLLECTIVES];
    tune_sizes_t sizes[TUNE_COLLECTIVES];
    tune_patterns_t patterns;
} tune_cells_class_t;

typedef struct {
    tune_cells_class_t *classes; /* the one with the largest share first */
    int count;
} tune_cells_t;

/* Rank 0 reads the recording of options->pattern, and says what is wrong with it, or what is left out. node_of: of
 * each rank of comm. Collective over comm. false: it cannot be used. */
bool tune_cells_read(tune_cells_t *cells, const tune_options_t *options, const int *node_of, MPI_Comm comm);
void tune_cells_fini(tune_cells_t *cells);

#endif
