/* comm_state: what the library keeps for one MPI communicator.
 *
 * A state is made by the first wrapped collective on a communicator (comm_registry), which only looks at local facts. It
 * is set up (table of localities, private communicator) inside a later collective that may be accelerated, on all ranks
 * together (comm_setup). It goes when the communicator does, or at MPI_Finalize (comm_release).
 *
 * Threads: the state's lock belongs to whoever starts or moves on collectives of the communicator: a thread of the
 * program, one that the host MPI lets move things on, the helper thread. The members above it are written by the one
 * thread that is in a collective of the communicator (MPI's rule). Ownership: comm_registry owns all states. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_STATE_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_STATE_H

#include <sched.h>
#include <stdatomic.h>
#include "hier/call/collective.h"
#include "hier/comm/comm.h"
#include "pmpi_wrappers/backend/comms/block_memo.h"
#include "pmpi_wrappers/backend/comms/decision_memo.h"
#include "pmpi_wrappers/backend/glue/transport_mpi.h"

typedef struct hp_comm_state {
    _Atomic hp_handle_t key; /* the user's communicator; 0: none, or the state is not in use */
    hp_outcome_t always;     /* not HP_OUTCOME_TAKEN: every call passes through, for this reason */
    bool is_set_up;
    bool is_within_world;   /* all its ranks are of this job, as far as known */
    bool lacks_probes;      /* something of the machine is still to be measured: machine_setup.h */
    bool keeps_probes;      /* a rank of it leaves them to the next run */
    double spent_us;        /* by calls until then, as agreed */
    bool takes_nonblocking; /* once set up; the same on all ranks: agreement.h */
    int size, rank;
    uint64_t
        id; /* agreed at set-up: the same on all ranks, unlike that of any other communicator; 0 before */
    uint64_t checked_calls; /* with HANPMPI_CHECK: calls so far */
    uint64_t
        unchecked; /* and what the non-blocking ones were since the last one that was compared: check.h */
    double use; /* by calls that could have been taken, as a share of what a set-up needs; the same on all ranks, to the bit */
    hp_decision_memo_t decisions[HP_PIPELINED_COUNT][HP_DECISION_MEMOS];
    hp_block_memo_t memos[HP_COLLECTIVE_COUNT - HP_PIPELINED_COUNT]; /* of each collective of blocks */
    uint64_t asking_calls;   /* calls so far that may have asked for takes_nonblocking */
    hp_knobs_t *hinted;      /* knobs with this communicator's hints; NULL: the job's */
    MPI_Comm private_comm;   /* MPI_COMM_NULL where communicators share one (shared_comm.h) */
    hp_route_end_t *ends;    /* of its ranks, there; else NULL */
    hp_transport_mpi_t transport;
    hp_comm_t *comm;
    _Atomic bool busy;            /* the lock: somebody uses comm and transport */
    _Atomic bool is_watched;      /* set up, and may be looked at by who has locked it (hp_comm_state_each) */
    _Atomic bool is_asked;        /* what is in execution here: survey.h */
    int *world_ranks;             /* of its ranks, where somebody watches (hp_job.watches); else NULL */
    _Atomic uint32_t nonblocking; /* collectives in execution, */
    _Atomic bool is_active;       /* may have non-blocking collectives in execution: progress.h */
    struct hp_comm_state *next_active;
    struct hp_channel
        *channels; /* of its persistent collectives (persistent.h), oldest first: the same on all ranks */
    bool has_all_channels;                 /* there can be no more */
    struct hp_comm_state *next, *previous; /* comm_registry: all states in use; next: the unused ones */
} hp_comm_state_t;

/* A new state for comm; the registry files it. false: the host MPI has reported an error. */
bool hp_comm_state_init(hp_comm_state_t *state, MPI_Comm comm);

/* May the library send messages of its own over the communicator? Not over one that passes every call
 * through, nor to processes of another MPI_COMM_WORLD (MPI_Comm_spawn and a merge), which may lack the
 * library. The same answer on all ranks. Returns an MPI error code; the error handler has run then. */
int hp_comm_state_may_communicate(hp_comm_state_t *state, MPI_Comm comm, bool *may);

/* *within: are all its ranks of this job? The same answer on all ranks. Returns an MPI error code; the error
 * handler has run then. */
int hp_comm_state_is_within_world(hp_comm_state_t *state, MPI_Comm comm, bool *within);

/* What went wrong on the engine, as a code of the MPI. */
int hp_comm_state_code(hp_comm_state_t *state, hp_status_t status);
/* The same, to the error handler of the program's communicator, which the caller has not locked. Returns the MPI's code. */
int hp_comm_state_report(hp_comm_state_t *state, MPI_Comm comm, hp_status_t status);

/* What is remembered of the last call of a collective of blocks. */
static inline hp_block_memo_t *hp_comm_state_memo(hp_comm_state_t *state, hp_collective_t collective)
{
    return &state->memos[collective - HP_PIPELINED_COUNT];
}

/* The knobs that hold on this communicator. */
const hp_knobs_t *hp_comm_state_knobs(const hp_comm_state_t *state);

/* Replaces the knobs of a communicator (hints). Nothing is in execution on it: what is was decided by the old ones, on all
 * ranks. Not HP_OK: no memory, nothing has changed. */
hp_status_t hp_comm_state_set_hints(hp_comm_state_t *state, const hp_knobs_t *knobs);

/* Keeps what the communicator's selection remembers, before it goes (HANPMPI_EXPLAIN). */
void hp_comm_state_keep_selection(const hp_comm_state_t *state);

/* How many states this thread has locked. */
extern _Thread_local unsigned hp_comm_states_locked;

static inline bool hp_comm_state_try_lock(hp_comm_state_t *state)
{
    const bool locked = !atomic_exchange_explicit(&state->busy, true, memory_order_acquire);
    hp_comm_states_locked += locked;
    return locked;
}
static inline void hp_comm_state_lock(hp_comm_state_t *state)
{
    while (!hp_comm_state_try_lock(state)) /* for the microseconds of somebody's poll */
        sched_yield();
}
static inline void hp_comm_state_unlock(hp_comm_state_t *state)
{
    hp_comm_states_locked--;
    atomic_store_explicit(&state->busy, false, memory_order_release);
}

#endif
