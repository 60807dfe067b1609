/* test_log: status texts, and what the log writes. */
#include <unistd.h>
#include "base/log.h"
#include "base/status.h"
#include "check.h"

static void every_status_has_its_text(void **state)
{
    (void)state;
    static const hp_status_t all[] = {
#define X(code, text) code,
        HP_STATUS_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        const char *text = hp_status_text(all[i]);
        assert_true(strlen(text) > 0 && text[strlen(text) - 1] != '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(text, hp_status_text(all[k]));
    }
    assert_int_equal(HP_OK, 0);
    assert_string_equal(hp_status_text((hp_status_t)1000), "unknown status");
    assert_string_equal(hp_status_text((hp_status_t)-1), "unknown status");
}

/* ---- log ---- */

static char logged[8192];

/* Runs the writer with standard error going to a file; what it wrote is in `logged`. */
static void capture(void (*writer)(void))
{
    char path[] = "/tmp/hanpmpi_test_log_XXXXXX";
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    assert_true(file >= 0 && kept >= 0);
    unlink(path);
    dup2(file, STDERR_FILENO);
    writer();
    dup2(kept, STDERR_FILENO);
    close(kept);
    ssize_t bytes = pread(file, logged, sizeof logged - 1, 0);
    assert_true(bytes >= 0);
    logged[bytes] = '\0';
    close(file);
}

static void write_all_levels(void)
{
    hp_error("e%d", 1);
    hp_warn("w%d", 2);
    hp_info("i%d", 3);
    hp_debug("d%d", 4);
}

static void log_shows_levels_up_to_the_one_set(void **state)
{
    (void)state;
    static const char *const lines[] = {"hanpmpi: error: e1\n", "hanpmpi: warning: w2\n",
                                        "hanpmpi: info: i3\n", "hanpmpi: debug: d4\n"};
    assert_int_equal(hp_log_level(), HP_LOG_WARN);
    for (int level = HP_LOG_ERROR; level <= HP_LOG_DEBUG; level++) {
        char expected[256] = "";
        for (int shown = 0; shown <= level; shown++)
            strcat(expected, lines[shown]);
        hp_log_set_level(level);
        assert_int_equal(hp_log_level(), level);
        capture(write_all_levels);
        assert_string_equal(logged, expected);
    }
    hp_log_set_level(HP_LOG_WARN);
}

static void write_as_somebody(void)
{
    hp_log_set_who("rank 3");
    hp_warn("x");
    hp_log_set_who("0123456789012345678901234567890123456789");
    hp_warn("x");
    hp_log_set_who(NULL);
    hp_warn("x");
}

static void log_says_who_speaks(void **state)
{
    (void)state;
    capture(write_as_somebody);
    assert_string_equal(logged, "hanpmpi: rank 3: warning: x\n"
                                "hanpmpi: 0123456789012345678901234567890: warning: x\n"
                                "hanpmpi: warning: x\n");
}

enum { LINE_MAX_BYTES = 1024 };

/* Texts around the longest that fits, and one far beyond. */
static const size_t lengths[] = {LINE_MAX_BYTES - 40, LINE_MAX_BYTES - 20, LINE_MAX_BYTES - 1,
                                 LINE_MAX_BYTES,      LINE_MAX_BYTES + 1,  4 * LINE_MAX_BYTES};

static void write_long_lines(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
        char text[4 * LINE_MAX_BYTES + 1];
        memset(text, 'x', lengths[i]);
        text[lengths[i]] = '\0';
        hp_warn("%s", text);
    }
}

/* A message is one line that ends, however long it was. */
static void log_cuts_long_lines(void **state)
{
    (void)state;
    const char *line = logged;
    capture(write_long_lines);
    for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_int_equal(strncmp(line, "hanpmpi: warning: x", 19), 0);
        const size_t whole = strlen("hanpmpi: warning: ") + lengths[i];
        assert_int_equal(end - line, whole < LINE_MAX_BYTES - 2 ? whole : LINE_MAX_BYTES - 2);
        line = end + 1;
    }
    assert_int_equal(*line, '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_text),
        cmocka_unit_test(log_shows_levels_up_to_the_one_set),
        cmocka_unit_test(log_says_who_speaks),
        cmocka_unit_test(log_cuts_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
