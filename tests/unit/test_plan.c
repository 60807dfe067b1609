/* test_plan: which calls share a plan, and how many plans are kept. The algorithm is the test's own and does nothing. */
#include "check.h"
#include "hier/executions/execution.h"

static unsigned prepared, started_again;

static hp_status_t again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    (void)plan, (void)start, (void)call;
    started_again++;
    return HP_OK;
}

static hp_status_t prepare(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)call, (void)setting;
    prepared++;
    *start->again = (hp_again_t){.start = again};
    return HP_OK;
}

static hp_status_t prepare_anew(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)start, (void)call, (void)setting;
    prepared++;
    return HP_OK;
}

static hp_status_t fail_to_start(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    (void)plan, (void)start, (void)call;
    return HP_ERR_NO_MEM;
}

static const hp_algorithm_t algorithm = {.start = prepare}, other_algorithm = {.start = prepare},
                            never_again = {.start = prepare_anew};

static const hp_transport_ops_t ops;
static hp_transport_t transport = {.ops = &ops};
static char here[8], there[8];

enum { RANKS = 3 };

static hp_comm_t *create(void)
{
    const hp_locality_t places[RANKS] = {{.id = {0}}};
    hp_comm_t *comm;
    hp_knobs_t knobs;

    prepared = started_again = 0;
    hp_knobs_defaults(&knobs);
    assert_int_equal(hp_comm_create(0, RANKS, places, &knobs, &transport, &comm), HP_OK);
    assert_int_equal(hp_executions_create(comm), HP_OK);
    return comm;
}

static void destroy(hp_comm_t *comm)
{
    hp_executions_destroy(comm);
    hp_comm_destroy(comm);
}

static hp_call_t call_of(size_t count)
{
    return (hp_call_t){.send = here,
                       .recv = there,
                       .count = count,
                       .op = 3,
                       .root = 2,
                       .commutative = true,
                       .type = {.handle = 7, .bytes = 4, .extent = 4, .true_extent = 4}};
}

static hp_setting_t setting_of(void)
{
    hp_setting_t setting;
    hp_setting_default(&setting);
    return setting;
}

/* Runs the call; was a plan found? */
static bool run(hp_comm_t *comm, const hp_algorithm_t *which, const hp_call_t *call,
                const hp_setting_t *setting)
{
    hp_plans_t *plans = &comm->executions->plans;
    const unsigned before = started_again;
    hp_plan_t *plan = hp_plans_take(plans, comm, hp_plans_find(plans, which, call, setting));

    assert_non_null(plan);
    assert_int_equal(hp_plan_start(plans, plan, comm, 1, which, call, setting), HP_OK);
    hp_plans_put(plans, plan);
    return started_again > before;
}

static void equal_calls_share_one(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    const hp_setting_t setting = setting_of();
    hp_call_t call = call_of(5);

    assert_false(run(comm, &algorithm, &call, &setting));
    assert_true(run(comm, &algorithm, &call, &setting));
    call.send = there + 4; /* other buffers */
    assert_true(run(comm, &algorithm, &call, &setting));
    assert_int_equal(prepared, 1);
    destroy(comm);
}

static void others_do_not(void **state)
{
    (void)state;
    const hp_call_t call = call_of(5);
    const hp_setting_t setting = setting_of();
#define CHANGED(change)                                                                                      \
    {                                                                                                        \
        hp_comm_t *comm = create();                                                                          \
        hp_call_t changed = call;                                                                            \
        hp_setting_t changed_setting = setting;                                                              \
        const hp_algorithm_t *which = &algorithm;                                                            \
        assert_false(run(comm, which, &changed, &changed_setting));                                          \
        change;                                                                                              \
        assert_false(run(comm, which, &changed, &changed_setting));                                          \
        destroy(comm);                                                                                       \
    }
    CHANGED(changed.count++)
    CHANGED(changed.root++)
    CHANGED(changed.op++)
    CHANGED(changed.commutative = false)
    CHANGED(changed.recv = here) /* in place */
    CHANGED(changed.type.handle++)
    CHANGED(changed.type.extent++)
    CHANGED(changed_setting.segment_bytes++)
    CHANGED(changed_setting.leaders++)
    CHANGED(changed_setting.shapes.shape[0]++)
    CHANGED(which = &other_algorithm)
}

/* What was used last is kept; memory is not asked for beyond the bound. */
static void the_last_ones_are_kept(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    const hp_setting_t setting = setting_of();

    for (size_t count = 1; count <= HP_PLANS_MAX; count++) {
        const hp_call_t call = call_of(count), first = call_of(1);
        run(comm, &algorithm, &call, &setting);
        run(comm, &algorithm, &first, &setting);
    }
    assert_int_equal(prepared, HP_PLANS_MAX);
    assert_int_equal(comm->executions->plans.count, HP_PLANS_MAX);
    const hp_call_t one_more = call_of(HP_PLANS_MAX + 1), first = call_of(1), second = call_of(2),
                    last = call_of(HP_PLANS_MAX);
    assert_false(run(comm, &algorithm, &one_more, &setting));
    assert_int_equal(comm->executions->plans.count, HP_PLANS_MAX);
    assert_true(run(comm, &algorithm, &first, &setting));
    assert_true(run(comm, &algorithm, &last, &setting));
    assert_false(run(comm, &algorithm, &second, &setting)); /* it had to go */
    destroy(comm);
}

/* An algorithm that cannot be started again takes nobody's plan. */
static void one_for_all_that_have_none(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    const hp_setting_t setting = setting_of();
    const hp_call_t call = call_of(5);

    assert_false(run(comm, &algorithm, &call, &setting));
    for (unsigned i = 0; i < 2 * HP_PLANS_MAX; i++)
        assert_false(run(comm, &never_again, &call, &setting));
    assert_true(run(comm, &algorithm, &call, &setting));
    assert_int_equal(comm->executions->plans.count, 2);
    destroy(comm);
}

/* ---- blocks that differ ---- */

typedef struct {
    size_t counts[2][RANKS];
    ptrdiff_t offsets[2][RANKS];
    hp_blocks_t blocks;
} lists_t;

static hp_call_t alltoallv(lists_t *lists, size_t first)
{
    hp_call_t call = call_of(0);

    for (size_t i = 0; i < 2 * RANKS; i++) {
        lists->counts[i / RANKS][i % RANKS] = first + i;
        lists->offsets[i / RANKS][i % RANKS] = (ptrdiff_t)(100 * i);
    }
    lists->blocks = (hp_blocks_t){.send = {lists->counts[0], lists->offsets[0]},
                                  .recv = {lists->counts[1], lists->offsets[1]}};
    call.collective = HP_ALLTOALLV;
    call.blocks = &lists->blocks;
    return call;
}

/* Runs such a call with lists that nobody has afterwards. change: of one of them, at the end. */
static bool run_alltoallv(hp_comm_t *comm, size_t first, ptrdiff_t change)
{
    const hp_setting_t setting = setting_of();
    lists_t lists;
    const hp_call_t call = alltoallv(&lists, first);

    lists.offsets[1][RANKS - 1] += change;
    const bool again = run(comm, &algorithm, &call, &setting);
    memset(&lists, 0, sizeof lists);
    return again;
}

static void equal_lists_share_one_from_the_third_call_on(void **state)
{
    (void)state;
    hp_comm_t *comm = create();

    assert_false(run_alltoallv(comm, 5, 0));
    assert_false(run_alltoallv(comm, 5, 0)); /* the same twice: from now on it is kept */
    assert_true(run_alltoallv(comm, 5, 0));
    assert_false(run_alltoallv(comm, 5, 8));
    assert_false(run_alltoallv(comm, 6, 0));
    assert_true(run_alltoallv(comm, 5, 0));
    assert_int_equal(prepared, 4);
    destroy(comm);
}

static void lists_differ_in_each_part(void **state)
{
    (void)state;
    const hp_setting_t setting = setting_of();
    lists_t lists;
    const hp_call_t call = alltoallv(&lists, 5);
    size_t *counts[] = {&lists.counts[0][0], &lists.counts[0][RANKS - 1], &lists.counts[1][0],
                        &lists.counts[1][RANKS - 1]};
    ptrdiff_t *offsets[] = {&lists.offsets[0][0], &lists.offsets[0][RANKS - 1], &lists.offsets[1][0],
                            &lists.offsets[1][RANKS - 1]};
    hp_comm_t *comm = create();

    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(run(comm, &algorithm, &call, &setting), i == 2);
    for (unsigned i = 0; i < 4; i++) {
        ++*counts[i];
        assert_false(run(comm, &algorithm, &call, &setting));
        --*counts[i];
        ++*offsets[i];
        assert_false(run(comm, &algorithm, &call, &setting));
        --*offsets[i];
    }
    lists.blocks.in_place = true;
    assert_false(run(comm, &algorithm, &call, &setting));
    lists.blocks.in_place = false;
    hp_call_t with_rows = call;
    with_rows.row = 64;
    assert_false(run(comm, &algorithm, &with_rows, &setting));
    assert_true(run(comm, &algorithm, &call, &setting));
    destroy(comm);
}

/* A program that sorts has other lists each time. */
static void lists_that_always_differ_drive_nobody_out(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    const hp_setting_t setting = setting_of();
    const hp_call_t call = call_of(5);

    assert_false(run(comm, &algorithm, &call, &setting));
    for (unsigned i = 0; i < 3 * HP_PLANS_MAX; i++)
        assert_false(run_alltoallv(comm, i % 2 ? 7 : 8, (ptrdiff_t)i));
    assert_true(run(comm, &algorithm, &call, &setting));
    assert_int_equal(comm->executions->plans.count, 2);
    destroy(comm);
}

/* Those that are kept, and one that runs meanwhile. */
static void none_from_before_is_started_again(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    hp_plans_t *plans = &comm->executions->plans;
    const hp_setting_t setting = setting_of();
    const hp_call_t kept = call_of(1), running = call_of(2);
    hp_plan_t *plan = hp_plans_take(plans, comm, NULL);

    assert_int_equal(hp_plan_start(plans, plan, comm, 0, &algorithm, &kept, &setting), HP_OK);
    hp_plans_put(plans, plan);
    assert_ptr_equal(hp_plans_find(plans, &algorithm, &kept, &setting), plan);
    plan = hp_plans_take(plans, comm, NULL);
    assert_int_equal(hp_plan_start(plans, plan, comm, 1, &algorithm, &running, &setting), HP_OK);
    hp_plans_forget(plans);
    assert_null(hp_plans_find(plans, &algorithm, &kept, &setting));
    hp_plans_put(plans, plan);
    assert_null(hp_plans_find(plans, &algorithm, &running, &setting));
    plan = hp_plans_take(plans, comm, NULL);
    assert_int_equal(hp_plan_start(plans, plan, comm, 2, &algorithm, &kept, &setting), HP_OK);
    hp_plans_put(plans, plan);
    assert_ptr_equal(hp_plans_find(plans, &algorithm, &kept, &setting), plan);
    destroy(comm);
}

static void after_a_failure_it_is_prepared_anew(void **state)
{
    (void)state;
    hp_comm_t *comm = create();
    hp_plans_t *plans = &comm->executions->plans;
    const hp_setting_t setting = setting_of();
    const hp_call_t call = call_of(5);

    assert_false(run(comm, &algorithm, &call, &setting));
    hp_plan_t *plan = hp_plans_take(plans, comm, hp_plans_find(plans, &algorithm, &call, &setting));
    plan->again.start = fail_to_start;
    assert_int_equal(hp_plan_start(plans, plan, comm, 2, &algorithm, &call, &setting), HP_ERR_NO_MEM);
    hp_plans_put(plans, plan);
    assert_false(run(comm, &algorithm, &call, &setting));
    assert_true(run(comm, &algorithm, &call, &setting));
    destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_calls_share_one),
                                       cmocka_unit_test(others_do_not),
                                       cmocka_unit_test(the_last_ones_are_kept),
                                       cmocka_unit_test(one_for_all_that_have_none),
                                       cmocka_unit_test(equal_lists_share_one_from_the_third_call_on),
                                       cmocka_unit_test(lists_differ_in_each_part),
                                       cmocka_unit_test(lists_that_always_differ_drive_nobody_out),
                                       cmocka_unit_test(none_from_before_is_started_again),
                                       cmocka_unit_test(after_a_failure_it_is_prepared_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
