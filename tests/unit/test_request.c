/* test_request: the engine alone, over a transport in which the test itself says what completes when, and
 * with counters that the test sets in the place of other members of a node.
 *
 * docs/pitfalls.md 26 (a lane goes out in segment order), 27 (nothing recurses, nothing is held after an error). */
#include <sys/wait.h>
#include <unistd.h>
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
    hp_native_t native; /* the last collective, */
    hp_handle_t native_comm;
    const void *native_from; /* what it reads, */
    uint32_t native_root;
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

/* A collective: an operation to the peer that is nobody; the buffer is where the result goes. */
enum { NOBODY = 999 };
static hp_status_t hand_icollective(hp_transport_t *transport, hp_native_t what, hp_handle_t comm,
                                    const void *from, void *to, size_t count, const hp_type_t *type,
                                    hp_handle_t op, uint32_t root, void *cookie)
{
    hand_t *hand = (hand_t *)transport;
    (void)type;
    (void)op;
    hand->native = what;
    hand->native_comm = comm;
    hand->native_from = from;
    hand->native_root = root;
    return hand_post(hand, (operation_t){false, true, to, count, NOBODY, 0, cookie});
}

#define HAND_OPS(blocking_wait)                                                                              \
    {                                                                                                        \
        .isend = hand_isend, .irecv = hand_irecv, .poll = hand_poll, .wait = (blocking_wait),                \
        .cancel = hand_cancel, .reduce = hand_reduce, .icollective = hand_icollective, .copy = hand_copy,    \
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
    hp_node_memory_t node;
    hp_counter_t *theirs, *mine; /* of the node: a peer's, and our own */
    void *address;               /* where the peer says its buffer is */
    size_t offset;
    hp_operand_t left, right, result;
    char scratch_seen[SEGMENT_BYTES];
} fixture_t;

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    const hp_node_shape_t shape = {.members = 2, .levels = 1, .slots = 2, .slot_bytes = 64};
    const pid_t pids[2] = {0};
    void *memory = aligned_alloc(64, hp_node_memory_bytes(&shape));
    if (!memory)
        return -1;
    memset(memory, 0, hp_node_memory_bytes(&shape));
    if (hp_node_memory_init(&f->node, &shape, 0, pids, -1, memory) != HP_OK)
        return -1;
    f->mine = hp_node_counter(&f->node, 0, 0, HP_WAY_UP);
    f->theirs = hp_node_counter(&f->node, 1, 0, HP_WAY_DOWN);
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
    free(f->node.base);
    hp_node_memory_fini(&f->node);
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
                           .node = &f->node,
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
    start_fold(f, 10);
    const uint32_t posted = f->hand.posted;
    assert_true(posted > 0);
    f->hand.poll_status = HP_ERR_TRANSPORT;
    going_on = 1;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_int_equal(f->pool.live, 0);

    f->hand.poll_status = HP_OK;
    start_fold(f, 10);
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

/* ---- counters of the node ---- */

/* Wait for theirs to say that segment i is there, copy it, and say on our counter that it was read. */
static void emit_counted(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    f->emitted++;
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], i + 1);
    hp_task_t *copy =
        hp_emit_copy(segment, f->buffer + i * SEGMENT_BYTES, hp_at(f->buffer + 30000), SEGMENT_BYTES);
    hp_emit_after(copy, there);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], i + 1), copy);
}

static void start_counted(fixture_t *f, uint64_t segments, uint32_t window)
{
    const hp_pipeline_t pipeline = prepare(f, segments, window, emit_counted);
    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine);
    assert_true(f->lanes[0] >= 0 && f->lanes[1] >= 0);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

static void waits_end_when_the_counter_has_come(void **state)
{
    fixture_t *f = *state;
    bool moved;

    start_counted(f, 10, 10);
    assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
    assert_false(moved);
    assert_int_equal(f->hand.copies, 0);
    *f->theirs = 3;
    progress_all(f);
    assert_int_equal(f->hand.copies, 3);
    assert_int_equal(*f->mine, 3);
    *f->theirs = 4;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
    assert_true(moved);
    assert_int_equal(*f->mine, 4);
    *f->theirs = 1000; /* beyond all of them */
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(*f->mine, 10);
    assert_int_equal(hp_request_counters(f->request)->sets, 10);
    assert_int_equal(f->hand.posted, 0);
}

static void waits_are_bounded_by_the_window(void **state)
{
    fixture_t *f = *state;

    start_counted(f, 100, 3);
    assert_int_equal(f->emitted, 3);
    *f->theirs = 2;
    progress_all(f);
    assert_int_equal(f->emitted, 5);
    *f->theirs = 100;
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(*f->mine, 100);
}

/* What comes first in a segment may be ready last: a counter only grows, one step at a time. */
static void emit_counted_after_recv(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], f->buffer + i * SEGMENT_BYTES, SEGMENT_BYTES);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], i + 1), recv);
}

static void settings_keep_segment_order(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 4, 4, emit_counted_after_recv);

    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 4);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    hand_complete(&f->hand, 2);
    hand_complete(&f->hand, 1);
    progress_all(f);
    assert_int_equal(*f->mine, 0); /* segment 0 is not there: 1 would promise it */
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(*f->mine, 3);
    hand_complete(&f->hand, 3);
    progress_all(f);
    assert_int_equal(*f->mine, 4);
    assert_true(hp_request_done(f->request));
}

/* A wait that itself waits: its counter has come long ago, the message before it has not. */
static void emit_wait_behind_recv(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], f->buffer + i * SEGMENT_BYTES, SEGMENT_BYTES);
    hp_task_t *wait = hp_emit_wait(segment, f->lanes[1], i + 1);
    hp_emit_after(wait, recv);
    hp_emit_after(hp_emit_set(segment, f->lanes[2], i + 1), wait);
}

static void waits_wait_for_what_is_before_them(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 2, 2, emit_wait_behind_recv);

    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 4);
    f->lanes[1] = hp_request_wait_lane(f->request, f->theirs);
    f->lanes[2] = hp_request_set_lane(f->request, f->mine);
    *f->theirs = 2;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    hand_complete(&f->hand, 1);
    progress_all(f);
    assert_int_equal(*f->mine, 0);
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(*f->mine, 2);
    assert_true(hp_request_done(f->request));
}

/* ---- pulls ---- */

/* The address is read when the pull starts, not when it is emitted; then the bytes go through scratch. */
static void emit_pull(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    (void)i;
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], 1);
    hp_task_t *pull = hp_emit_pull(segment, 1, &f->address, f->offset, hp_scratch(), 4);
    hp_emit_after(pull, there);
    hp_task_t *copy = hp_emit_copy(segment, f->buffer, hp_of(pull), 4);
    hp_emit_after(copy, pull);
    hp_task_t *direct = hp_emit_pull(segment, 1, &f->address, 0, hp_at(f->buffer + 100), 4);
    hp_emit_after(direct, there);
}

static hp_pipeline_t prepare_pull(fixture_t *f)
{
    hp_pipeline_t pipeline = prepare(f, 1, 1, emit_pull);
    pipeline.scratch_per_segment = 1;
    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs);
    return pipeline;
}

static void pulls_read_the_address_when_they_start(void **state)
{
    fixture_t *f = *state;
    char theirs[] = "their buffer";
    const hp_pipeline_t pipeline = prepare_pull(f);

    f->offset = 6;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_int_equal(hp_request_counters(f->request)->pulls, 0);
    f->address = theirs;
    *f->theirs = 1;
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(hp_request_counters(f->request)->pulls, 2);
    assert_memory_equal(f->buffer, "buff", 4);
    assert_memory_equal(f->buffer + 100, "thei", 4);
    assert_int_equal(hp_request_counters(f->request)->scratch_peak, 1);
    assert_int_equal(f->pool.live, 0);
}

/* The member is gone: an error of the request, and nothing is held. */
static void a_pull_that_fails_ends_the_request(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare_pull(f);
    bool moved;

    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    f->node.peers[1] = hp_peer_open(child);
    assert_non_null(f->node.peers[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    f->address = f->buffer;
    *f->theirs = 1;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_PEER);
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->hand.cancelled, 1);
    assert_int_equal(f->pool.live, 0);
}

/* ---- reductions with three operands ---- */

static void emit_three(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    (void)i;
    hp_task_t *fold = hp_emit_reduce_to(segment, f->left, f->right, f->result, SEGMENT_BYTES);
    hp_emit_after(hp_emit_copy(segment, f->scratch_seen, hp_of(fold), SEGMENT_BYTES), fold);
}

/* Not commutative, on bytes. */
static void kernel(const void *left, const void *right, void *result, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((char *)result)[i] = (char)(3 * ((const char *)left)[i] + ((const char *)right)[i]);
}

static hp_status_t reduce_in_order(hp_transport_t *transport, const void *in, void *inout, size_t count,
                                   const hp_type_t *type, hp_handle_t op)
{
    (void)type;
    (void)op;
    ((hand_t *)transport)->reductions++;
    kernel(in, inout, inout, count);
    return HP_OK;
}

/* left (op) right wherever the result goes, and operands that are not the result stay as they are. */
static void check_three(fixture_t *f, bool with_kernel, bool commutative, int where)
{
    char *const left = f->buffer, *const right = f->buffer + 100, *const other = f->buffer + 200;
    memset(left, 5, SEGMENT_BYTES);
    memset(right, 7, SEGMENT_BYTES);
    memset(other, 0, SEGMENT_BYTES);
    f->left = hp_at(left);
    f->right = hp_at(right);
    f->result = where == 0   ? hp_at(left)
                : where == 1 ? hp_at(right)
                : where == 2 ? hp_at(other)
                             : hp_scratch();
    hp_pipeline_t pipeline = prepare(f, 1, 1, emit_three);
    pipeline.kernel = with_kernel ? kernel : NULL;
    pipeline.commutative = commutative;
    pipeline.scratch_per_segment = 1;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_true(hp_request_done(f->request));
    const char expected = !with_kernel && commutative ? 5 + 7 : 3 * 5 + 7;
    for (unsigned i = 0; i < SEGMENT_BYTES; i++) {
        assert_int_equal(f->scratch_seen[i], expected);
        assert_int_equal(left[i], where == 0 ? expected : 5);
        assert_int_equal(right[i], where == 1 ? expected : 7);
        assert_int_equal(other[i], where == 2 ? expected : 0);
    }
    assert_int_equal(hp_request_counters(f->request)->reductions, 1);
    assert_int_equal(f->pool.live, 0);
}

static void reductions_keep_the_order_of_operands(void **state)
{
    fixture_t *f = *state;
    hp_transport_ops_t in_order = hand_ops;

    in_order.reduce = reduce_in_order;
    for (int where = 0; where < 4; where++) {
        f->hand.transport.ops = &hand_ops;
        check_three(f, true, true, where);
        check_three(f, true, false, where);
        check_three(f, false, true, where);
        f->hand.transport.ops = &in_order;
        check_three(f, false, false, where);
    }
    f->hand.transport.ops = &hand_ops;
}

/* ---- collectives of the host MPI ---- */

static void emit_native(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES;
    hp_task_t *up =
        hp_emit_native(segment, f->lanes[0], HP_NATIVE_REDUCE, hp_at(at), hp_scratch(), SEGMENT_BYTES, 3);
    hp_task_t *down =
        hp_emit_native(segment, f->lanes[1], HP_NATIVE_BCAST, hp_of(up), hp_of(up), SEGMENT_BYTES, 4);
    hp_emit_after(down, up);
}

static void collectives_go_one_at_a_time_on_a_communicator(void **state)
{
    fixture_t *f = *state;
    hp_pipeline_t pipeline = prepare(f, 3, 3, emit_native);

    pipeline.scratch_per_segment = 1;
    f->lanes[0] = hp_request_native_lane(f->request, 71);
    f->lanes[1] = hp_request_native_lane(f->request, 72);
    assert_int_equal(hp_request_native_lane(f->request, 71), f->lanes[0]); /* however often it is asked for */
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_int_equal(f->hand.posted, 1); /* of three that are ready */
    assert_int_equal(f->hand.native, HP_NATIVE_REDUCE);
    assert_int_equal(f->hand.native_comm, 71);
    assert_int_equal(f->hand.native_root, 3);
    assert_ptr_equal(f->hand.native_from, f->buffer);
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(f->hand.posted, 3); /* the next reduction, and a bcast of what the first one made */
    for (uint32_t i = 1; i < f->hand.posted; i++) {
        hand_complete(&f->hand, i);
        progress_all(f);
    }
    assert_true(hp_request_done(f->request));
    assert_int_equal(f->hand.posted, 6);
    assert_int_equal(f->hand.native, HP_NATIVE_BCAST);
    assert_int_equal(f->hand.native_comm, 72);
    assert_int_equal(f->hand.native_root, 4);
    assert_ptr_equal(f->hand.native_from, f->hand.operations[5].buffer);
    assert_int_equal(hp_request_counters(f->request)->natives, 6);
    assert_int_equal(f->pool.live, 0);
}

/* ---- collectives without tasks ---- */

typedef struct {
    hp_direct_t direct;
    fixture_t *f;
    unsigned steps;
} direct_plan_t;

/* Done when their counter is 2; then adds right to left. */
static bool direct_step(hp_request_t *request, hp_direct_t *direct)
{
    direct_plan_t *plan = (direct_plan_t *)direct;
    fixture_t *f = plan->f;

    plan->steps++;
    direct->counter = f->theirs;
    direct->value = 2;
    if (*f->theirs < 2)
        return false;
    hp_request_reduce(request, f->buffer, f->buffer + 100, f->buffer, 4);
    return true;
}

static hp_status_t start_direct(fixture_t *f, direct_plan_t **plan)
{
    const hp_pipeline_t pipeline = {.scratch_bytes = SEGMENT_BYTES,
                                    .type = {.bytes = 1, .extent = 1, .true_extent = 1},
                                    .commutative = true,
                                    .node = &f->node};
    *plan = hp_request_plan(f->request, sizeof **plan);
    assert_non_null(*plan);
    **plan = (direct_plan_t){.f = f};
    return hp_request_start_direct(f->request, &pipeline, direct_step, &(*plan)->direct);
}

static void steps_are_called_until_they_are_done(void **state)
{
    fixture_t *f = *state;
    direct_plan_t *plan;
    bool moved;

    memset(f->buffer, 3, 4);
    memset(f->buffer + 100, 4, 4);
    assert_int_equal(start_direct(f, &plan), HP_OK);
    assert_int_equal(plan->steps, 1);
    assert_false(hp_request_done(f->request));
    assert_true(hp_request_waits_for_flags(f->request));
    assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
    assert_false(moved);
    *f->theirs = 2;
    assert_int_equal(hp_request_wait(f->request, &moved), HP_OK);
    assert_true(moved);
    assert_true(hp_request_done(f->request));
    assert_false(hp_request_waits_for_flags(f->request));
    assert_int_equal(plan->steps, 3);
    assert_int_equal(f->buffer[0], 7);
    assert_int_equal(f->buffer[4], 0);
    assert_int_equal(hp_request_counters(f->request)->reductions, 1);
    start_counted(f, 2, 2); /* and with tasks again */
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(plan->steps, 3);
}

static void an_error_ends_the_steps(void **state)
{
    fixture_t *f = *state;
    direct_plan_t *plan;
    bool moved;

    assert_int_equal(start_direct(f, &plan), HP_OK);
    *f->theirs = 2;
    f->hand.local_status = HP_ERR_TRANSPORT;
    assert_int_equal(hp_request_progress(f->request, &moved), HP_ERR_TRANSPORT);
    assert_true(hp_request_done(f->request));
    assert_int_equal(start_direct(f, &plan), HP_ERR_TRANSPORT);
    assert_true(hp_request_done(f->request));
}

/* A sleep that would last a minute: what it waits for has come already. */
static void nobody_sleeps_for_what_has_come(void **state)
{
    fixture_t *f = *state;
    const uint64_t minute_ns = 60000000000u;
    direct_plan_t *plan;

    *f->theirs = 1;
    start_counted(f, 2, 2);
    assert_true(hp_request_waits_for_flags(f->request));
    hp_request_sleep(f->request, minute_ns);
    progress_all(f);
    *f->theirs = 2;
    hp_request_sleep(f->request, minute_ns);
    progress_all(f);
    assert_true(hp_request_done(f->request));
    *f->theirs = 0;
    assert_int_equal(start_direct(f, &plan), HP_OK);
    *f->theirs = 2;
    hp_request_sleep(f->request, minute_ns);
    progress_all(f);
    assert_true(hp_request_done(f->request));
}

static void counted_lanes_are_forgotten(void **state)
{
    fixture_t *f = *state;

    start_counted(f, 2, 2);
    *f->theirs = 2;
    progress_all(f);
    assert_true(hp_request_done(f->request));
    start_relay(f, 1, 1, 6, 4); /* has none of them */
    hand_complete(&f->hand, 0);
    progress_all(f);
    hand_complete(&f->hand, 1);
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(*f->mine, 2);
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

/* ---- what holds it up ---- */

typedef struct {
    hp_pending_t all[OPERATIONS_MAX];
    uint32_t count;
} pending_t;

static void note_pending(void *context, const hp_pending_t *pending)
{
    pending_t *seen = context;
    seen->all[seen->count++] = *pending;
}

static const pending_t *pending_of(const fixture_t *f)
{
    static pending_t seen;
    seen.count = 0;
    hp_request_pending(f->request, note_pending, &seen);
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
        TEST(what_cannot_be_cancelled_keeps_its_buffer),
        TEST(equal_lanes_are_shared),
        TEST(waits_end_when_the_counter_has_come),
        TEST(waits_are_bounded_by_the_window),
        TEST(settings_keep_segment_order),
        TEST(waits_wait_for_what_is_before_them),
        TEST(pulls_read_the_address_when_they_start),
        TEST(a_pull_that_fails_ends_the_request),
        TEST(reductions_keep_the_order_of_operands),
        TEST(collectives_go_one_at_a_time_on_a_communicator),
        TEST(counted_lanes_are_forgotten),
        TEST(steps_are_called_until_they_are_done),
        TEST(an_error_ends_the_steps),
        TEST(nobody_sleeps_for_what_has_come),
        TEST(the_oldest_segment_goes_first),
        TEST(what_happens_is_recorded),
        TEST(what_holds_it_up_is_told),
        TEST(flags_that_hold_it_up_are_told),
        TEST(collectives_that_hold_it_up_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
