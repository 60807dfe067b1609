/* decision: may the library take a call, what would run it, and counting it.
 *
 * The decision uses only what is the same on all ranks: the communicator, the size in bytes (count times type
 * size; a bcast may have another count and datatype on each rank, but not another size, docs/pitfalls.md 12), op and
 * datatype of a reduction, root.
 *
 * Threads: one a communicator (MPI's rule for collectives). Ownership: a ticket is plain data on the caller's
 * stack; it borrows. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_DECISION_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_DECISION_H

#include "hier/planning/select.h"
#include "hier/call/stats.h"
#include "pmpi_wrappers/backend/buffers/block_call.h"
#include "pmpi_wrappers/backend/buffers/staging.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/comm_state.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/start/job.h"

/* One call from its entry to its return. */
typedef struct {
    bool nonblocking; /* it may not set the communicator up, nor take part in the guard's trials */
    bool persistent;  /* the beginning of one: nonblocking, but it may wait for the other ranks */
    hp_collective_t collective;
    hp_outcome_t outcome;
    int error; /* to be returned, when the outcome is HP_OUTCOME_FAILED */
    unsigned bin;
    uint64_t bytes;
    uint64_t start_ns;
    uint64_t entered_ns; /* where somebody looks who comes late (hp_arrival_is_looking) */
    hp_comm_state_t *state;
    const hp_decision_memo_t *again; /* it is this call once more; NULL: it is another one */
    const hp_named_type_t *named;    /* the datatype, if it is one */
    hp_choice_t choice;
} hp_ticket_t;

/* ---- blocking calls that need no decision ---- */

/* Does every call of the communicator pass, and does nobody want to know more of it? Then it has been counted. */
static inline bool hp_comm_passes(const hp_comm_state_t *state, hp_collective_t collective)
{
    if (state->always == HP_OUTCOME_FAILED || hp_job.is_timed || hp_job.knobs.check)
        return false;
    hp_stats_count(collective, HP_STATS_BIN_UNKNOWN, state->always);
    return true;
}

/* A call that is settled: does the bin leave it to the host MPI? Likewise. */
static inline bool hp_bin_passes(hp_bin_t *bin, hp_collective_t collective, unsigned stats_bin)
{
    const unsigned slot = hp_select_slot(bin, bin->guard.chosen);
    const hp_outcome_t outcome = bin->candidates.slot[slot].reason;

    if (outcome == HP_OUTCOME_TAKEN || outcome == HP_OUTCOME_MOCKUP)
        return false;
    hp_select_count_settled(bin, slot);
    hp_stats_count(collective, stats_bin, outcome);
    return true;
}

/* root: 0 where there is none. is_right: so are the arguments that are not looked at here, as far as this rank knows; root_is_right:
 * on the root. Is the call
 * the host MPI's, as on this communicator all are, or as one that is remembered was? Then it has been counted. *again: one that is
 * remembered, of which the same holds as of this one; NULL: it is to be decided. */
static inline bool hp_passes_at_once(hp_collective_t collective, int64_t count, MPI_Datatype datatype,
                                     MPI_Op op, int root, bool is_right, bool root_is_right,
                                     MPI_Comm comm, const hp_decision_memo_t **again)
{
    hp_comm_state_t *state = hp_job.active ? hp_comm_state_find(comm) : NULL;

    *again = NULL;
    if (!state)
        return false;
    if (state->always != HP_OUTCOME_TAKEN)
        return hp_comm_passes(state, collective);
    const hp_decision_memo_t *memo = &state->decisions[collective][hp_decision_memo_place(count)];
    if (!memo->state || memo->count != count || memo->datatype != datatype || memo->op != op || !is_right ||
        (unsigned)root >= (unsigned)state->size || (!root_is_right && root == state->rank))
        return false;
    if (!memo->bin) {
        if (state->is_set_up)
            return false;
        hp_stats_count(collective, memo->stats_bin, memo->outcome);
        return true;
    }
    if (!hp_select_is_settled(memo->bin, memo->bytes))
        return false;
    *again = memo;
    return hp_bin_passes(memo->bin, collective, memo->stats_bin);
}
/* The same of blocks; none of them is remembered for more than passing. */
bool hp_blocks_pass_at_once(const hp_block_arguments_t *a, MPI_Comm comm);

/* ---- the others ---- */

/* Each returns and sets ticket->outcome: HP_OUTCOME_TAKEN with ticket->choice, or why not. With
 * HP_OUTCOME_FAILED the error handler has run and ticket->error is to be returned. Reductions fill *call in. */
hp_outcome_t hp_decide_bcast(hp_ticket_t *ticket, const void *buffer, int64_t count, MPI_Datatype datatype, int root,
                             MPI_Comm comm);
hp_outcome_t hp_decide_reduction(hp_ticket_t *ticket, hp_call_t *call, const void *send, void *recv,
                                 int64_t count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
hp_outcome_t hp_decide_barrier(hp_ticket_t *ticket, MPI_Comm comm);
/* call: its arguments are there; what the engine must know of a reduction is filled in. */
hp_outcome_t hp_decide_blocks(hp_ticket_t *ticket, hp_block_call_t *call, MPI_Comm comm);

/* The calls of collectives without a reduction. */
hp_call_t hp_call_bcast(const hp_ticket_t *ticket, void *buffer, int root);
hp_call_t hp_call_barrier(void);

/* Is the call the host MPI's, as it is? Once it was decided. */
static inline bool hp_ticket_passes(const hp_ticket_t *ticket)
{
    return ticket->outcome != HP_OUTCOME_TAKEN && ticket->outcome != HP_OUTCOME_FAILED &&
           ticket->outcome != HP_OUTCOME_MOCKUP;
}

/* Behind every call: counts it, ns after its start (0: nobody asked). */
void hp_ticket_count(const hp_ticket_t *ticket, uint64_t ns);

#endif
