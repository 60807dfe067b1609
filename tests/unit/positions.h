/* positions: up to how many positions schedules are verified. Threads: any. Ownership: none. */
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

#endif
