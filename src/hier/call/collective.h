/* collective: what a collective call is, for all rooms above the engine. Knows no MPI type.
 *
 * Threads: plain data. Ownership: buffers are the user's, borrowed for the duration of the call. */
#ifndef HP_HIER_CALL_COLLECTIVE_H
#define HP_HIER_CALL_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "event_engine/op/op.h"
#include "event_engine/source.h"
#include "event_engine/transport.h"
#include "hier/call/blocks.h"
#include "schedule/problem.h"

/* Moves blocks of several ranks, by a schedule (collectives/exchange.h); the others move one vector, by the pipeline. Blocks may
 * differ in size. A rank knows the sizes of its own blocks only. */
enum { HP_OF_BLOCKS = 1 << 0, HP_BLOCKS_DIFFER = 1 << 1, HP_OWN_SIZES = 1 << 2 };

/* id, name, what is asked for (schedule/problem.h), what it is like. */
#define HP_COLLECTIVE_TABLE(X)                                                                               \
    X(BCAST, bcast, BCAST, 0)                                                                                \
    X(REDUCE, reduce, REDUCE, 0)                                                                             \
    X(ALLREDUCE, allreduce, ALLREDUCE, 0)                                                                    \
    X(BARRIER, barrier, BARRIER, 0)                                                                          \
    X(ALLGATHER, allgather, ALLGATHER, HP_OF_BLOCKS)                                                         \
    X(ALLGATHERV, allgatherv, ALLGATHER, HP_OF_BLOCKS | HP_BLOCKS_DIFFER)                                    \
    X(ALLTOALL, alltoall, ALLTOALL, HP_OF_BLOCKS)                                                            \
    X(ALLTOALLV, alltoallv, ALLTOALL, HP_OF_BLOCKS | HP_BLOCKS_DIFFER | HP_OWN_SIZES)                        \
    X(ALLTOALLW, alltoallw, ALLTOALL, HP_OF_BLOCKS | HP_BLOCKS_DIFFER | HP_OWN_SIZES)                        \
    X(REDUCE_SCATTER, reduce_scatter, REDUCE_SCATTER, HP_OF_BLOCKS | HP_BLOCKS_DIFFER)                       \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, REDUCE_SCATTER, HP_OF_BLOCKS)                              \
    X(GATHER, gather, GATHER, HP_OF_BLOCKS)                                                                  \
    X(GATHERV, gatherv, GATHER, HP_OF_BLOCKS | HP_BLOCKS_DIFFER | HP_OWN_SIZES)                              \
    X(SCATTER, scatter, SCATTER, HP_OF_BLOCKS)                                                               \
    X(SCATTERV, scatterv, SCATTER, HP_OF_BLOCKS | HP_BLOCKS_DIFFER | HP_OWN_SIZES)                           \
    X(SCAN, scan, SCAN, HP_OF_BLOCKS)                                                                        \
    X(EXSCAN, exscan, EXSCAN, HP_OF_BLOCKS)

typedef enum {
#define X(id, ...) HP_##id,
    HP_COLLECTIVE_TABLE(X)
#undef X
        HP_COLLECTIVE_COUNT,
    HP_PIPELINED_COUNT = HP_BARRIER + 1 /* those before it move one vector */
} hp_collective_t;

/* "bcast", ... */
const char *hp_collective_name(hp_collective_t collective);
hp_pattern_t hp_collective_pattern(hp_collective_t collective);
/* Has it all of the traits? */
bool hp_collective_is(hp_collective_t collective, unsigned traits);
/* Blocks of each side on that rank of so many. */
hp_block_entries_t hp_collective_blocks(hp_collective_t collective, uint32_t root, uint32_t size, uint32_t rank);

typedef struct {
    hp_collective_t collective;
    const void *send; /* this rank's contribution, not of a bcast; equals recv for MPI_IN_PLACE */
    void *recv;       /* result where this rank gets one, else NULL; bcast: the buffer */
    const hp_blocks_t
        *blocks; /* where blocks that differ lie; NULL: there are none, or they lie one behind the other */
    hp_source_t
        *source;  /* bcast: what fills the buffer (root) or empties it meanwhile; NULL: it is plain memory */
    size_t count; /* elements; of blocks: of each */
    /* Of blocks whose sizes are each rank's own: block i of up to so many elements begins at the i-th multiple of that, and may be
     * carried on by other ranks, which do not know its size. The same on all ranks. 0: only who sends and who receives a block
     * touches it. */
    size_t row;
    hp_type_t type;
    hp_handle_t op;
    hp_kernel_fn_t kernel; /* the op on the type, or NULL: the transport's reduce does it */
    bool commutative;
    uint32_t root;
} hp_call_t;

/* Is it MPI_IN_PLACE on this rank? */
static inline bool hp_call_is_in_place(const hp_call_t *call)
{
    return call->blocks ? call->blocks->in_place : call->send == call->recv;
}

/* Why a call was not taken. The first row is the one for calls that were. id, word for tables, sentence for
 * people. */
#define HP_OUTCOME_TABLE(X)                                                                                  \
    X(TAKEN, "taken", "run by the library")                                                                  \
    X(INACTIVE, "inactive", "before MPI_Init, after MPI_Finalize began, or the start-up handshake failed")   \
    X(HINT, "hint", "the communicator's info hints or a knob name the host MPI")                             \
    X(INTERCOMM, "intercomm", "an intercommunicator")                                                        \
    X(ONE_RANK, "one-rank", "a communicator of one rank")                                                    \
    X(OTHER_WORLD, "other-world", "the communicator has processes of another MPI_COMM_WORLD")                \
    X(EMPTY, "empty", "no data: zero count or a type without data")                                          \
    X(INVALID, "invalid", "an argument the host MPI must report or knows better")                            \
    X(WARM_UP, "warm-up", "the first calls on a communicator, before it is set up")                          \
    X(NO_DUPLICATE, "no-duplicate", "no private duplicate: too many communicators, or setting it up failed") \
    X(FAILED, "failed", "no memory or an MPI error before the first message: reported as an MPI error")      \
    X(ONE_NODE, "one-node", "all ranks on one node: the host MPI is at least as fast")                       \
    X(RULE, "rule", "no rule for this size and number of nodes, or one that names the host MPI")             \
    X(GUARD, "guard", "the host MPI was measured to be faster here, or is being measured")                   \
    X(DATATYPE, "datatype", "a datatype or operation that is left to the host MPI")                          \
    X(GPU, "gpu", "a HIP or Level Zero runtime is loaded on some rank: its memory is not recognized")        \
    X(NOT_AGREED, "not-agreed",                                                                              \
      "a non-blocking call before the ranks have agreed that the program uses them")                         \
    X(MOCKUP, "mockup",                                                                                      \
      "other collectives of the host MPI in its place were measured to be faster here, or are being "        \
      "measured")

typedef enum {
#define X(id, word, text) HP_OUTCOME_##id,
    HP_OUTCOME_TABLE(X)
#undef X
        HP_OUTCOME_COUNT
} hp_outcome_t;

const char *hp_outcome_word(hp_outcome_t outcome);
const char *hp_outcome_text(hp_outcome_t outcome);

#endif
