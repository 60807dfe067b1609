#include "pmpi_wrappers/backend/comms/comm_state.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "hier/planning/kept.h"
#include "pmpi_wrappers/backend/start/job.h"

_Thread_local unsigned hp_comm_states_locked;

_Static_assert(offsetof(hp_comm_state_t, key) == 0, "hp_comm_state_init begins behind the key");

bool hp_comm_state_init(hp_comm_state_t *state, MPI_Comm comm)
{
    int inter, size, rank;

    if (P(Comm_test_inter)(comm, &inter) != MPI_SUCCESS || P(Comm_size)(comm, &size) != MPI_SUCCESS ||
        P(Comm_rank)(comm, &rank) != MPI_SUCCESS)
        return false;
    /* What another communicator left behind goes; the key is read by other threads. */
    memset((char *)state + sizeof state->key, 0, sizeof *state - sizeof state->key);
    state->always = inter ? HP_OUTCOME_INTERCOMM : size == 1 ? HP_OUTCOME_ONE_RANK : HP_OUTCOME_TAKEN;
    state->takes_nonblocking = hp_job.nonblocking_at_once;
    state->size = size;
    state->rank = rank;
    state->private_comm = MPI_COMM_NULL;
    const hp_route_t nowhere = hp_route_direct(MPI_COMM_NULL, rank);
    hp_transport_mpi_init(&state->transport, &nowhere);
    return true;
}

int hp_comm_state_code(hp_comm_state_t *state, hp_status_t status)
{
    int code = status == HP_ERR_NO_MEM      ? MPI_ERR_NO_MEM
               : status == HP_ERR_TRUNCATED ? MPI_ERR_TRUNCATE
                                            : MPI_ERR_OTHER;

    if (status == HP_OK)
        return MPI_SUCCESS;
    if (status == HP_ERR_TRANSPORT && state->transport.mpi_error != MPI_SUCCESS)
        code = state->transport.mpi_error;
    state->transport.mpi_error = MPI_SUCCESS;
    return code;
}

int hp_comm_state_report(hp_comm_state_t *state, MPI_Comm comm, hp_status_t status)
{
    const int code = hp_comm_state_code(state, status);
    P(Comm_call_errhandler)(comm, code);
    return code;
}

const hp_knobs_t *hp_comm_state_knobs(const hp_comm_state_t *state)
{
    return state->hinted ? state->hinted : &hp_job.knobs;
}

void hp_comm_state_keep_selection(const hp_comm_state_t *state)
{
    if (hp_job.is_timed && state->comm)
        hp_kept_add(state->comm);
}

hp_status_t hp_comm_state_set_hints(hp_comm_state_t *state, const hp_knobs_t *knobs)
{
    if (knobs && !state->hinted && !(state->hinted = malloc(sizeof *state->hinted)))
        return HP_ERR_NO_MEM;
    if (knobs)
        *state->hinted = *knobs;
    else {
        free(state->hinted);
        state->hinted = NULL;
    }
    hp_comm_state_keep_selection(state);
    memset(state->decisions, 0, sizeof state->decisions);
    memset(state->memos, 0, sizeof state->memos);
    if (state->comm) {
        hp_comm_state_lock(state);
        hp_select_set_knobs(state->comm, hp_comm_state_knobs(state));
        hp_comm_state_unlock(state);
    }
    return HP_OK;
}

/* *within: all ranks of group are in world. Nothing here may fail on one rank alone without being reported,
 * hence no memory is asked for. */
static int is_within(MPI_Group group, int size, MPI_Group world, bool *within)
{
    enum { AT_A_TIME = 256 };
    int ranks[AT_A_TIME], world_ranks[AT_A_TIME], code = MPI_SUCCESS;

    *within = true;
    for (int first = 0; first < size && *within && code == MPI_SUCCESS; first += AT_A_TIME) {
        const int count = size - first < AT_A_TIME ? size - first : AT_A_TIME;
        for (int i = 0; i < count; i++)
            ranks[i] = first + i;
        code = P(Group_translate_ranks)(group, count, ranks, world, world_ranks);
        for (int i = 0; i < count && code == MPI_SUCCESS; i++)
            *within &= world_ranks[i] != MPI_UNDEFINED;
    }
    return code;
}

/* Are all ranks of comm in this process's MPI_COMM_WORLD? After MPI_Comm_spawn and a merge they are not, and
 * nothing was agreed with the others. */
int hp_comm_state_is_within_world(hp_comm_state_t *state, MPI_Comm comm, bool *within)
{
    MPI_Group world, group;

    *within = state->is_within_world;
    if (*within)
        return MPI_SUCCESS;
    int code = P(Comm_group)(MPI_COMM_WORLD, &world);
    if (code != MPI_SUCCESS)
        return code;
    code = P(Comm_group)(comm, &group);
    if (code == MPI_SUCCESS) {
        code = is_within(group, state->size, world, within);
        P(Group_free)(&group);
    }
    P(Group_free)(&world);
    state->is_within_world = code == MPI_SUCCESS && *within;
    return code;
}

int hp_comm_state_may_communicate(hp_comm_state_t *state, MPI_Comm comm, bool *may)
{
    int code = MPI_SUCCESS;

    if (state->always == HP_OUTCOME_TAKEN && !state->is_set_up) {
        bool within;
        code = hp_comm_state_is_within_world(state, comm, &within);
        if (code == MPI_SUCCESS && !within)
            state->always = HP_OUTCOME_OTHER_WORLD;
    }
    *may = code == MPI_SUCCESS && state->always == HP_OUTCOME_TAKEN;
    return code;
}
