/* test_request_tasks: the order in which tasks are released; what the kinds of tasks do: waits and settings of counters,
 * pulls, reductions, collectives of the host MPI; and collectives without tasks. */
#include <sys/wait.h>
#include <unistd.h>
#include "one_request.h"

/* ---- the order of release ---- */

enum { WAITERS = 3 };

/* A message from the parent goes on to three children. */
static void emit_fan(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES);
    for (uint32_t child = 0; child < WAITERS; child++)
        hp_emit_after(hp_emit_send(segment, f->lanes[1 + child], hp_of(recv), SEGMENT_BYTES), recv);
}

/* What an algorithm emits first it wants first: the far children before those nearby. */
static void waiters_go_in_the_order_they_were_emitted(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 1, 1, emit_fan);

    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 1);
    for (uint32_t child = 0; child < WAITERS; child++)
        f->lanes[1 + child] = hp_request_new_lane(f->request, HP_LANE_SEND, CHILD + child, TAG, 1);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(f->hand.posted, 1 + WAITERS);
    for (uint32_t child = 0; child < WAITERS; child++) {
        assert_int_equal(f->hand.operations[1 + child].peer, CHILD + child);
        hand_complete(&f->hand, 1 + child);
    }
    progress_all(f);
    assert_true(hp_request_done(f->request));
}

/* ---- counters of the node ---- */

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
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], i + 1), recv);
}

static void settings_keep_segment_order(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 4, 4, emit_counted_after_recv);

    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 4);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine, false);
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
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[0], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES);
    hp_task_t *wait = hp_emit_wait(segment, f->lanes[1], i + 1);
    hp_emit_after(wait, recv);
    hp_emit_after(hp_emit_set(segment, f->lanes[2], i + 1), wait);
}

static void waits_wait_for_what_is_before_them(void **state)
{
    fixture_t *f = *state;
    const hp_pipeline_t pipeline = prepare(f, 2, 2, emit_wait_behind_recv);

    f->lanes[0] = hp_request_new_lane(f->request, HP_LANE_RECV, PARENT, TAG, 4);
    f->lanes[1] = hp_request_wait_lane(f->request, f->theirs, false);
    f->lanes[2] = hp_request_set_lane(f->request, f->mine, false);
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

/* ---- notes ---- */

static void emit_compared(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], i + 1);
    hp_emit_after(hp_emit_set(segment, f->lanes[1], i + 1), there);
}

/* Two segments, while the other member notes another length. Returns how the request ends. */
static hp_status_t compare(fixture_t *f, uint64_t own_bytes, uint32_t their_number, uint64_t their_bytes)
{
    hp_pipeline_t pipeline = prepare(f, 2, 1, emit_compared);
    hp_status_t status = HP_OK;
    bool moved;

    pipeline.note = hp_note_make(9, own_bytes);
    pipeline.segment_bytes = 4;
    *f->theirs = *f->mine = 0;
    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs, true);
    f->lanes[1] = hp_request_set_lane(f->request, f->mine, true);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    hp_note_write(f->theirs, hp_note_make(their_number, their_bytes));
    for (*f->theirs = 1; !hp_request_done(f->request); *f->theirs = 2) {
        assert_int_equal(status, HP_OK);
        status = hp_request_progress(f->request, &moved);
    }
    assert_int_equal(hp_note_bytes(hp_note_read(f->mine, pipeline.note)), own_bytes);
    assert_int_equal(*f->mine, 2);
    return status;
}

/* It runs to its end, and says then that it was cut. A shorter message is none of a receiver's errors. */
static void a_longer_message_of_another_rank_is_noticed(void **state)
{
    fixture_t *f = *state;

    assert_int_equal(compare(f, 8, 9, 8), HP_OK);
    assert_int_equal(compare(f, 8, 9, 7), HP_OK);
    assert_int_equal(compare(f, 8, 9, 9), HP_ERR_TRUNCATED);
    assert_int_equal(hp_request_segments_missed(f->request), 1);
    assert_int_equal(compare(f, 7, 9, 8), HP_ERR_TRUNCATED);
    assert_int_equal(hp_request_segments_missed(f->request), 0);
    assert_int_equal(compare(f, 8, 9 + HP_NOTES, 1000), HP_OK); /* written over by a later collective */
    assert_int_equal(compare(f, 8, 10, 1000), HP_OK);
}

/* ---- sources ---- */

typedef struct {
    hp_source_t source;
    fixture_t *fixture;
    uint64_t bytes[OPERATIONS_MAX];
    uint32_t count;
    uint32_t posted[OPERATIONS_MAX]; /* messages, before each step */
    uint32_t failing;                /* the step that fails, from 1 on; 0: none does */
} recorder_t;

static hp_status_t record_step(hp_source_t *source, uint64_t bytes)
{
    recorder_t *recorder = (recorder_t *)source;
    recorder->posted[recorder->count] = recorder->fixture->hand.posted;
    recorder->bytes[recorder->count++] = bytes;
    return recorder->count == recorder->failing ? HP_ERR_NO_MEM : HP_OK;
}

static void emit_filled(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *filled = hp_emit_advance(segment, f->lanes[0], (i + 1) * SEGMENT_BYTES, SEGMENT_BYTES);
    hp_task_t *send = hp_emit_send(segment, f->lanes[1], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES);
    hp_emit_after(send, filled);
}

/* The first segment leaves when it is filled, and each as soon as it is. */
static void segments_leave_while_others_are_filled(void **state)
{
    enum { SEGMENTS = 12 };
    fixture_t *f = *state;
    recorder_t recorder = {.source = {record_step}, .fixture = f};
    hp_pipeline_t pipeline = prepare(f, SEGMENTS, SEGMENTS, emit_filled);

    pipeline.source = &recorder.source;
    f->lanes[0] = hp_request_advance_lane(f->request, true);
    f->lanes[1] = hp_request_lane(f->request, HP_LANE_SEND, CHILD, TAG, SEGMENTS);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_in_range(recorder.count, 1, SEGMENTS - 1); /* messages move on meanwhile */
    for (uint32_t done = 0; !hp_request_done(f->request);) {
        while (done < f->hand.posted)
            hand_complete(&f->hand, done++);
        progress_all(f);
    }
    assert_int_equal(recorder.count, SEGMENTS);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        assert_int_equal(recorder.bytes[i], (i + 1) * SEGMENT_BYTES);
        assert_int_equal(recorder.posted[i], i);
    }
}

/* What it was to fill does not leave, and nothing is in flight any more. */
static void a_source_that_fails_ends_the_collective(void **state)
{
    enum { SEGMENTS = 3, FAILING = 2 };
    fixture_t *f = *state;
    recorder_t recorder = {.source = {record_step}, .fixture = f, .failing = FAILING};
    hp_pipeline_t pipeline = prepare(f, SEGMENTS, SEGMENTS, emit_filled);

    pipeline.source = &recorder.source;
    f->lanes[0] = hp_request_advance_lane(f->request, true);
    f->lanes[1] = hp_request_lane(f->request, HP_LANE_SEND, CHILD, TAG, SEGMENTS);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_ERR_NO_MEM);
    assert_int_equal(recorder.count, FAILING);
    assert_int_equal(f->hand.posted, FAILING - 1);
    assert_true(hp_request_done(f->request));
    assert_int_equal(hp_request_counters(f->request)->in_flight, 0);
}

static void emit_emptied(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    hp_task_t *recv = hp_emit_recv(segment, f->lanes[2], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES);
    hp_emit_after(hp_emit_send(segment, f->lanes[1], hp_at(f->buffer + i * SEGMENT_BYTES), SEGMENT_BYTES),
                  recv);
    hp_emit_after(hp_emit_advance(segment, f->lanes[0], (i + 1) * SEGMENT_BYTES, SEGMENT_BYTES), recv);
}

/* Segments come out of order: the source has them in order, and behind what others wait for. */
static void what_has_come_is_taken_in_order(void **state)
{
    fixture_t *f = *state;
    recorder_t recorder = {.source = {record_step}, .fixture = f};
    hp_pipeline_t pipeline = prepare(f, 3, 3, emit_emptied);

    pipeline.source = &recorder.source;
    f->lanes[0] = hp_request_advance_lane(f->request, false);
    f->lanes[1] = hp_request_lane(f->request, HP_LANE_SEND, CHILD, TAG, 3);
    f->lanes[2] = hp_request_lane(f->request, HP_LANE_RECV, PARENT, TAG, 3);
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    assert_int_equal(f->hand.posted, 3);
    hand_complete(&f->hand, 1);
    progress_all(f);
    assert_int_equal(recorder.count, 0);
    hand_complete(&f->hand, 0);
    progress_all(f);
    assert_int_equal(recorder.count, 2);
    assert_int_equal(recorder.bytes[0], SEGMENT_BYTES);
    assert_int_equal(recorder.posted[0], 5); /* both were sent on before */
    hand_complete(&f->hand, 2);
    progress_all(f);
    assert_int_equal(recorder.bytes[2], 3 * SEGMENT_BYTES);
    for (uint32_t i = 3; i < 6; i++)
        hand_complete(&f->hand, i);
    progress_all(f);
    assert_true(hp_request_done(f->request));
}

/* ---- pulls ---- */

/* The address is read when the pull starts, not when it is emitted; then the bytes go through scratch. */
static void emit_pull(const void *plan, hp_segment_t *segment, uint64_t i)
{
    fixture_t *f = of_plan(plan);
    (void)i;
    hp_task_t *there = hp_emit_wait(segment, f->lanes[0], 1);
    hp_task_t *pull = hp_emit_pull(segment, 1, &f->peer, f->offset, hp_scratch(), 4);
    hp_emit_after(pull, there);
    hp_task_t *copy = hp_emit_copy(segment, hp_at(f->buffer), hp_of(pull), 4);
    hp_emit_after(copy, pull);
    hp_task_t *direct = hp_emit_pull(segment, 1, &f->peer, 0, hp_at(f->buffer + 100), 4);
    hp_emit_after(direct, there);
}

static hp_pipeline_t prepare_pull(fixture_t *f)
{
    hp_pipeline_t pipeline = prepare(f, 1, 1, emit_pull);
    pipeline.scratch_per_segment = 1;
    f->lanes[0] = hp_request_wait_lane(f->request, f->theirs, false);
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
    f->peer = (hp_node_buffer_t){theirs, sizeof theirs};
    *f->theirs = 1;
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_int_equal(hp_request_counters(f->request)->pulls, 2);
    assert_memory_equal(f->buffer, "buff", 4);
    assert_memory_equal(f->buffer + 100, "thei", 4);
    assert_int_equal(hp_request_counters(f->request)->scratch_peak, 1);
    assert_int_equal(f->pool.live, 0);
}

/* The member's buffer ends before what is wanted of it: nothing behind it is read. */
static void a_pull_ends_with_the_buffer(void **state)
{
    fixture_t *f = *state;
    char theirs[] = "their buffer";
    const hp_pipeline_t pipeline = prepare_pull(f);

    memset(f->buffer, '-', 200);
    f->offset = 20;
    f->peer = (hp_node_buffer_t){theirs, 2};
    *f->theirs = 1;
    assert_int_equal(hp_request_start(f->request, &pipeline), HP_OK);
    progress_all(f);
    assert_true(hp_request_done(f->request));
    assert_memory_equal(f->buffer + 100, "th--", 4);
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
    f->peer = (hp_node_buffer_t){f->buffer, 16};
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
    hp_task_t *reduction = hp_emit_reduce_to(segment, f->left, f->right, f->result, SEGMENT_BYTES);
    hp_emit_after(hp_emit_copy(segment, hp_at(f->scratch_seen), hp_of(reduction), SEGMENT_BYTES), reduction);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waiters_go_in_the_order_they_were_emitted),
        TEST(waits_end_when_the_counter_has_come),
        TEST(waits_are_bounded_by_the_window),
        TEST(settings_keep_segment_order),
        TEST(waits_wait_for_what_is_before_them),
        TEST(a_longer_message_of_another_rank_is_noticed),
        TEST(segments_leave_while_others_are_filled),
        TEST(a_source_that_fails_ends_the_collective),
        TEST(what_has_come_is_taken_in_order),
        TEST(pulls_read_the_address_when_they_start),
        TEST(a_pull_ends_with_the_buffer),
        TEST(a_pull_that_fails_ends_the_request),
        TEST(reductions_keep_the_order_of_operands),
        TEST(collectives_go_one_at_a_time_on_a_communicator),
        TEST(counted_lanes_are_forgotten),
        TEST(steps_are_called_until_they_are_done),
        TEST(an_error_ends_the_steps),
        TEST(nobody_sleeps_for_what_has_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
