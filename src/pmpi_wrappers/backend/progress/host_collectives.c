#include "pmpi_wrappers/backend/progress/host_collectives.h"

#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/progress/host_wait.h"
#include "pmpi_wrappers/backend/start/job.h"

bool hp_host_collectives_enter;

/* *with: all ranks do the same. NULL states and errors are left to the host MPI's call. */
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
    return code == MPI_SUCCESS ? hp_host_wait(&request, MPI_STATUS_IGNORE) : code;
}

int hp_host_barrier(MPI_Comm comm)
{
    bool entered = false;
    const int code = hp_host_collectives_enter ? hp_host_collective_enter(comm, &entered) : MPI_SUCCESS;
    return code == MPI_SUCCESS && !entered ? P(Barrier)(comm) : code;
}
