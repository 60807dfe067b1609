/* sim_random: random numbers that a seed repeats. splitmix64: G. Steele, D. Lea, C. Flood, "Fast splittable
 * pseudorandom number generators", 2014; neighbouring seeds give unrelated sequences.
 *
 * Threads: one user at a time. Ownership: plain data. */
#ifndef HP_TESTS_SIM_RANDOM_H
#define HP_TESTS_SIM_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t state;
} sim_random_t;

static inline uint64_t sim_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t sim_random_next(sim_random_t *random)
{
    return sim_random_mix(random->state += 0x9e3779b97f4a7c15u);
}

/* 0..bound-1; bound > 0. */
static inline uint64_t sim_random_below(sim_random_t *random, uint64_t bound)
{
    return sim_random_next(random) % bound;
}

#endif
