#include "pmpi_wrappers/backend/progress/host_collectives.h"

#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/progress/host_calls.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"

enum { AUTO, ON, OFF }; /* hp_knob_word_nonblocking */

bool hp_host_collectives_enter;

static bool may_ask;
static atomic_bool wanted;

void hp_host_collectives_init(bool is_moved_on)
{
    if (hp_job.knobs.nonblocking == OFF)
        return;
    hp_job.nonblocking_at_once = is_moved_on || hp_job.knobs.nonblocking == ON;
    hp_host_collectives_enter = hp_job.nonblocking_at_once && !is_moved_on;
    may_ask = !hp_job.nonblocking_at_once && !hp_job.has_threads && !hp_ranks_take_turns;
}

void hp_host_collectives_close(void)
{
    hp_host_collectives_enter = hp_job.nonblocking_at_once = may_ask = false;
}

/* *with: all ranks do the same. NULL states and errors are left to the MPI's own call. */
static int is_with_others(MPI_Comm comm, bool *with)
{
    hp_comm_state_t *state = hp_comm_state_find(comm);

    *with = false;
    if (!state || !hp_job.active)
        return MPI_SUCCESS;
    if (state->always == HP_OUTCOME_FAILED) {
        P(Comm_call_errhandler)(comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    if (state->always == HP_OUTCOME_INTERCOMM || state->always == HP_OUTCOME_ONE_RANK ||
        state->always == HP_OUTCOME_INACTIVE)
        return MPI_SUCCESS;
    return hp_comm_state_is_within_world(state, comm, with);
}

int hp_host_collective_enter(MPI_Comm comm, bool *entered)
{
    MPI_Request request = MPI_REQUEST_NULL; /* as which it stays if MPI_Ibarrier fails */
    bool with;

    int code = is_with_others(comm, &with);
    if (entered)
        *entered = with;
    if (code != MPI_SUCCESS || !with)
        return code;
    code = P(Ibarrier)(comm, &request);
    return code == MPI_SUCCESS ? hp_host_calls_wait(&request, MPI_STATUS_IGNORE) : code;
}

int hp_host_barrier(MPI_Comm comm)
{
    bool entered = false;
    const int code = hp_host_collectives_enter ? hp_host_collective_enter(comm, &entered) : MPI_SUCCESS;
    return code == MPI_SUCCESS && !entered ? P(Barrier)(comm) : code;
}

bool hp_nonblocking_may(const hp_comm_state_t *state)
{
    return state->takes_nonblocking || may_ask;
}

hp_outcome_t hp_nonblocking_want(void)
{
    if (!atomic_load_explicit(&wanted, memory_order_relaxed))
        atomic_store_explicit(&wanted, true, memory_order_relaxed);
    return hp_job.knobs.nonblocking == OFF ? HP_OUTCOME_HINT : HP_OUTCOME_NOT_AGREED;
}

/* Nothing is in flight yet on any rank, so the MPI's own collective will do. */
static int agree(hp_comm_state_t *state, MPI_Comm comm)
{
    int mine = atomic_load_explicit(&wanted, memory_order_relaxed), any = 0;

    const int code = P(Allreduce)(&mine, &any, 1, MPI_INT, MPI_MAX, state->private_comm);
    if (code != MPI_SUCCESS) {
        P(Comm_call_errhandler)(comm, code);
        return code;
    }
    if (any)
        hp_host_collectives_enter = true;
    return MPI_SUCCESS;
}

int hp_nonblocking_ask(hp_comm_state_t *state, MPI_Comm comm, bool at_once)
{
    int code = MPI_SUCCESS;

    if (!may_ask)
        return code;
    const uint64_t calls = state->asking_calls++;
    const bool is_time = at_once || (calls & (calls - 1)) == 0; /* 0, 1, 2, 4, ... */
    if (!hp_host_collectives_enter && is_time && state->size == hp_job.size)
        code = agree(state, comm);
    state->takes_nonblocking = hp_host_collectives_enter;
    return code;
}
