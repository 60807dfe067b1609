/* test_progress_threads: backend/progress.c as it is, with threads in the place of all that calls it: threads that are
 * the ranks' programs, which call collectives, look, and wait, and helper threads that move on what there is. Also built
 * under the thread sanitizer (preset tsan): a communicator must never be in two hands.
 *
 * All ranks live in one process and are on one list, so every helper moves every rank on. Two communicators: a rank may
 * wait for a collective of one while the other one has to move. Messages go through mailboxes; on the second machine
 * the ranks share a node's memory, and collectives of a communicator run one after the other. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"
#include "hier/executions/execution.h"
#include "mailbox.h"
#include "pmpi_wrappers/backend/progress/progress.h"

#ifdef __SANITIZE_THREAD__ /* which finds a race that comes once, and takes 20 times as long */
enum { ROUNDS = 150 };
#else
enum { ROUNDS = 400 };
#endif
enum { RANKS = 4, COMMS = 2, HELPERS = 2, MOST_ELEMENTS = 60, MOST_IN_FLIGHT = 24 };

typedef struct {
    const char *machine;
    bool shares_memory;
    uint64_t seed;
} world_t;

/* A collective of one rank, until it has seen that it is done. */
typedef struct {
    hp_comm_state_t *state;
    uint32_t round;
    hp_call_t call;
    hp_status_t status;
    _Atomic bool done;
    uint64_t send[MOST_ELEMENTS], recv[MOST_ELEMENTS];
} icall_t;

typedef struct {
    const world_t *world;
    uint32_t rank;
    hp_comm_state_t states[COMMS];
    icall_t *in_flight[MOST_IN_FLIGHT];
    uint32_t count, most; /* in flight; at a time, at most */
} member_t;

_Thread_local unsigned hp_comm_states_locked; /* of comm_state.c, which needs an MPI */

static _Atomic uint32_t entered[ROUNDS];
static _Atomic bool is_over;
static _Atomic uint32_t moved_by_helpers;

static _Noreturn void give_up(uint32_t rank, uint32_t round, const char *what)
{
    fprintf(stderr, "rank %u, round %u: %s\n", rank, round, what); /* the others would wait for ever */
    abort();
}

/* ---- a collective ---- */

static uint64_t value_of(uint32_t round, uint32_t rank, size_t i)
{
    return (round + 1) * 1000003ull + rank * 1009 + i;
}

static uint64_t expected_of(const icall_t *icall, size_t i)
{
    uint64_t sum = 0;
    if (icall->call.collective == HP_BCAST)
        return value_of(icall->round, icall->call.root, i);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        sum += value_of(icall->round, rank, i);
    return sum;
}

/* The same on all ranks: everything is drawn from the round. */
static const hp_algorithm_t *draw(check_random_t *random, hp_call_t *call, hp_setting_t *setting)
{
    static const size_t segment_bytes[] = {16, 64, 1024};

    *call = (hp_call_t){.collective = (hp_collective_t)check_random_below(random, HP_PIPELINED_COUNT),
                        .type = {.bytes = 8, .extent = 8, .true_extent = 8},
                        .commutative = true};
    unsigned count = 0;
    while (hp_algorithm(call->collective, count))
        count++;
    const hp_algorithm_t *algorithm = hp_algorithm(call->collective, check_random_below(random, count));
    *setting = (hp_setting_t){.segment_bytes = segment_bytes[check_random_below(random, 3)],
                              .trees = 1 + check_random_below(random, 4),
                              .leaders = 1,
                              .sends_per_child = 1 + check_random_below(random, 2),
                              .recvs_per_parent = 1 + check_random_below(random, 2),
                              .window_segments = 1 + check_random_below(random, 8)};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        setting->modules.module[level] =
            (uint8_t)(level == HP_LEVEL_NODE ? HP_MODULE_P2P : HP_MODULE_SHM + check_random_below(random, 2));
    if (call->collective == HP_BCAST || call->collective == HP_REDUCE)
        call->root = check_random_below(random, RANKS);
    if (call->collective != HP_BARRIER)
        call->count = 1 + check_random_below(random, MOST_ELEMENTS - 1);
    return algorithm;
}

static icall_t *prepare(member_t *member, uint32_t round, const hp_call_t *call)
{
    icall_t *icall = calloc(1, sizeof *icall);
    if (!icall)
        abort();
    icall->round = round;
    icall->call = *call;
    for (size_t i = 0; i < call->count; i++) {
        icall->send[i] = value_of(round, member->rank, i);
        if (call->collective == HP_BCAST && member->rank == call->root)
            icall->recv[i] = icall->send[i];
    }
    if (call->collective == HP_REDUCE || call->collective == HP_ALLREDUCE)
        icall->call.send = icall->send;
    if (call->collective == HP_BCAST || call->collective == HP_ALLREDUCE ||
        (call->collective == HP_REDUCE && member->rank == call->root))
        icall->call.recv = icall->recv;
    return icall;
}

static void check(const member_t *member, const icall_t *icall)
{
    const hp_call_t *call = &icall->call;

    if (icall->status != HP_OK)
        give_up(member->rank, icall->round, hp_status_text(icall->status));
    if (call->collective == HP_BARRIER && atomic_load(&entered[icall->round]) < RANKS)
        give_up(member->rank, icall->round, "left a barrier that not all had entered");
    for (size_t i = 0; i < call->count; i++)
        if ((call->recv && icall->recv[i] != expected_of(icall, i)) ||
            icall->send[i] != value_of(icall->round, member->rank, i))
            give_up(member->rank, icall->round, "wrong result");
}

/* Runs on whichever thread moves the communicator on; the program may read the buffers from then on. */
static void on_done(hp_comm_t *comm, hp_execution_t *execution)
{
    icall_t *icall = execution->owner;
    icall->status = execution->status;
    hp_execution_put(comm, execution);
    hp_progress_end(icall->state);
    atomic_store_explicit(&icall->done, true, memory_order_release);
}

/* ---- the program of a rank: as nonblocking.c and collectives.c do it ---- */

static void call_nonblocking(member_t *member, hp_comm_state_t *state, icall_t *icall,
                             const hp_algorithm_t *algorithm, const hp_setting_t *setting)
{
    icall->state = state;
    hp_comm_state_lock(state);
    hp_execution_t *execution = hp_execution_get(state->comm);
    hp_comm_state_unlock(state);
    if (!execution)
        abort();
    hp_progress_begin(state);
    hp_comm_state_lock(state);
    execution->owner = icall;
    execution->on_done = on_done;
    hp_execution_submit(state->comm, execution, algorithm, &icall->call, setting);
    hp_comm_state_unlock(state);
    member->in_flight[member->count++] = icall;
    if (member->count > member->most)
        member->most = member->count;
}

static void call_blocking(member_t *member, hp_comm_state_t *state, icall_t *icall,
                          const hp_algorithm_t *algorithm, const hp_setting_t *setting)
{
    hp_comm_state_lock(state);
    hp_execution_t *execution = hp_execution_get(state->comm);
    if (!execution)
        abort();
    hp_execution_submit(state->comm, execution, algorithm, &icall->call, setting);
    icall->status = hp_execution_wait(state->comm, execution);
    hp_execution_put(state->comm, execution);
    hp_comm_state_unlock(state);
    check(member, icall);
    free(icall);
}

static void wait_for(member_t *member, uint32_t which)
{
    icall_t *icall = member->in_flight[which];
    while (!atomic_load_explicit(&icall->done, memory_order_acquire))
        if (!hp_progress_poll())
            sched_yield();
    check(member, icall);
    free(icall);
    member->in_flight[which] = member->in_flight[--member->count];
}

static void *run_member(void *argument)
{
    member_t *member = argument;
    check_random_t random = {member->world->seed * 2 + 1};
    check_random_t own = {member->world->seed * 64 + 2 * member->rank + 1};

    for (uint32_t round = 0; round < ROUNDS; round++) {
        hp_call_t call;
        hp_setting_t setting;
        const hp_algorithm_t *algorithm = draw(&random, &call, &setting);
        hp_comm_state_t *state = &member->states[check_random_below(&random, COMMS)];
        const bool blocking = check_random_below(&random, 6) == 0;
        icall_t *icall = prepare(member, round, &call);
        atomic_fetch_add(&entered[round], 1);
        if (blocking)
            call_blocking(member, state, icall, algorithm, &setting);
        else
            call_nonblocking(member, state, icall, algorithm, &setting);
        if (check_random_below(&own, 8) == 0)
            usleep(check_random_below(&own, 500)); /* computes: only the helpers move anything */
        while (member->count && (member->count == MOST_IN_FLIGHT || check_random_below(&own, 3) == 0))
            wait_for(member, check_random_below(&own, member->count));
    }
    for (unsigned i = 0; i < COMMS; i++)
        hp_progress_leave(&member->states[i]);
    while (member->count)
        wait_for(member, 0); /* they are done: leave has waited */
    return NULL;
}

static void *help(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_over)) {
        if (hp_progress_poll())
            atomic_fetch_add(&moved_by_helpers, 1);
        sched_yield();
    }
    return NULL;
}

/* ---- a job ---- */

static hp_comm_t *make_comm(const world_t *world, uint32_t rank, const hp_locality_t *table,
                            mailbox_t *mailbox, void **base, size_t *bytes)
{
    const hp_knobs_t knobs = {.messages = 16,
                              .slots = 2,
                              .slot_bytes = 64,
                              .sleep_us = 10,
                              .sleep_after_us = 200,
                              .levels = "node"};
    const pid_t pids[RANKS] = {0};
    hp_comm_t *comm;
    hp_node_memory_t memory;

    assert_int_equal(hp_comm_create(rank, RANKS, table, &knobs, &mailbox->transport, &comm), HP_OK);
    assert_int_equal(hp_executions_create(comm), HP_OK);
    if (!world->shares_memory)
        return comm;
    const hp_node_shape_t shape = hp_comm_node_shape(comm);
    if (!*base) {
        *bytes = hp_node_memory_bytes(&shape);
        *base = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(*base, MAP_FAILED);
    }
    assert_int_equal(hp_node_memory_init(&memory, &shape, hp_comm_node_member(comm, rank), pids, -1, *base),
                     HP_OK);
    hp_comm_set_node_memory(comm, &memory);
    comm->shares_memory = comm->reads_peers = true;
    return comm;
}

static void run_threads(member_t *members)
{
    pthread_t threads[RANKS], helpers[HELPERS];

    atomic_store(&is_over, false);
    for (unsigned i = 0; i < HELPERS; i++)
        assert_int_equal(pthread_create(&helpers[i], NULL, help, NULL), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        pthread_join(threads[rank], NULL);
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < HELPERS; i++)
        pthread_join(helpers[i], NULL);
}

static void run_world(const world_t *world)
{
    hp_locality_t table[RANKS];
    hp_synthetic_t machine;
    char error[200];
    void *base[COMMS] = {NULL};
    size_t bytes[COMMS] = {0};
    member_t *members = calloc(RANKS, sizeof *members);
    mailbox_t *mailboxes = calloc(RANKS * COMMS, sizeof *mailboxes);

    assert_true(members && mailboxes);
    for (uint32_t round = 0; round < ROUNDS; round++)
        atomic_store(&entered[round], 0);
    assert_int_equal(hp_synthetic_parse(world->machine, &machine, error, sizeof error), HP_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        hp_synthetic_locate(&machine, rank, &table[rank]);
        hp_cores_read(&table[rank].cores);
    }
    for (unsigned i = 0; i < COMMS; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            mailbox_t *mailbox = &mailboxes[i * RANKS + rank];
            mailbox_init(mailbox, &mailboxes[i * RANKS], rank);
            members[rank].world = world;
            members[rank].rank = rank;
            members[rank].states[i].comm = make_comm(world, rank, table, mailbox, &base[i], &bytes[i]);
            members[rank].states[i].comm->owner = &members[rank].states[i];
        }
    hp_progress_init();
    run_threads(members);
    assert_int_equal(atomic_load(&hp_in_flight), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_true(members[rank].most > 2);
        for (unsigned i = 0; i < COMMS; i++) {
            hp_comm_state_t *state = &members[rank].states[i];
            assert_int_equal(atomic_load(&state->nonblocking), 0);
            assert_false(state->is_active);
            assert_int_equal(state->comm->pool.live, 0);
            assert_true(mailbox_fini(&mailboxes[i * RANKS + rank]));
            hp_executions_destroy(state->comm);
            hp_comm_destroy(state->comm);
        }
    }
    for (unsigned i = 0; i < COMMS; i++)
        if (base[i])
            munmap(base[i], bytes[i]);
    free(mailboxes);
    free(members);
}

static void programs_and_helpers(void **state)
{
    (void)state;
    static const world_t worlds[] = {{.machine = "node:4 core:1"},
                                     {.machine = "node:1 core:4", .shares_memory = true},
                                     {.machine = "node:2 core:2", .shares_memory = false}};
    check_random_t random = check_random_start("programs_and_helpers");
    const uint64_t seed = random.state;

    for (unsigned again = 0; again < 4; again++)
        for (unsigned i = 0; i < ARRAY_LENGTH(worlds); i++) {
            world_t world = worlds[i];
            world.seed = seed + 10 * again + i;
            run_world(&world);
        }
    assert_true(atomic_load(&moved_by_helpers) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_and_helpers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
