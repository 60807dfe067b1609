/* test_tune_progress: what is said while it runs. */
#include "tune/progress.h"
#include "unit/check.h"

static void test_text(void **state)
{
    char text[160];
    (void)state;

    tune_progress_text(text, sizeof text, 1204, 3240, 130, TUNE_BCAST, 65536);
    assert_string_equal(text, "37% 1,204 of 3,240, 2:10 left, bcast 64 KiB");
    tune_progress_text(text, sizeof text, 0, 1234567, -1, TUNE_ALLREDUCE, 4);
    assert_string_equal(text, "0% 0 of 1,234,567, allreduce 4 B");
    tune_progress_text(text, sizeof text, 5, 5, 0, TUNE_REDUCE, 100000);
    assert_string_equal(text, "100% 5 of 5, 0:00 left, reduce 100000 B");
}

static void test_durations(void **state)
{
    char text[32];
    (void)state;

    tune_duration_text(text, 59.4);
    assert_string_equal(text, "0:59");
    tune_duration_text(text, 3 * 3600 + 62);
    assert_string_equal(text, "3:01:02");
}

/* What comes out of a journal shortens what is planned; a plan that was too short becomes longer. */
static void test_steps(void **state)
{
    tune_progress_t progress;
    (void)state;

    tune_progress_init(&progress, 3, 30, 1000);
    progress.said = 1e9; /* says nothing */
    tune_progress_step(&progress, TUNE_BCAST, 4, 10, false, 1000);
    assert_int_equal(progress.done, 1);
    assert_true(progress.plan_seconds == 20 && progress.done_seconds == 0);
    tune_progress_step(&progress, TUNE_BCAST, 4, 10, true, 1020);
    assert_true(progress.plan_seconds == 20 && progress.done_seconds == 10);
    tune_progress_step(&progress, TUNE_BCAST, 4, 10, true, 1030);
    tune_progress_step(&progress, TUNE_BCAST, 4, 10, true, 1040);
    assert_int_equal(progress.planned, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_durations),
                                       cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
