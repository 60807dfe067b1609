/* test_overlap: what is arithmetic in hanpmpi_bench --overlap: the two formulas, and that a computation does what it
 * was told. */
#include "bench/compute.h"
#include "bench/nonblocking_overlap.h"
#include "unit/check.h"

static void all_nothing_and_half(void **state)
{
    (void)state;
    /* Hidden behind a computation of the same length: completely, not at all, half. */
    assert_float_equal(bench_overlap_imb(10, 10, 10), 100, 1e-9);
    assert_float_equal(bench_overlap_osu(10, 10, 10), 100, 1e-9);
    assert_float_equal(bench_overlap_imb(10, 10, 20), 0, 1e-9);
    assert_float_equal(bench_overlap_osu(10, 10, 20), 0, 1e-9);
    assert_float_equal(bench_overlap_imb(10, 10, 15), 50, 1e-9);
    assert_float_equal(bench_overlap_osu(10, 10, 15), 50, 1e-9);
}

static void longer_and_shorter_computations(void **state)
{
    (void)state;
    /* A longer one: the same. */
    assert_float_equal(bench_overlap_imb(10, 40, 45), 50, 1e-9);
    assert_float_equal(bench_overlap_osu(10, 40, 45), 50, 1e-9);
    /* A shorter one, hidden completely: all that could be saved, but a quarter of the collective. */
    assert_float_equal(bench_overlap_imb(40, 10, 40), 100, 1e-9);
    assert_float_equal(bench_overlap_osu(40, 10, 40), 25, 1e-9);
}

static void clipped(void **state)
{
    (void)state;
    /* Slower together than one after the other; faster together than one alone. */
    assert_float_equal(bench_overlap_imb(10, 10, 30), 0, 0);
    assert_float_equal(bench_overlap_osu(10, 10, 30), 0, 0);
    assert_float_equal(bench_overlap_imb(10, 10, 5), 100, 0);
    assert_float_equal(bench_overlap_osu(10, 10, 5), 100, 0);
    assert_float_equal(bench_overlap_osu(10, 10, 1e-3), 100, 0);
    /* Too short for the clock: nothing is divided by nothing. */
    assert_float_equal(bench_overlap_imb(0, 10, 10), 0, 0);
    assert_float_equal(bench_overlap_osu(0, 10, 10), 0, 0);
    assert_float_equal(bench_overlap_imb(10, 0, 5), 0, 0);
    assert_float_equal(bench_overlap_imb(0, 0, 0), 0, 0);
}

/* The matrix halves what is between an element and the mean: after k products 2^-k of it is left. */
static void so_many_products(void **state)
{
    const double mean = (BENCH_COMPUTE_ORDER + 1) / 2.0;
    bench_compute_t compute;
    (void)state;

    bench_compute_init(&compute);
    for (uint64_t products = 0; products <= 12; products += 3) {
        for (int i = 0; i < BENCH_COMPUTE_ORDER; i++)
            compute.vector[i] = i + 1;
        bench_compute(&compute, products);
        for (int i = 0; i < BENCH_COMPUTE_ORDER; i++)
            assert_float_equal(compute.vector[i] - mean, (i + 1 - mean) / (double)(1 << products), 1e-12);
    }
    bench_compute(&compute, 100000);
    for (int i = 0; i < BENCH_COMPUTE_ORDER; i++)
        assert_float_equal(compute.vector[i], mean, 1e-6);
}

static void products_of_a_time(void **state)
{
    bench_compute_t compute;
    (void)state;

    bench_compute_init(&compute);
    assert_true(compute.products_per_us > 0);
    compute.products_per_us = 8;
    assert_int_equal(bench_compute_products(&compute, 1000), 8000);
    assert_int_equal(bench_compute_products(&compute, 0.01), 1);
    assert_int_equal(bench_compute_products(&compute, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nothing_and_half),
        cmocka_unit_test(longer_and_shorter_computations),
        cmocka_unit_test(clipped),
        cmocka_unit_test(so_many_products),
        cmocka_unit_test(products_of_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
