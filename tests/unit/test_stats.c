/* test_stats: calls fall into the right bins, totals add up, the table says what happened. */
#include <stdbool.h>
#include <unistd.h>
#include "check.h"
#include "event_engine/mem/node_memory.h"
#include "event_engine/mem/shared_file.h"
#include "hier/call/stats.h"

static void bins_are_powers_of_sixteen(void **state)
{
    (void)state;
    assert_int_equal(hp_stats_bin(0), 0);
    assert_int_equal(hp_stats_bin(1), 1);
    assert_int_equal(hp_stats_bin(15), 1);
    for (unsigned bin = 2; bin < HP_STATS_BIN_UNKNOWN; bin++) {
        const uint64_t from = 1ull << (4 * (bin - 1));
        assert_int_equal(hp_stats_bin(from - 1), bin - 1);
        assert_int_equal(hp_stats_bin(from), bin);
    }
    assert_int_equal(hp_stats_bin(UINT64_MAX), HP_STATS_BIN_UNKNOWN - 1);
}

static void every_outcome_has_words(void **state)
{
    (void)state;
    for (unsigned outcome = 0; outcome < HP_OUTCOME_COUNT; outcome++) {
        assert_true(strlen(hp_outcome_word((hp_outcome_t)outcome)) > 0);
        assert_true(strlen(hp_outcome_text((hp_outcome_t)outcome)) > 0);
        for (unsigned other = 0; other < outcome; other++)
            assert_string_not_equal(hp_outcome_word((hp_outcome_t)outcome),
                                    hp_outcome_word((hp_outcome_t)other));
    }
    assert_string_equal(hp_collective_name(HP_BCAST), "bcast");
    assert_string_equal(hp_collective_name(HP_ALLREDUCE), "allreduce");
}

static char *printed(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    hp_stats_print(out, 5);
    fclose(out);
    return text;
}

static void totals_and_table(void **state)
{
    (void)state;
    uint64_t calls, taken, bytes;
    char *text = printed();
    assert_null(strstr(text, "bcast "));
    free(text);

    for (unsigned i = 0; i < 3; i++)
        hp_stats_count(HP_BCAST, hp_stats_bin(5000), HP_OUTCOME_TAKEN);
    hp_stats[HP_BCAST][hp_stats_bin(5000)].taken_bytes = 15000;
    hp_stats[HP_BCAST][hp_stats_bin(5000)].taken_ns = 6000;
    hp_stats_count(HP_BCAST, hp_stats_bin(1), HP_OUTCOME_RULE);
    hp_stats_count(HP_BCAST, HP_STATS_BIN_UNKNOWN, HP_OUTCOME_ONE_RANK);
    hp_stats_totals(HP_BCAST, &calls, &taken, &bytes);
    assert_int_equal(calls, 5);
    assert_int_equal(taken, 3);
    assert_int_equal(bytes, 15000);
    hp_stats_totals(HP_REDUCE, &calls, &taken, &bytes);
    assert_int_equal(calls + taken + bytes, 0);

    text = printed();
    static const char *const parts[] = {"rank 5",        "4 KiB to < 64 KiB", "15000",      "2.00",
                                        "1 B to < 16 B", "rule: 1",           "one-rank: 1"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("\"%s\" is not in:\n%s", parts[i], text);
    /* The reasons that came up are explained, the others are not. */
    assert_non_null(strstr(text, hp_outcome_text(HP_OUTCOME_RULE)));
    assert_null(strstr(text, hp_outcome_text(HP_OUTCOME_GUARD)));
    assert_null(strstr(text, "reduce "));
    free(text);
}

/* All reasons at once fit the table. */
static void every_reason_at_once(void **state)
{
    (void)state;
    for (unsigned outcome = 0; outcome < HP_OUTCOME_COUNT; outcome++)
        hp_stats[HP_ALLREDUCE][3].calls[outcome] = UINT64_MAX / 100;
    char *text = printed();
    for (unsigned outcome = 1; outcome < HP_OUTCOME_COUNT; outcome++)
        assert_non_null(strstr(text, hp_outcome_text((hp_outcome_t)outcome)));
    free(text);
    memset(hp_stats, 0, sizeof hp_stats);
}

/* What a communicator of two ranks on a node reserves, and what it is lent. */
static void memory_of_the_node(void **state)
{
    (void)state;
    const hp_node_shape_t shape = {
        .members = 2, .levels = 1, .slots = 2, .slot_bytes = 16384, .pool_rings = 4};
    const hp_slot_pool_t own = {.pid = getpid(), .fd = hp_node_pool_file(&shape, 1), .mark = 1};
    const hp_slot_pool_t pools[2] = {own, own};
    hp_node_memory_t memory;
    int fd;

    assert_int_equal(hp_shared_file_create(hp_node_memory_bytes(&shape), own.mark, &fd), HP_OK);
    assert_int_equal(hp_node_memory_init(&memory, &shape, 0, NULL, fd, NULL), HP_OK);
    assert_int_equal(hp_node_borrow(&memory, pools), HP_OK);
    hp_node_use_slots(&memory, 8192, 8192, 1);
    hp_node_back_slots(&memory, 0, HP_FAN_IN);
    hp_node_memory_fini(&memory);
    close(fd);
    char *text = printed();
    static const char *const parts[] = {"1 communicators", "0 B of it backed by pages for slots",
                                        "lends to its communicators: 1 rings lent at most, 16 KiB backed by pages"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("\"%s\" is not in:\n%s", parts[i], text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_powers_of_sixteen),
        cmocka_unit_test(every_outcome_has_words),
        cmocka_unit_test(totals_and_table),
        cmocka_unit_test(every_reason_at_once),
        cmocka_unit_test(memory_of_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
