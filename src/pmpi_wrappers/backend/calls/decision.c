#include "pmpi_wrappers/backend/calls/decision.h"

#include <stdlib.h>
#include "base/clock.h"
#include "hier/planning/arrival.h"
#include "hier/planning/foresight.h"
#include "pmpi_wrappers/backend/calls/check.h"
#include "pmpi_wrappers/backend/calls/agreement.h"
#include "pmpi_wrappers/backend/comms/self_comm.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/profile/recording.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/start/job.h"

/* HANPMPI_CHECK. Asked before what is to be compared is put together, which a call that passes would feel. */
static inline bool is_checked(void)
{
    return __builtin_expect(hp_job.knobs.check, 0);
}

/* Is the call one that the other ranks do not make? The error handler has run then. */
static bool is_refused(hp_ticket_t *ticket, hp_check_t check)
{
    check.collective = ticket->collective;
    check.form = ticket->persistent    ? HP_CHECK_PERSISTENT
                 : ticket->nonblocking ? HP_CHECK_NONBLOCKING
                                       : HP_CHECK_BLOCKING;
    ticket->bin = HP_STATS_BIN_UNKNOWN;
    ticket->error = hp_check(&check);
    return ticket->error != MPI_SUCCESS;
}

/* The communicator, as far as nothing but local facts is needed. */
static hp_outcome_t decide_comm(hp_ticket_t *ticket, MPI_Comm comm)
{
    ticket->bin = HP_STATS_BIN_UNKNOWN;
    /* Where ranks take turns a collective moves on only while somebody waits for it. */
    if (!hp_job.active || (ticket->nonblocking && hp_ranks_take_turns))
        return HP_OUTCOME_INACTIVE;
    if (hp_job.is_timed)
        ticket->start_ns = hp_clock_ns();
    hp_comm_state_t *state = ticket->state = hp_comm_state_find(comm);
    if (!state)
        return HP_OUTCOME_INVALID;
    if (state->always == HP_OUTCOME_FAILED)
        P(Comm_call_errhandler)(comm, ticket->error = MPI_ERR_NO_MEM);
    return state->always;
}

/* Whatever its outcome, the state is as all ranks know it. */
static hp_outcome_t set_up(hp_ticket_t *ticket, MPI_Comm comm)
{
    ticket->error = hp_set_up(ticket->state, comm);
    return ticket->error == MPI_SUCCESS ? ticket->state->always : HP_OUTCOME_FAILED;
}

/* A persistent one is never asked about again, so nothing is put off: sets the communicator up, and has the ranks agree at
 * once, unless it would pass whatever they say. */
static hp_outcome_t decide_persistent(hp_ticket_t *ticket, MPI_Comm comm)
{
    hp_comm_state_t *state = ticket->state;
    const hp_outcome_t why_not = hp_nonblocking_want();

    if (!hp_nonblocking_may(state))
        return why_not;
    if (!state->is_set_up) {
        const hp_outcome_t outcome = set_up(ticket, comm);
        if (outcome != HP_OUTCOME_TAKEN)
            return outcome;
    }
    if (!state->takes_nonblocking)
        ticket->error = hp_nonblocking_ask(state, comm, true);
    return ticket->error != MPI_SUCCESS ? HP_OUTCOME_FAILED
           : state->takes_nonblocking   ? HP_OUTCOME_TAKEN
                                        : why_not;
}

/* The size is known: may the call be taken, on whichever of the job's nodes the ranks are? Asked before anything that costs
 * more. */
static hp_outcome_t decide_possible(const hp_ticket_t *ticket)
{
    const hp_comm_state_t *state = ticket->state;
    const uint32_t size = (uint32_t)state->size, nodes = size < hp_job.nodes ? size : hp_job.nodes;
    return state->is_set_up
               ? HP_OUTCOME_TAKEN
               : hp_candidates_possible(hp_comm_state_knobs(state), ticket->collective, ticket->bytes, nodes);
}

/* What an earlier run gained by such calls, if the guard is to decide them, and the set-up is not asked for at once; < 0: not known. */
static double foresee(const hp_ticket_t *ticket, const hp_knobs_t *knobs)
{
    return knobs->guard && knobs->setup_calls > 1 && !hp_candidates_is_named(knobs, ticket->collective) &&
                   !hp_collective_is(ticket->collective, HP_OWN_SIZES)
               ? hp_foresight_gain((uint32_t)ticket->state->size, ticket->collective, ticket->bytes,
                                   !ticket->nonblocking)
               : -1;
}

/* Is the communicator used enough for a set-up to pay, which costs as much as many short calls, or a few long ones? Each call
 * that may be taken counts as a share of setup_calls, and its bytes as one of setup_bytes, until these come to 1. A long one
 * that an earlier run has gained much by is enough; one by which it gained less counts for so much less. */
static bool counts_enough(const hp_ticket_t *ticket, const hp_knobs_t *knobs)
{
    static const double long_share = 16, much = 1.0 / 3, little = 1.0 / 16;
    const double calls = knobs->setup_calls > 0 ? (double)knobs->setup_calls : 1;
    const double bytes = knobs->setup_bytes > 0 ? (double)knobs->setup_bytes : 1;
    const bool is_block = hp_collective_is(ticket->collective, HP_OF_BLOCKS);
    const double share = (double)ticket->bytes * (is_block ? ticket->state->size : 1) / bytes;
    double counts = 1 / calls + share;

    const double gain = foresee(ticket, knobs);
    if (gain >= much)
        counts = share * long_share >= 1 ? 1 : counts;
    else if (gain >= 0)
        counts *= gain / much > little ? gain / much : little;
    ticket->state->use += counts;
    return ticket->state->use > 1 - 1e-9; /* 32 times a 32nd */
}

/* It may. Sets the communicator up when it is time. arguments: HP_OUTCOME_TAKEN, or why they make the call pass. Such a one
 * may be this rank's alone, which will call again: it is not counted, nor agreed on. */
static hp_outcome_t decide_size(hp_ticket_t *ticket, MPI_Comm comm, hp_outcome_t arguments)
{
    hp_comm_state_t *state = ticket->state;
    const hp_knobs_t *knobs = hp_comm_state_knobs(state);
    if (arguments != HP_OUTCOME_TAKEN)
        return arguments;
    if (state->is_set_up) {
        if (__builtin_expect(!ticket->nonblocking || state->takes_nonblocking, 1))
            return HP_OUTCOME_TAKEN;
        return ticket->persistent ? decide_persistent(ticket, comm) : hp_nonblocking_want();
    }
    const bool is_time = counts_enough(ticket, knobs) || knobs->reproducible;
    if (ticket->persistent)
        return decide_persistent(ticket, comm);
    if (ticket->nonblocking) { /* does not wait for other ranks, as setting up does */
        hp_nonblocking_want();
        return HP_OUTCOME_WARM_UP;
    }
    return is_time ? set_up(ticket, comm) : HP_OUTCOME_WARM_UP;
}

/* Last of the decision, when nothing else can make the call pass: the selection counts it. */
static hp_outcome_t choose(hp_ticket_t *ticket, MPI_Comm comm)
{
    const uint64_t bytes = hp_collective_is(ticket->collective, HP_OWN_SIZES)
                               ? hp_select_longest(ticket->state->comm, ticket->collective)
                               : ticket->bytes;
    hp_outcome_t outcome = (ticket->nonblocking ? hp_select_untimed : hp_select)(
        ticket->state->comm, ticket->collective, bytes, &ticket->choice);

    /* The first one on a level makes a communicator there, which waits for the other ranks. */
    if (ticket->nonblocking && outcome == HP_OUTCOME_TAKEN &&
        hp_setting_uses(ticket->choice.setting, HP_MODULE_NATIVE))
        outcome = HP_OUTCOME_HINT;
    if (outcome == HP_OUTCOME_FAILED)
        P(Comm_call_errhandler)(comm, ticket->error = MPI_ERR_NO_MEM);
    if (ticket->choice.is_timed && !ticket->start_ns)
        ticket->start_ns = hp_clock_ns();
    if (hp_arrival_counts(ticket->state->comm, ticket->collective, bytes) &&
        hp_arrival_is_looking(ticket->state->comm))
        ticket->entered_ns = ticket->start_ns ? ticket->start_ns : hp_clock_ns();
    return outcome;
}

/* What a call says of its data: as far as that the size is known. */
static hp_outcome_t decide_data(hp_ticket_t *ticket, int64_t count, MPI_Datatype datatype, int root,
                                MPI_Comm comm)
{
    MPI_Count type_bytes = 0;

    const hp_outcome_t outcome = decide_comm(ticket, comm);
    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    ticket->named = hp_datatype_named(datatype);
    if (ticket->named)
        type_bytes = (MPI_Count)ticket->named->type.bytes;
    if (count < 0 || datatype == MPI_DATATYPE_NULL || root < 0 || root >= ticket->state->size ||
        (!ticket->named && P(Type_size_x)(datatype, &type_bytes) != MPI_SUCCESS) || type_bytes < 0 ||
        __builtin_mul_overflow((uint64_t)count, (uint64_t)type_bytes, &ticket->bytes))
        return HP_OUTCOME_INVALID;
    ticket->bin = hp_stats_bin(ticket->bytes);
    return ticket->bytes == 0 ? HP_OUTCOME_EMPTY : decide_possible(ticket);
}

/* What follows from the data, once the arguments are known to be right, or why the call passes. */
static hp_outcome_t decide(hp_ticket_t *ticket, hp_outcome_t arguments, MPI_Comm comm)
{
    const hp_outcome_t outcome = decide_size(ticket, comm, arguments);
    return outcome == HP_OUTCOME_TAKEN ? choose(ticket, comm) : outcome;
}

void hp_ticket_count(const hp_ticket_t *ticket, uint64_t ns)
{
    hp_stats_count(ticket->collective, ticket->bin, ticket->outcome);
    hp_stats_bin_t *bin = &hp_stats[ticket->collective][ticket->bin];
    if (ticket->outcome == HP_OUTCOME_TAKEN) {
        hp_stats_add(&bin->taken_bytes, ticket->bytes);
        hp_recording_accelerated();
    }
    if (hp_job.is_timed)
        __atomic_fetch_add(ticket->outcome == HP_OUTCOME_TAKEN ? &bin->taken_ns : &bin->passed_ns, ns,
                           __ATOMIC_RELAXED);
}

/* ---- the same call again ---- */

/* Will the same call come to the same, as long as its bin is settled, or, as the knobs have decided, until the communicator is set
 * up? Nobody looks then at what else may be said of it. */
static bool is_lasting(const hp_ticket_t *ticket, hp_outcome_t outcome, MPI_Op op)
{
    if (ticket->nonblocking || ticket->start_ns || is_checked() ||
        (op != MPI_OP_NULL && !hp_op_is_predefined(op)))
        return false;
    if (ticket->choice.bin)
        return !hp_arrival_counts(ticket->state->comm, ticket->collective, ticket->bytes);
    return (outcome == HP_OUTCOME_HINT || outcome == HP_OUTCOME_ONE_NODE || outcome == HP_OUTCOME_RULE) &&
           !ticket->state->is_set_up;
}

/* The decision is over. reduction: what is known of it; NULL: it is none. */
static void remember(const hp_ticket_t *ticket, hp_outcome_t outcome, int64_t count, MPI_Datatype datatype,
                     MPI_Op op, const hp_call_t *reduction)
{
    hp_comm_state_t *state = ticket->state;

    if (!is_lasting(ticket, outcome, op) || (datatype != MPI_DATATYPE_NULL && !ticket->named))
        return;
    state->decisions[ticket->collective][hp_decision_memo_place(count)] =
        (hp_decision_memo_t){.state = state,
                             .bin = ticket->choice.bin,
                             .outcome = outcome,
                             .count = count,
                             .datatype = datatype,
                             .op = op,
                             .bytes = ticket->bytes,
                             .stats_bin = ticket->bin,
                             .named = ticket->named,
                             .commutative = reduction && reduction->commutative,
                             .kernel = reduction ? reduction->kernel : NULL};
}

static hp_outcome_t decide_again(hp_ticket_t *ticket)
{
    const hp_decision_memo_t *memo = ticket->again;

    ticket->state = memo->state;
    ticket->named = memo->named;
    ticket->bytes = memo->bytes;
    ticket->bin = memo->stats_bin;
    return ticket->outcome = hp_select_settled(memo->bin, &ticket->choice);
}

/* ---- bcast ---- */

hp_outcome_t hp_decide_bcast(hp_ticket_t *ticket, const void *buffer, int64_t count, MPI_Datatype datatype,
                             int root, MPI_Comm comm)
{
    ticket->collective = HP_BCAST;
    if (ticket->again)
        return decide_again(ticket);
    if (is_checked() && is_refused(ticket, (hp_check_t){.recv = buffer,
                                                        .count = count,
                                                        .datatype = datatype,
                                                        .op = MPI_OP_NULL,
                                                        .root = root,
                                                        .comm = comm}))
        return ticket->outcome = HP_OUTCOME_FAILED;
    hp_outcome_t outcome = decide_data(ticket, count, datatype, root, comm);
    if (outcome == HP_OUTCOME_TAKEN)
        outcome = decide(
            ticket,
            hp_self_is_usable(ticket->named, buffer, datatype) ? HP_OUTCOME_TAKEN : HP_OUTCOME_INVALID, comm);
    remember(ticket, outcome, count, datatype, MPI_OP_NULL, NULL);
    return ticket->outcome = outcome;
}

static hp_type_t bytes_type(void)
{
    return (hp_type_t){
        .handle = HP_HANDLE(MPI_BYTE), .bytes = 1, .extent = 1, .true_lb = 0, .true_extent = 1};
}

hp_call_t hp_call_bcast(const hp_ticket_t *ticket, void *buffer, int root)
{
    return (hp_call_t){.collective = HP_BCAST,
                       .recv = buffer,
                       .count = ticket->bytes,
                       .type = bytes_type(),
                       .root = (uint32_t)root};
}

/* ---- reductions ---- */

static bool describe_type(const hp_ticket_t *ticket, MPI_Datatype datatype, hp_type_t *out)
{
    if (!ticket->named)
        return hp_datatype_describe(datatype, out);
    *out = ticket->named->type;
    return true;
}

/* HP_OUTCOME_TAKEN, or why the arguments make a reduction pass. A program may free its own operation or datatype while the
 * call is in execution, and an operation cannot be duplicated. */
static hp_outcome_t check_reduction(const hp_ticket_t *ticket, hp_call_t *call, const void *send,
                                    const void *recv, MPI_Datatype datatype, MPI_Op op, int root)
{
    const bool has_result = call->collective == HP_ALLREDUCE || root == ticket->state->rank;

    if (op == MPI_OP_NULL)
        return HP_OUTCOME_INVALID;
    if ((ticket->nonblocking && (!ticket->named || !hp_op_is_predefined(op))) ||
        !describe_type(ticket, datatype, &call->type) ||
        !hp_reduction_describe(op, datatype, &call->type, &call->commutative, &call->kernel))
        return HP_OUTCOME_DATATYPE;
    if (!hp_self_reduces_there(send, recv, has_result) || !hp_self_is_usable(ticket->named, send, datatype) ||
        (has_result && ticket->named && !recv))
        return HP_OUTCOME_INVALID;
    return HP_OUTCOME_TAKEN;
}

hp_outcome_t hp_decide_reduction(hp_ticket_t *ticket, hp_call_t *call, const void *send, void *recv,
                                 int64_t count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    ticket->collective = call->collective;
    call->send = send == MPI_IN_PLACE ? recv : send;
    call->recv = recv;
    call->count = (size_t)count;
    call->op = HP_HANDLE(op);
    call->root = (uint32_t)root;
    if (ticket->again) {
        call->type = ticket->again->named->type;
        call->commutative = ticket->again->commutative;
        call->kernel = ticket->again->kernel;
        return decide_again(ticket);
    }
    if (is_checked() && is_refused(ticket, (hp_check_t){.send = send,
                                                        .recv = recv,
                                                        .count = count,
                                                        .datatype = datatype,
                                                        .op = op,
                                                        .root = root,
                                                        .comm = comm}))
        return ticket->outcome = HP_OUTCOME_FAILED;
    hp_outcome_t outcome = decide_data(ticket, count, datatype, root, comm);
    if (outcome == HP_OUTCOME_TAKEN) {
        const hp_outcome_t arguments = check_reduction(ticket, call, send, recv, datatype, op, root);
        outcome = decide(ticket, arguments, comm);
    }
    remember(ticket, outcome, count, datatype, op, call);
    return ticket->outcome = outcome;
}

/* ---- blocks ---- */

/* What the ranks compare of such a call, of blocks of so many bytes. */
static hp_check_t check_of(const hp_block_call_t *call, uint64_t bytes, MPI_Comm comm)
{
    const hp_block_side_t *side = hp_block_call_known(call);
    const bool has_one_type = side && !side->counts;

    return (hp_check_t){.count = has_one_type ? side->count : 0,
                        .datatype = has_one_type ? side->type : MPI_DATATYPE_NULL,
                        .block_bytes = bytes,
                        .op = call->arguments.op,
                        .root = call->arguments.root,
                        .comm = comm};
}

/* HP_OUTCOME_TAKEN, or why the reduction passes. One that does not commute has no schedule where blocks differ. */
static hp_outcome_t check_block_reduction(hp_ticket_t *ticket, hp_block_call_t *call)
{
    hp_block_arguments_t *a = &call->arguments;
    hp_call_t *made = &call->call;

    /* In an exscan nothing comes to the first rank: its receive buffer may be anything. */
    if (a->collective == HP_EXSCAN && ticket->state->rank == 0 && a->send.buffer != MPI_IN_PLACE &&
        (a->recv.buffer == MPI_IN_PLACE || a->recv.buffer == a->send.buffer)) {
        a->recv.buffer = NULL;
        call->in_place = false;
    }
    if (a->op == MPI_OP_NULL)
        return HP_OUTCOME_INVALID;
    ticket->named = hp_datatype_named(a->recv.type);
    if ((ticket->nonblocking && (!ticket->named || !hp_op_is_predefined(a->op))) ||
        !describe_type(ticket, a->recv.type, &made->type) || made->type.bytes == 0 ||
        !hp_reduction_describe(a->op, a->recv.type, &made->type, &made->commutative, &made->kernel) ||
        (!made->commutative && hp_collective_is(a->collective, HP_BLOCKS_DIFFER)))
        return HP_OUTCOME_DATATYPE;
    const bool has_result = hp_block_side_count(&a->recv, (uint32_t)ticket->state->rank) > 0;
    if (a->recv.buffer == MPI_IN_PLACE ||
        (has_result && a->send.buffer == a->recv.buffer && a->send.buffer != MPI_BOTTOM))
        return HP_OUTCOME_INVALID;
    made->op = HP_HANDLE(a->op);
    return HP_OUTCOME_TAKEN;
}

/* Do the sides perhaps use the same memory, of so many bytes? */
static bool may_share(const hp_block_arguments_t *a, uint64_t bytes)
{
    const uintptr_t send = (uintptr_t)a->send.buffer, recv = (uintptr_t)a->recv.buffer;
    return send - recv < bytes || recv - send < bytes;
}

/* is_known: it is remembered, so its datatypes are the MPI's, whose elements take no more than twice their bytes. */
static hp_outcome_t check_blocks(hp_ticket_t *ticket, hp_block_call_t *call, bool is_known)
{
    if (hp_pattern_is(hp_collective_pattern(ticket->collective), HP_PATTERN_REDUCES))
        return check_block_reduction(ticket, call);
    call->call.type = bytes_type();
    call->call.commutative = true;
    if (is_known && !may_share(&call->arguments, 2 * ticket->bytes * (uint64_t)ticket->state->size))
        return HP_OUTCOME_TAKEN;
    return hp_block_call_is_aliased(call, ticket->state) && hp_self_refuses(ticket->collective, HP_ONE_BUFFER)
               ? HP_OUTCOME_INVALID
               : HP_OUTCOME_TAKEN;
}

/* The longest block of this rank's own, where only the statistics ask for it. */
static uint64_t longest_for_stats(const hp_block_call_t *call)
{
    uint64_t longest = 0, peers;

    if (hp_job.knobs.stats)
        hp_block_call_see(call, &longest, &peers);
    return longest;
}

/* What is known of the sizes is for those who choose for later calls, and says what this one may do with its blocks. */
static void use_sizes(const hp_ticket_t *ticket, hp_block_call_t *call, hp_outcome_t outcome)
{
    hp_comm_t *comm = ticket->state->comm;

    if (ticket->choice.is_timed) {
        hp_seen_t seen;
        hp_block_call_see(call, &seen.longest, &seen.peers);
        hp_select_see(comm, ticket->collective, seen);
    }
    call->row = outcome == HP_OUTCOME_TAKEN
                    ? hp_select_row(comm, ticket->collective, (uint32_t)call->arguments.root, &ticket->choice)
                    : 0;
}

/* What is remembered that holds for this call, too: of sizes of each rank's own one for all. NULL: it is not like the last one. */
static hp_block_memo_t *memo_for(const hp_block_arguments_t *a, hp_comm_state_t *state, bool own_sizes)
{
    return own_sizes ? hp_comm_state_memo(state, a->collective) : hp_block_call_before(a, state);
}

/* If it is remembered at all. Of sizes of each rank's own: that it passes, as long as the ranks have not agreed on another longest
 * block. */
static void remember_blocks(const hp_ticket_t *ticket, const hp_block_call_t *call, bool own_sizes)
{
    hp_block_memo_t *memo = memo_for(&call->arguments, ticket->state, own_sizes);

    if (!memo)
        return;
    memo->passes = HP_OUTCOME_TAKEN;
    memo->decided_by = own_sizes ? hp_select_longest(ticket->state->comm, ticket->collective) : ticket->bytes;
    memo->bin = is_lasting(ticket, ticket->outcome, call->arguments.op) ? ticket->choice.bin : NULL;
    memo->op = call->arguments.op;
    memo->stats_bin = ticket->bin;
}

/* The knobs and rules have decided so, from what stays as it is until the communicator is set up. */
static void remember_passing(const hp_ticket_t *ticket, const hp_block_call_t *call, hp_outcome_t outcome,
                             bool own_sizes)
{
    if (!is_lasting(ticket, outcome, call->arguments.op))
        return;
    if (!own_sizes)
        hp_block_call_remember(call, ticket->state, ticket->bytes);
    hp_block_memo_t *memo = memo_for(&call->arguments, ticket->state, own_sizes);
    if (memo) {
        memo->passes = outcome;
        memo->stats_bin = ticket->bin;
    }
}

bool hp_blocks_pass_at_once(const hp_block_arguments_t *a, MPI_Comm comm)
{
    hp_comm_state_t *state = hp_job.active ? hp_comm_state_find(comm) : NULL;

    if (!state)
        return false;
    if (state->always != HP_OUTCOME_TAKEN)
        return hp_comm_passes(state, a->collective);
    const bool own_sizes = hp_collective_is(a->collective, HP_OWN_SIZES);
    const hp_block_memo_t *memo = memo_for(a, state, own_sizes);
    if (!memo)
        return false;
    /* A wrong call is this rank's alone: it is neither counted nor entered. Other sizes than the last time may be wrong. */
    if (own_sizes && (state->is_set_up || hp_host_collectives_enter) &&
        !hp_block_arguments_are_right(a, state))
        return false;
    if (memo->passes != HP_OUTCOME_TAKEN && !state->is_set_up) {
        hp_stats_count(a->collective, memo->stats_bin, memo->passes);
        return true;
    }
    return memo->bin && memo->op == a->op &&
           (own_sizes ? memo->decided_by == hp_select_longest(state->comm, a->collective)
                      : !may_share(a, memo->decided_by * (uint64_t)state->size)) &&
           hp_select_is_settled(memo->bin, memo->decided_by) &&
           hp_bin_passes(memo->bin, a->collective, memo->stats_bin);
}

static hp_outcome_t decide_blocks(hp_ticket_t *ticket, hp_block_call_t *call, MPI_Comm comm)
{
    const bool own_sizes = hp_collective_is(ticket->collective, HP_OWN_SIZES);
    hp_outcome_t outcome = decide_comm(ticket, comm);

    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    const bool is_known = hp_block_call_recall(call, ticket->state, &ticket->bytes);
    if (!is_known && !hp_block_call_bytes(call, ticket->state, &ticket->bytes))
        return HP_OUTCOME_INVALID;
    const uint64_t counted = own_sizes ? longest_for_stats(call) : ticket->bytes;
    ticket->bin = hp_stats_bin(counted);
    if (ticket->bytes == 0 && !own_sizes)
        return HP_OUTCOME_EMPTY;
    outcome = decide_possible(ticket);
    if (outcome != HP_OUTCOME_TAKEN) {
        remember_passing(ticket, call, outcome, own_sizes);
        return outcome;
    }
    if (!is_known && !hp_block_call_is_committed(call))
        return HP_OUTCOME_INVALID;
    outcome = decide_size(ticket, comm, check_blocks(ticket, call, is_known));
    if (outcome != HP_OUTCOME_TAKEN)
        return outcome;
    if (!is_known)
        hp_block_call_remember(call, ticket->state, ticket->bytes);
    outcome = choose(ticket, comm);
    if (own_sizes)
        use_sizes(ticket, call, outcome);
    remember_blocks(ticket, call, own_sizes);
    ticket->bytes = counted; /* what decides is over */
    return outcome;
}

/* Is the call for a check? On an intercommunicator its lists are as long as the other group is large. */
static bool are_right(hp_ticket_t *ticket, hp_block_call_t *call, uint64_t *bytes, MPI_Comm comm)
{
    ticket->state = hp_job.active ? hp_comm_state_find(comm) : NULL;
    return ticket->state && ticket->state->always != HP_OUTCOME_INTERCOMM &&
           hp_block_call_bytes(call, ticket->state, bytes) && hp_block_call_is_committed(call) &&
           check_blocks(ticket, call, false) != HP_OUTCOME_INVALID;
}

hp_outcome_t hp_decide_blocks(hp_ticket_t *ticket, hp_block_call_t *call, MPI_Comm comm)
{
    uint64_t bytes;

    ticket->collective = call->arguments.collective;
    if (is_checked() && are_right(ticket, call, &bytes, comm) &&
        is_refused(ticket, check_of(call, bytes, comm)))
        return ticket->outcome = HP_OUTCOME_FAILED;
    return ticket->outcome = decide_blocks(ticket, call, comm);
}

/* ---- barrier ---- */

hp_outcome_t hp_decide_barrier(hp_ticket_t *ticket, MPI_Comm comm)
{
    ticket->collective = HP_BARRIER;
    if (ticket->again)
        return decide_again(ticket);
    if (is_checked() &&
        is_refused(ticket, (hp_check_t){.datatype = MPI_DATATYPE_NULL, .op = MPI_OP_NULL, .comm = comm}))
        return ticket->outcome = HP_OUTCOME_FAILED;
    hp_outcome_t outcome = decide_comm(ticket, comm);
    if (outcome == HP_OUTCOME_TAKEN) {
        ticket->bin = hp_stats_bin(0);
        outcome = decide_possible(ticket);
    }
    if (outcome == HP_OUTCOME_TAKEN)
        outcome = decide_size(ticket, comm, HP_OUTCOME_TAKEN);
    if (outcome == HP_OUTCOME_TAKEN)
        outcome = choose(ticket, comm);
    remember(ticket, outcome, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, NULL);
    return ticket->outcome = outcome;
}

hp_call_t hp_call_barrier(void)
{
    return (hp_call_t){.collective = HP_BARRIER, .type = bytes_type(), .commutative = true};
}
