/* test_request_reports: what a request says of itself: its trace, and what holds it up. */
#include "one_request.h"

static uint64_t step_clock(void *context)
{
    return *(uint64_t *)context += 1000;
}

static const hp_trace_event_t *find_event(const hp_trace_snapshot_t *all, hp_trace_kind_t kind,
                                          hp_label_t label, uint32_t segment)
{
    const hp_trace_event_t *found = NULL;
    for (uint32_t i = 0; i < all->event_count; i++) {
        const hp_trace_event_t *event = &all->events[i];
        if (event->kind == kind && event->label == label && event->segment == segment)
            found = event;
    }
    assert_non_null(found);
    return found;
}

static void what_happens_is_recorded(void **state)
{
    fixture_t *f = *state;
    enum { SEGMENTS = 3 };
    uint64_t now = 0;
    hp_trace_t trace;
    hp_trace_snapshot_t all;

    assert_int_equal(hp_trace_init(&trace, 100, step_clock, &now), HP_OK);
    hp_trace_call_t *call = hp_trace_begin_call(&trace);
    hp_request_record(f->request, &trace, call);
    assert_ptr_equal(hp_request_recorded(f->request), call);
    start_copies_and_send(f, SEGMENTS);
    assert_int_equal(call->segments, SEGMENTS);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        progress_all(f);
        hand_complete(&f->hand, i);
    }
    progress_all(f);
    call->end_ns = step_clock(&now);
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.dropped, 0);
    assert_int_equal(all.call_count, 1);
    assert_int_equal(all.event_count, SEGMENTS * (3 + 2)); /* primitives, and the tasks sr and ir */
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        const hp_trace_event_t *sr = find_event(&all, HP_TRACE_TASK, HP_LABEL_SR, i);
        const hp_trace_event_t *ir = find_event(&all, HP_TRACE_TASK, HP_LABEL_IR, i);
        const hp_trace_event_t *send = find_event(&all, HP_TRACE_SEND, HP_LABEL_IR, i);
        const hp_trace_event_t *copy = find_event(&all, HP_TRACE_COPY, HP_LABEL_SR, i);
        assert_int_equal(send->peer, CHILD);
        assert_int_equal(copy->peer, -1);
        assert_int_equal(send->bytes, SEGMENT_BYTES);
        assert_true(sr->turn_ns <= copy->turn_ns && sr->end_ns >= copy->end_ns);
        assert_int_equal(ir->turn_ns, send->turn_ns);
        assert_int_equal(ir->end_ns, send->end_ns);
        assert_true(sr->end_ns <= ir->turn_ns);
        if (i > 0) /* behind the one before it in its lane, though posted with it */
            assert_true(send->turn_ns >= find_event(&all, HP_TRACE_SEND, HP_LABEL_IR, i - 1)->end_ns &&
                        send->start_ns <= send->turn_ns);
    }
    hp_trace_snapshot_fini(&all);
    hp_request_record(f->request, NULL, NULL);
    assert_null(hp_request_recorded(f->request));
    const uint64_t before = now;
    f->hand.posted = 0;
    start_copies_and_send(f, 1);
    progress_all(f);
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(now, before); /* nobody looked at the clock */
    hp_trace_fini(&trace);
}

/* ---- what holds it up ---- */

typedef struct {
    hp_pending_t all[OPERATIONS_MAX];
    uint32_t count;
} pending_t;

static void record_pending(void *context, const hp_pending_t *pending)
{
    pending_t *seen = context;
    seen->all[seen->count++] = *pending;
}

static const pending_t *pending_of(const fixture_t *f)
{
    static pending_t seen;
    seen.count = 0;
    hp_request_pending(f->request, record_pending, &seen);
    return &seen;
}

static void what_holds_it_up_is_told(void **state)
{
    fixture_t *f = *state;

    assert_int_equal(pending_of(f)->count, 0); /* nothing was ever started */
    start_relay(f, 10, 3, 2, 1);
    const pending_t *seen = pending_of(f);
    assert_int_equal(seen->count, 3); /* two are posted, the third is next in their lane */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(seen->all[i].what, HP_PENDING_RECV);
        assert_int_equal(seen->all[i].peer, PARENT);
        assert_int_equal(seen->all[i].segment, i);
    }
    hand_complete(&f->hand, 1);
    progress_all(f);
    seen = pending_of(f);
    assert_int_equal(seen->count,
                     3); /* of segment 1 there is only the send now, which waits for nothing but its turn */
    assert_int_equal(seen->all[0].what, HP_PENDING_RECV);
    assert_int_equal(seen->all[1].what, HP_PENDING_SEND);
    assert_int_equal(seen->all[1].peer, CHILD);
    assert_int_equal(seen->all[1].segment, 1);
    for (uint32_t i = 0; i < f->hand.posted; i++) {
        if (f->hand.operations[i].live)
            hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(pending_of(f)->count, 0);
}

static void flags_that_hold_it_up_are_told(void **state)
{
    fixture_t *f = *state;
    direct_plan_t *plan;

    start_counted(f, 5, 2);
    *f->theirs = 1;
    progress_all(f);
    const pending_t *seen = pending_of(f);
    assert_int_equal(seen->count, 2);
    assert_int_equal(seen->all[0].what, HP_PENDING_FLAG);
    assert_ptr_equal(seen->all[0].counter, f->theirs);
    assert_int_equal(hp_node_owner(&f->node, seen->all[0].counter), 1);
    assert_int_equal(seen->all[0].segment + seen->all[1].segment, 1 + 2);
    *f->theirs = 5;
    progress_all(f);
    assert_int_equal(pending_of(f)->count, 0);
    *f->theirs = 0;
    assert_int_equal(start_direct(f, &plan), HP_OK);
    seen = pending_of(f);
    assert_int_equal(seen->count, 1);
    assert_int_equal(seen->all[0].what, HP_PENDING_FLAG);
    assert_ptr_equal(seen->all[0].counter, f->theirs);
    *f->theirs = 2;
    progress_all(f);
    assert_int_equal(pending_of(f)->count, 0);
}

static void collectives_that_hold_it_up_are_told(void **state)
{
    fixture_t *f = *state;
    hp_pipeline_t pipeline = prepare(f, 1, 1, emit_native);

    pipeline.scratch_per_segment = 1;
    f->lanes[0] = hp_request_native_lane(f->request, 71);
    f->lanes[1] = hp_request_native_lane(f->request, 72);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const pending_t *seen = pending_of(f);
        assert_int_equal(seen->count, 1); /* the second one waits for the first, and is not told */
        assert_int_equal(seen->all[0].what, HP_PENDING_NATIVE);
        hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_int_equal(pending_of(f)->count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_happens_is_recorded),
        TEST(what_holds_it_up_is_told),
        TEST(flags_that_hold_it_up_are_told),
        TEST(collectives_that_hold_it_up_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
