/* positions: up to how many positions schedules are verified, and how many of a test's cases run. Threads: any. Ownership: none. */
#ifndef HP_TESTS_UNIT_POSITIONS_H
#define HP_TESTS_UNIT_POSITIONS_H

#include <stdint.h>
#include <stdlib.h>

/* HP_SCHEDULE_POSITIONS, or as many as usual. */
static inline uint32_t positions_max(uint32_t usual)
{
    const char *text = getenv("HP_SCHEDULE_POSITIONS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

/* HP_TEST_CASES, or all. */
static inline unsigned cases_max(unsigned all)
{
    const char *text = getenv("HP_TEST_CASES");
    const unsigned most = text ? (unsigned)strtoul(text, NULL, 10) : all;
    return most < all ? most : all;
}

#endif
