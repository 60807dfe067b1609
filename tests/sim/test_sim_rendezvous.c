/* test_sim_rendezvous: no message leaves before its receive is posted, completions come in any order, ranks
 * stand still now and then: nothing waits for ever. 10,000 seeds.
 *
 * docs/pitfalls.md 26: sends in ready order while receives are posted in index order deadlock under rendezvous.
 * Messages are small and their segments many, so that each seed is many orders of events in little time. */
#include "sim/random_case.h"
#include "sim/seeds.h"

static void pitfall_26_forced_rendezvous(void **state)
{
    (void)state;
    enum { RANKS_MAX = 14, MOST_ELEMENTS = 80, SPAN_NS = 30000, LENGTH = 2 };
    const seeds_t seeds = seeds_start("pitfall_26_forced_rendezvous", 10000);

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, RANKS_MAX - 1);
        hp_locality_t *table = random_table(&random, rank_count);
        sim_config_t world = random_world(&random, rank_count, table);
        hp_knobs_t knobs = random_knobs(&random);
        collective_t list[LENGTH];

        world.eager_bytes = 0;
        world.shuffle = true;
        for (unsigned i = 0; i < LENGTH; i++) {
            const unsigned which = (unsigned)((seed + i) % any_algorithm_count());
            list[i] = random_collective(&random, any_algorithm(which), rank_count, MOST_ELEMENTS);
            list[i].setting.segment_bytes = 1 + (size_t)sim_random_below(&random, 32);
            list[i].root =
                (uint32_t)sim_random_below(&random, random_roots(any_algorithm(which), rank_count));
            random_again(&random, list, i);
        }
        job_t *job = job_create(&world, &knobs);
        random_delays(&random, job_sim(job), rank_count, SPAN_NS);
        if (!job_run(job, list, LENGTH, NULL)) {
            for (unsigned i = 0; i < LENGTH; i++)
                print_case(&list[i], rank_count, &knobs, &world);
            seeds_fail(seed, job_problem(job));
        }
        job_destroy(job);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_26_forced_rendezvous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
