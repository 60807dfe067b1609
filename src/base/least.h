/* least: the lesser and the greater of two values, by their type.
 *
 * Threads: pure. Ownership: nothing is kept. */
#ifndef HP_BASE_LEAST_H
#define HP_BASE_LEAST_H

#include <stdint.h>

static inline double hp_least_double(double a, double b)
{
    return a < b ? a : b;
}

static inline double hp_most_double(double a, double b)
{
    return a > b ? a : b;
}

static inline uint32_t hp_most_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t hp_most_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
