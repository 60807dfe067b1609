/* comm_state: what the library keeps for one MPI communicator, and how a call finds it.
 *
 * A state is made by the first wrapped collective on a communicator, which only looks at local facts. It is
 * set up (table of localities, private duplicate) inside a later collective that may be taken, on all ranks
 * together. It goes when the communicator does, through an attribute's delete callback, or at MPI_Finalize
 * (docs/pitfalls.md 20, 21). Threads: find may be called from any thread; set_up by one thread a communicator (MPI's
 * rule for collectives). Whoever starts or moves on collectives of a communicator has locked it: a thread of the
 * program, one that the host MPI lets move things on, the helper thread. The memory of a state is never returned to the heap but used for the next one, so
 * that a racing lookup of another communicator reads valid memory. Ownership: this file owns all states. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_STATE_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_STATE_H

#include <sched.h>
#include <stdatomic.h>
#include "hier/call/collective.h"
#include "hier/comm/comm.h"
#include "pmpi_wrappers/backend/glue/transport_mpi.h"

typedef struct hp_comm_state {
    _Atomic hp_handle_t key; /* the user's communicator; 0 while the state is not in use */
    hp_outcome_t always;     /* not HP_OUTCOME_TAKEN: every call passes through, for this reason */
    bool is_set_up;
    bool is_within_world;   /* all its ranks are of this job, as far as known */
    bool takes_nonblocking; /* once set up; the same on all ranks: host_collectives.h */
    bool gpu;               /* some rank has a GPU runtime loaded */
    int size, rank;
    uint64_t id; /* once set up: the same on all ranks, another than that of any other communicator */
    uint64_t eligible_calls; /* calls so far that could have been taken */
    uint64_t asking_calls;   /* calls so far that may have asked for takes_nonblocking */
    hp_knobs_t *hinted;      /* knobs with this communicator's hints; NULL: the job's */
    MPI_Comm private_comm;
    hp_transport_mpi_t transport;
    hp_comm_t *comm;
    _Atomic bool busy;            /* somebody uses comm and transport */
    _Atomic bool is_watched;      /* set up, and may be looked at by who has locked it (hp_comm_state_each) */
    _Atomic bool is_asked;        /* what is in execution here: survey.h */
    int *world_ranks;             /* of its ranks, where somebody watches (hp_job.watches); else NULL */
    _Atomic uint32_t nonblocking; /* collectives in execution, */
    _Atomic bool is_active;       /* may have non-blocking collectives in execution: progress.h */
    struct hp_comm_state *next_active;
    struct hp_channel
        *channels; /* of its persistent collectives (persistent.h), oldest first: the same on all ranks */
    bool has_all_channels;                 /* there can be no more */
    struct hp_comm_state *next, *previous; /* all states in use; next: the unused ones */
} hp_comm_state_t;

/* Makes the attribute key. false: the library cannot work. */
bool hp_comm_state_init(void);
/* Gives up all states; before MPI_Finalize. */
void hp_comm_state_fini(void);

/* The communicator's state, made if need be. NULL: MPI_COMM_NULL, or an error that the host MPI will report.
 * Without memory for it: one whose `always` is HP_OUTCOME_FAILED. To pass such a call through would be wrong:
 * the other ranks count it towards setting the communicator up. */
hp_comm_state_t *hp_comm_state_find(MPI_Comm comm);

/* Gives the state of *comm up, then the communicator, by MPI_Comm_free or MPI_Comm_disconnect of the host MPI. The state
 * goes first: collectives of the program's own delete callbacks find one that passes every call through. comm may be NULL
 * or name no communicator: the MPI reports that. Returns its code. */
int hp_comm_state_free(MPI_Comm *comm, int (*give_back)(MPI_Comm *comm));

/* May the library send messages of its own over the communicator? Not over one that passes every call
 * through, nor to processes of another MPI_COMM_WORLD (MPI_Comm_spawn and a merge), which may lack the
 * library. The same answer on all ranks. Returns an MPI error code; the error handler has run then. */
int hp_comm_state_may_communicate(hp_comm_state_t *state, MPI_Comm comm, bool *may);

/* *within: are all its ranks of this job? The same answer on all ranks. Returns an MPI error code; the error
 * handler has run then. */
int hp_comm_state_is_within_world(hp_comm_state_t *state, MPI_Comm comm, bool *within);

/* Sets the state up: collective over the communicator; all ranks come to the same result: is_set_up, or
 * always set. Returns an MPI error code only when the ranks could not talk about it; the communicator's error
 * handler has run then. */
int hp_comm_state_set_up(hp_comm_state_t *state, MPI_Comm comm);

/* A communicator of the library's own, of the same ranks, whose errors return. MPI_Comm_create, unlike MPI_Comm_dup,
 * copies no attributes: the program's copy callbacks must not see it. Collective over comm. Returns whether it was made;
 * *twin is MPI_COMM_NULL if not. */
bool hp_comm_state_twin(MPI_Comm comm, MPI_Comm *twin);

/* What went wrong on the engine, as a code of the MPI. */
int hp_comm_state_code(hp_comm_state_t *state, hp_status_t status);
/* The same, to the error handler of the program's communicator. Returns the MPI's code. */
int hp_comm_state_report(hp_comm_state_t *state, MPI_Comm comm, hp_status_t status);

/* The knobs that hold on this communicator. */
const hp_knobs_t *hp_comm_state_knobs(const hp_comm_state_t *state);

/* Replaces the knobs of a communicator (hints); NULL returns it to the job's. */
hp_status_t hp_comm_state_set_hints(hp_comm_state_t *state, const hp_knobs_t *knobs);

static inline bool hp_comm_state_try_lock(hp_comm_state_t *state)
{
    return !atomic_exchange_explicit(&state->busy, true, memory_order_acquire);
}
static inline void hp_comm_state_lock(hp_comm_state_t *state)
{
    while (!hp_comm_state_try_lock(state)) /* for the microseconds of somebody's poll */
        sched_yield();
}
static inline void hp_comm_state_unlock(hp_comm_state_t *state)
{
    atomic_store_explicit(&state->busy, false, memory_order_release);
}

/* Visits all states that are set up, where somebody watches. None of them goes meanwhile; the visitor locks what it looks
 * at, and calls no MPI. */
void hp_comm_state_each(void (*visit)(hp_comm_state_t *state, void *context), void *context);

void hp_comm_state_resources(hanpmpi_resources_t *out);

#endif
