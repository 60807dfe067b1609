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
#include "pmpi_wrappers/backend/comms/comm_state.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"

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
    const hp_named_type_t *named; /* the datatype, if it is one */
    hp_choice_t choice;
} hp_ticket_t;

/* Each returns and sets ticket->outcome: HP_OUTCOME_TAKEN with ticket->choice, or why not. With
 * HP_OUTCOME_FAILED the error handler has run and ticket->error is to be returned. Reductions fill *call in. */
hp_outcome_t hp_decide_bcast(hp_ticket_t *ticket, int64_t count, MPI_Datatype datatype, int root,
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
