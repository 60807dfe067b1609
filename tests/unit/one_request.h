/* one_request: a request over a transport in which the test itself says what completes when, on a node whose counters the
 * test sets in the place of the other member. For the tests test_request*.
 *
 * Threads: one. Ownership: set_up allocates the fixture, tear_down frees it and checks that nothing is held. */
#ifndef HP_TESTS_UNIT_ONE_REQUEST_H
#define HP_TESTS_UNIT_ONE_REQUEST_H

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

static inline hp_status_t hand_post(hand_t *hand, operation_t operation)
{
    if (hand->post_status != HP_OK)
        return hand->post_status;
    assert_true(hand->posted < OPERATIONS_MAX);
    if (hand->posted == 0)
        hand->copies_before_first = hand->copies;
    hand->operations[hand->posted++] = operation;
    return HP_OK;
}

static inline hp_status_t hand_isend(hp_transport_t *transport, const void *buffer, size_t count,
                                     const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    (void)type;
    return hand_post((hand_t *)transport, (operation_t){true, true, buffer, count, peer, tag, cookie});
}

static inline hp_status_t hand_irecv(hp_transport_t *transport, void *buffer, size_t count,
                                     const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    (void)type;
    return hand_post((hand_t *)transport, (operation_t){false, true, buffer, count, peer, tag, cookie});
}

static inline hp_status_t hand_poll(hp_transport_t *transport, void **done, uint32_t capacity,
                                    uint32_t *count)
{
    hand_t *hand = (hand_t *)transport;
    *count = hand->done_count < capacity ? hand->done_count : capacity;
    memcpy(done, hand->done, *count * sizeof *done);
    hand->done_count -= *count;
    memmove(hand->done, hand->done + *count, hand->done_count * sizeof *done);
    return hand->poll_status;
}

static inline void hand_cancel(hp_transport_t *transport)
{
    hand_t *hand = (hand_t *)transport;
    hand->cancelled++;
    hand->done_count = 0;
    for (uint32_t i = 0; i < hand->posted; i++)
        hand->operations[i].live = false;
}

/* inout = in + inout, bytes. */
static inline hp_status_t hand_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
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

static inline hp_status_t hand_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                                    const hp_type_t *type)
{
    hand_t *hand = (hand_t *)transport;
    (void)type;
    hand->copies++;
    memcpy(to, from, count);
    return hand->local_status;
}

/* Blocking is what the test says it is: the oldest operation completes. */
static inline hp_status_t hand_wait(hp_transport_t *transport, void **done, uint32_t capacity,
                                    uint32_t *count)
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
static inline hp_status_t hand_icollective(hp_transport_t *transport, hp_native_t what, hp_handle_t comm,
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

static inline void hand_complete(hand_t *hand, uint32_t i)
{
    assert_true(i < hand->posted && hand->operations[i].live);
    hand->operations[i].live = false;
    hand->done[hand->done_count++] = hand->operations[i].cookie;
}

static inline uint32_t hand_live(const hand_t *hand, bool is_send)
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
    hp_node_buffer_t peer;       /* where the peer says its buffer is */
    size_t offset;
    hp_operand_t left, right, result;
    char scratch_seen[SEGMENT_BYTES];
} fixture_t;

static inline int set_up(void **state)
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
    f->mine = hp_node_counter(&f->node, 0, 0, HP_FAN_IN);
    f->theirs = hp_node_counter(&f->node, 1, 0, HP_FAN_OUT);
    f->hand.transport.ops = &hand_ops;
    hp_pool_init(&f->pool);
    *state = f;
    return hp_request_create(&f->hand.transport, &f->pool, &f->request) == HP_OK ? 0 : -1;
}

static inline int tear_down(void **state)
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
static inline hp_pipeline_t prepare(fixture_t *f, uint64_t segments, uint32_t window, hp_emit_fn_t emit)
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

static inline fixture_t *of_plan(const void *plan)
{
    return *(fixture_t *const *)plan;
}

static inline void progress_all(fixture_t *f)
{
    bool moved = true;
    while (moved)
        assert_int_equal(hp_request_progress(f->request, &moved), HP_OK);
}

/* recv from the parent, then send to the child. */
static inline void emit_relay(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES;
    assert_int_equal(i, f->emitted++); /* emitted once each, in order */
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], hp_at(at), SEGMENT_BYTES);
    hp_emit_after(hp_emit_send(segment, f->lanes[1], hp_at(at), SEGMENT_BYTES), recv);
}

static inline void start_relay(fixture_t *f, uint64_t segments, uint32_t window, uint32_t recvs,
                               uint32_t sends)
{
    const hp_pipeline_t pipeline = prepare(f, segments, window, emit_relay);
    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, recvs);
    f->lanes[1] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD, TAG, sends);
    assert_true(f->lanes[0] >= 0 && f->lanes[1] >= 0);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

/* Wait for theirs to say that segment i is there, copy it, and say on our counter that it was read. */
static inline void emit_counted(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    f->emitted++;
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], i + 1);
    hp_task_t *copy =
        hp_emit_copy(segment, hp_at(f->buffer + i * SEGMENT_BYTES), hp_at(f->buffer + 30000), SEGMENT_BYTES);
    hp_emit_after(copy, there);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], i + 1), copy);
}

static inline void start_counted(fixture_t *f, uint64_t segments, uint32_t window)
{
    const hp_pipeline_t pipeline = prepare(f, segments, window, emit_counted);
    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs, false);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine, false);
    assert_true(f->lanes[0] >= 0 && f->lanes[1] >= 0);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

static inline void emit_native(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES;
    hp_task_t *up =
        hp_emit_native(segment, f->lanes[0], HP_NATIVE_REDUCE, hp_at(at), hp_scratch(), SEGMENT_BYTES, 3);
    hp_task_t *down =
        hp_emit_native(segment, f->lanes[1], HP_NATIVE_BCAST, hp_of(up), hp_of(up), SEGMENT_BYTES, 4);
    hp_emit_after(down, up);
}

typedef struct {
    hp_direct_t direct;
    fixture_t *f;
    unsigned steps;
} direct_plan_t;

/* Done when their counter is 2; then adds right to left. */
static inline bool direct_step(hp_request_t *request, hp_direct_t *direct)
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

static inline hp_status_t start_direct(fixture_t *f, direct_plan_t **plan)
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

/* Two copies, then a send. */
static inline void emit_copies_and_send(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    char *at = f->buffer + i * SEGMENT_BYTES, *spare = f->buffer + sizeof f->buffer / 2;

    hp_segment_label(segment, HP_LABEL_SR);
    hp_task_t *out = hp_emit_copy(segment, hp_at(spare), hp_at(at), SEGMENT_BYTES);
    hp_task_t *back = hp_emit_copy(segment, hp_at(at), hp_at(spare), SEGMENT_BYTES);
    hp_segment_label(segment, HP_LABEL_IR);
    hp_task_t *send = hp_emit_send(segment, f->lanes[0], hp_at(at), SEGMENT_BYTES);
    hp_emit_after(back, out);
    hp_emit_after(send, back);
}

static inline void start_copies_and_send(fixture_t *f, uint64_t segments)
{
    const hp_pipeline_t pipeline = prepare(f, segments, (uint32_t)segments, emit_copies_and_send);
    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD, TAG, 2);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
