/* butterfly: reduce-scatter and allgather of a power of two of positions, in which partners halve, or double, the range
 * of blocks that they have: what recursive halving and Bine butterflies have in common. For generators.
 *
 * Positions take part by their numbers (pairing.h); there are as many blocks. At level k two numbers meet that at level
 * k + 1 have the same 2^(k+1) blocks, around the circle, and at level k one half each: at level 0 its own.
 * Threads: pure. Ownership: plain data. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_BUTTERFLY_H
#define HP_SCHEDULE_GENERATORS_PARTS_BUTTERFLY_H

#include "schedule/generators/parts/pairing.h"

typedef struct {
    uint32_t (*partner)(uint32_t power, uint32_t number, uint32_t level);
    /* Of its 2^level blocks. */
    uint32_t (*first)(uint32_t power, uint32_t number, uint32_t level);
} hp_butterfly_t;

/* A position in it, and where its blocks are: block b is space[b - first], around the circle. */
typedef struct {
    const hp_butterfly_t *butterfly;
    hp_pairing_t pairing;
    uint32_t me;
    hp_space_t space;
    uint32_t first;
} hp_butterfly_vector_t;

/* Reduces the send buffers of all positions; each number ends with its own block. Pairs reduce first: of the others in
 * them this is all. */
void hp_schedule_butterfly_halve(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector);
/* Where each number has its own block, each gets all. */
void hp_schedule_butterfly_double(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector);
/* The whole collective: allreduce of any number of positions; reduce_scatter and allgather of a power of two. */
void hp_schedule_butterfly(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me,
                           const hp_butterfly_t *butterfly);

#endif
