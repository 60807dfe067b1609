/* algorithm: what a generator is, and the schedules that it makes of positions that are all alike.
 *
 * A generator sees rooted problems with root 0, whoever the root is: hp_schedule_make_flat counts positions from the
 * root, and rotates the schedule back. Where the operation does not commute it reduces to position 0 instead, which sends
 * the result on.
 *
 * Threads: pure. Ownership: plain data; what a generator points to outlives it. */
#ifndef HP_SCHEDULE_ALGORITHM_H
#define HP_SCHEDULE_ALGORITHM_H

#include "schedule/schedule.h"

/* What one may choose. most = 0: up to the number of positions, or 2 if that is less. */
typedef struct {
    const char *name; /* NULL: past the last */
    uint32_t least, most, usual;
    const char *text;
} hp_parameter_t;

typedef struct hp_generator {
    const char *name, *text;
    /* Sets of patterns, HP_SERVES() of each: what it does, and of these: */
    uint32_t patterns;
    uint32_t ordered;      /* which keep the operands in order where that is asked for */
    uint32_t power_of_two; /* which need a power of two of positions */
    uint32_t even;         /* which need an even number of positions */
    uint32_t equal;        /* which need blocks of one size */
    uint32_t
        direct; /* which are, where nodes are not told apart (hp_schedule_is_direct), whatever is chosen */
    uint32_t placed;        /* which need a network (problem->placement) */
    uint32_t positions_max; /* it is for so many at most; 0: for any number */
    /* A position has the messages of so many steps under way at most, for it keeps others off the links; 0: of any number. */
    uint32_t in_flight;
    hp_parameter_t parameters[HP_PARAMETERS_MAX];
    /* Writes the schedule of a position (count >= 2). Sets schedule->cut where it is not 1, and scratch_blocks. */
    void (*generate)(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me);
    /* What the schedules of all positions share: who makes many makes it once, for problem->prepared, and gives it to
     * release; where that is NULL generate does without. Either is NULL for those that share nothing. */
    void *(*prepare)(const hp_problem_t *problem);
    void (*release)(void *prepared);
    /* In place of generate, of an algorithm that was read: the schedules of all positions of this one problem. */
    const hp_schedule_t *schedules;
    const hp_problem_t *problem;
} hp_generator_t;

/* As hp_schedule_make (generator.h), whatever nodes the problem names. */
hp_status_t hp_schedule_make_flat(hp_schedule_t *schedule, const hp_generator_t *generator,
                                  const hp_problem_t *problem, uint32_t position);

#endif
