/* test_sim_matrix: every algorithm gives the right result on every rank, whatever the number of ranks, the
 * localities, the root, the settings, the type and the order of events; and leaves nothing behind.
 *
 * docs/pitfalls.md 13 (numbers of ranks, every root, counts around them), 14 (gaps, true_lb), 15 (rank order). */
#include "sim/random_case.h"
#include "sim/seeds.h"

static const uint32_t rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33};

/* One world: all algorithms, all roots. */
static void run_world(uint64_t seed, uint32_t rank_count)
{
    enum { MOST_ELEMENTS = 150, SPAN_NS = 200000 };
    sim_random_t random = {seed * 64 + rank_count};
    hp_locality_t *table = random_table(&random, rank_count);
    const sim_config_t world = random_world(&random, rank_count, table);
    const hp_knobs_t knobs = random_knobs(&random);
    job_t *job = job_create(&world, &knobs);

    for (unsigned i = 0; any_algorithm(i); i++) {
        const uint32_t roots = random_roots(any_algorithm(i), rank_count), least = 2;
        for (uint32_t root = 0; root < (roots > least ? roots : least); root++) {
            collective_t c = random_collective(&random, any_algorithm(i), rank_count, MOST_ELEMENTS);
            c.root = root < roots ? root : 0;
            random_delays(&random, job_sim(job), rank_count, SPAN_NS);
            const collective_t twice[] = {c, c}; /* the second time by the plan of the first */
            if (!job_run(job, twice, 2, NULL)) {
                print_case(&c, rank_count, &knobs, &world);
                seeds_fail(seed, job_problem(job));
            }
        }
    }
    job_destroy(job);
    free(table);
}

static void all_of_it(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("matrix", 14);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        for (size_t i = 0; i < ARRAY_LENGTH(rank_counts); i++)
            run_world(seed, rank_counts[i]);
}

/* Different collectives one after the other, without a barrier: a rank may be several ahead of another. */
static void back_to_back(void **state)
{
    (void)state;
    enum { LENGTH = 12, MOST_ELEMENTS = 60, SPAN_NS = 100000 };
    const seeds_t seeds = seeds_start("back_to_back", 300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, 12);
        hp_locality_t *table = random_table(&random, rank_count);
        const sim_config_t world = random_world(&random, rank_count, table);
        const hp_knobs_t knobs = random_knobs(&random);
        job_t *job = job_create(&world, &knobs);
        collective_t list[LENGTH];
        for (unsigned i = 0; i < LENGTH; i++) {
            const unsigned which = (unsigned)sim_random_below(&random, any_algorithm_count());
            list[i] = random_collective(&random, any_algorithm(which), rank_count, MOST_ELEMENTS);
            list[i].root =
                (uint32_t)sim_random_below(&random, random_roots(any_algorithm(which), rank_count));
            random_again(&random, list, i);
        }
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
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(back_to_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
