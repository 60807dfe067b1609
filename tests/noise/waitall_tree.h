/* waitall_tree: broadcast and reduce as they are done without events, over real MPI messages, to compare
 * with.
 *
 * The same tree and the same segments as the library would take by its rules and HANPMPI variables, and the
 * same one transfer ahead; but a segment's operations are waited for with MPI_Waitall before the next is
 * looked at (X. Luo 2020, algorithm 2). tests/sim/waitall_control.c is the same in the simulator of the unit
 * tests.
 *
 * Threads: one communicator, one thread. Ownership: create allocates, destroy frees; the communicator is
 * borrowed. */
#ifndef HP_TESTS_NOISE_WAITALL_TREE_H
#define HP_TESTS_NOISE_WAITALL_TREE_H

#include <mpi.h>
#include <stddef.h>
#include "hier/call/collective.h"
#include "topo_tree/tree.h"

typedef struct {
    MPI_Comm comm;
    size_t segment_bytes;
    hp_neighbors_t neighbors;
    char description[96]; /* for the reader: "tree, 32768 bytes, node:chain core:linear" */
} waitall_tree_t;

/* Collective. The tree of that root for messages of that size. Ends the program after a message when the
 * library would pass such a call through (one node, a small message): then there is nothing to compare. */
void waitall_tree_create(waitall_tree_t *tree, MPI_Comm comm, hp_collective_t collective, size_t bytes,
                         int root);
void waitall_tree_destroy(waitall_tree_t *tree);

void waitall_tree_bcast(const waitall_tree_t *tree, void *buffer, size_t bytes);
/* Sum of doubles; own is not changed, result is this rank's part of the tree's sum and at the root the
 * result. */
void waitall_tree_sum(const waitall_tree_t *tree, const double *own, double *result, size_t count);

#endif
