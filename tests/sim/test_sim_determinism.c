/* test_sim_determinism: the same operands in the same order, whoever comes first.
 *
 * docs/pitfalls.md 15: the result of a sum of doubles must not change from run to run. It depends on localities,
 * shapes, modules, number of trees and leaders and segment size only: not on the order of events, on N, M,
 * the window or the number of slots, nor on where the result goes, nor on whether tasks run in lock-step. All
 * ranks of an allreduce get the same bits (job_run compares them). */
#include "sim/random_case.h"
#include "sim/seeds.h"

static uint64_t result_of(uint64_t seed, collective_t c, const sim_config_t *world, const hp_knobs_t *knobs,
                          sim_random_t *random)
{
    enum { SPAN_NS = 50000 };
    job_t *job = job_create(world, knobs);
    random_delays(random, job_sim(job), world->rank_count, SPAN_NS);
    if (!job_run(job, &c, 1, NULL)) {
        print_case(&c, world->rank_count, knobs, world);
        seeds_fail(seed, job_problem(job));
    }
    const uint64_t result = job_result(job);
    job_destroy(job);
    return result;
}

static void pitfall_15_same_bits_in_every_run(void **state)
{
    (void)state;
    enum { RANKS_MAX = 24, MOST_ELEMENTS = 60, RUNS = 8 };
    const seeds_t seeds = seeds_start("pitfall_15_same_bits_in_every_run", 200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, RANKS_MAX - 1);
        hp_locality_t *table = random_table(&random, rank_count);
        for (unsigned i = 0; any_algorithm(i); i++) {
            if (any_algorithm(i)->collective == HP_BCAST || any_algorithm(i)->collective == HP_BARRIER)
                continue; /* nothing is added up */
            collective_t c = random_collective(&random, any_algorithm(i), rank_count, MOST_ELEMENTS);
            c.kind = (elements_t)sim_random_below(&random, ELEMENTS_BYTES);
            c.op = ELEMENTS_SUM_DOUBLE;
            c.inexact = true;
            c.root = (uint32_t)sim_random_below(&random, random_roots(any_algorithm(i), rank_count));
            /* The cut and the trees follow from the levels too, and from what a node's ranks can do. */
            const hp_knobs_t first_knobs = random_knobs(&random);
            uint64_t first = 0;
            for (unsigned run = 0; run < RUNS; run++) {
                const sim_config_t world = random_world(&random, rank_count, table);
                hp_knobs_t knobs = random_knobs(&random);
                memcpy(knobs.levels, first_knobs.levels, sizeof knobs.levels);
                knobs.shared_memory = first_knobs.shared_memory;
                knobs.read_peers = first_knobs.read_peers;
                knobs.slot_bytes = first_knobs.slot_bytes;
                c.in_place = run % 2 != 0;
                c.lockstep = may_lockstep(&c) && run % 4 == 2;
                const uint64_t result = result_of(seed, c, &world, &knobs, &random);
                if (run == 0)
                    first = result;
                if (result != first) {
                    print_case(&c, rank_count, &knobs, &world);
                    seeds_fail(seed, "another result than in the run before");
                }
            }
        }
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_15_same_bits_in_every_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
