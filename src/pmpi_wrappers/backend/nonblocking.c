#include "pmpi_wrappers/backend/nonblocking.h"

#include <stdlib.h>
#include "base/clock.h"
#include "hier/execution.h"
#include "hier/selection/setting.h"
#include "pmpi_wrappers/backend/decision.h"
#include "pmpi_wrappers/backend/host_request.h"
#include "pmpi_wrappers/backend/job.h"
#include "pmpi_wrappers/backend/job_trace.h"
#include "pmpi_wrappers/backend/machine.h"
#include "pmpi_wrappers/backend/progress.h"

/* A call until its request is freed. */
typedef struct {
    hp_host_request_t request; /* the first member */
    hp_comm_state_t *state;
    MPI_Comm comm;
    hp_packed_t packed;
    MPI_Datatype datatype; /* of packed, ours: the program may free its own. MPI_DATATYPE_NULL: none */
} icall_t;

static void on_free(hp_host_request_t *request)
{
    free(request);
}

static void on_error(hp_host_request_t *request)
{
    const icall_t *icall = (icall_t *)request;
    P(Comm_call_errhandler)(icall->comm, request->error);
}

static void on_done(hp_comm_t *comm, hp_execution_t *execution)
{
    icall_t *icall = execution->owner;
    hp_comm_state_t *state = icall->state;

    int code = hp_comm_state_code(state, execution->status);
    code = hp_packed_fini(&icall->packed, state, code);
    if (icall->datatype != MPI_DATATYPE_NULL)
        P(Type_free)(&icall->datatype);
    hp_job_trace_end(execution);
    hp_execution_put(comm, execution);
    hp_progress_end(state);
    hp_host_request_complete(&icall->request, code);
}

/* The packed data's type, as our own. */
static int keep_datatype(icall_t *icall)
{
    if (!icall->packed.bytes || icall->packed.is_root)
        return MPI_SUCCESS;
    const int code = P(Type_dup)(HP_UNHANDLE(MPI_Datatype, icall->packed.type.handle), &icall->datatype);
    if (code == MPI_SUCCESS)
        icall->packed.type.handle = HP_HANDLE(icall->datatype);
    return code;
}

/* The others have made the call: what comes later on this communicator would be out of step with them. */
static int miss(hp_comm_state_t *state, MPI_Comm comm, int code)
{
    hp_comm_state_lock(state);
    hp_execution_missed(state->comm);
    hp_comm_state_unlock(state);
    P(Comm_call_errhandler)(comm, code);
    return code;
}

static int give_up(icall_t *icall, MPI_Comm comm, int code)
{
    hp_comm_state_t *state = icall->state;

    free(icall->packed.bytes);
    free(icall);
    return miss(state, comm, code);
}

static icall_t *create(const hp_ticket_t *ticket, MPI_Comm comm)
{
    icall_t *icall = calloc(1, sizeof *icall);
    if (!icall) {
        miss(ticket->state, comm, MPI_ERR_NO_MEM);
        return NULL;
    }
    icall->request.on_error = on_error;
    icall->request.on_free = on_free;
    icall->state = ticket->state;
    icall->comm = comm;
    icall->datatype = MPI_DATATYPE_NULL;
    return icall;
}

/* Hands the call to the engine. */
static int start(icall_t *icall, const hp_ticket_t *ticket, const hp_call_t *call, MPI_Request *request)
{
    hp_comm_state_t *state = icall->state;
    const hp_choice_t *choice = &ticket->choice;
    hp_setting_t setting = *choice->setting;

    hp_setting_deepen(&setting, hp_comm_state_knobs(state));
    hp_comm_state_lock(state);
    hp_execution_t *execution = hp_execution_get(state->comm);
    hp_comm_state_unlock(state);
    if (!execution)
        return give_up(icall, icall->comm, MPI_ERR_NO_MEM);
    int code = keep_datatype(icall);
    if (code == MPI_SUCCESS)
        code = hp_host_request_start(&icall->request);
    if (code != MPI_SUCCESS) {
        hp_comm_state_lock(state);
        hp_execution_put(state->comm, execution);
        hp_comm_state_unlock(state);
        return give_up(icall, icall->comm, code);
    }
    *request = icall->request.handle;
    hp_progress_begin(state);
    hp_comm_state_lock(state);
    execution->owner = icall;
    execution->on_done = on_done;
    execution->on_start = hp_job_trace ? hp_job_trace_begin : NULL;
    if (hp_job.watches)
        execution->since_ns = hp_clock_ns();
    hp_execution_submit(state->comm, execution, choice->algorithm, call, &setting);
    hp_comm_state_unlock(state);
    return MPI_SUCCESS;
}

static int run(const hp_ticket_t *ticket, const hp_call_t *call, MPI_Comm comm, MPI_Request *request)
{
    icall_t *icall = create(ticket, comm);
    return icall ? start(icall, ticket, call, request) : MPI_ERR_NO_MEM;
}

static int run_bcast(const hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                     MPI_Comm comm, MPI_Request *request)
{
    icall_t *icall = create(ticket, comm);
    if (!icall)
        return MPI_ERR_NO_MEM;
    const int code = hp_packed_init(&icall->packed, ticket, buffer, count, datatype, root);
    if (code != MPI_SUCCESS)
        return give_up(icall, comm, code);
    const hp_call_t call = hp_call_bcast(ticket, icall->packed.bytes ? icall->packed.bytes : buffer, root);
    return start(icall, ticket, &call, request);
}

static int run_barrier(const hp_ticket_t *ticket, MPI_Comm comm, MPI_Request *request)
{
    const hp_call_t call = hp_call_barrier();
    return run(ticket, &call, comm, request);
}

static int finish(const hp_ticket_t *ticket, int code)
{
    hp_ticket_count(ticket, ticket->start_ns ? hp_clock_ns() - ticket->start_ns : 0);
    return code;
}

/* As RUN_OR_PASS of the blocking ones. Where ranks take turns a collective moves on only while somebody waits for
 * it. */
#define START_OR_PASS(ticket, collective_id, decision, taken, passed)                                        \
    do {                                                                                                     \
        if (hp_job.passes_at_once[collective_id] || hp_ranks_take_turns) {                                   \
            hp_stats_count(collective_id, HP_STATS_BIN_UNKNOWN,                                              \
                           hp_ranks_take_turns ? HP_OUTCOME_INACTIVE : HP_OUTCOME_ONE_NODE);                 \
            return (passed);                                                                                 \
        }                                                                                                    \
        const int code_ = HP_TAKE_OR_PASS(ticket, decision, taken, passed);                                  \
        return finish(&(ticket), code_);                                                                     \
    } while (0)

int hp_mpi_ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    START_OR_PASS(ticket, HP_BCAST, hp_decide_bcast(&ticket, count, datatype, root, comm),
                  run_bcast(&ticket, buffer, count, datatype, root, comm, request),
                  P(Ibcast)(buffer, count, datatype, root, comm, request));
}

int hp_mpi_ireduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root,
                   MPI_Comm comm, MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    hp_call_t call = {.collective = HP_REDUCE};
    START_OR_PASS(
        ticket, HP_REDUCE, hp_decide_reduction(&ticket, &call, send, recv, count, datatype, op, root, comm),
        run(&ticket, &call, comm, request), P(Ireduce)(send, recv, count, datatype, op, root, comm, request));
}

int hp_mpi_iallreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    hp_call_t call = {.collective = HP_ALLREDUCE};
    START_OR_PASS(
        ticket, HP_ALLREDUCE, hp_decide_reduction(&ticket, &call, send, recv, count, datatype, op, 0, comm),
        run(&ticket, &call, comm, request), P(Iallreduce)(send, recv, count, datatype, op, comm, request));
}

int hp_mpi_ibarrier(MPI_Comm comm, MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    START_OR_PASS(ticket, HP_BARRIER, hp_decide_barrier(&ticket, comm), run_barrier(&ticket, comm, request),
                  P(Ibarrier)(comm, request));
}

#if HP_HAS_LARGE_COUNT
int hp_mpi_ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    START_OR_PASS(ticket, HP_BCAST, hp_decide_bcast(&ticket, count, datatype, root, comm),
                  run_bcast(&ticket, buffer, count, datatype, root, comm, request),
                  P(Ibcast_c)(buffer, count, datatype, root, comm, request));
}

int hp_mpi_ireduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     int root, MPI_Comm comm, MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    hp_call_t call = {.collective = HP_REDUCE};
    START_OR_PASS(ticket, HP_REDUCE,
                  hp_decide_reduction(&ticket, &call, send, recv, count, datatype, op, root, comm),
                  run(&ticket, &call, comm, request),
                  P(Ireduce_c)(send, recv, count, datatype, op, root, comm, request));
}

int hp_mpi_iallreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Request *request)
{
    hp_ticket_t ticket = {.nonblocking = true};
    hp_call_t call = {.collective = HP_ALLREDUCE};
    START_OR_PASS(
        ticket, HP_ALLREDUCE, hp_decide_reduction(&ticket, &call, send, recv, count, datatype, op, 0, comm),
        run(&ticket, &call, comm, request), P(Iallreduce_c)(send, recv, count, datatype, op, comm, request));
}
#endif
