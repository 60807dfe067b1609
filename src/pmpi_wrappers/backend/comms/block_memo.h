/* block_memo: what the last call of a collective of blocks was like on a communicator. Programs repeat their calls, so most need
 * not be looked at again: what was found valid then is valid now.
 *
 * Only calls with one count and one predefined datatype a side are remembered: nothing else about such a one can change between
 * two calls but the buffers. Of those whose sizes are each rank's own nothing is but that they pass, whatever they are, or
 * as long as what the ranks have agreed on, the longest block, is the same.
 *
 * Threads: the one that is in a collective of the communicator. Ownership: plain data, of the communicator's state; the bin as in
 * decision_memo.h. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_BLOCK_MEMO_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_BLOCK_MEMO_H

#include <stdbool.h>
#include <stdint.h>
#include "hier/planning/select.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

typedef struct {
    int64_t count;
    MPI_Datatype type;
    bool is_null, in_place; /* the buffer is MPI_IN_PLACE, whether that counts on this rank or not */
    uint32_t blocks;
} hp_block_memo_side_t;

typedef struct {
    bool is_valid;
    hp_outcome_t passes; /* until the communicator is set up, and why; HP_OUTCOME_TAKEN: to be decided */
    int root;
    hp_block_memo_side_t send, recv;
    uint64_t bytes;      /* what all ranks know of the size */
    uint64_t decided_by; /* the same, or of sizes of each rank's own the longest block */
    hp_bin_t *bin;       /* that it was decided by, when nobody had a question; NULL: somebody had */
    MPI_Op op;
    unsigned stats_bin;
} hp_block_memo_t;

#endif
