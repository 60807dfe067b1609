/* test_tune_model: the arithmetic of both models, against numbers computed by hand. */
#include "fixture.h"

#define assert_near(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

static void test_tasks_of_a_bcast(void **state)
{
    /* 8 segments: ib, 7 sbib of which the second half (20 21 22 23) counts, sb */
    const double us[] = {100, 90, 50, 30, 20, 21, 22, 23, 7};
    double task_us[TUNE_TASKS_MAX];
    (void)state;

    assert_int_equal(tune_iterations(TUNE_BCAST, 8), ARRAY_LENGTH(us));
    tune_tasks_from_iterations(TUNE_BCAST, us, 8, task_us);
    assert_near(task_us[0], 100);
    assert_near(task_us[1], 21.5);
    assert_near(task_us[2], 7);
    assert_string_equal(tune_task_name(TUNE_BCAST, 1), "sbib");
    assert_null(tune_task_name(TUNE_BCAST, 3));
}

static void test_tasks_of_an_allreduce(void **state)
{
    /* 7 segments: sr irsr ibirsr, 4 sbibirsr of which 30 and 32 count, sbibir sbib sb */
    const double us[] = {10, 20, 25, 90, 60, 30, 32, 26, 15, 5};
    double task_us[TUNE_TASKS_MAX];
    (void)state;

    assert_int_equal(tune_iterations(TUNE_ALLREDUCE, 7), ARRAY_LENGTH(us));
    tune_tasks_from_iterations(TUNE_ALLREDUCE, us, 7, task_us);
    const double expected[] = {10, 20, 25, 31, 26, 15, 5};
    for (unsigned t = 0; t < tune_task_count(TUNE_ALLREDUCE); t++)
        assert_near(task_us[t], expected[t]);
    /* Equation 4, u = 100: 10 + 20 + 25 + 97 * 31 + 26 + 15 + 5 */
    assert_near(tune_lockstep_us(TUNE_ALLREDUCE, task_us, 1, 100), 3108);
    /* One segment: no less than its first and last task. 10 + 20 + 25 - 2 * 31 + 26 + 15 + 5 */
    assert_near(tune_lockstep_us(TUNE_ALLREDUCE, task_us, 1, 1), 39);
}

/* Equation 3: the longest sum counts, not the sum of the longest. */
static void test_equation_3(void **state)
{
    const double us[2 * TUNE_TASKS_MAX] = {[0] = 100, [1] = 10, [2] = 5, [TUNE_TASKS_MAX] = 20, 30, 1};
    (void)state;

    assert_near(tune_lockstep_us(TUNE_BCAST, us, 2, 1), 105);
    assert_near(tune_lockstep_us(TUNE_BCAST, us, 2, 11), 20 + 10 * 30 + 1);
    assert_near(tune_lockstep_us(TUNE_REDUCE, us, 1, 3), 100 + 2 * 10 + 5);
}

static void test_steadiness(void **state)
{
    const double steady[] = {9, 50, 40, 30, 20, 20, 21, 21, 20, 1},
                 falling[] = {9, 90, 80, 70, 60, 50, 40, 30, 20, 1};
    (void)state;

    assert_true(tune_iterations_are_steady(TUNE_BCAST, steady, 9, 0.1));
    assert_false(tune_iterations_are_steady(TUNE_BCAST, falling, 9, 0.1));
}

static void test_curves(void **state)
{
    tune_curve_t curve = {.count = 0};
    (void)state;

    tune_curve_add(&curve, 4096, 100);
    assert_near(tune_curve_us(&curve, 99), 100); /* one point: nothing else is known */
    tune_curve_add(&curve, 32768, 380);
    tune_curve_add(&curve, 8192, 140);
    tune_curve_add(&curve, 8192, 999); /* there already */
    assert_int_equal(curve.count, 3);
    assert_near(tune_curve_us(&curve, 4), 100);
    assert_near(tune_curve_us(&curve, 6144), 120);
    assert_near(tune_curve_us(&curve, 20480), 260);
    /* beyond: 240 us for 24 KiB more, from 380 us on */
    assert_near(tune_curve_us(&curve, 32768 + 245760), 380 + 2400);
    tune_curve_add(&curve, 65536, 300); /* noise: then it stays */
    assert_near(tune_curve_us(&curve, 1e6), 300);
}

/* 1, 2, 8, 32, 128, 512 segments of 4 KiB; from 1 MiB on it may be steady. */
static void test_points(void **state)
{
    const size_t expected[] = {4096, 8192, 32768, 131072, 524288, 2097152};
    tune_curve_t curve = {.count = 0};
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(expected); i++) {
        assert_int_equal(tune_curve_next(&curve, 4096, 16 * MIB), expected[i]);
        tune_curve_add(&curve, (double)expected[i], 50 + 0.01 * (double)expected[i]);
    }
    assert_int_equal(tune_curve_next(&curve, 4096, 16 * MIB), 0); /* as steep as before */
    curve.points[curve.count - 1].us *= 2;
    assert_int_equal(tune_curve_next(&curve, 4096, 16 * MIB), 4 * MIB);
    assert_int_equal(tune_curve_next(&curve, 4096, 2 * MIB), 0); /* nobody asks for more */
    curve.count = 0;
    tune_curve_add(&curve, MIB, 1);
    tune_curve_add(&curve, 2 * MIB, 2);
    assert_int_equal(tune_curve_next(&curve, MIB, 16 * MIB), 4 * MIB); /* no eight segments of 1 MiB */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_of_a_bcast), cmocka_unit_test(test_tasks_of_an_allreduce),
        cmocka_unit_test(test_equation_3),       cmocka_unit_test(test_steadiness),
        cmocka_unit_test(test_curves),           cmocka_unit_test(test_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
