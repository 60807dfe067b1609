#include "pmpi_wrappers/backend/calls/flight.h"

#include <stddef.h>
#include <stdlib.h>
#include "base/clock.h"
#include "hier/executions/execution.h"
#include "hier/call/setting.h"
#include "pmpi_wrappers/backend/observe/job_trace.h"
#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/start/job.h"

static void complete(hp_flight_t *flight)
{
    hp_comm_state_t *state = flight->state;

    flight->on_complete(flight, flight->code);
    hp_progress_end(state); /* not before the request is complete: host_calls.h */
}

static void on_failed(hp_deferred_t *deferred)
{
    complete((hp_flight_t *)((char *)deferred - offsetof(hp_flight_t, failed)));
}

static void on_done(hp_comm_t *comm, hp_execution_t *execution)
{
    hp_flight_t *flight = execution->owner;
    hp_comm_state_t *state = flight->state;

    int code = hp_comm_state_code(state, execution->status);
    code = hp_packed_fini(&flight->packed, state, code);
    code = hp_staged_end(&flight->staged, state, code);
    if (flight->blocks)
        code = hp_block_call_end(flight->blocks, state, code);
    hp_job_trace_end(execution);
    hp_execution_put(comm, execution);
    flight->code = code;
    if (code == MPI_SUCCESS)
        complete(flight);
    else
        hp_defer(&flight->failed, on_failed);
}

void hp_flight_count_missed(hp_comm_state_t *state)
{
    hp_comm_state_lock(state);
    hp_execution_missed(state->comm);
    hp_comm_state_unlock(state);
}

int hp_flight_miss(hp_comm_state_t *state, MPI_Comm comm, int code)
{
    hp_flight_count_missed(state);
    P(Comm_call_errhandler)(comm, code);
    return code;
}

static int give_up(hp_flight_t *flight, int code)
{
    hp_packed_drop(&flight->packed);
    hp_staged_end(&flight->staged, flight->state, code);
    if (flight->blocks)
        hp_block_call_end(flight->blocks, flight->state, code);
    return hp_flight_miss(flight->state, flight->comm, code);
}

int hp_flight_start(hp_flight_t *flight, const hp_algorithm_t *algorithm, const hp_setting_t *setting,
                    const hp_call_t *call, int (*open)(hp_flight_t *flight))
{
    hp_comm_state_t *state = flight->state;
    hp_setting_t deepened = *setting;
    hp_call_t staged_call = *call;

    int code = hp_staged_begin(&flight->staged, &staged_call, state);
    if (code != MPI_SUCCESS)
        return give_up(flight, code);
    hp_setting_deepen(&deepened, hp_comm_layout(state->comm).nodes, hp_comm_state_knobs(state));
    hp_comm_state_lock(state);
    hp_execution_t *execution = hp_execution_get(state->comm);
    hp_comm_state_unlock(state);
    if (!execution)
        return give_up(flight, MPI_ERR_NO_MEM);
    code = open(flight);
    if (code != MPI_SUCCESS) {
        hp_comm_state_lock(state);
        hp_execution_put(state->comm, execution);
        hp_comm_state_unlock(state);
        return give_up(flight, code);
    }
    hp_progress_begin(state);
    hp_comm_state_lock(state);
    execution->owner = flight;
    execution->on_done = on_done;
    execution->on_start = hp_job_trace ? hp_job_trace_begin : NULL;
    if (hp_job.watches)
        execution->since_ns = hp_clock_ns();
    hp_execution_submit(state->comm, execution, algorithm, &staged_call, &deepened);
    hp_comm_state_unlock(state);
    hp_deferred_run();
    return MPI_SUCCESS;
}
