/* check: the head of every unit test: cmocka with what it needs, random numbers that can be repeated, and the time of the
 * processor.
 *
 * Threads: tests are single-threaded. Ownership: nothing is allocated. */
#ifndef HP_TESTS_UNIT_CHECK_H
#define HP_TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof *(array))

/* xorshift64: G. Marsaglia, "Xorshift RNGs", 2003. */
typedef struct {
    uint64_t state;
} check_random_t;

/* Starts from HANPMPI_TEST_SEED, else from a fixed seed; prints it, so that a failure can be repeated. */
static inline check_random_t check_random_start(const char *test)
{
    const char *text = getenv("HANPMPI_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20200801;
    printf("%s: HANPMPI_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    return (check_random_t){seed * 2 + 1}; /* never 0, on which xorshift stands still */
}

/* 0..bound-1. */
static inline uint32_t check_random_below(check_random_t *random, uint32_t bound)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (uint32_t)((random->state >> 16) % bound);
}

/* Nanoseconds of the processor this process has used: what a test may demand of work's speed, since it does not count
 * while others have the processor (tests run beside each other, and under sanitizers in what time the rest leaves). */
static inline uint64_t check_processor_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

#endif
