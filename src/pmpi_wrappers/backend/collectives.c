/* collectives: decide, run or pass through, count.
 *
 * The decision uses only what is the same on all ranks: the communicator, the size in bytes (count times type
 * size; a bcast may have another count and datatype on each rank, but not another size, PITFALLS 12), op and
 * datatype of a reduction, root. After the first message a call completes or reports an error; it never falls
 * back. */
#include "pmpi_wrappers/backend/collectives.h"

#include <stdlib.h>
#include "base/clock.h"
#include "hier/selection/select.h"
#include "hier/stats.h"
#include "pmpi_wrappers/backend/comm_state.h"
#include "pmpi_wrappers/backend/datatypes.h"
#include "pmpi_wrappers/backend/job.h"
#include "pmpi_wrappers/backend/job_trace.h"

/* One call from its entry to its return. */
typedef struct {
    hp_collective_t collective;
    hp_outcome_t outcome;
    int error; /* to be returned, when the outcome is HP_OUTCOME_FAILED */
    unsigned bin;
    uint64_t bytes;
    uint64_t start_ns;
    hp_comm_state_t *state;
    const hp_named_type_t *named; /* the datatype, if it is one */
    hp_choice_t choice;
} ticket_t;

/* The communicator, as far as nothing but local facts is needed. */
static hp_outcome_t decide_comm(ticket_t *ticket, MPI_Comm comm)
{
    ticket->bin = HP_STATS_BIN_UNKNOWN;
    if (!hp_job.active)
        return HP_OUTCOME_INACTIVE;
    if (hp_job.knobs.stats || hp_job.explains)
        ticket->start_ns = hp_clock_ns();
    hp_comm_state_t *state = ticket->state = hp_comm_state_find(comm);
    if (!state)
        return HP_OUTCOME_INVALID;
    if (state->always == HP_OUTCOME_FAILED)
        P(Comm_call_errhandler)(comm, ticket->error = MPI_ERR_NO_MEM);
    return state->always;
}

/* The size is known: may the call be taken? Sets the communicator up when it is time. */
static hp_outcome_t decide_size(ticket_t *ticket, MPI_Comm comm)
{
    hp_comm_state_t *state = ticket->state;
    const hp_knobs_t *knobs = hp_comm_state_knobs(state);
    if (state->is_set_up)
        return HP_OUTCOME_TAKEN;
    hp_outcome_t outcome = hp_select_possible(knobs, ticket->collective, ticket->bytes, hp_job.one_node);
    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    if (++state->eligible_calls < (uint64_t)knobs->setup_calls &&
        ticket->bytes < (uint64_t)knobs->setup_bytes && !knobs->reproducible)
        return HP_OUTCOME_WARM_UP;
    ticket->error = hp_comm_state_set_up(state, comm);
    if (ticket->error != MPI_SUCCESS)
        return HP_OUTCOME_FAILED;
    return state->always;
}

/* Last of the decision, when nothing else can make the call pass: the selection counts it. */
static hp_outcome_t choose(ticket_t *ticket, MPI_Comm comm)
{
    const hp_outcome_t outcome =
        hp_select(ticket->state->comm, ticket->collective, ticket->bytes, &ticket->choice);

    if (outcome == HP_OUTCOME_FAILED)
        P(Comm_call_errhandler)(comm, ticket->error = MPI_ERR_NO_MEM);
    if (ticket->choice.is_timed && !ticket->start_ns)
        ticket->start_ns = hp_clock_ns();
    return outcome;
}

/* Everything but the buffers and the reduction: takes the communicator's side of the decision. */
static hp_outcome_t decide(ticket_t *ticket, int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    MPI_Count type_bytes = 0;

    hp_outcome_t outcome = decide_comm(ticket, comm);
    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    hp_comm_state_t *state = ticket->state;
    ticket->named = hp_datatype_named(datatype);
    if (ticket->named)
        type_bytes = (MPI_Count)ticket->named->type.bytes;
    if (count < 0 || datatype == MPI_DATATYPE_NULL || root < 0 || root >= state->size ||
        (!ticket->named && P(Type_size_x)(datatype, &type_bytes) != MPI_SUCCESS) || type_bytes < 0 ||
        __builtin_mul_overflow((uint64_t)count, (uint64_t)type_bytes, &ticket->bytes))
        return HP_OUTCOME_INVALID;
    ticket->bin = hp_stats_bin(ticket->bytes);
    if (ticket->bytes == 0)
        return HP_OUTCOME_EMPTY;
    outcome = decide_size(ticket, comm);
    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    if (!ticket->named && !hp_datatype_is_committed(datatype, state->private_comm))
        return HP_OUTCOME_INVALID;
    return HP_OUTCOME_TAKEN;
}

static void count_call(const ticket_t *ticket, uint64_t ns)
{
    hp_stats_count(ticket->collective, ticket->bin, ticket->outcome);
    hp_stats_bin_t *bin = &hp_stats[ticket->collective][ticket->bin];
    if (ticket->outcome == HP_OUTCOME_TAKEN)
        hp_stats_add(&bin->taken_bytes, ticket->bytes);
    if (hp_job.knobs.stats)
        __atomic_fetch_add(ticket->outcome == HP_OUTCOME_TAKEN ? &bin->taken_ns : &bin->passed_ns, ns,
                           __ATOMIC_RELAXED);
}

/* Waits for what was started on the engine. */
static int complete(hp_comm_state_t *state, hp_status_t status, MPI_Comm comm)
{
    if (status == HP_OK)
        status = hp_comm_wait(state->comm);
    return status == HP_OK ? MPI_SUCCESS : hp_comm_state_report(state, comm, status);
}

/* Runs the call on the engine. */
static int run(ticket_t *ticket, const hp_call_t *call, MPI_Comm comm)
{
    hp_comm_state_t *state = ticket->state;
    const hp_choice_t *choice = &ticket->choice;
    hp_trace_call_t *traced = NULL;

    state->comm->sequence++;
    if (__builtin_expect(hp_job_trace != NULL, 0)) {
        traced = hp_job_trace_begin(state, call, choice->algorithm, choice->setting);
        hp_request_record(state->comm->request, hp_job_trace, traced);
    }
    const int code = complete(state, choice->algorithm->start(state->comm, call, choice->setting), comm);
    if (traced)
        hp_job_trace_end(traced);
    return code;
}

/* ---- the guard ---- */

/* The maximum of the guard's times over the ranks, by the library's own allreduce: it needs no more of the MPI
 * below than the collectives that are taken. */
static int agree_on_times(hp_comm_state_t *state, hp_guard_t *guard, unsigned count, MPI_Comm comm)
{
    hp_call_t call = {.collective = HP_ALLREDUCE,
                      .send = guard->us,
                      .recv = guard->us,
                      .count = count,
                      .type = hp_datatype_named(MPI_DOUBLE)->type,
                      .op = HP_HANDLE(MPI_MAX)};
    hp_setting_t setting;

    hp_reduction_describe(MPI_MAX, MPI_DOUBLE, &call.type, &call.commutative, &call.kernel);
    hp_setting_default(&setting);
    setting.shapes.shape[HP_LEVEL_NODE] = HP_SHAPE_BINOMIAL;
    state->comm->sequence++;
    hp_request_record(state->comm->request, NULL, NULL);
    const int code = complete(state, hp_allreduce_han_start(state->comm, &call, &setting), comm);
    if (code == MPI_SUCCESS)
        hp_guard_agreed(guard);
    return code;
}

/* Behind every call: counts it, and hands its time to whom it is for. Returns code, or what went wrong here. */
static int finish(ticket_t *ticket, int code, MPI_Comm comm)
{
    hp_bin_t *bin = ticket->choice.bin;
    const uint64_t ns = ticket->start_ns ? hp_clock_ns() - ticket->start_ns : 0;
    unsigned count;

    count_call(ticket, ns);
    if (!ticket->start_ns || !bin ||
        ticket->outcome == HP_OUTCOME_FAILED) /* most calls: nobody asks how long */
        return code;
    const double us = (double)ns / 1000.0;
    bin->us[ticket->choice.slot] += us;
    if (ticket->choice.is_timed && hp_guard_record(&bin->guard, us, &count)) {
        const int agreed = agree_on_times(ticket->state, &bin->guard, count, comm);
        bin->agreements++;
        if (hp_job.explains)
            bin->agreements_us += (double)(hp_clock_ns() - ticket->start_ns) / 1000.0 - us;
        return code == MPI_SUCCESS ? agreed : code;
    }
    return code;
}

/* ---- bcast ---- */

static int run_bcast(ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                     MPI_Comm comm)
{
    static const hp_type_t byte = {.bytes = 1, .extent = 1, .true_lb = 0, .true_extent = 1};
    const bool is_root = root == ticket->state->rank;
    hp_call_t call = {
        .collective = HP_BCAST, .recv = buffer, .count = ticket->bytes, .type = byte, .root = (uint32_t)root};
    char *packed = NULL;
    hp_type_t type;
    int code = MPI_SUCCESS;

    call.type.handle = HP_HANDLE(MPI_BYTE);
    /* Whatever the type is like, the call has to be taken: other ranks may have a plain one. */
    const bool plain = ticket->named && ticket->named->contiguous;
    const bool described = plain || hp_datatype_describe(datatype, &type);
    if (!plain && (!described || !hp_datatype_is_contiguous(datatype, &type))) {
        MPI_Count lb, extent;
        packed = malloc(ticket->bytes);
        if (!described) {
            P(Type_get_extent_x)(datatype, &lb, &extent);
            type = (hp_type_t){.handle = HP_HANDLE(datatype),
                               .bytes = (size_t)(ticket->bytes / (uint64_t)count),
                               .extent = (size_t)extent};
        }
        call.recv = packed;
        code = !packed   ? MPI_ERR_NO_MEM
               : is_root ? hp_datatype_pack(true, buffer, count, &type, packed, ticket->state->private_comm,
                                            ticket->state->rank)
                         : MPI_SUCCESS;
        if (code != MPI_SUCCESS) {
            free(packed);
            P(Comm_call_errhandler)(comm, code);
            return code;
        }
    }
    code = run(ticket, &call, comm);
    if (packed && !is_root && code == MPI_SUCCESS)
        code = hp_datatype_pack(false, buffer, count, &type, packed, ticket->state->private_comm,
                                ticket->state->rank);
    free(packed);
    return code;
}

static hp_outcome_t decide_bcast(ticket_t *ticket, int64_t count, MPI_Datatype datatype, int root,
                                 MPI_Comm comm)
{
    ticket->collective = HP_BCAST;
    hp_outcome_t outcome = decide(ticket, count, datatype, root, comm);
    if (outcome == HP_OUTCOME_TAKEN)
        outcome = choose(ticket, comm);
    return ticket->outcome = outcome;
}

/* ---- reductions ---- */

static bool describe_type(const ticket_t *ticket, MPI_Datatype datatype, hp_type_t *out)
{
    if (!ticket->named)
        return hp_datatype_describe(datatype, out);
    *out = ticket->named->type;
    return true;
}

static hp_outcome_t decide_reduction(ticket_t *ticket, hp_call_t *call, const void *send, void *recv,
                                     int64_t count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    ticket->collective = call->collective;
    hp_outcome_t outcome = decide(ticket, count, datatype, root, comm);
    if (outcome == HP_OUTCOME_TAKEN) {
        const bool has_result = call->collective == HP_ALLREDUCE || root == ticket->state->rank;
        /* The same buffer twice is an error that most MPIs report; in place on a rank without result is
         * another. */
        if (ticket->state->gpu)
            outcome = HP_OUTCOME_GPU;
        else if (!describe_type(ticket, datatype, &call->type) ||
                 !hp_reduction_describe(op, datatype, &call->type, &call->commutative, &call->kernel))
            outcome = HP_OUTCOME_DATATYPE;
        else if ((has_result && recv == MPI_IN_PLACE) || (!has_result && send == MPI_IN_PLACE) ||
                 (has_result && send == recv && send != MPI_BOTTOM))
            outcome = HP_OUTCOME_INVALID;
        call->send = send == MPI_IN_PLACE ? recv : send;
        call->recv = recv;
        call->count = (size_t)count;
        call->op = HP_HANDLE(op);
        call->root = (uint32_t)root;
        if (outcome == HP_OUTCOME_TAKEN)
            outcome = choose(ticket, comm);
    }
    return ticket->outcome = outcome;
}

/* ---- barrier ---- */

static hp_outcome_t decide_barrier(ticket_t *ticket, MPI_Comm comm)
{
    ticket->collective = HP_BARRIER;
    hp_outcome_t outcome = decide_comm(ticket, comm);
    if (outcome == HP_OUTCOME_TAKEN) {
        ticket->bin = hp_stats_bin(0);
        outcome = decide_size(ticket, comm);
    }
    if (outcome == HP_OUTCOME_TAKEN)
        outcome = choose(ticket, comm);
    return ticket->outcome = outcome;
}

static int run_barrier(ticket_t *ticket, MPI_Comm comm)
{
    const hp_call_t call = {
        .collective = HP_BARRIER,
        .type = {.handle = HP_HANDLE(MPI_BYTE), .bytes = 1, .extent = 1, .true_lb = 0, .true_extent = 1},
        .commutative = true};
    return run(ticket, &call, comm);
}

/* ---- the wrapped functions ---- */

/* Passes at once where the whole job passes; else runs `taken` when the decision says so, returns what
 * failed, and runs `passed` otherwise; counts in any case. */
#define RUN_OR_PASS(ticket, comm, collective_id, decision, taken, passed)                                    \
    do {                                                                                                     \
        if (hp_job.passes_at_once[collective_id]) {                                                          \
            hp_stats_count(collective_id, HP_STATS_BIN_UNKNOWN, HP_OUTCOME_ONE_NODE);                        \
            return (passed);                                                                                 \
        }                                                                                                    \
        int code_ = (decision) == HP_OUTCOME_TAKEN          ? (taken)                                        \
                    : (ticket).outcome == HP_OUTCOME_FAILED ? (ticket).error                                 \
                                                            : (passed);                                      \
        return finish(&(ticket), code_, comm);                                                               \
    } while (0)

int hp_mpi_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    ticket_t ticket = {0};
    RUN_OR_PASS(ticket, comm, HP_BCAST, decide_bcast(&ticket, count, datatype, root, comm),
                run_bcast(&ticket, buffer, count, datatype, root, comm),
                P(Bcast)(buffer, count, datatype, root, comm));
}

int hp_mpi_reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm)
{
    ticket_t ticket = {0};
    hp_call_t call = {.collective = HP_REDUCE};
    RUN_OR_PASS(ticket, comm, HP_REDUCE,
                decide_reduction(&ticket, &call, send, recv, count, datatype, op, root, comm),
                run(&ticket, &call, comm), P(Reduce)(send, recv, count, datatype, op, root, comm));
}

int hp_mpi_allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    ticket_t ticket = {0};
    hp_call_t call = {.collective = HP_ALLREDUCE};
    RUN_OR_PASS(ticket, comm, HP_ALLREDUCE,
                decide_reduction(&ticket, &call, send, recv, count, datatype, op, 0, comm),
                run(&ticket, &call, comm), P(Allreduce)(send, recv, count, datatype, op, comm));
}

int hp_mpi_barrier(MPI_Comm comm)
{
    ticket_t ticket = {0};
    RUN_OR_PASS(ticket, comm, HP_BARRIER, decide_barrier(&ticket, comm), run_barrier(&ticket, comm),
                P(Barrier)(comm));
}

#if HP_HAS_LARGE_COUNT
int hp_mpi_bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    ticket_t ticket = {0};
    RUN_OR_PASS(ticket, comm, HP_BCAST, decide_bcast(&ticket, count, datatype, root, comm),
                run_bcast(&ticket, buffer, count, datatype, root, comm),
                P(Bcast_c)(buffer, count, datatype, root, comm));
}

int hp_mpi_reduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm)
{
    ticket_t ticket = {0};
    hp_call_t call = {.collective = HP_REDUCE};
    RUN_OR_PASS(ticket, comm, HP_REDUCE,
                decide_reduction(&ticket, &call, send, recv, count, datatype, op, root, comm),
                run(&ticket, &call, comm), P(Reduce_c)(send, recv, count, datatype, op, root, comm));
}

int hp_mpi_allreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm)
{
    ticket_t ticket = {0};
    hp_call_t call = {.collective = HP_ALLREDUCE};
    RUN_OR_PASS(ticket, comm, HP_ALLREDUCE,
                decide_reduction(&ticket, &call, send, recv, count, datatype, op, 0, comm),
                run(&ticket, &call, comm), P(Allreduce_c)(send, recv, count, datatype, op, comm));
}
#endif
