/* test_request: the engine alone, over a transport in which the test itself says what completes when.
 *
 * PITFALLS 26 (a lane goes out in segment order), 27 (nothing recurses, nothing is held after an error). */
#include "check.h"
#include "event_engine/request.h"

/* ---- a transport that does nothing by itself ---- */

enum { OPERATIONS_MAX = 4096 };

typedef struct {
    bool is_send, live;
    const void *buffer;
    size_t count;
    uint32_t peer, tag;
    void *cookie;
} operation_t;

typedef struct {
    hp_transport_t transport;
    operation_t operations[OPERATIONS_MAX]; /* all that were posted, in order */
    uint32_t posted;
    void *done[OPERATIONS_MAX]; /* to be handed out by the next polls */
    uint32_t done_count;
    uint32_t cancelled, reductions, copies, waits;
    uint32_t copies_before_first; /* operation was posted */
    hp_status_t post_status, poll_status, local_status;
} hand_t;

static hp_status_t hand_post(hand_t *hand, operation_t operation)
{
    if (hand->post_status != HP_OK)
        return hand->post_status;
    assert_true(hand->posted < OPERATIONS_MAX);
    if (hand->posted == 0)
        hand->copies_before_first = hand->copies;
    hand->operations[hand->posted++] = operation;
    return HP_OK;
}

static hp_status_t hand_isend(hp_transport_t *transport, const void *buffer, size_t count,
                              const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    (void)type;
    return hand_post((hand_t *)transport, (operation_t){true, true, buffer, count, peer, tag, cookie});
}

static hp_status_t hand_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                              uint32_t peer, uint32_t tag, void *cookie)
{
    (void)type;
    return hand_post((hand_t *)transport, (operation_t){false, true, buffer, count, peer, tag, cookie});
}

static hp_status_t hand_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    hand_t *hand = (hand_t *)transport;
    *count = hand->done_count < capacity ? hand->done_count : capacity;
    memcpy(done, hand->done, *count * sizeof *done);
    hand->done_count -= *count;
    memmove(hand->done, hand->done + *count, hand->done_count * sizeof *done);
    return hand->poll_status;
}

static void hand_cancel(hp_transport_t *transport)
{
    hand_t *hand = (hand_t *)transport;
    hand->cancelled++;
    hand->done_count = 0;
    for (uint32_t i = 0; i < hand->posted; i++)
        hand->operations[i].live = false;
}

/* inout = in + inout, bytes. */
static hp_status_t hand_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                               const hp_type_t *type, hp_handle_t op)
{
    hand_t *hand = (hand_t *)transport;
    (void)type;
    (void)op;
    hand->reductions++;
    for (size_t i = 0; i < count; i++)
        ((char *)inout)[i] = (char)(((char *)inout)[i] + ((const char *)in)[i]);
    return hand->local_status;
}

static hp_status_t hand_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                             const hp_type_t *type)
{
    hand_t *hand = (hand_t *)transport;
    (void)type;
    hand->copies++;
    memcpy(to, from, count);
    return hand->local_status;
}

/* Blocking is what the test says it is: the oldest operation completes. */
static hp_status_t hand_wait(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    hand_t *hand = (hand_t *)transport;
    uint32_t i = 0;

    (void)capacity;
    *count = 0;
    hand->waits++;
    while (i < hand->posted && !hand->operations[i].live)
        i++;
    if (i < hand->posted) {
        hand->operations[i].live = false;
        done[(*count)++] = hand->operations[i].cookie;
    }
    return hand->poll_status;
}

#define HAND_OPS(blocking_wait)                                                                              \
    {                                                                                                        \
        .isend = hand_isend, .irecv = hand_irecv, .poll = hand_poll, .wait = (blocking_wait),                \
        .cancel = hand_cancel, .reduce = hand_reduce, .copy = hand_copy,                                     \
    }
static const hp_transport_ops_t hand_ops = HAND_OPS(NULL), hand_blocking_ops = HAND_OPS(hand_wait);

static void hand_complete(hand_t *hand, uint32_t i)
{
    assert_true(i < hand->posted && hand->operations[i].live);
    hand->operations[i].live = false;
    hand->done[hand->done_count++] = hand->operations[i].cookie;
}

static uint32_t hand_live(const hand_t *hand, bool is_send)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < hand->posted; i++)
        live += hand->operations[i].live && hand->operations[i].is_send == is_send;
    return live;
}

/* ---- a fixture: one request ---- */

enum { SEGMENT_BYTES = 8, PARENT = 1, CHILD = 2, TAG = 5 };

typedef struct {
    hand_t hand;
    hp_pool_t pool;
    hp_request_t *request;
    char buffer[OPERATIONS_MAX * SEGMENT_BYTES];
    int32_t lanes[4];
    uint64_t emitted; /* segments */
} fixture_t;

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->hand.transport.ops = &hand_ops;
    hp_pool_init(&f->pool);
    *state = f;
    return hp_request_create(&f->hand.transport, &f->pool, &f->request) == HP_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    hp_request_destroy(f->request);
    assert_int_equal(f->pool.live, 0);
    hp_pool_fini(&f->pool);
    free(f);
    return 0;
}

/* The plan of a request is its own memory: it points back at the fixture. */
static hp_pipeline_t prepare(fixture_t *f, uint64_t segments, uint32_t window, hp_emit_fn_t emit)
{
    fixture_t **plan = hp_request_plan(f->request, sizeof *plan);
    assert_non_null(plan);
    *plan = f;
    f->emitted = 0;
    return (hp_pipeline_t){.segment_count = segments,
                           .tasks_per_segment = 8,
                           .edges_per_segment = 8,
                           .window_segments = window,
                           .scratch_bytes = SEGMENT_BYTES,
                           .type = {.bytes = 1, .extent = 1, .true_extent = 1},
                           .emit = emit};
}

static fixture_t *of_plan(const void *plan)
{
    return *(fixture_t *const *)plan;
}

static void progress_all(fixture_t *f)
{
    bool moved = true;
    while (moved)
        assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
}

/* recv from the parent, then send to the child. */
static void emit_relay(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES;
    assert_int_equal(i, f->emitted++); /* emitted once each, in order */
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], at, SEGMENT_BYTES);
    hp_emit_after(hp_emit_send(segment, f->lanes[1], hp_at(at), SEGMENT_BYTES), recv);
}

static void start_relay(fixture_t *f, uint64_t segments, uint32_t window, uint32_t recvs, uint32_t sends)
{
    const hp_pipeline_t pipeline = prepare(f, segments, window, emit_relay);
    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, recvs);
    f->lanes[1] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD, TAG, sends);
    assert_true(f->lanes[0] >= 0 && f->lanes[1] >= 0);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

/* ---- tests ---- */

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
static void emit_fold(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_operand_t folded = hp_at(f->buffer + i * SEGMENT_BYTES);
    hp_task_t *before = NULL;
    for (unsigned child = 0; child < 3; child++) {
        hp_task_t *recv = hp_emit_recv_scratch(segment, f->lanes[child], SEGMENT_BYTES);
        hp_task_t *fold = hp_emit_reduce(segment, folded, hp_of(recv), SEGMENT_BYTES);
        hp_emit_after(fold, recv);
        hp_emit_after(fold, before);
        folded = hp_of(fold);
        before = fold;
    }
    hp_emit_after(hp_emit_send(segment, f->lanes[3], folded, SEGMENT_BYTES), before);
}

static void start_fold(fixture_t *f, uint64_t segments)
{
    const hp_pipeline_t pipeline = prepare(f, segments, 4, emit_fold);
    for (uint32_t child = 0; child < 3; child++)
        f->lanes[child] = hp_request_new_lane(f->request, HP_LANE_RECV, CHILD + child, TAG, 2);
    f->lanes[3] = hp_request_new_lane(f->request, HP_LANE_SEND, PARENT, TAG, 2);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

static void reductions_wait_for_their_operands(void **state)
{
    fixture_t *f = *state;
    memset(f->buffer, 1, sizeof f->buffer);
    start_fold(f, 1);
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
    start_fold(f, 300);
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
    hp_task_t *copy = hp_emit_copy(segment, at, hp_at(f->buffer + 1000), SEGMENT_BYTES);
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
    start_fold(f, 10);
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
    assert_non_null(hp_request_plan(f->request, 100000)); /* forgets them */
    assert_int_equal(hp_request_lane(f->request, HP_LANE_SEND, 2, TAG, 4), 0);
}

/* Two copies, then a send. */
static void emit_copies_and_send(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES, *spare = f->buffer + sizeof f->buffer / 2;

    hp_segment_label(segment, HP_LABEL_SR);
    hp_task_t *out = hp_emit_copy(segment, spare, hp_at(at), SEGMENT_BYTES);
    hp_task_t *back = hp_emit_copy(segment, at, hp_at(spare), SEGMENT_BYTES);
    hp_segment_label(segment, HP_LABEL_IR);
    hp_task_t *send = hp_emit_send(segment, f->lanes[0], hp_at(at), SEGMENT_BYTES);
    hp_emit_after(back, out);
    hp_emit_after(send, back);
}

static void start_copies_and_send(fixture_t *f, uint64_t segments)
{
    const hp_pipeline_t pipeline = prepare(f, segments, (uint32_t)segments, emit_copies_and_send);
    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD, TAG, 2);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
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
        TEST(equal_lanes_are_shared),
        TEST(the_oldest_segment_goes_first),
        TEST(what_happens_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
