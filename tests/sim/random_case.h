/* random_case: localities, settings and collectives drawn from a seed.
 *
 * Threads: single-threaded. Ownership: the caller frees the table of a world (free). */
#ifndef HP_TESTS_SIM_RANDOM_CASE_H
#define HP_TESTS_SIM_RANDOM_CASE_H

#include "sim/job.h"

/* rank_count ranks on one node, a node each, on uneven nodes in blocks, round robin, or anywhere. */
hp_locality_t *random_table(sim_random_t *random, uint32_t rank_count);

/* Links of a world in which everything takes about as long as everything else, so that any order of events
 * can come up; random eager limit, jitter and shuffling. */
sim_config_t random_world(sim_random_t *random, uint32_t rank_count, const hp_locality_t *table);

/* N, M, window, levels, memory shared inside a node: slots are few and small. */
hp_knobs_t random_knobs(sim_random_t *random);

/* Everything but the root: modules for each level and leaders too. Counts around the number of ranks, around
 * the segment size, or up to most elements. */
collective_t random_collective(sim_random_t *random, const hp_algorithm_t *algorithm, uint32_t rank_count,
                               size_t most);

/* Of any algorithm, with any root, to be in flight with others; most of them leave the host MPI out. */
collective_t random_in_flight(sim_random_t *random, uint32_t rank_count, size_t most);

/* Now and then list[i] becomes the same as one of those before it, which is then started again with its plan. */
void random_again(sim_random_t *random, collective_t *list, unsigned i);

/* Can it run in lock-step? */
bool may_lockstep(const collective_t *collective);

/* Roots that a rooted collective may have; 1 for the others. */
uint32_t random_roots(const hp_algorithm_t *algorithm, uint32_t rank_count);

/* Some ranks stand still for a while, somewhere in the first span_ns from now. */
void random_delays(sim_random_t *random, sim_t *sim, uint32_t rank_count, uint64_t span_ns);

/* The i-th of all algorithms of all collectives, NULL past the last. */
const hp_algorithm_t *any_algorithm(unsigned i);
unsigned any_algorithm_count(void);

/* One line that names all that was drawn. */
void print_case(const collective_t *collective, uint32_t rank_count, const hp_knobs_t *knobs,
                const sim_config_t *world);

#endif
