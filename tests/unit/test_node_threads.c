/* test_node_threads: the members of a node as threads on one node memory: every algorithm, on the modules
 * that need no message, with real requests, in real parallel. Also built under the thread sanitizer (preset
 * tsan), which must find every read and write of the shared memory ordered by a counter.
 *
 * The transport refuses messages: whatever is sent is a failure. Slots are few and small, so that they are
 * used again all the time. Threads of one process read each other by memcpy (pid 0), so that single copies
 * are seen by the sanitizer as well. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"
#include "hier/executions/execution.h"

enum { MEMBERS_MAX = 8, MOST_ELEMENTS = 200, ROUNDS = 80, ALGORITHMS_MAX = 16 };

/* ---- a transport without messages ---- */

static hp_status_t no_isend(hp_transport_t *transport, const void *buffer, size_t count,
                            const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    (void)transport, (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)cookie;
    return HP_ERR_TRANSPORT;
}

static hp_status_t no_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                            uint32_t peer, uint32_t tag, void *cookie)
{
    (void)transport, (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)cookie;
    return HP_ERR_TRANSPORT;
}

/* A member that is slow at times, so that the others get as far ahead as they are let. */
static void dawdle(void)
{
    static _Thread_local check_random_t random;
    if (!random.state)
        random.state = (uint64_t)(uintptr_t)&random;
    if (check_random_below(&random, 64) == 0)
        usleep(100);
}

static void no_cancel(hp_transport_t *transport)
{
    (void)transport;
}

static hp_status_t sum(hp_transport_t *transport, const void *in, void *inout, size_t count,
                       const hp_type_t *type, hp_handle_t op)
{
    (void)transport, (void)type, (void)op;
    dawdle();
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)inout)[i] += ((const uint64_t *)in)[i];
    return HP_OK;
}

/* Maps x -> a x + b modulo 2^32, a in the upper half of a word: first the left one, then the right one.
 * Associative, not commutative. */
static uint64_t then(uint64_t left, uint64_t right)
{
    const uint32_t a = (uint32_t)(right >> 32);
    return (uint64_t)((uint32_t)(left >> 32) * a) << 32 | (uint32_t)((uint32_t)left * a + (uint32_t)right);
}

static void compose(const void *left, const void *right, void *result, size_t count)
{
    dawdle();
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)result)[i] = then(((const uint64_t *)left)[i], ((const uint64_t *)right)[i]);
}

static hp_status_t copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                        const hp_type_t *type)
{
    (void)transport;
    dawdle();
    memcpy(to, from, count * type->bytes);
    return HP_OK;
}

static const hp_transport_ops_t ops = {
    .isend = no_isend, .irecv = no_irecv, .cancel = no_cancel, .reduce = sum, .copy = copy};

/* ---- the job ---- */

typedef struct {
    uint32_t members;
    const char *machine;
    hp_module_id_t inner, outer; /* of the innermost level, of those around it */
    uint64_t seed;
} world_t;

typedef struct {
    const world_t *world;
    uint32_t rank;
    hp_comm_t *comm;
    hp_transport_t transport;
    uint64_t send[MOST_ELEMENTS], recv[MOST_ELEMENTS];
    char problem[200];
} member_t;

/* Barriers: how many have entered the one of this round. */
static _Atomic uint32_t entered[ROUNDS];

static uint64_t value_of(uint64_t round, uint32_t rank, size_t i)
{
    return (round + 1) * 1000003 + rank * 1009 + i +
           ((uint64_t)(2 * rank + 3) << 32); /* odd: no bits get lost */
}

static uint64_t expected_of(const world_t *world, const hp_call_t *call, uint64_t round, size_t i)
{
    if (call->collective == HP_BCAST)
        return value_of(round, call->root, i);
    uint64_t result = value_of(round, 0, i);
    for (uint32_t rank = 1; rank < world->members; rank++)
        result =
            call->commutative ? result + value_of(round, rank, i) : then(result, value_of(round, rank, i));
    return result;
}

/* The same for all members: everything is drawn from the round. */
static const hp_algorithm_t *draw(check_random_t *random, hp_call_t *call, hp_setting_t *setting,
                                  const world_t *world)
{
    static const size_t segment_bytes[] = {8, 24, 64, 1024};
    const hp_algorithm_t *algorithm = NULL;

    *call = (hp_call_t){.collective = (hp_collective_t)check_random_below(random, HP_PIPELINED_COUNT),
                        .type = {.bytes = 8, .extent = 8, .true_extent = 8},
                        .commutative = true};
    const hp_algorithm_t *able[ALGORITHMS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; (algorithm = hp_algorithm(call->collective, i)); i++)
        if (!(algorithm->traits & HP_TRAIT_SCHEDULE)) { /* which sends messages among all ranks */
            assert_true(count < ALGORITHMS_MAX);
            able[count++] = algorithm;
        }
    algorithm = able[check_random_below(random, count)];
    *setting = (hp_setting_t){.segment_bytes = segment_bytes[check_random_below(random, 4)],
                              .trees = 1,
                              .leaders = 1 + check_random_below(random, 4),
                              .sends_per_child = 1,
                              .recvs_per_parent = 1,
                              .window_segments = 1 + check_random_below(random, 8)};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        setting->modules.module[level] = (uint8_t)(level == HP_LEVEL_CORE ? world->inner : world->outer);
    call->root = check_random_below(random, world->members);
    if (call->collective == HP_BARRIER || call->collective == HP_ALLREDUCE)
        call->root = 0;
    if (call->collective == HP_BARRIER)
        return algorithm;
    call->count = 1 + check_random_below(random, check_random_below(random, 2) ? 4 : MOST_ELEMENTS - 1);
    if (call->collective != HP_BCAST && check_random_below(random, 3) == 0) {
        call->commutative = false;
        call->kernel = compose;
        call->root = 0;
    }
    return algorithm;
}

static void check_result(member_t *member, const hp_call_t *call, uint64_t round)
{
    for (size_t i = 0; i < call->count; i++)
        if (member->recv[i] != expected_of(member->world, call, round, i)) {
            snprintf(member->problem, sizeof member->problem, "round %llu, %s: element %zu of %zu is wrong",
                     (unsigned long long)round, hp_collective_name(call->collective), i, call->count);
            return;
        }
}

static void play(member_t *member, check_random_t *random, uint64_t round)
{
    hp_call_t call;
    hp_setting_t setting;
    const hp_algorithm_t *algorithm = draw(random, &call, &setting, member->world);
    const bool in_place = check_random_below(random, 2) && call.collective != HP_BARRIER;
    const bool has_result = call.collective == HP_BCAST || call.collective == HP_ALLREDUCE ||
                            (call.collective == HP_REDUCE && member->rank == call.root);

    for (size_t i = 0; i < call.count; i++) {
        member->send[i] = value_of(round, member->rank, i);
        const bool given = call.collective == HP_BCAST ? member->rank == call.root : in_place;
        member->recv[i] = given ? value_of(round, member->rank, i) : 0;
    }
    if (call.collective != HP_BARRIER && has_result)
        call.recv = member->recv;
    if (call.collective == HP_REDUCE || call.collective == HP_ALLREDUCE)
        call.send = in_place && has_result ? member->recv : member->send;
    atomic_fetch_add(&entered[round], 1);
    hp_execution_t *execution = hp_execution_get(member->comm);
    hp_status_t status = HP_ERR_NO_MEM;
    if (execution) {
        hp_execution_submit(member->comm, execution, algorithm, &call, &setting);
        status = hp_execution_wait(member->comm, execution);
        hp_execution_put(member->comm, execution);
    }
    if (status != HP_OK)
        snprintf(member->problem, sizeof member->problem, "round %llu, %s %s: %s", (unsigned long long)round,
                 hp_collective_name(call.collective), algorithm->name, hp_status_text(status));
    else if (call.collective == HP_BARRIER && atomic_load(&entered[round]) < member->world->members)
        snprintf(member->problem, sizeof member->problem,
                 "round %llu: left a barrier that not all had entered", (unsigned long long)round);
    else if (has_result)
        check_result(member, &call, round);
}

static void *run_member(void *argument)
{
    member_t *member = argument;
    check_random_t random = {member->world->seed * 2 + 1};

    for (uint64_t round = 0; round < ROUNDS && !member->problem[0]; round++)
        play(member, &random, round);
    if (member->problem[0]) { /* the others would wait for ever */
        fprintf(stderr, "member %u of %u, %s in %s: %s\n", member->rank, member->world->members,
                hp_module_name(member->world->inner), hp_module_name(member->world->outer), member->problem);
        abort();
    }
    return NULL;
}

static hp_knobs_t knobs_of(check_random_t *random)
{
    static const int64_t slot_bytes[] = {64, 256};
    hp_knobs_t knobs = {.slots = 2 + check_random_below(random, 3),
                        .slot_bytes = slot_bytes[check_random_below(random, 2)],
                        .sleep_us = 10,
                        .sleep_after_us = 200};
    snprintf(knobs.levels, sizeof knobs.levels, "node,package");
    return knobs;
}

static void run_world(const world_t *world)
{
    check_random_t random = {world->seed * 2 + 1};
    const hp_knobs_t knobs = knobs_of(&random);
    const pid_t pids[MEMBERS_MAX] = {0};
    hp_locality_t table[MEMBERS_MAX];
    hp_synthetic_t machine;
    member_t *members = calloc(world->members, sizeof *members);
    pthread_t threads[MEMBERS_MAX];
    char error[200];
    void *base = NULL;
    size_t bytes = 0;

    assert_non_null(members);
    memset((void *)entered, 0, sizeof entered);
    assert_int_equal(hp_synthetic_parse(world->machine, &machine, error, sizeof error), HP_OK);
    for (uint32_t rank = 0; rank < world->members; rank++) {
        hp_synthetic_locate(&machine, rank, &table[rank]);
        hp_cores_read(&table[rank].cores);
    }
    for (uint32_t rank = 0; rank < world->members; rank++) {
        member_t *member = &members[rank];
        *member = (member_t){.world = world, .rank = rank, .transport = {.ops = &ops}};
        assert_int_equal(
            hp_comm_create(rank, world->members, table, &knobs, &member->transport, &member->comm), HP_OK);
        assert_int_equal(hp_executions_create(member->comm), HP_OK);
        const hp_node_shape_t shape = hp_comm_node_shape(member->comm);
        if (!base) {
            bytes = hp_node_memory_bytes(&shape);
            base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_ptr_not_equal(base, MAP_FAILED);
        }
        hp_node_memory_t memory;
        assert_int_equal(
            hp_node_memory_init(&memory, &shape, hp_comm_node_member(member->comm, rank), pids, -1, base),
            HP_OK);
        hp_comm_set_node_memory(member->comm, &memory);
        member->comm->shares_memory = member->comm->reads_peers = true;
    }
    for (uint32_t rank = 0; rank < world->members; rank++)
        assert_int_equal(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    for (uint32_t rank = 0; rank < world->members; rank++) {
        pthread_join(threads[rank], NULL);
        assert_int_equal(members[rank].comm->pool.live, 0);
        hp_executions_destroy(members[rank].comm);
        hp_comm_destroy(members[rank].comm);
    }
    munmap(base, bytes);
    free(members);
}

static void members_at_the_same_time(void **state)
{
    (void)state;
    static const struct {
        uint32_t members;
        const char *machine;
    } machines[] = {{2, "node:1 core:2"},
                    {3, "node:1 core:3"},
                    {4, "node:1 package:2 core:2"},
                    {5, "node:1 package:2 core:4"},
                    {8, "node:1 package:4 core:2"}};
    static const hp_module_id_t modules[] = {HP_MODULE_SHM, HP_MODULE_SINGLE_COPY};
    const char *seed = getenv("HANPMPI_TEST_SEED");
    world_t world = {.seed = seed ? strtoull(seed, NULL, 10) : 20200801};

    printf("members_at_the_same_time: HANPMPI_TEST_SEED=%llu\n", (unsigned long long)world.seed);
    for (size_t i = 0; i < ARRAY_LENGTH(machines); i++)
        for (unsigned inner = 0; inner < 2; inner++)
            for (unsigned outer = 0; outer < 2; outer++) {
                world.members = machines[i].members;
                world.machine = machines[i].machine;
                world.inner = modules[inner];
                world.outer = modules[outer];
                run_world(&world);
                world.seed++;
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members_at_the_same_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
