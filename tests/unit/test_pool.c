/* test_pool: scratch buffers come and go. */
#include <pthread.h>
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

enum { SEGMENT_BYTES = 128 << 10, SEGMENTS = 8, POOLS = 64 };

/* As a collective does. */
static void use(hp_pool_t *pool, void *(*held)[SEGMENTS], size_t bytes)
{
    for (unsigned i = 0; i < SEGMENTS; i++) {
        (*held)[i] = hp_pool_get(pool, bytes);
        assert_non_null((*held)[i]);
        memset((*held)[i], (int)i, bytes);
    }
    for (unsigned i = 0; i < SEGMENTS; i++)
        hp_pool_put(pool, (*held)[i]);
}

static void idle_pools_keep_little_and_others_get_the_rest(void **state)
{
    (void)state;
    hp_pool_t pools[POOLS];
    void *first[SEGMENTS], *held[SEGMENTS];

    for (unsigned i = 0; i < POOLS; i++)
        hp_pool_init(&pools[i]);
    use(&pools[0], &first, SEGMENT_BYTES);
    hp_pool_rest(&pools[0]);
    assert_int_equal(hp_pool_stored(), SEGMENTS * SEGMENT_BYTES);
    for (unsigned i = 1; i < POOLS; i++) {
        use(&pools[i], &held, SEGMENT_BYTES);
        for (unsigned k = 0; k < SEGMENTS; k++) /* what was given back last comes first: the cache has it */
            assert_ptr_equal(held[k], first[SEGMENTS - 1 - k]);
        memcpy(first, held, sizeof first);
        hp_pool_rest(&pools[i]);
        assert_int_equal(pools[i].free_bytes, 0);
        assert_int_equal(hp_pool_stored(), SEGMENTS * SEGMENT_BYTES);
    }
    use(&pools[1], &held, 64); /* short ones stay, and leave the store alone */
    hp_pool_rest(&pools[1]);
    assert_int_equal(pools[1].free_bytes, SEGMENTS * 64);
    assert_int_equal(hp_pool_stored(), SEGMENTS * SEGMENT_BYTES);
    use(&pools[2], &held, 2 * SEGMENT_BYTES); /* what is too small for it leaves the store */
    assert_int_equal(hp_pool_stored(), 0);
    for (unsigned i = 0; i < POOLS; i++)
        hp_pool_fini(&pools[i]);
}

static void the_store_is_bounded_and_ends_with_the_last_pool(void **state)
{
    (void)state;
    hp_pool_t pools[POOLS];
    void *held[POOLS][SEGMENTS];

    for (unsigned i = 0; i < POOLS; i++) { /* all at the same time */
        hp_pool_init(&pools[i]);
        for (unsigned k = 0; k < SEGMENTS; k++)
            assert_non_null(held[i][k] = hp_pool_get(&pools[i], SEGMENT_BYTES));
    }
    for (unsigned i = 0; i < POOLS; i++) {
        for (unsigned k = 0; k < SEGMENTS; k++)
            hp_pool_put(&pools[i], held[i][k]);
        hp_pool_rest(&pools[i]);
        assert_int_equal(pools[i].free_bytes, 0);
    }
    assert_in_range(hp_pool_stored(), 1, 4 << 20);
    for (unsigned i = 0; i + 1 < POOLS; i++)
        hp_pool_fini(&pools[i]);
    assert_in_range(hp_pool_stored(), 1, 4 << 20);
    hp_pool_fini(&pools[POOLS - 1]);
    assert_int_equal(hp_pool_stored(), 0);
}

static void *use_often(void *argument)
{
    hp_pool_t *pool = argument;
    for (unsigned run = 0; run < 500; run++) {
        char *held[SEGMENTS];
        const size_t bytes = (size_t)2048 << run % 5;
        for (unsigned i = 0; i < SEGMENTS; i++) {
            if (!(held[i] = hp_pool_get(pool, bytes)))
                return "no memory";
            held[i][0] = held[i][bytes - 1] = (char)i;
        }
        for (unsigned i = 0; i < SEGMENTS; i++) {
            if (held[i][0] != (char)i || held[i][bytes - 1] != (char)i)
                return "somebody else has it";
            hp_pool_put(pool, held[i]);
        }
        hp_pool_rest(pool);
    }
    return NULL;
}

static void pools_of_several_threads_share_the_store(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    hp_pool_t pools[THREADS];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        hp_pool_init(&pools[i]);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_often, &pools[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    for (unsigned i = 0; i < THREADS; i++)
        hp_pool_fini(&pools[i]);
    assert_int_equal(hp_pool_stored(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_reuses_what_came_back_last),
        cmocka_unit_test(pool_buffers_are_aligned_and_large_enough),
        cmocka_unit_test(pool_refuses_what_cannot_be),
        cmocka_unit_test(idle_pools_keep_little_and_others_get_the_rest),
        cmocka_unit_test(the_store_is_bounded_and_ends_with_the_last_pool),
        cmocka_unit_test(pools_of_several_threads_share_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
