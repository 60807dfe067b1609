#include "pmpi_wrappers/backend/comms/comm_release.h"

#include <stdlib.h>
#include "hier/executions/execution.h"
#include "hier/planning/arrival.h"
#include "hier/planning/select.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"
#include "pmpi_wrappers/backend/comms/wisdom_setup.h"
#include "pmpi_wrappers/backend/start/job.h"

static void (*finish_all)(hp_comm_state_t *state);

/* Where not all collectives ended well something may still come to this rank. */
static bool is_quiet(const hp_comm_state_t *state)
{
    return state->is_set_up && !state->transport.base.cancelled && hp_executions_are_in_step(state->comm);
}

/* Tags with which something may still come stay taken. */
static void release_route(hp_comm_state_t *state, bool was_quiet)
{
    if (state->ends && was_quiet)
        hp_shared_comm_return_tags(state->transport.route.self.first_tag);
    free(state->ends);
    state->ends = NULL;
    hp_private_comm_free(&state->private_comm);
}

/* Runs inside the attribute's delete callback. */
static void release(hp_comm_state_t *state)
{
    finish_all(state); /* long done where the program itself frees the communicator */
    hp_comm_state_keep_selection(state);
    if (state->comm && hp_job.is_timed)
        hp_arrival_keep(state->comm);
    if (state->comm)
        hp_wisdom_keep_open(state->comm);
    hp_comm_registry_hide(state);
    const bool was_quiet = is_quiet(state);
    hp_executions_destroy(state->comm);
    hp_select_forget(state->comm);
    hp_comm_destroy(state->comm);
    state->comm = NULL;
    free(state->world_ranks);
    state->world_ranks = NULL;
    hp_transport_mpi_fini(&state->transport);
    free(state->hinted);
    state->hinted = NULL;
    release_route(state, was_quiet);
    hp_comm_registry_remove(state);
}

bool hp_comm_states_init(void (*finish)(hp_comm_state_t *state))
{
    finish_all = finish;
    return hp_comm_registry_init(release);
}

/* Not in the callback: the MPI may hold a lock there that others need who hold ours. */
void hp_comm_state_end(hp_comm_state_t *state)
{
    finish_all(state);
    hp_comm_registry_delete(state);
}

/* Releasing a state that has a private communicator frees it, which is collective: all ranks do that in the order of the
 * ids, which they agreed on. States that were never set up hold nothing that concerns other ranks; their id is 0, so they
 * go first. */
void hp_comm_states_fini(void)
{
    for (hp_comm_state_t *state; (state = hp_comm_registry_first());)
        hp_comm_state_end(state);
    hp_comm_registry_fini();
}

int hp_comm_state_free(MPI_Comm *comm, int (*give_back)(MPI_Comm *comm))
{
    hp_comm_state_t *state = comm ? hp_comm_registry_known(*comm) : NULL;

    if (state)
        hp_comm_state_end(state);
    hp_dying_t frame;
    hp_comm_registry_begin_dying(&frame, comm ? *comm : MPI_COMM_NULL);
    const int code = give_back(comm);
    hp_comm_registry_end_dying(&frame);
    return code;
}
