/* test_request: lanes, window and errors of the engine.
 *
 * docs/pitfalls.md 26 (a lane goes out in segment order), 27 (nothing recurses, nothing is held after an error). */
#include "one_request.h"

static void posts_up_to_the_limits(void **state)
{
    fixture_t *f = *state;
    start_relay(f, 20, 20, 6, 4);
    assert_int_equal(hand_live(&f->hand, false), 6);
    assert_int_equal(hand_live(&f->hand, true), 0);
    assert_int_equal(hp_request_counters(f->request)->in_flight, 6);
    for (uint32_t i = 0; i < 6; i++)
        hand_complete(&f->hand, i);
    progress_all(f);
    assert_int_equal(hand_live(&f->hand, false), 6);
    assert_int_equal(hand_live(&f->hand, true), 4);
    assert_false(hp_request_done(f->request));
    for (uint32_t i = 0; i < f->hand.posted; i++) {
        if (f->hand.operations[i].live)
            hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(hp_request_counters(f->request)->sends, 20);
    assert_int_equal(hp_request_counters(f->request)->recvs, 20);
    assert_int_equal(hp_request_counters(f->request)->in_flight, 0);
}

/* Segments arrive in any order; both lanes post in segment order all the same. */
static void pitfall_26_lanes_keep_segment_order(void **state)
{
    fixture_t *f = *state;
    check_random_t random = check_random_start("pitfall_26_lanes_keep_segment_order");
    for (unsigned run = 0; run < 200; run++) {
        const uint32_t segments = 1 + check_random_below(&random, 60);
        f->hand.posted = 0;
        start_relay(f, segments, 1 + check_random_below(&random, 70), 1 + check_random_below(&random, 8),
                    1 + check_random_below(&random, 8));
        while (!hp_request_done(f->request)) {
            uint32_t i = check_random_below(&random, f->hand.posted);
            if (f->hand.operations[i].live)
                hand_complete(&f->hand, i);
            if (check_random_below(&random, 3) == 0)
                progress_all(f);
        }
        const char *next[2] = {f->buffer, f->buffer};
        for (uint32_t i = 0; i < f->hand.posted; i++) {
            const bool is_send = f->hand.operations[i].is_send;
            assert_ptr_equal(f->hand.operations[i].buffer, next[is_send]);
            assert_int_equal(f->hand.operations[i].peer, is_send ? CHILD : PARENT);
            assert_int_equal(f->hand.operations[i].tag, TAG);
            next[is_send] += SEGMENT_BYTES;
        }
        assert_int_equal(f->hand.posted, 2 * segments);
    }
}

static void window_bounds_what_is_emitted(void **state)
{
    fixture_t *f = *state;
    start_relay(f, 1000, 5, 100, 100);
    assert_int_equal(hp_request_counters(f->request)->window_segments, 5);
    assert_int_equal(f->emitted, 5);
    assert_int_equal(hand_live(&f->hand, false), 5);
    for (uint32_t i = 1; i < 5; i++) /* all but the first are finished: their places are used again */
        hand_complete(&f->hand, i);
    progress_all(f);
    assert_int_equal(f->emitted, 5);
    assert_int_equal(hand_live(&f->hand, true), 0); /* segment 0 goes first */
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(hand_live(&f->hand, true), 5);
    for (uint32_t i = 5; i < 10; i++)
        hand_complete(&f->hand, i);
    progress_all(f);
    assert_int_equal(f->emitted, 10);
    hand_complete(&f->hand, 10);
    f->hand.poll_status = HP_ERR_TRANSPORT;
    bool moved;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_true(hp_request_done(f->request));
}

static void waiting_blocks_where_the_transport_can(void **state)
{
    fixture_t *f = *state;
    bool moved;

    f->hand.transport.ops = &hand_blocking_ops;
    start_relay(f, 5, 2, 6, 4);
    assert_int_equal(hp_request_progress(f->request, &moved), HP_OK); /* progress never does */
    assert_false(moved);
    assert_int_equal(f->hand.waits, 0);
    for (uint32_t operations = 0; operations < 10; operations++) {
        assert_false(hp_request_done(f->request));
        assert_int_equal(hp_request_wait(f->request, &moved), HP_OK);
        assert_true(moved);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->hand.waits, 10);
}

static void waiting_polls_where_it_cannot(void **state)
{
    fixture_t *f = *state;
    bool moved;

    start_relay(f, 1, 1, 6, 4);
    assert_int_equal(hp_request_wait(f->request, &moved), HP_OK);
    assert_false(moved);
    for (uint32_t i = 0; i < 2; i++) {
        hand_complete(&f->hand, i);
        assert_int_equal(hp_request_wait(f->request, &moved), HP_OK);
        assert_true(moved);
    }
    assert_true(hp_request_done(f->request));
}

/* own (op) child, made in scratch, then sent up; children in any order. */
static void emit_reduction(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_operand_t reduced = hp_at(f->buffer + i * SEGMENT_BYTES);
    hp_task_t *before = NULL;
    for (unsigned child = 0; child < 3; child++) {
        hp_task_t *recv = hp_emit_recv_scratch(segment, f->lanes[child], SEGMENT_BYTES);
        hp_task_t *reduction = hp_emit_reduce(segment, reduced, hp_of(recv), SEGMENT_BYTES);
        hp_emit_after(reduction, recv);
        hp_emit_after(reduction, before);
        reduced = hp_of(reduction);
        before = reduction;
    }
    hp_emit_after(hp_emit_send(segment, f->lanes[3], reduced, SEGMENT_BYTES), before);
}

static void start_reduction(fixture_t *f, uint64_t segments)
{
    const hp_pipeline_t pipeline = prepare(f, segments, 4, emit_reduction);
    for (uint32_t child = 0; child < 3; child++)
        f->lanes[child] = hp_request_new_lane(f->request, HP_LANE_RECV, CHILD + child, TAG, 2);
    f->lanes[3] = hp_request_new_lane(f->request, HP_LANE_SEND, PARENT, TAG, 2);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

static void reductions_wait_for_their_operands(void **state)
{
    fixture_t *f = *state;
    memset(f->buffer, 1, sizeof f->buffer);
    start_reduction(f, 1);
    assert_int_equal(f->hand.posted, 3);
    assert_int_equal(f->pool.live, 3);
    for (uint32_t child = 0; child < 3; child++)
        memset((char *)f->hand.operations[child].buffer, 10 << child, SEGMENT_BYTES);
    hand_complete(&f->hand, 2);
    progress_all(f);
    hand_complete(&f->hand, 1);
    progress_all(f);
    assert_int_equal(f->hand.reductions, 0); /* the order is fixed: the first child is missing */
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(f->hand.reductions, 3);
    assert_int_equal(f->hand.posted, 4);
    assert_true(f->hand.operations[3].is_send);
    assert_int_equal(*(const char *)f->hand.operations[3].buffer, 1 + 10 + 20 + 40);
    assert_int_equal(f->buffer[0], 1);
    assert_int_equal(f->pool.live, 3); /* the send still reads one of them */
    hand_complete(&f->hand, 3);
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->pool.live, 0);
    assert_int_equal(hp_request_counters(f->request)->scratch_peak, 3);
}

static void scratch_goes_back_segment_by_segment(void **state)
{
    fixture_t *f = *state;
    start_reduction(f, 300);
    for (uint32_t i = 0; i < f->hand.posted; i++) {
        hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_true(hp_request_counters(f->request)->scratch_peak <= 4 * 3);
    assert_int_equal(hp_request_counters(f->request)->reductions, 900);
}

/* Only copies and reductions, thousands of segments: the stack stays flat, start does all of it. */
static void emit_local(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + (i % 100) * SEGMENT_BYTES;
    f->emitted++;
    if (i % 3 == 2)
        return; /* nothing to do on this rank */
    hp_task_t *copy = hp_emit_copy(segment, hp_at(at), hp_at(f->buffer + 1000), SEGMENT_BYTES);
    hp_emit_after(hp_emit_reduce(segment, hp_at(f->buffer + 2000), hp_of(copy), SEGMENT_BYTES), copy);
}

static void pitfall_27_local_tasks_do_not_recurse(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 300000, 7, emit_local);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->emitted, 300000);
    assert_int_equal(hp_request_counters(f->request)->copies, 200000);
    assert_int_equal(hp_request_counters(f->request)->reductions, 200000);
}

static void nothing_to_do_is_done_at_once(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t none = prepare(f, 0, 4, emit_relay);
    assert_int_equal(hp_request_start(f->request, &none), HP_OK);
    assert_true(hp_request_done(f->request));
    bool moved = true;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
    assert_false(moved);
}

/* A post fails at the start or later, a poll or a reduction fails: one error, all given up, and the request
 * can be used again. */
static void pitfall_27_errors_leave_nothing(void **state)
{
    fixture_t *f = *state;
    bool moved;
    f->hand.post_status = HP_ERR_TRANSPORT;
    const hp_pipeline_t pipeline = prepare(f, 10, 4, emit_relay);
    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 6);
    f->lanes[1] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD, TAG, 4);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_ERR_TRANSPORT);
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->hand.cancelled, 1);

    f->hand.post_status = HP_OK;
    start_relay(f, 10, 4, 6, 4);
    f->hand.post_status = HP_ERR_NO_MEM;
    hand_complete(&f->hand, 0);
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_NO_MEM);
    assert_true(hp_request_done(f->request));
    assert_int_equal(hp_request_counters(f->request)->in_flight, 0);
    assert_int_equal(f->hand.cancelled, 2);

    f->hand.post_status = HP_OK;
    f->hand.posted = 0;
    start_reduction(f, 10);
    assert_true(f->pool.live > 0);
    f->hand.local_status = HP_ERR_TRANSPORT;
    for (uint32_t i = 0; i < 3; i++)
        hand_complete(&f->hand, i * 2); /* each child's receive of segment 0; lanes post two each */
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->pool.live, 0);

    f->hand.local_status = HP_OK;
    f->hand.posted = 0;
    start_relay(f, 3, 4, 6, 4);
    for (uint32_t i = 0; i < f->hand.posted; i++) {
        hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->hand.cancelled, 3);
}

static uint32_t going_on; /* operations that cancel did not end */

static bool hand_ended(hp_transport_t *transport)
{
    (void)transport;
    return going_on == 0;
}

/* Scratch buffers of messages that cannot be cancelled are kept out of use until those have ended. */
static void what_cannot_be_cancelled_keeps_its_buffer(void **state)
{
    fixture_t *f = *state;
    hp_transport_ops_t ops = hand_ops;
    bool moved;

    ops.ended = hand_ended;
    f->hand.transport.ops = &ops;
    start_reduction(f, 10);
    const uint32_t posted = f->hand.posted;
    assert_true(posted > 0);
    f->hand.poll_status = HP_ERR_TRANSPORT;
    going_on = 1;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_int_equal(f->pool.live, 0);

    f->hand.poll_status = HP_OK;
    start_reduction(f, 10);
    for (uint32_t i = posted; i < f->hand.posted; i++)
        for (uint32_t old = 0; old < posted; old++)
            assert_ptr_not_equal(f->hand.operations[i].buffer, f->hand.operations[old].buffer);

    going_on = 0;
    f->hand.poll_status = HP_ERR_TRANSPORT;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_non_null(f->pool.retired);
    f->hand.poll_status = HP_OK;
    hp_request_destroy(f->request); /* the last one to look */
    assert_null(f->pool.retired);
    assert_int_equal(hp_request_create(&f->hand.transport, &f->pool, &f->request), HP_OK);
}

static void equal_lanes_are_shared(void **state)
{
    fixture_t *f = *state;
    assert_non_null(hp_request_plan(f->request, 1));
    const int32_t first = hp_request_lane(f->request, HP_LANE_SEND, 1, TAG, 4);
    assert_int_equal(first, 0);
    /* On one communicator collectives come in one order, whichever turn they belong to. */
    const int32_t native = hp_request_native_lane(f->request, 77);
    assert_int_equal(hp_request_native_lane(f->request, 77), native);
    assert_int_not_equal(hp_request_native_lane(f->request, 78), native);
    assert_int_equal(hp_request_lane(f->request, HP_LANE_SEND, 1, TAG, 4), first);
    assert_int_not_equal(hp_request_lane(f->request, HP_LANE_RECV, 1, TAG, 4), first);
    assert_int_not_equal(hp_request_lane(f->request, HP_LANE_SEND, 2, TAG, 4), first);
    assert_int_not_equal(hp_request_lane(f->request, HP_LANE_SEND, 1, TAG + 1, 4), first);
    for (uint32_t peer = 0; peer < 100; peer++)
        assert_int_equal(hp_request_new_lane(f->request, HP_LANE_SEND, 1000 + peer, TAG, 4),
                         6 + (int32_t)peer);
    for (uint32_t peer = 0; peer < 100; peer++)
        assert_int_equal(hp_request_lane(f->request, HP_LANE_SEND, 1000 + peer, TAG, 4), 6 + (int32_t)peer);
    assert_non_null(hp_request_plan(f->request, 100000)); /* forgets them */
    assert_int_equal(hp_request_lane(f->request, HP_LANE_SEND, 2, TAG, 4), 0);
}

/* All segments could make their first step: the first one makes all of its own before. */
static void the_oldest_segment_goes_first(void **state)
{
    fixture_t *f = *state;
    start_copies_and_send(f, 50);
    assert_int_equal(f->hand.copies_before_first, 2);
    for (uint32_t i = 0; i < 50; i++) {
        progress_all(f);
        assert_ptr_equal(f->hand.operations[i].buffer, f->buffer + i * SEGMENT_BYTES);
        hand_complete(&f->hand, i);
    }
    progress_all(f);
    assert_true(hp_request_done(f->request));
}

/* ---- the same once more ---- */

static char *where;       /* the program's buffer, this time */
static uint64_t step_now; /* the first one of the collective */

/* Theirs has come, and a message from the child: that goes to the buffer, and ours is set. */
static void emit_step(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    f->emitted++;
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], step_now + i + 1);
    hp_task_t *recv = hp_emit_recv_scratch(segment, f->lanes[2], SEGMENT_BYTES);
    hp_task_t *copy =
        hp_emit_copy(segment, hp_within(hp_behind(&where), i * SEGMENT_BYTES), hp_of(recv), SEGMENT_BYTES);
    hp_emit_after(copy, there);
    hp_emit_after(copy, recv);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], step_now + i + 1), copy);
}

static hp_pipeline_t prepare_steps(fixture_t *f, uint64_t segments)
{
    hp_pipeline_t pipeline = prepare(f, segments, 2, emit_step);

    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs, false);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine, false);
    f->lanes[2] = hp_request_new_lane(f->request, HP_LANE_RECV, CHILD, TAG, 2);
    pipeline.tasks_per_segment = 1000; /* more memory than a request keeps while it rests */
    pipeline.scratch_per_segment = 1;
    step_now = pipeline.step = 0;
    where = f->buffer;
    return pipeline;
}

/* The peer and the child do their parts of the collective that has been started, in that order. */
static void let_it_end(fixture_t *f, uint64_t segments)
{
    progress_all(f);
    assert_false(hp_request_done(f->request));
    assert_int_equal(*f->mine, step_now);
    *f->theirs = step_now + segments;
    progress_all(f);
    assert_int_equal(*f->mine, step_now);
    for (uint32_t i = 0; i < f->hand.posted; i++) {
        if (!f->hand.operations[i].live)
            continue;
        memset((char *)f->hand.operations[i].buffer, 'a' + (int)step_now, SEGMENT_BYTES);
        hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(*f->mine, step_now + segments);
    for (uint64_t i = 0; i < segments * SEGMENT_BYTES; i++)
        assert_int_equal(where[i], 'a' + (int)step_now);
    assert_int_equal(f->pool.live, 0);
}

static void start_again(fixture_t *f, hp_pipeline_t *pipeline, uint64_t step, bool as_emitted)
{
    step_now = pipeline->step = step;
    pipeline->tag = (uint32_t)step;
    where = f->buffer + 1000 * step;
    assert_int_equal(hp_request_start_again(f->request, pipeline, as_emitted), HP_OK);
    assert_int_equal(f->hand.operations[f->hand.posted - 1].tag, TAG + step);
}

static void tasks_run_again_as_they_were_emitted(void **state)
{
    fixture_t *f = *state;
    hp_pipeline_t pipeline = prepare_steps(f, 1);

    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    let_it_end(f, 1);
    for (uint64_t step = 1; step < 20; step += step % 3 + 1) {
        start_again(f, &pipeline, step, true);
        *f->mine = *f->theirs = step; /* what was between */
        let_it_end(f, 1);
        assert_int_equal(f->emitted, 1);
        assert_int_equal(hp_request_counters(f->request)->recvs, 1);
        assert_int_equal(hp_request_counters(f->request)->copies, 1);
    }
}

/* Said to be others, of more than one segment, given up, or without memory: they are emitted. */
static void tasks_are_emitted_anew_when_they_must(void **state)
{
    fixture_t *f = *state;
    hp_pipeline_t pipeline = prepare_steps(f, 1);
    bool moved;

    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    let_it_end(f, 1);
    start_again(f, &pipeline, 1, false);
    let_it_end(f, 1);
    assert_int_equal(f->emitted, 2);

    start_again(f, &pipeline, 2, true);
    f->hand.poll_status = HP_ERR_TRANSPORT;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    f->hand.poll_status = HP_OK;
    *f->mine = *f->theirs = 3;
    start_again(f, &pipeline, 3, true);
    let_it_end(f, 1);
    assert_int_equal(f->emitted, 3);

    hp_request_rest(f->request);
    start_again(f, &pipeline, 4, true);
    let_it_end(f, 1);
    assert_int_equal(f->emitted, 4);

    pipeline = prepare_steps(f, 3);
    *f->mine = *f->theirs = 0;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    let_it_end(f, 3);
    start_again(f, &pipeline, 3, true);
    let_it_end(f, 3);
    assert_int_equal(f->emitted, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(posts_up_to_the_limits),
        TEST(pitfall_26_lanes_keep_segment_order),
        TEST(window_bounds_what_is_emitted),
        TEST(waiting_blocks_where_the_transport_can),
        TEST(waiting_polls_where_it_cannot),
        TEST(reductions_wait_for_their_operands),
        TEST(scratch_goes_back_segment_by_segment),
        TEST(pitfall_27_local_tasks_do_not_recurse),
        TEST(nothing_to_do_is_done_at_once),
        TEST(pitfall_27_errors_leave_nothing),
        TEST(what_cannot_be_cancelled_keeps_its_buffer),
        TEST(equal_lanes_are_shared),
        TEST(the_oldest_segment_goes_first),
        TEST(tasks_run_again_as_they_were_emitted),
        TEST(tasks_are_emitted_anew_when_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
