/* test_sim_faults: the Nth call of the transport, the Nth allocation, or the Nth step of a source fails, for every N: the rank whose
 * call it was reports it, is done, holds nothing. Nothing leaks (the address sanitizer watches). The other
 * ranks may be left waiting, as they are when a process dies. docs/pitfalls.md 27. */
#include "sim/allocator.h"
#include "sim/random_case.h"
#include "sim/seeds.h"

enum { RANKS = 6, MOST_ELEMENTS = 40, MOST_CALLS = 100000 };

typedef struct {
    hp_locality_t *table;
    sim_config_t world;
    hp_knobs_t knobs;
    collective_t c;
} fixture_t;

static fixture_t fixture_of(uint64_t seed, const hp_algorithm_t *algorithm)
{
    sim_random_t random = {seed};
    fixture_t f = {.table = random_table(&random, RANKS)};
    f.world = random_world(&random, RANKS, f.table);
    f.knobs = random_knobs(&random);
    f.c = random_collective(&random, algorithm, RANKS, MOST_ELEMENTS);
    f.c.setting.segment_bytes = 32;
    f.c.root = (uint32_t)sim_random_below(&random, random_roots(algorithm, RANKS));
    return f;
}

static void holds_nothing(const fixture_t *f, uint64_t seed, job_t *job, uint32_t rank)
{
    const hp_comm_t *comm = job_comm(job, rank);
    const hp_request_t *request = job_request(job, rank);
    if (!hp_request_done(request) || comm->pool.live != 0 || hp_request_counters(request)->in_flight != 0) {
        print_case(&f->c, RANKS, &f->knobs, &f->world);
        seeds_fail(seed, "the failing rank is not done or holds something");
    }
}

/* After the failure: the job can be used again. */
static void recovers(const fixture_t *f, uint64_t seed, job_t *job)
{
    job_abandon(job);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        holds_nothing(f, seed, job, rank);
    if (sim_left_over(job_sim(job)))
        seeds_fail(seed, "operations are left over");
    if (!job_run(job, &f->c, 1, NULL)) {
        print_case(&f->c, RANKS, &f->knobs, &f->world);
        seeds_fail(seed, job_problem(job));
    }
}

/* Returns false when rank does not make that many calls. */
static bool fail_nth_call(const fixture_t *f, uint64_t seed, uint32_t rank, sim_call_t call, uint64_t nth)
{
    sim_outcome_t outcomes[RANKS];
    job_t *job = job_create(&f->world, &f->knobs);
    sim_fail_call(job_sim(job), rank, call, nth);
    const bool worked = job_run(job, &f->c, 1, outcomes);
    const bool reached = sim_calls(job_sim(job), rank, call) > nth;
    if (reached) {
        if (worked || !outcomes[rank].finished || outcomes[rank].status != HP_ERR_TRANSPORT)
            seeds_fail(seed, "a failing call was not reported");
        if (sim_problem(job_sim(job)))
            seeds_fail(seed, sim_problem(job_sim(job)));
        holds_nothing(f, seed, job, rank);
        for (uint32_t other = 0; other < RANKS; other++)
            if (other != rank && outcomes[other].status != HP_OK)
                seeds_fail(seed, "a rank reports the failure of another one");
        recovers(f, seed, job);
    } else if (!worked) {
        seeds_fail(seed, job_problem(job));
    }
    job_destroy(job);
    return reached;
}

static void every_call_fails_once(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("every_call_fails_once", 15);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        for (unsigned i = 0; any_algorithm(i); i++) {
            fixture_t f = fixture_of(seed, any_algorithm(i));
            for (uint32_t rank = 0; rank < RANKS; rank++)
                for (unsigned call = 0; call < SIM_CALL_COUNT; call++) {
                    uint64_t nth = 0;
                    while (nth < MOST_CALLS && fail_nth_call(&f, seed, rank, (sim_call_t)call, nth))
                        nth++;
                }
            free(f.table);
        }
}

/* Returns false when there are not that many allocations. */
static bool fail_nth_allocation(const fixture_t *f, uint64_t seed, int64_t nth)
{
    sim_outcome_t outcomes[RANKS];
    uint32_t failed = 0;
    job_t *job = job_create(&f->world, &f->knobs);
    allocator_fail(nth);
    const bool worked = job_run(job, &f->c, 1, outcomes);
    const bool reached = allocator_has_failed();
    if (reached) {
        for (uint32_t rank = 0; rank < RANKS; rank++)
            if (outcomes[rank].status == HP_ERR_NO_MEM) {
                failed++;
                holds_nothing(f, seed, job, rank);
            } else if (outcomes[rank].status != HP_OK) {
                seeds_fail(seed, "something else than lack of memory is reported");
            }
        if (worked || failed != 1)
            seeds_fail(seed, "a failing allocation was not reported by one rank");
        recovers(f, seed, job);
    } else if (!worked) {
        seeds_fail(seed, job_problem(job));
    }
    job_destroy(job);
    return reached;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("every_allocation_fails_once", 100);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        for (unsigned i = 0; any_algorithm(i); i++) {
            fixture_t f = fixture_of(seed, any_algorithm(i));
            int64_t nth = 0;
            while (nth < MOST_CALLS && fail_nth_allocation(&f, seed, nth))
                nth++;
            if (nth == 0)
                seeds_fail(seed, "no allocation was met");
            free(f.table);
        }
}

/* A repeated collective asks for no memory. The first times other ranks may be so late that more scratch buffers are held
 * than before. */
static void started_again_without_memory(void **state)
{
    enum { TRIES = 6 };
    (void)state;
    const seeds_t seeds = seeds_start("started_again_without_memory", 50);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        for (unsigned i = 0; any_algorithm(i); i++) {
            fixture_t f = fixture_of(seed, any_algorithm(i));
            f.c.lockstep = false; /* that is the tuner's, and has no plan */
            job_t *job = job_create(&f.world, &f.knobs);
            bool asked = true;
            if (!job_run(job, &f.c, 1, NULL))
                seeds_fail(seed, job_problem(job));
            for (unsigned try = 0; asked && try < TRIES; try++) {
                allocator_fail(0);
                const bool worked = job_run(job, &f.c, 1, NULL);
                asked = allocator_has_failed();
                if (asked)
                    recovers(&f, seed, job);
                else if (!worked)
                    seeds_fail(seed, job_problem(job));
            }
            if (asked) {
                print_case(&f.c, RANKS, &f.knobs, &f.world);
                seeds_fail(seed, "a repeated collective asks for memory each time");
            }
            job_destroy(job);
            free(f.table);
        }
}

/* Returns false when the root's source makes not that many steps. */
static bool fail_step(const fixture_t *f, uint64_t seed)
{
    sim_outcome_t outcomes[RANKS];
    job_t *job = job_create(&f->world, &f->knobs);
    const bool worked = job_run(job, &f->c, 1, outcomes);
    if (!worked && outcomes[f->c.root].status != HP_ERR_TRANSPORT) {
        print_case(&f->c, RANKS, &f->knobs, &f->world);
        seeds_fail(seed, job_problem(job));
    }
    for (uint32_t rank = 0; rank < RANKS && !worked; rank++)
        if (rank != f->c.root && (outcomes[rank].finished || outcomes[rank].status != HP_OK)) {
            print_case(&f->c, RANKS, &f->knobs, &f->world);
            seeds_fail(seed, "a rank is done without the whole message");
        }
    if (!worked) {
        fixture_t whole = *f;
        whole.c.failing_step = 0;
        holds_nothing(f, seed, job, f->c.root);
        recovers(&whole, seed, job);
    }
    job_destroy(job);
    return !worked;
}

static void every_step_of_a_source_fails_once(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("every_step_of_a_source_fails_once", 40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        for (unsigned i = 0; any_algorithm(i); i++) {
            if (any_algorithm(i)->collective != HP_BCAST)
                continue;
            fixture_t f = fixture_of(seed, any_algorithm(i));
            f.c.lockstep = false; /* which has no source */
            do
                f.c.failing_step++;
            while (fail_step(&f, seed));
            if (f.c.failing_step == 1)
                seeds_fail(seed, "no step was met");
            free(f.table);
        }
}

static void creating_without_memory(void **state)
{
    (void)state;
    const seeds_t seeds = seeds_start("creating_without_memory", 20);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        fixture_t f = fixture_of(seed, any_algorithm(0));
        job_t *job = NULL;
        int64_t nth = 0;
        for (bool created = false; !created; nth++) {
            allocator_fail(nth);
            created = job_try_create(&f.world, &f.knobs, &job);
            if (!allocator_has_failed() && !created)
                seeds_fail(seed, "creating failed without a reason");
        }
        assert_true(nth > RANKS);
        job_destroy(job);
        free(f.table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(started_again_without_memory), cmocka_unit_test(every_step_of_a_source_fails_once),
        cmocka_unit_test(creating_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
