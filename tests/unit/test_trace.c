/* test_trace: the ring, what a snapshot makes of it, clocks, and the text of the file. */
#include <stdlib.h>
#include "check.h"
#include "event_engine/request.h"
#include "event_engine/trace_json.h"

static uint64_t no_clock(void *context)
{
    (void)context;
    return 1;
}

static void set_up_trace(hp_trace_t *trace, uint32_t events)
{
    assert_int_equal(hp_trace_init(trace, events, no_clock, NULL), HP_OK);
}

static hp_trace_event_t send_event(uint32_t call, uint64_t start, uint64_t turn, uint64_t end)
{
    return (hp_trace_event_t){
        .start_ns = start, .turn_ns = turn, .end_ns = end, .call = call, .peer = 1, .kind = HP_TRACE_SEND};
}

static void record_call(hp_trace_t *trace, unsigned events)
{
    hp_trace_call_t *call = hp_trace_begin_call(trace);
    for (unsigned i = 0; i < events; i++) {
        const hp_trace_event_t event = send_event(call->number, i, i, i + 1);
        hp_trace_add(trace, &event);
    }
    call->end_ns = 1;
}

static void the_newest_whole_calls_are_kept(void **state)
{
    (void)state;
    hp_trace_t trace;
    hp_trace_snapshot_t all;

    set_up_trace(&trace, 50);
    assert_int_equal(trace.capacity, 64);
    for (unsigned i = 0; i < 5; i++)
        record_call(&trace, 30);
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.event_count, 60); /* four events of the third call are there: it is left out */
    assert_int_equal(all.call_count, 2);
    assert_int_equal(all.calls[0].number, 4);
    assert_int_equal(all.calls[1].number, 5);
    assert_int_equal(all.dropped, 90);
    hp_trace_snapshot_fini(&all);
    record_call(&trace, 1000); /* larger than the ring: a part is better than nothing */
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.event_count, 64);
    assert_int_equal(all.call_count, 1);
    hp_trace_snapshot_fini(&all);
    hp_trace_fini(&trace);
}

static void an_empty_trace_is_one(void **state)
{
    (void)state;
    hp_trace_t trace;
    hp_trace_snapshot_t all;

    set_up_trace(&trace, 1);
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.event_count + all.call_count + all.dropped, 0);
    hp_trace_snapshot_fini(&all);
    hp_trace_begin_call(&trace); /* not returned */
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.call_count, 0);
    hp_trace_snapshot_fini(&all);
    hp_trace_fini(&trace);
}

/* Bars of one row never overlap, whatever was recorded; bars that do not overlap share a row. */
static void rows_hold_what_does_not_overlap(void **state)
{
    (void)state;
    enum { EVENTS = 1000, ROWS = HP_TRACE_CLASS_COUNT * HP_TRACE_ROWS };
    check_random_t random = check_random_start("rows_hold_what_does_not_overlap");
    static uint64_t until[ROWS];
    hp_trace_t trace;
    hp_trace_snapshot_t all;

    set_up_trace(&trace, EVENTS);
    hp_trace_call_t *call = hp_trace_begin_call(&trace);
    for (unsigned i = 0; i < EVENTS; i++) {
        const uint64_t start = check_random_below(&random, 100000);
        hp_trace_event_t event =
            send_event(call->number, start, start, start + check_random_below(&random, 2000));
        event.kind = (uint8_t)check_random_below(&random, HP_TRACE_KIND_COUNT);
        event.label = (uint8_t)check_random_below(&random, HP_LABEL_COUNT);
        hp_trace_add(&trace, &event);
    }
    call->end_ns = 1;
    assert_int_equal(hp_trace_snapshot(&trace, &all), HP_OK);
    assert_int_equal(all.event_count, EVENTS);
    for (unsigned i = 0; i < EVENTS; i++) {
        const hp_trace_event_t *event = &all.events[i];
        assert_true(event->row < ROWS && event->turn_ns <= event->end_ns);
        assert_true(event->turn_ns >= until[event->row]);
        until[event->row] = event->end_ns;
        assert_true(event->row % HP_TRACE_ROWS < 60);
    }
    hp_trace_snapshot_fini(&all);
    hp_trace_fini(&trace);
}

static void clocks_are_corrected(void **state)
{
    (void)state;
    const uint64_t second = 1000000000;
    const hp_trace_clock_t same = {.at_ns = {0, 0}},
                           ahead = {.at_ns = {10 * second, 10 * second}, .ahead_ns = {500, 500}},
                           drifts = {.at_ns = {10 * second, 20 * second}, .ahead_ns = {-1000, 1000}};

    assert_int_equal(hp_trace_clock_correct(&same, 12345), 12345);
    assert_int_equal(hp_trace_clock_correct(&ahead, 10 * second), 10 * second - 500);
    assert_int_equal(hp_trace_clock_correct(&drifts, 10 * second), 10 * second + 1000);
    assert_int_equal(hp_trace_clock_correct(&drifts, 15 * second), 15 * second);
    assert_int_equal(hp_trace_clock_correct(&drifts, 20 * second), 20 * second - 1000);
    assert_int_equal(hp_trace_clock_correct(&drifts, 5 * second), 5 * second + 2000);

    hp_trace_clock_t clock = drifts;
    clock.error_ns[0] = 900;
    clock.error_ns[1] = 1000;
    hp_trace_clock_settle(&clock); /* 2000 apart, and wrong by 1900 at most: it drifts */
    assert_int_equal(clock.ahead_ns[0], -1000);
    assert_int_equal(clock.ahead_ns[1], 1000);
    clock.error_ns[1] = 1100;
    hp_trace_clock_settle(&clock);
    assert_int_equal(clock.ahead_ns[1], -1000);
    clock.ahead_ns[1] = 0;
    clock.error_ns[1] = 100;
    hp_trace_clock_settle(&clock);
    assert_int_equal(clock.ahead_ns[0], 0);
}

static void the_text_is_json(void **state)
{
    (void)state;
    static const char expected[] = "{\"traceEvents\":[\n"
                                   "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"a "
                                   "\\\"b\\\" \\\\ \\u000a\\u00c3\"}},\n";
    static hp_trace_json_t json;
    static const hp_trace_clock_t clock;
    const char *const about[] = {"ranks", "1", NULL};
    char *text = NULL;
    size_t bytes = 0;
    hp_trace_event_t event = send_event(3, 1500, 2000, 4001);
    hp_trace_call_t call = {
        .start_ns = 500, .end_ns = 6000, .number = 3, .collective = "bcast", .algorithm = "han"};

    event.row = HP_TRACE_CLASS_SEND * HP_TRACE_ROWS + 1;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    hp_trace_json_begin(&json, file, 1000);
    hp_trace_json_node(&json, 1, "a \"b\" \\ \n\xc3");
    hp_trace_json_rank(&json, 1, 7, &clock);
    hp_trace_json_calls(&json, &call, 1);
    hp_trace_json_events(&json, &event, 1);
    assert_true(hp_trace_json_end(&json, about));
    fclose(file);
    assert_memory_equal(text, expected, sizeof expected - 1);
    assert_non_null(strstr(text, "\"args\":{\"name\":\"rank 7\"}"));
    assert_non_null(strstr(text, "\"args\":{\"name\":\"rank 7 send (2)\"}"));
    assert_non_null(strstr(text, "\"name\":\"bcast\",\"ph\":\"X\",\"cat\":\"collective\",\"pid\":2,"));
    assert_non_null(strstr(text, "\"ts\":-0.500,\"dur\":5.500,"));
    assert_non_null(strstr(text, "\"name\":\"send 0\",\"ph\":\"X\",\"cat\":\"primitive\",\"pid\":3,"));
    assert_non_null(strstr(text, "\"ts\":1.000,\"dur\":2.001,"));
    assert_non_null(strstr(text, "\"peer\":1,\"posted_us\":0.500}}\n],"));
    assert_non_null(strstr(text, "\"otherData\":{\"ranks\":\"1\"}}\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_whole_calls_are_kept),
        cmocka_unit_test(an_empty_trace_is_one),
        cmocka_unit_test(rows_hold_what_does_not_overlap),
        cmocka_unit_test(clocks_are_corrected),
        cmocka_unit_test(the_text_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
