/* seeds: the head of every sim test: cmocka, and how a failing seed is repeated.
 *
 * A test runs seeds first, first + 1, ... HANPMPI_TEST_SEED sets the first one, HANPMPI_TEST_SEEDS how many,
 * HANPMPI_TEST_SEEDS_DIVISOR how many times fewer than usual (1): a failure prints both, so that the failing one
 * runs alone. Threads: single-threaded. Ownership: none. */
#ifndef HP_TESTS_SIM_SEEDS_H
#define HP_TESTS_SIM_SEEDS_H

#include "unit/check.h"

typedef struct {
    uint64_t first, count;
} seeds_t;

/* How many times fewer cases than usual are wanted; also of those in a table, of which it is the stride. */
static inline uint64_t seeds_divisor(void)
{
    const char *divisor = getenv("HANPMPI_TEST_SEEDS_DIVISOR");
    return divisor ? strtoull(divisor, NULL, 10) : 1;
}

static inline seeds_t seeds_start(const char *test, uint64_t count)
{
    const char *first = getenv("HANPMPI_TEST_SEED"), *wanted = getenv("HANPMPI_TEST_SEEDS");
    const uint64_t usual = 1 + (count - 1) / seeds_divisor();
    seeds_t seeds = {first ? strtoull(first, NULL, 10) : 20200801,
                     wanted ? strtoull(wanted, NULL, 10) : usual};
    printf("%s: HANPMPI_TEST_SEED=%llu HANPMPI_TEST_SEEDS=%llu\n", test, (unsigned long long)seeds.first,
           (unsigned long long)seeds.count);
    return seeds;
}

#define seeds_fail(seed, text)                                                                               \
    fail_msg("%s\nrepeat with HANPMPI_TEST_SEED=%llu HANPMPI_TEST_SEEDS=1", text, (unsigned long long)(seed))

#endif
