/* simulated_collectives: the collectives that `simulated` runs, a row each: what they move, and every element of their results.
 *
 * `bytes` is the size of a vector, or of one block; alltoallv sends a block to some of the ranks, to others on each rank;
 * in allgatherv every fourth rank has none.
 * Data: 64-bit integers; element e of a rank's send buffer is simulated_input(rank, e).
 *
 * Threads: one, as the simulator. */
#ifndef HP_TESTS_SMPI_SIMULATED_COLLECTIVES_H
#define HP_TESTS_SMPI_SIMULATED_COLLECTIVES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const void *send; /* or MPI_IN_PLACE */
    int64_t *recv;
    int count; /* elements of a vector, or of a block */
    MPI_Op op;
    int root, rank, size;
    MPI_Comm comm;
    bool own; /* SMPI's collective, not the library's */
} simulated_call_t;

typedef struct simulated_collective {
    const char *name;
    bool sends_all, receives_all; /* a block for, or of, each rank; otherwise one */
    bool at_root;                 /* the result is the root's alone */
    bool in_place;                /* can be told MPI_IN_PLACE */
    bool one_buffer;              /* the root sends what it has in recv */
    void (*run)(const simulated_call_t *call);
    int64_t (*expected)(const simulated_call_t *call, int block,
                        size_t element); /* of a received block; NULL: no data */
    bool (*comes)(int from, int to);     /* NULL: from everybody */
} simulated_collective_t;

extern const simulated_collective_t simulated_collectives[];
extern const unsigned simulated_collective_count;

extern int simulated_pairs_percent; /* of alltoallv; from the command line */

int64_t simulated_input(int rank, size_t element);

#endif
