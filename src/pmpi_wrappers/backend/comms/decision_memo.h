/* decision_memo: what was decided of the last blocking calls of a collective on a communicator. Programs repeat their calls: as long
 * as the guard has no question of its own, the same one again needs no more than to be told from others, and counted.
 *
 * Only calls with a predefined datatype and operation are remembered, whose handles never come to mean another one.
 *
 * Threads: the one that is in a collective of the communicator. Ownership: plain data, of the communicator's state; the bin is of
 * the communicator's selection, and whoever has that forgotten forgets these. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_DECISION_MEMO_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_DECISION_MEMO_H

#include "hier/planning/select.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"

enum { HP_DECISION_MEMO_BITS = 2, HP_DECISION_MEMOS = 1 << HP_DECISION_MEMO_BITS }; /* of a collective */

/* Where a call with that count is remembered, until another one is there. */
static inline unsigned hp_decision_memo_place(int64_t count)
{
    return (unsigned)((uint64_t)count * 0x9e3779b97f4a7c15u >> (64 - HP_DECISION_MEMO_BITS));
}

typedef struct {
    struct hp_comm_state *state; /* of the communicator; NULL: nothing is remembered */
    hp_bin_t *bin;               /* NULL: until the communicator is set up the knobs decide, */
    hp_outcome_t outcome;        /* and it passes, for this reason */
    int64_t count;
    MPI_Datatype datatype;
    MPI_Op op; /* MPI_OP_NULL: no reduction */
    uint64_t bytes;
    unsigned stats_bin;
    const hp_named_type_t *named;
    bool commutative;
    hp_kernel_fn_t kernel;
} hp_decision_memo_t;

#endif
