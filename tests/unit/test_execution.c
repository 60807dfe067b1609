/* test_execution: when collectives of a communicator start, wait for their turn and end. The algorithms are the test's
 * own, a message or a collective of the host MPI each, and it says itself what completes when.
 *
 * docs/pitfalls.md 27 (a failure leaves nothing). Linked with --wrap=calloc. */
#include "hier/executions/execution.h"
#include "check.h"

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool no_memory;

void *__wrap_calloc(size_t count, size_t bytes)
{
    return no_memory ? NULL : __real_calloc(count, bytes);
}

/* ---- a transport that does nothing by itself ---- */

enum { MOST = 64 };

typedef struct {
    hp_transport_t transport;
    void *posted[MOST]; /* in order; NULL: complete, or given up */
    uint32_t posted_count;
    void *done[MOST];
    uint32_t done_count, cancelled;
} hand_t;

static hand_t hand;

static hp_status_t post(void *cookie)
{
    assert_true(hand.posted_count < MOST);
    hand.posted[hand.posted_count++] = cookie;
    return HP_OK;
}

static hp_status_t hand_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                              uint32_t peer, uint32_t tag, void *cookie)
{
    (void)transport, (void)buffer, (void)count, (void)type, (void)peer, (void)tag;
    return post(cookie);
}

static hp_status_t hand_icollective(hp_transport_t *transport, hp_native_t what, hp_handle_t comm,
                                    const void *from, void *to, size_t count, const hp_type_t *type,
                                    hp_handle_t op, uint32_t root, void *cookie)
{
    (void)transport, (void)what, (void)comm, (void)from, (void)to, (void)count, (void)type, (void)op,
        (void)root;
    return post(cookie);
}

static hp_status_t hand_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    (void)transport, (void)capacity;
    *count = hand.done_count;
    memcpy(done, hand.done, hand.done_count * sizeof *done);
    hand.done_count = 0;
    return HP_OK;
}

static void complete(uint32_t i)
{
    assert_true(i < hand.posted_count && hand.posted[i]);
    hand.done[hand.done_count++] = hand.posted[i];
    hand.posted[i] = NULL;
}

/* Blocking is what the test says it is: the oldest operation completes. */
static hp_status_t hand_wait(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    uint32_t oldest = 0;
    while (oldest < hand.posted_count && !hand.posted[oldest])
        oldest++;
    if (oldest < hand.posted_count)
        complete(oldest);
    return hand_poll(transport, done, capacity, count);
}

static void hand_cancel(hp_transport_t *transport)
{
    (void)transport;
    hand.cancelled++;
    hand.done_count = 0;
    memset(hand.posted, 0, sizeof hand.posted);
}

static const hp_transport_ops_t ops = {.irecv = hand_irecv,
                                       .icollective = hand_icollective,
                                       .poll = hand_poll,
                                       .wait = hand_wait,
                                       .cancel = hand_cancel};

/* ---- algorithms ---- */

typedef struct {
    bool native;
    int32_t lane;
    char *buffer;
} plan_t;

static void emit(const void *memory, hp_segment_t *segment, uint64_t index)
{
    const plan_t *plan = memory;
    (void)index;
    if (plan->native)
        hp_emit_native(segment, plan->lane, HP_NATIVE_BCAST, hp_at(plan->buffer), hp_at(plan->buffer), 1, 0);
    else
        hp_emit_recv(segment, plan->lane, hp_at(plan->buffer), 1);
}

static hp_status_t start_one(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    const hp_pipeline_t pipeline = {.segment_count = 1,
                                    .tasks_per_segment = 1,
                                    .edges_per_segment = 1,
                                    .window_segments = 1,
                                    .type = call->type,
                                    .emit = emit};
    plan_t *plan = hp_request_plan(start->request, sizeof *plan);
    assert_non_null(plan);
    plan->native = setting->modules.module[HP_LEVEL_NODE] == HP_MODULE_NATIVE;
    plan->buffer = call->recv;
    plan->lane = plan->native
                     ? hp_request_native_lane(start->request, 7)
                     : hp_request_new_lane(start->request, HP_LANE_RECV, 1, hp_start_tag(start), 1);
    return hp_request_start(start->request, &pipeline);
}

static hp_status_t start_none(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)start, (void)call, (void)setting;
    return HP_ERR_NO_MEM;
}

static bool is_native(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)comm, (void)call;
    return setting->modules.module[HP_LEVEL_NODE] == HP_MODULE_NATIVE;
}

static const hp_algorithm_t
    works = {.collective = HP_BCAST, .name = "works", .start = start_one, .runs_alone = is_native},
    fails = {.collective = HP_BCAST, .name = "fails", .start = start_none, .runs_alone = is_native};

/* ---- a rank of two, on two nodes ---- */

typedef struct {
    hp_comm_t *comm;
    char buffer[MOST];
} fixture_t;

static int set_up(void **state)
{
    const hp_locality_t table[] = {{.id = {0}}, {.id = {1}}};
    const hp_knobs_t knobs = {.levels = "node", .spin_polls = 1, .sleep_us = 1};
    fixture_t *f = calloc(1, sizeof *f);

    hand = (hand_t){.transport = {.ops = &ops}};
    *state = f;
    return f && hp_comm_create(0, 2, table, &knobs, &hand.transport, &f->comm) == HP_OK &&
                   hp_executions_create(f->comm) == HP_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    const hp_executions_t *all = f->comm->executions;

    assert_false(hp_executions_any(f->comm));
    assert_int_equal(all->running_count, 0);
    assert_ptr_equal(all->queued_end, &all->queued);
    hp_executions_destroy(f->comm);
    hp_comm_destroy(f->comm);
    free(f);
    return 0;
}

static hp_execution_t *submit(fixture_t *f, const hp_algorithm_t *algorithm, hp_module_id_t module)
{
    hp_execution_t *execution = hp_execution_get(f->comm);
    hp_setting_t setting = {.segment_bytes = 1};
    hp_call_t call = {.collective = HP_BCAST,
                      .recv = f->buffer,
                      .count = 1,
                      .type = {.bytes = 1, .extent = 1, .true_extent = 1}};

    assert_non_null(execution);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        setting.modules.module[level] = (uint8_t)module;
    hp_execution_submit(f->comm, execution, algorithm, &call, &setting);
    memset(&call, 0xa5, sizeof call); /* the caller's */
    memset(&setting, 0xa5, sizeof setting);
    return execution;
}

static hp_execution_t *message(fixture_t *f)
{
    return submit(f, &works, HP_MODULE_P2P);
}

static hp_execution_t *native(fixture_t *f)
{
    return submit(f, &works, HP_MODULE_NATIVE);
}

static void end(fixture_t *f, hp_execution_t *execution, hp_status_t status)
{
    assert_int_equal(execution->phase, HP_PHASE_DONE);
    assert_int_equal(execution->status, status);
    hp_execution_put(f->comm, execution);
}

static void finish(fixture_t *f)
{
    for (uint32_t i = 0; i < hand.posted_count; i++)
        if (hand.posted[i])
            complete(i);
    hp_executions_progress(f->comm);
}

/* ---- tests ---- */

static void messages_run_together_and_end_in_any_order(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *all[5];

    for (unsigned i = 0; i < 5; i++)
        all[i] = message(f);
    assert_int_equal(hand.posted_count, 5);
    assert_int_equal(f->comm->executions->running_count, 5);
    assert_false(hp_executions_progress(f->comm));
    complete(3);
    complete(1);
    assert_true(hp_executions_progress(f->comm));
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(all[i]->number, i + 1);
        assert_int_equal(all[i]->phase, i == 1 || i == 3 ? HP_PHASE_DONE : HP_PHASE_RUNNING);
    }
    finish(f);
    for (unsigned i = 0; i < 5; i++)
        end(f, all[i], HP_OK);
}

static void the_mpi_below_runs_alone(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *before = message(f), *alone = native(f), *other = native(f), *behind = message(f);

    assert_int_equal(alone->phase, HP_PHASE_QUEUED);
    assert_int_equal(behind->phase,
                     HP_PHASE_QUEUED); /* it could run, but not before what was called earlier */
    assert_int_equal(hand.posted_count, 1);
    hp_execution_t *const turns[] = {before, alone, other, behind};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(turns[i]->phase, HP_PHASE_RUNNING);
        assert_int_equal(hand.posted_count, i + 1);
        complete(i);
        hp_executions_progress(f->comm);
        end(f, turns[i], HP_OK);
    }
}

static void so_many_run_at_a_time(void **state)
{
    fixture_t *f = *state;
    enum { COUNT = HP_RUNNING_MAX + 5 };
    hp_execution_t *all[COUNT];

    for (unsigned i = 0; i < COUNT; i++)
        all[i] = message(f);
    assert_int_equal(hand.posted_count, HP_RUNNING_MAX);
    complete(7);
    hp_executions_progress(f->comm);
    assert_int_equal(hand.posted_count, HP_RUNNING_MAX + 1);
    assert_int_equal(all[HP_RUNNING_MAX]->phase, HP_PHASE_RUNNING);
    assert_int_equal(all[HP_RUNNING_MAX + 1]->phase, HP_PHASE_QUEUED);
    finish(f);
    finish(f);
    for (unsigned i = 0; i < COUNT; i++)
        end(f, all[i], HP_OK);
}

/* Whatever else there is, and whether it can be waited for by blocking. */
static void waiting_ends_with_what_is_waited_for(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *first = message(f), *last = message(f);

    complete(1);
    assert_int_equal(hp_execution_wait(f->comm, last), HP_OK);
    assert_int_equal(first->phase, HP_PHASE_RUNNING);
    assert_int_equal(hp_execution_wait(f->comm, first), HP_OK); /* the only one: the transport blocks */
    end(f, first, HP_OK);
    end(f, last, HP_OK);
}

static void a_start_that_fails_ends_nothing_else(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *before = message(f), *failed = submit(f, &fails, HP_MODULE_P2P), *behind = message(f);

    end(f, failed, HP_ERR_NO_MEM);
    assert_int_equal(hand.posted_count, 2);
    finish(f);
    end(f, before, HP_OK);
    end(f, behind, HP_OK);
    assert_int_equal(hand.cancelled, 0);
}

static void a_queued_start_that_fails(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *alone = native(f), *failed = submit(f, &fails, HP_MODULE_P2P), *behind = message(f);

    assert_int_equal(failed->phase, HP_PHASE_QUEUED);
    finish(f);
    end(f, alone, HP_OK);
    end(f, failed, HP_ERR_NO_MEM);
    assert_int_equal(behind->phase, HP_PHASE_RUNNING);
    finish(f);
    end(f, behind, HP_OK);
}

/* What it shares with other ranks is not as they expect it; messages have tags of their own. */
static void nothing_alone_runs_behind_one_that_failed(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *first = message(f), *failed = submit(f, &fails, HP_MODULE_NATIVE), *alone = native(f),
                   *behind = message(f);

    finish(f);
    end(f, first, HP_OK);
    end(f, failed, HP_ERR_NO_MEM);
    end(f, alone, HP_ERR_EARLIER);
    assert_int_equal(behind->phase, HP_PHASE_RUNNING);
    finish(f);
    end(f, behind, HP_OK);
    end(f, native(f), HP_ERR_EARLIER);
}

/* The other ranks count that call. */
static void nothing_runs_behind_a_call_without_memory(void **state)
{
    fixture_t *f = *state;
    hp_execution_t *before = message(f), *kept = hp_execution_get(f->comm);

    assert_non_null(kept);
    no_memory = true;
    assert_null(hp_execution_get(f->comm));
    no_memory = false;
    hp_execution_put(f->comm, kept);
    end(f, message(f), HP_ERR_EARLIER);
    assert_int_equal(hand.posted_count, 1);
    finish(f);
    end(f, before, HP_OK);
}

static void put_back(hp_comm_t *comm, hp_execution_t *execution)
{
    ++*(unsigned *)execution->owner;
    hp_execution_put(comm, execution);
}

static void done_may_put_it_back(void **state)
{
    fixture_t *f = *state;
    unsigned done = 0;
    hp_execution_t *all[3] = {message(f), native(f), message(f)};

    for (unsigned i = 0; i < 3; i++) {
        all[i]->on_done = put_back;
        all[i]->owner = &done;
    }
    for (unsigned i = 0; i < 3; i++) {
        finish(f);
        assert_int_equal(done, i + 1);
    }
    hp_execution_t *again = message(f);
    assert_true(again == all[0] || again == all[1] || again == all[2]);
    assert_null(again->on_done); /* nothing of the last use is left */
    finish(f);
    end(f, again, HP_OK);
    assert_int_equal(done, 3);
}

/* The library's own algorithm, where ranks share a node: what its modules use decides, not what they could use. */
static void messages_of_a_shared_node_run_together(void **state)
{
    fixture_t *f = *state;
    const hp_algorithm_t *han = hp_algorithm_find(HP_BCAST, "han");
    hp_execution_t *all[3];

    f->comm->shares_memory = f->comm->reads_peers = true; /* other nodes have more ranks than this one */
    for (unsigned i = 0; i < 3; i++) {
        const hp_call_t call = {.collective = HP_BCAST,
                                .recv = f->buffer + i,
                                .count = 1,
                                .type = {.bytes = 1, .extent = 1, .true_extent = 1},
                                .root = 1};
        hp_setting_t setting;
        hp_setting_default(&setting);
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
            setting.modules.module[level] = HP_MODULE_P2P;
        all[i] = hp_execution_get(f->comm);
        hp_execution_submit(f->comm, all[i], han, &call, &setting);
        assert_int_equal(all[i]->phase, HP_PHASE_RUNNING);
        assert_int_equal(hand.posted_count, i + 1);
    }
    finish(f);
    for (unsigned i = 0; i < 3; i++)
        end(f, all[i], HP_OK);
}

static void what_runs_alone(void **state)
{
    (void)state;
    enum { SHORT = 8, LONG = 1 << 20 };
    static const struct {
        const char *algorithm;
        hp_module_id_t module;
        bool shares_memory;
        size_t bytes;
        bool alone;
    } cases[] = {
        {"han", HP_MODULE_P2P, true, LONG, false},    {"han", HP_MODULE_SHM, true, LONG, true},
        {"han", HP_MODULE_SHM, false, LONG, false},   {"han", HP_MODULE_SINGLE_COPY, true, LONG, true},
        {"han", HP_MODULE_NATIVE, false, LONG, true}, {"flags", HP_MODULE_P2P, true, SHORT, true},
        {"flags", HP_MODULE_P2P, true, LONG, false},  {"flags", HP_MODULE_SHM, true, LONG, true},
        {"flags", HP_MODULE_P2P, false, SHORT, false}};
    const hp_locality_t table[] = {{.id = {0, 0, 0, 0, 0}}, {.id = {0, 0, 0, 0, 1}}};
    const hp_knobs_t knobs = {.levels = "node", .slot_bytes = 4096, .slots = 2};
    hp_comm_t *comm;

    assert_int_equal(hp_comm_create(0, 2, table, &knobs, &hand.transport, &comm), HP_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const hp_algorithm_t *algorithm = hp_algorithm_find(HP_BCAST, cases[i].algorithm);
        const hp_call_t call = {.collective = HP_BCAST,
                                .count = cases[i].bytes,
                                .type = {.bytes = 1, .extent = 1, .true_extent = 1}};
        hp_setting_t setting;
        hp_setting_default(&setting);
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
            setting.modules.module[level] = (uint8_t)cases[i].module;
        comm->has_node_memory = comm->shares_memory = comm->reads_peers = cases[i].shares_memory;
        assert_int_equal(algorithm->runs_alone(comm, &call, &setting), cases[i].alone);
    }
    comm->has_node_memory = false; /* there is none to give back */
    hp_comm_destroy(comm);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(messages_run_together_and_end_in_any_order),
        TEST(the_mpi_below_runs_alone),
        TEST(so_many_run_at_a_time),
        TEST(waiting_ends_with_what_is_waited_for),
        TEST(a_start_that_fails_ends_nothing_else),
        TEST(a_queued_start_that_fails),
        TEST(nothing_alone_runs_behind_one_that_failed),
        TEST(nothing_runs_behind_a_call_without_memory),
        TEST(done_may_put_it_back),
        TEST(messages_of_a_shared_node_run_together),
        TEST(what_runs_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
