/* broken: copies of a generator's schedules with one fault each, which the verifier has to find.
 *
 * Threads: single-threaded. Ownership: nothing is kept. */
#ifndef HP_TESTS_UNIT_BROKEN_H
#define HP_TESTS_UNIT_BROKEN_H

#include "schedule/generator.h"

#define BROKEN_TABLE(X)                                                                                      \
    X(PARTNER, "a wrong partner")                                                                            \
    X(LEFT_OUT, "a block, or the step, left out")                                                            \
    X(PLACE, "a block in the wrong place")                                                                   \
    X(ACTION, "stored for reduced, reduced for stored, left for right")

typedef enum {
#define X(id, text) BROKEN_##id,
    BROKEN_TABLE(X)
#undef X
        BROKEN_KINDS
} broken_kind_t;

/* Breaks each step of each position in turn; returns how many copies that were. Fails the test where the verifier does not
 * find one, or names no step where it could. */
uint32_t broken_are_found(const hp_generator_t *generator, const hp_problem_t *problem, broken_kind_t what);

#endif
