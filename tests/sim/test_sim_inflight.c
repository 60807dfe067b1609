/* test_sim_inflight: several collectives of one communicator in execution at a time: whatever the ranks call, look at
 * and wait for meanwhile, all results are right, they start in the order of the calls, what must run alone does, and
 * nothing is left behind.
 *
 * Machines: a rank on each node (they run at the same time), several ranks that share memory (one after the other), the
 * same without the memory. docs/pitfalls.md 15 (rank order), 25 (no rank waits for another's later call), 26 (rendezvous). */
#include "sim/random_case.h"
#include "sim/seeds.h"

enum { MOST_COLLECTIVES = 40, SPAN_NS = 300000 };

typedef struct {
    hp_locality_t *table;
    sim_config_t world;
    hp_knobs_t knobs;
    job_t *job;
} fixture_t;

static fixture_t fixture_of(sim_random_t *random, uint32_t rank_count)
{
    fixture_t f = {.table = random_table(random, rank_count)};
    f.world = random_world(random, rank_count, f.table);
    f.knobs = random_knobs(random);
    if (sim_random_below(random, 2))
        f.knobs.shared_memory = 0;
    f.job = job_create(&f.world, &f.knobs);
    return f;
}

static void fixture_fini(fixture_t *f)
{
    job_destroy(f->job);
    free(f->table);
}

static void run(fixture_t *f, uint64_t seed, const collective_t *list, uint32_t count, const inflight_t *how)
{
    if (job_run_inflight(f->job, list, count, how, NULL))
        return;
    for (uint32_t i = 0; i < count && i < MOST_COLLECTIVES; i++) {
        printf("%u%s: ", i, list[i].blocking ? ", blocking" : "");
        print_case(&list[i], f->world.rank_count, &f->knobs, &f->world);
    }
    seeds_fail(seed, job_problem(f->job));
}

/* Two runs on one job: what the first leaves behind is found by the second. */
static void any_calls_at_any_time(void **state)
{
    (void)state;
    enum { MOST_ELEMENTS = 60 };
    const seeds_t seeds = seeds_start("any_calls_at_any_time", 2000);
    uint64_t together = 0, queued = 0, mixed = 0, started_again = 0;

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 1 + (uint32_t)sim_random_below(&random, 9);
        fixture_t f = fixture_of(&random, rank_count);
        for (unsigned again = 0; again < 2; again++) {
            const uint32_t count = 1 + (uint32_t)sim_random_below(&random, MOST_COLLECTIVES);
            const inflight_t how = {.most_in_flight =
                                        1 + (uint32_t)sim_random_below(&random, MOST_COLLECTIVES),
                                    .pause_ns = 10 + sim_random_below(&random, 20000),
                                    .seed = sim_random_next(&random)};
            collective_t list[MOST_COLLECTIVES];
            for (uint32_t i = 0; i < count; i++)
                list[i] = random_in_flight(&random, rank_count, MOST_ELEMENTS);
            for (uint32_t i = 0; i < count; i++)
                random_again(&random, list, i);
            random_delays(&random, job_sim(f.job), rank_count, SPAN_NS);
            run(&f, seed, list, count, &how);
            const inflight_seen_t *seen = job_inflight_seen(f.job);
            together += seen->running > 2;
            mixed += seen->running > 1 && seen->alone; /* on ranks of a node, too, messages run together */
            queued += seen->queued;
            started_again += seen->again;
        }
        fixture_fini(&f);
    }
    printf("runs: %llu with several at a time, %llu with some of them alone; %llu had to wait for their "
           "turn, %llu had been "
           "planned\n",
           (unsigned long long)together, (unsigned long long)mixed, (unsigned long long)queued,
           (unsigned long long)started_again);
    if (seeds.count >= 100)
        assert_true(together > seeds.count / 4 && mixed > seeds.count / 8 && queued > seeds.count &&
                    started_again > seeds.count);
}

/* Everything is called before anything is waited for. */
static void a_thousand_in_flight(void **state)
{
    (void)state;
    enum { COUNT = 1000, MOST_ELEMENTS = 12 };
    static collective_t list[COUNT];
    const seeds_t seeds = seeds_start("a_thousand_in_flight", 6);

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, 6);
        fixture_t f = fixture_of(&random, rank_count);
        for (uint32_t i = 0; i < COUNT; i++) {
            list[i] = random_in_flight(&random, rank_count, MOST_ELEMENTS);
            list[i].blocking = false;
        }
        const inflight_t how = {.most_in_flight = COUNT, .waits_at_the_end = true, .seed = seed};
        run(&f, seed, list, COUNT, &how);
        assert_true(job_inflight_seen(f.job)->in_flight > COUNT / 2); /* some are done when they are called */
        fixture_fini(&f);
    }
}

/* Nobody buffers, and ranks look when they like: the oldest collective moves on all ranks all the same. */
static void pitfall_26_rendezvous(void **state)
{
    (void)state;
    enum { COUNT = 30, MOST_ELEMENTS = 3000 };
    const seeds_t seeds = seeds_start("pitfall_26_rendezvous", 60);

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, 7);
        fixture_t f = {.table = random_table(&random, rank_count)};
        f.world = random_world(&random, rank_count, f.table);
        f.world.eager_bytes = 0;
        f.world.software_matching = true;
        f.knobs = random_knobs(&random);
        f.knobs.shared_memory = 0;
        f.job = job_create(&f.world, &f.knobs);
        collective_t list[COUNT];
        for (uint32_t i = 0; i < COUNT; i++)
            list[i] = random_in_flight(&random, rank_count, MOST_ELEMENTS);
        const inflight_t how = {
            .most_in_flight = COUNT, .pause_ns = 100000, .seed = sim_random_next(&random)};
        random_delays(&random, job_sim(f.job), rank_count, SPAN_NS);
        run(&f, seed, list, COUNT, &how);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_calls_at_any_time),
        cmocka_unit_test(a_thousand_in_flight),
        cmocka_unit_test(pitfall_26_rendezvous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
