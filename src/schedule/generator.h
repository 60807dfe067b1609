/* generator: an algorithm: a function that writes the schedule of any position, and what others must know of it.
 *
 * One file in generators/ and one row in its generators.def; the file's head names paper, rounds, bytes and constraints.
 * A generator sees rooted problems with root 0, whoever the root is: hp_schedule_make counts positions from the root,
 * and turns the schedule back. Where the operation does not commute it reduces to position 0 instead, which sends the
 * result on.
 *
 * Threads: pure. Ownership: plain data; what a generator points to outlives it. */
#ifndef HP_SCHEDULE_GENERATOR_H
#define HP_SCHEDULE_GENERATOR_H

#include <stddef.h>
#include "schedule/schedule.h"

/* What one may choose. most = 0: up to the number of positions, or 2 if that is less. */
typedef struct {
    const char *name; /* NULL: past the last */
    uint32_t least, most, usual;
    const char *text;
} hp_parameter_t;

typedef struct {
    const char *name, *text;
    /* Sets of patterns, HP_SERVES() of each: what it does, and of these: */
    uint32_t patterns;
    uint32_t ordered;      /* which keep the operands in order where that is asked for */
    uint32_t power_of_two; /* which need a power of two of positions */
    uint32_t even;         /* which need an even number of positions */
    uint32_t equal;        /* which need blocks of one size */
    hp_parameter_t parameters[HP_PARAMETERS_MAX];
    /* Writes the schedule of a position (count >= 2). Sets schedule->cut where it is not 1, and scratch_blocks. */
    void (*generate)(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me);
    /* In place of generate, of an algorithm that was read: the schedules of all positions of this one problem. */
    const hp_schedule_t *schedules;
    const hp_problem_t *problem;
} hp_generator_t;

uint32_t hp_parameter_most(const hp_parameter_t *parameter, const hp_problem_t *problem);
/* The parameters as usual, within what the number of positions allows. */
void hp_generator_usual(const hp_generator_t *generator, hp_problem_t *problem);
/* Can it solve the problem? Where not, why says why not (why may be NULL). */
bool hp_generator_serves(const hp_generator_t *generator, const hp_problem_t *problem, char *why,
                         size_t why_bytes);

/* The schedule of a position into *schedule, which was initialized. problem: one that it serves.
 * HP_OK or HP_ERR_NO_MEM. */
hp_status_t hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                             const hp_problem_t *problem, uint32_t position);
/* Of all positions, in a list to be freed with hp_schedules_free. NULL: no memory. */
hp_schedule_t *hp_schedules_make(const hp_generator_t *generator, const hp_problem_t *problem);
void hp_schedules_free(hp_schedule_t *schedules, uint32_t count);

#endif
