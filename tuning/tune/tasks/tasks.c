/* tasks: hanpmpi_run_tasks and hanpmpi_network_fingerprint (hanpmpi_tasks.h), on the inside of a backend.
 *
 * Threads, ownership: see there. */
#include "tune/tasks/hanpmpi_tasks.h"

#include "base/clock.h"
#include "hier/executions/execution.h"
#include "hier/executions/idle.h"
#include "hier/planning/select.h"
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/glue/datatypes.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/job_network.h"
#include "pmpi_wrappers/backend/progress/deferred.h"
#include "pmpi_wrappers/backend/progress/progress.h"
#include "topo_tree/network/placement.h"
#include "tune/tasks/lockstep.h"

/* The communicator's state, set up. NULL: it cannot be. The same on all ranks. */
static hp_comm_state_t *ready_state(MPI_Comm comm)
{
    hp_comm_state_t *state = hp_job.active ? hp_comm_state_find(comm) : NULL;

    if (!state || state->always != HP_OUTCOME_TAKEN)
        return NULL;
    if (!state->is_set_up && hp_set_up(state, comm) != MPI_SUCCESS)
        return NULL;
    return state->is_set_up ? state : NULL;
}

static bool find_collective(const char *name, hp_collective_t *out)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        if (c != HP_BARRIER && strcmp(name, hp_collective_name((hp_collective_t)c)) == 0) {
            *out = (hp_collective_t)c;
            return true;
        }
    return false;
}

/* As MPI_Bcast, MPI_Reduce and MPI_Allreduce hand it to the pipeline: a bcast counts in bytes. */
static bool describe(hp_collective_t collective, const void *send, void *recv, uint64_t count, hp_call_t *out)
{
    const bool bytes = collective == HP_BCAST;
    const hp_named_type_t *type = hp_datatype_named(bytes ? MPI_BYTE : MPI_DOUBLE);

    if (!type || count == 0)
        return false;
    *out = (hp_call_t){.collective = collective,
                       .send = bytes ? NULL : send,
                       .recv = recv,
                       .count = bytes ? count * sizeof(double) : count,
                       .type = type->type,
                       .op = HP_HANDLE(MPI_SUM)};
    return bytes || hp_reduction_describe(MPI_SUM, MPI_DOUBLE, &out->type, &out->commutative, &out->kernel);
}

/* Would the library run the call by han, and how? The guard has no say. */
static bool select_han(hp_comm_t *comm, const hp_call_t *call, hp_setting_t *setting)
{
    const hp_situation_t situation = hp_candidates_situation(comm);
    hp_candidates_t candidates;

    hp_candidates_find(&situation, call->collective, call->count * call->type.bytes, &candidates);
    const hp_algorithm_t *algorithm = candidates.slot[HP_SLOT_RULE].algorithm;
    *setting = candidates.slot[HP_SLOT_RULE].setting;
    return algorithm && algorithm->traits & HP_TRAIT_PIPELINED;
}

static hp_status_t wait_for(const hp_comm_t *comm, hp_request_t *request)
{
    hp_status_t status = HP_OK;
    hp_idle_t idle = {0};

    while (status == HP_OK && !hp_request_done(request)) {
        bool moved;
        status = hp_request_wait(request, &moved);
        if (moved)
            hp_idle_reset(&idle);
        else
            hp_idle(&idle, comm, request);
    }
    return status;
}

/* All iterations, each as soon as this rank has done the one before. */
static hp_status_t run_iterations(const hp_start_t *start, hp_lockstep_t *lockstep, double *iteration_us)
{
    hp_status_t status = HP_OK;
    uint64_t before_ns = hp_clock_ns();

    while (status == HP_OK && lockstep->next < lockstep->iterations) {
        const uint64_t iteration = lockstep->next;
        status = hp_lockstep_start(lockstep);
        if (status == HP_OK)
            status = wait_for(start->comm, start->request);
        const uint64_t now_ns = hp_clock_ns();
        iteration_us[iteration] = (double)(now_ns - before_ns) / 1000.0;
        before_ns = now_ns;
    }
    return status;
}

/* Nothing else of the communicator is in execution. */
static hp_status_t run_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting,
                             unsigned iterations_max, double *iteration_us, unsigned *iterations)
{
    hp_plan_t *plan = hp_plans_take(&comm->executions->plans, comm, NULL);
    hp_lockstep_t lockstep;

    if (!plan) {
        hp_execution_missed(comm);
        return HP_ERR_NO_MEM;
    }
    const hp_start_t start = {
        .comm = comm, .request = plan->request, .arena = &plan->arena, .number = ++comm->sequence};
    hp_status_t status = hp_lockstep_prepare(&lockstep, &start, call, setting, iterations_max);
    *iterations = status == HP_ERR_ARG ? 0 : (unsigned)lockstep.iterations;
    if (status == HP_OK)
        status = run_iterations(&start, &lockstep, iteration_us);
    hp_plans_put(&comm->executions->plans, plan);
    return status;
}

__attribute__((visibility("default"))) int hanpmpi_run_tasks(const void *handle, const char *collective,
                                                             const void *send, void *recv, uint64_t count,
                                                             unsigned iterations_max, double *iteration_us,
                                                             unsigned *iterations)
{
    const MPI_Comm comm = *(const MPI_Comm *)handle;
    hp_collective_t which;
    hp_setting_t setting;
    hp_call_t call;

    if (!find_collective(collective, &which) || !describe(which, send, recv, count, &call))
        return -1;
    hp_comm_state_t *state = ready_state(comm);
    if (!state || !select_han(state->comm, &call, &setting))
        return -1;
    hp_comm_state_lock(state);
    hp_progress_finish(state); /* what is still in execution uses the same memory */
    const hp_status_t status =
        run_alone(state->comm, &call, &setting, iterations_max, iteration_us, iterations);
    hp_comm_state_unlock(state);
    hp_deferred_run();
    if (status != HP_OK && status != HP_ERR_ARG)
        hp_comm_state_report(state, comm,
                             status); /* an error of the program's communicator, as in a collective */
    return status == HP_OK ? 0 : -1;
}

__attribute__((visibility("default"))) int hanpmpi_network_fingerprint(char *text, size_t text_bytes)
{
    const hp_network_t *network = hp_job_network();

    if (!network)
        return -1;
    hp_network_fingerprint(network, text, text_bytes);
    return 0;
}
