#include "pmpi_wrappers/backend/calls/agreement.h"

#include "pmpi_wrappers/backend/comms/comm_setup.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/start/job.h"

enum { AUTO, ON, OFF }; /* hp_knob_word_nonblocking */

static bool may_ask;
static atomic_bool wanted;

void hp_agreement_init(bool is_moved_on)
{
    if (hp_job.knobs.nonblocking == OFF)
        return;
    hp_job.nonblocking_at_once = is_moved_on || hp_job.knobs.nonblocking == ON;
    hp_host_collectives_enter = hp_job.nonblocking_at_once && !is_moved_on;
    may_ask = !hp_job.nonblocking_at_once && !hp_job.any_threads && !hp_ranks_take_turns;
}

void hp_agreement_close(void)
{
    hp_host_collectives_enter = hp_job.nonblocking_at_once = may_ask = false;
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

/* Nothing is in flight yet on any rank, so the host MPI's collective will do. */
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

int hp_set_up(hp_comm_state_t *state, MPI_Comm comm)
{
    bool may;

    int code = hp_comm_state_may_communicate(state, comm, &may);
    if (!may)
        return code;
    code = hp_host_collective_begin(comm);
    if (code == MPI_SUCCESS)
        code = hp_comm_state_set_up(state, comm);
    if (!state->is_set_up && state->always == HP_OUTCOME_TAKEN) /* nothing else has been found */
        state->always = HP_OUTCOME_NO_DUPLICATE;
    return state->is_set_up && !state->takes_nonblocking ? hp_nonblocking_ask(state, comm, false) : code;
}
