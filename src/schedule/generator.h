/* generator: an algorithm: a function that writes the schedule of any position, and what others must know of it.
 *
 * One file in generators/ and one row in its generators.def; the file's head names paper, rounds, bytes and constraints.
 * Given a problem with nodes, hp_schedule_make uses it among the nodes (two_level.h); else among the positions.
 *
 * Threads: pure. Ownership: plain data; what a generator points to outlives it. */
#ifndef HP_SCHEDULE_GENERATOR_H
#define HP_SCHEDULE_GENERATOR_H

#include <stddef.h>
#include "schedule/algorithm.h"
#include "schedule/verify.h"
#include "topo_tree/network.h"

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
/* Does it hold of the schedule of each position of the problem, whose parameters are as usual? Of a problem that is not served, too. */
typedef bool (*hp_schedule_fn_t)(const hp_schedule_t *schedule, uint32_t position);
bool hp_generator_holds(const hp_generator_t *generator, hp_problem_t problem, hp_schedule_fn_t holds);
/* The same of all problems of few positions, from root 0: what is so for those is so for all. Not of a pattern
 * that it does not serve, or for blocks of one size only. */
bool hp_generator_holds_for_few(const hp_generator_t *generator, hp_pattern_t pattern,
                                hp_schedule_fn_t holds);
/* A network of two switches with so many machines, for whoever looks at few positions of a generator that needs one. False:
 * no memory. Fini in any case. */
bool hp_generator_sample_network(hp_network_t *network, uint32_t machines);
/* For problem->prepared of who makes the schedules of many positions; NULL: there is nothing to prepare. Goes with release. */
void *hp_generator_prepare(const hp_generator_t *generator, const hp_problem_t *problem);
void hp_generator_release(const hp_generator_t *generator, void *prepared);
/* Of all positions, in a list to be freed with hp_schedules_free. NULL: no memory. */
hp_schedule_t *hp_schedules_make(const hp_generator_t *generator, const hp_problem_t *problem);
void hp_schedules_free(hp_schedule_t *schedules, uint32_t count);
/* Makes them and verifies them (verify.h). */
hp_status_t hp_generator_verify(const hp_generator_t *generator, const hp_problem_t *problem,
                                hp_fault_t *fault);

#endif
