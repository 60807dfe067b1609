/* collectives: the blocking ones: decide, run or pass through, count.
 *
 * After the first message a call completes or reports an error; it never falls back. */
#include "pmpi_wrappers/backend/calls/collectives.h"

#include <stdatomic.h>
#include "base/clock.h"
#include "base/log.h"
#include "hier/executions/execution.h"
#include "hier/planning/explain.h"
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/calls/decision.h"
#include "pmpi_wrappers/backend/calls/flight.h"
#include "pmpi_wrappers/backend/comms/arrival_agreement.h"
#include "pmpi_wrappers/backend/comms/machine_setup.h"
#include "pmpi_wrappers/backend/comms/wisdom_setup.h"
#include "pmpi_wrappers/backend/progress/deferred.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/progress/host_mockup.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/observe/job_trace.h"

/* Runs a collective on the engine. Returns the MPI's code; the error handler has run when it is an error. */
static int execute(hp_comm_state_t *state, const hp_algorithm_t *algorithm, const hp_call_t *call,
                   const hp_setting_t *setting, bool is_traced, MPI_Comm comm)
{
    hp_status_t status = HP_ERR_NO_MEM;

    hp_comm_state_lock(state);
    hp_execution_t *execution = hp_execution_get(state->comm);
    if (execution) {
        if (__builtin_expect(hp_job_trace != NULL, 0))
            execution->on_start = is_traced ? hp_job_trace_begin : NULL;
        if (__builtin_expect(hp_job.watches, 0))
            execution->since_ns = hp_clock_ns();
        hp_execution_submit(state->comm, execution, algorithm, call, setting);
        status = hp_execution_wait(state->comm, execution);
        hp_job_trace_end(execution);
        hp_execution_put(state->comm, execution);
    }
    hp_comm_state_unlock(state);
    hp_deferred_run(); /* while it waited, others moved on */
    return status == HP_OK ? MPI_SUCCESS : hp_comm_state_report(state, comm, status);
}

/* What the host MPI has to do with all ranks before the collective. Returns its code; an error has been reported. */
static int prepare(const hp_ticket_t *ticket, MPI_Comm comm)
{
    int code = MPI_SUCCESS;

    if (__builtin_expect(!ticket->state->takes_nonblocking, 0))
        code = hp_nonblocking_ask(ticket->state, comm, false);
    /* The module native makes communicators, which blocks in the host MPI. */
    if (code == MPI_SUCCESS && hp_host_collectives_enter &&
        hp_setting_uses(ticket->choice.setting, HP_MODULE_NATIVE))
        code = hp_host_collective_enter(comm, NULL);
    return code;
}

int hp_collective_run(hp_ticket_t *ticket, const hp_call_t *call, MPI_Comm comm)
{
    const hp_choice_t *choice = &ticket->choice;

    const int code = prepare(ticket, comm);
    if (code != MPI_SUCCESS) {
        hp_flight_count_missed(ticket->state);
        return code;
    }
    const hp_setting_t *setting = choice->setting;
    hp_setting_t room;
    const hp_algorithm_t *algorithm =
        hp_arrival_algorithm(ticket->state->comm, choice->algorithm, call, &setting, &room);
    return execute(ticket->state, algorithm, call, setting, true, comm);
}

/* What failed behind the collective alone has not been reported yet. */
int hp_collective_report_end(MPI_Comm comm, int code, int end)
{
    if (code == MPI_SUCCESS && end != MPI_SUCCESS)
        P(Comm_call_errhandler)(comm, end);
    return end;
}

static int run_bcast(hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                     MPI_Comm comm)
{
    hp_packed_t packed;

    if (hp_packed_is_needless(ticket)) {
        const hp_call_t call = hp_call_bcast(ticket, buffer, root);
        return hp_collective_run(ticket, &call, comm);
    }
    int code = hp_packed_init(&packed, ticket, buffer, count, datatype, root, true);
    if (code != MPI_SUCCESS)
        return hp_flight_miss(ticket->state, comm, code);
    const hp_call_t call = hp_packed_call(&packed, ticket, root);
    code = hp_collective_run(ticket, &call, comm);
    return hp_collective_report_end(comm, code, hp_packed_fini(&packed, ticket->state, code));
}

static int run_reduction(hp_ticket_t *ticket, hp_call_t *call, MPI_Comm comm)
{
    hp_staged_t staged;

    int code = hp_staged_begin(&staged, call, ticket->state);
    if (code != MPI_SUCCESS)
        return hp_flight_miss(ticket->state, comm, code);
    code = hp_collective_run(ticket, call, comm);
    return hp_collective_report_end(comm, code, hp_staged_end(&staged, ticket->state, code));
}

/* ---- the guard ---- */

/* Time has gone by on a communicator. Where it is worth it now to know the machine: what the guards have found so far holds for
 * the network that is known then. */
static int spend(hp_comm_state_t *state, double us, MPI_Comm comm)
{
    bool learned = false;

    if (!hp_machine_spend(state, us))
        return MPI_SUCCESS;
    int code = hp_host_collective_begin(comm);
    if (code == MPI_SUCCESS)
        code = hp_machine_learn(state, comm, &learned);
    if (learned)
        hp_wisdom_keep(state->comm);
    return code;
}

/* What the ranks agree on, by the library's own allreduce: it needs no more of the host MPI than the collectives that are taken. */
static int allreduce(hp_comm_state_t *state, double *values, size_t count, MPI_Op op, MPI_Comm comm)
{
    hp_call_t call = {.collective = HP_ALLREDUCE,
                      .send = values,
                      .recv = values,
                      .count = count,
                      .type = hp_datatype_named(MPI_DOUBLE)->type,
                      .op = HP_HANDLE(op)};
    hp_setting_t setting;

    hp_reduction_describe(op, MPI_DOUBLE, &call.type, &call.commutative, &call.kernel);
    hp_setting_default(&setting);
    setting.shapes.shape[HP_LEVEL_NODE] = HP_SHAPE_BINOMIAL;
    return execute(state, hp_algorithm_with(HP_ALLREDUCE, HP_TRAIT_PIPELINED), &call, &setting, false, comm);
}

/* The guard has fallen back from what is made for a network that is not as its file says. Rank 0 of the job says so, once. */
static void doubt_network(const hp_comm_state_t *state, hp_collective_t collective, const hp_bin_t *bin)
{
    static atomic_flag was_reported = ATOMIC_FLAG_INIT;
    const unsigned slot = hp_select_denies_network(state->comm, collective, bin);

    if (slot == HP_SLOTS || hp_job.rank != 0 || atomic_flag_test_and_set(&was_reported))
        return;
    hp_warn("HANPMPI_NETWORK: %s: %s of %llu bytes took %.0f us in the way that is made for this network, "
            "where %.0f us "
            "were expected; what is faster runs instead: expected the switches and rates that there are "
            "(hanpmpi_probe_network measures them)",
            hp_job.knobs.network, hp_collective_name(collective),
            (unsigned long long)bin->candidates.bytes.from, bin->guard.took[slot].median,
            bin->candidates.slot[slot].expected_us);
}

/* The maximum of the guard's times over the ranks, and of what they have seen of sizes that no rank knows of another. */
static int agree_on_times(hp_comm_state_t *state, hp_collective_t collective, hp_bin_t *bin, unsigned count,
                          MPI_Comm comm)
{
    hp_guard_t *guard = &bin->guard;
    const bool sees = hp_collective_is(collective, HP_OWN_SIZES);
    const bool is_news = guard->open || guard->is_rough; /* what comes out of it */

    if (sees) {
        const hp_seen_t seen = hp_select_seen(state->comm, collective);
        guard->us[count] = (double)seen.longest;
        guard->us[count + 1] = (double)seen.peers;
    }
    int code = allreduce(state, guard->us, count + (sees ? HP_GUARD_SEEN : 0), MPI_MAX, comm);
    if (code == MPI_SUCCESS) {
        const double spent_us = hp_guard_spent_us(guard);
        if (sees)
            hp_select_agree(state->comm, collective,
                            (hp_seen_t){(uint64_t)guard->us[count], (uint64_t)guard->us[count + 1]});
        hp_guard_agreed(guard);
        if (is_news && !guard->open) {
            hp_wisdom_keep_one(state->comm, collective, bin);
            doubt_network(state, collective, bin);
        }
        code = spend(state, spent_us, comm);
        hp_select_offer_model(state->comm, collective, bin);
    } else {
        hp_guard_lost(guard);
    }
    return code;
}

/* Who comes late? Behind every long call. */
static int check_late_ranks(const hp_ticket_t *ticket, int code, MPI_Comm comm)
{
    hp_comm_state_t *state = ticket->state;
    const bool is_looking = hp_arrival_is_looking(state->comm);
    const hp_arrival_step_t step =
        hp_arrival_count(state->comm, ticket->collective, ticket->entered_ns, is_looking ? hp_clock_ns() : 0);

    if (step == HP_ARRIVAL_GO_ON)
        return code;
    const int agreed = hp_arrival_agree(state, step, comm, allreduce);
    return code == MPI_SUCCESS ? agreed : code;
}

/* Behind every call: counts it, and hands its time to whom it is for. Returns code, or what went wrong here. */
int hp_collective_finish(hp_ticket_t *ticket, int code, MPI_Comm comm)
{
    hp_bin_t *bin = ticket->choice.bin;
    const uint64_t ns = ticket->start_ns ? hp_clock_ns() - ticket->start_ns : 0;
    unsigned count;

    hp_ticket_count(ticket, ns);
    if (bin && hp_arrival_counts(ticket->state->comm, ticket->collective, ticket->bytes) &&
        ticket->outcome != HP_OUTCOME_FAILED)
        code = check_late_ranks(ticket, code, comm);
    if (!ticket->start_ns || !bin ||
        ticket->outcome == HP_OUTCOME_FAILED) /* most calls: nobody asks how long */
        return code;
    const double us = (double)ns / 1000.0;
    bin->us[ticket->choice.slot] += us;
    if (ticket->choice.is_timed && hp_guard_record(&bin->guard, us, &count)) {
        const int agreed = agree_on_times(ticket->state, ticket->collective, bin, count, comm);
        bin->agreements++;
        if (hp_job.is_timed)
            bin->agreements_us += (double)(hp_clock_ns() - ticket->start_ns) / 1000.0 - us;
        return code == MPI_SUCCESS ? agreed : code;
    }
    return code;
}

/* ---- the wrapped functions ---- */

/* Each: is the call the host MPI's without a decision? *again: as hp_passes_at_once. */

static inline bool passes_bcast(const hp_decision_memo_t **again, const void *buffer, int64_t count,
                                MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return hp_passes_at_once(HP_BCAST, count, datatype, MPI_OP_NULL, root, buffer, buffer, comm, again);
}

static inline bool passes_reduce(const hp_decision_memo_t **again, const void *send, const void *recv,
                                 int64_t count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    const bool is_right = send != recv && send && send != MPI_IN_PLACE && recv != MPI_IN_PLACE;
    return hp_passes_at_once(HP_REDUCE, count, datatype, op, root, is_right, recv, comm, again);
}

static inline bool passes_allreduce(const hp_decision_memo_t **again, const void *send, const void *recv,
                                    int64_t count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    const bool is_right = send != recv && send && recv && recv != MPI_IN_PLACE;
    return hp_passes_at_once(HP_ALLREDUCE, count, datatype, op, 0, is_right, true, comm, again);
}

/* Each decides, and runs the call. Where it passes, nothing has happened. */

static int accelerate_bcast(hp_ticket_t *ticket, void *buffer, int64_t count, MPI_Datatype datatype, int root,
                            MPI_Comm comm)
{
    if (hp_decide_bcast(ticket, buffer, count, datatype, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run_bcast(ticket, buffer, count, datatype, root, comm);
}

static int accelerate_reduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                             MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    hp_call_t call = {.collective = HP_REDUCE};
    if (hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, root, comm) != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run_reduction(ticket, &call, comm);
}

static int accelerate_allreduce(hp_ticket_t *ticket, const void *send, void *recv, int64_t count,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    hp_call_t call = {.collective = HP_ALLREDUCE};
    const hp_outcome_t outcome = hp_decide_reduction(ticket, &call, send, recv, count, datatype, op, 0, comm);
    if (outcome == HP_OUTCOME_MOCKUP)
        return hp_host_mockup_allreduce(send, recv, (int)count, datatype, op, ticket->state->rank, comm);
    if (outcome != HP_OUTCOME_TAKEN)
        return ticket->error;
    return run_reduction(ticket, &call, comm);
}

/* An invalid call may be this rank's alone: it waits for nobody. */
int hp_collective_begin_passed(const hp_ticket_t *ticket, MPI_Comm comm)
{
    return ticket->outcome == HP_OUTCOME_INVALID ? MPI_SUCCESS : hp_host_collective_begin(comm);
}

/* What a call that passes at once needs is apart from the rest, which has much on its stack. */
#define NOINLINE __attribute__((noinline))

#define DEFINE(function, name, host, parameters, arguments)                                                  \
    static NOINLINE int decide_##function(const hp_decision_memo_t *again, HP_LIST parameters)               \
    {                                                                                                        \
        hp_ticket_t ticket = {.again = again};                                                               \
        int code = accelerate_##name(&ticket, HP_LIST arguments);                                            \
        if (hp_ticket_passes(&ticket)) {                                                                     \
            code = hp_collective_begin_passed(&ticket, comm);                                                \
            if (code == MPI_SUCCESS)                                                                         \
                code = P(host) arguments;                                                                    \
        }                                                                                                    \
        return hp_collective_finish(&ticket, code, comm);                                                    \
    }                                                                                                        \
    int function parameters                                                                                  \
    {                                                                                                        \
        const hp_decision_memo_t *again;                                                                     \
        if (!passes_##name(&again, HP_LIST arguments))                                                       \
            return decide_##function(again, HP_LIST arguments);                                              \
        const int code = hp_host_collective_begin(comm);                                                     \
        return code == MPI_SUCCESS ? P(host) arguments : code;                                               \
    }

#define HP_COUNT int
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_##name, name, host, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#if HP_HAS_LARGE_COUNT
#define HP_COUNT MPI_Count
#define HP_COLLECTIVE(name, host, parameters, arguments)                                                     \
    DEFINE(hp_mpi_##name##_c, name, host##_c, parameters, arguments)
#include "pmpi_wrappers/backend/calls/collectives.def"
#undef HP_COLLECTIVE
#undef HP_COUNT
#endif

static NOINLINE int decide_barrier(const hp_decision_memo_t *again, MPI_Comm comm)
{
    hp_ticket_t ticket = {.again = again};
    const hp_call_t call = hp_call_barrier();
    int code;

    if (hp_decide_barrier(&ticket, comm) == HP_OUTCOME_TAKEN)
        code = hp_collective_run(&ticket, &call, comm);
    else
        code = hp_ticket_passes(&ticket) ? hp_host_barrier(comm) : ticket.error;
    return hp_collective_finish(&ticket, code, comm);
}

int hp_mpi_barrier(MPI_Comm comm)
{
    const hp_decision_memo_t *again;

    if (hp_passes_at_once(HP_BARRIER, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, 0, true, true, comm, &again))
        return hp_host_barrier(comm);
    return decide_barrier(again, comm);
}
