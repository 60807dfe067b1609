/* test_pool: scratch buffers come and go. */
#include "base/pool.h"
#include "check.h"

static void pool_reuses_what_came_back_last(void **state)
{
    (void)state;
    hp_pool_t pool;
    hp_pool_init(&pool);
    char *a = hp_pool_get(&pool, 100), *b = hp_pool_get(&pool, 100);
    assert_true(a && b && a != b);
    assert_int_equal(pool.live, 2);
    memset(a, 1, 100);
    memset(b, 2, 100);
    hp_pool_put(&pool, a);
    hp_pool_put(&pool, b);
    hp_pool_put(&pool, NULL);
    assert_int_equal(pool.live, 0);
    assert_ptr_equal(hp_pool_get(&pool, 100), b);
    assert_ptr_equal(hp_pool_get(&pool, 64), a); /* larger than needed is good */
    hp_pool_put(&pool, a);
    hp_pool_put(&pool, b);
    hp_pool_fini(&pool);
}

static void pool_buffers_are_aligned_and_large_enough(void **state)
{
    (void)state;
    hp_pool_t pool;
    check_random_t random = check_random_start("pool_buffers_are_aligned_and_large_enough");
    char *held[32] = {NULL};
    size_t sizes[32] = {0};
    hp_pool_init(&pool);
    for (unsigned run = 0; run < 5000; run++) {
        const uint32_t i = check_random_below(&random, ARRAY_LENGTH(held));
        if (held[i]) {
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(held[i][k], (char)i);
            hp_pool_put(&pool, held[i]);
            held[i] = NULL;
        } else {
            sizes[i] = check_random_below(&random, 500);
            held[i] = hp_pool_get(&pool, sizes[i]);
            assert_non_null(held[i]);
            assert_int_equal((uintptr_t)held[i] % 64, 0);
            memset(held[i], (int)i, sizes[i]);
        }
        uint32_t live = 0;
        for (size_t k = 0; k < ARRAY_LENGTH(held); k++)
            live += held[k] != NULL;
        assert_int_equal(pool.live, live);
    }
    for (size_t k = 0; k < ARRAY_LENGTH(held); k++)
        hp_pool_put(&pool, held[k]);
    hp_pool_fini(&pool);
}

static void pool_refuses_what_cannot_be(void **state)
{
    (void)state;
    hp_pool_t pool;
    hp_pool_init(&pool);
    assert_null(hp_pool_get(&pool, SIZE_MAX));
    assert_null(hp_pool_get(&pool, SIZE_MAX - 73)); /* the header in front no longer fits */
    assert_int_equal(pool.live, 0);
    hp_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_reuses_what_came_back_last),
        cmocka_unit_test(pool_buffers_are_aligned_and_large_enough),
        cmocka_unit_test(pool_refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
