/* tasks: hanpmpi_run_tasks, hanpmpi_network_fingerprint and hanpmpi_make_routine (hanpmpi_tasks.h), on the inside of a
 * backend.
 *
 * Threads, ownership: see there. */
#include "tune/tasks/hanpmpi_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "schedule/file.h"
#include "topo_tree/network/placement.h"
#include "topo_tree/team.h"
#include "tune/tasks/lockstep.h"
#include "tune/tasks/routine.h"

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

/* ---- routines ---- */

/* All ranks of a collective of blocks; of a vector the leaders of the nodes, as the module p2p joins them from root 0.
 * *placed is the caller's to free. */
static bool describe_positions(const hp_comm_t *comm, hp_collective_t collective, hp_problem_t *out,
                               uint32_t **placed)
{
    const hp_leaders_t leaders = {.root = 0};

    *placed = NULL;
    *out = (hp_problem_t){.pattern = hp_collective_pattern(collective),
                          .count = comm->size,
                          .placement = comm->network ? &comm->network->ranks : NULL};
    if (hp_collective_is(collective, HP_OF_BLOCKS))
        return true;
    const hp_team_t nodes = hp_team_of(comm->hierarchy, &leaders, 0, 0);
    *placed = nodes.level == HP_LEVEL_NODE ? malloc(nodes.count * sizeof **placed) : NULL;
    for (uint32_t i = 0; i < nodes.count && *placed; i++)
        (*placed)[i] = hp_team_rank(&nodes, i);
    out->count = nodes.count;
    out->placed = *placed;
    return *placed != NULL;
}

static bool write_file(const char *file, const char *text, size_t length)
{
    FILE *out = fopen(file, "w");
    const bool written = out && fwrite(text, 1, length, out) == length;

    return out && fclose(out) == 0 && written;
}

static bool is_word(const char *name)
{
    unsigned i = HP_INTER_NODE_FILES;

    while (hp_inter_node_is_word((hp_inter_node_t)i) &&
           strcmp(hp_inter_node_name((hp_inter_node_t)i), name) != 0)
        i++;
    return hp_inter_node_is_word((hp_inter_node_t)i);
}

/* The text's schedules become a word, which lasts as long as the library is loaded. */
static bool add_word(const char *name, const char *text, size_t length)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;

    if (hp_schedule_file_parse_verified(name, text, length, &generator, why, sizeof why) != HP_OK)
        return false;
    const hp_inter_node_t word =
        hp_inter_node_refusal(generator) ? HP_INTER_NODE_NONE : hp_inter_node_add(name);
    if (word == HP_INTER_NODE_NONE) {
        hp_schedule_file_free(generator);
        return false;
    }
    hp_inter_node_fill(word, generator);
    return true;
}

__attribute__((visibility("default"))) int hanpmpi_make_routine(const void *handle, const char *collective,
                                                                const char *words, const char *name,
                                                                const char *file)
{
    hp_comm_state_t *state = ready_state(*(const MPI_Comm *)handle);
    hp_collective_t which;
    hp_problem_t problem;
    uint32_t *placed = NULL;
    char *text = NULL;
    size_t length = 0;

    if (!file && is_word(name))
        return 0;
    const bool made = state && find_collective(collective, &which) &&
                      describe_positions(state->comm, which, &problem, &placed) &&
                      hp_routine_write(words, &problem, &text, &length) == HP_OK &&
                      (file ? write_file(file, text, length) : add_word(name, text, length));
    free(placed);
    free(text);
    return made ? 0 : -1;
}
