/* test_guard: the host MPI is tried beside what the rules say, the fastest stays, and all ranks agree.
 *
 * docs/pitfalls.md 34. Each rank has a guard of its own, as in a job; a made-up machine says what a call takes. */
#include "hier/planning/guard.h"
#include "check.h"

enum { RANKS = 5, CALLS_MAX = 100000 };

typedef struct {
    double us[HP_SLOTS]; /* what a call takes in each slot */
    unsigned noise;      /* percent */
    double late_us;      /* the last rank comes so late, uniformly */
    bool synchronizes;   /* the others wait for it */
    check_random_t random;
    hp_guard_t guard[RANKS];
    unsigned calls[HP_SLOTS], agreements, timed;
} job_t;

static job_t *job_start(uint8_t offered, double rule_us, double native_us, double model_us)
{
    static job_t job;
    static check_random_t random;
    if (!random.state)
        random = check_random_start("guard");
    job = (job_t){.us = {rule_us, native_us, model_us}, .random = random};
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_init(&job.guard[rank], offered, HP_SLOT_RULE, (hp_guard_calls_t){0});
    return &job;
}

static double uniform(job_t *job, double most)
{
    return most * check_random_below(&job->random, 1000) / 1000.0;
}

/* One call on all ranks. Returns its slot. */
static unsigned call(job_t *job)
{
    double times[RANKS], last_us = 0;
    bool due[RANKS] = {false};
    unsigned slot = HP_SLOTS, count = 0;
    bool is_timed = false;

    for (unsigned rank = 0; rank < RANKS; rank++) {
        bool timed_here;
        const unsigned here = hp_guard_next(&job->guard[rank], &timed_here);
        assert_true(rank == 0 || (here == slot && timed_here == is_timed));
        slot = here;
        is_timed = timed_here;
    }
    job->calls[slot]++;
    job->timed += is_timed;
    const double took = job->us[slot] * (1 + uniform(job, job->noise / 100.0));
    double arrival[RANKS];
    for (unsigned rank = 0; rank < RANKS; rank++) {
        arrival[rank] = uniform(job, job->late_us);
        last_us = arrival[rank] > last_us ? arrival[rank] : last_us;
    }
    for (unsigned rank = 0; rank < RANKS; rank++)
        times[rank] = job->synchronizes ? last_us - arrival[rank] + took : took * (1 + 0.1 * rank);
    for (unsigned rank = 0; rank < RANKS && is_timed; rank++) {
        due[rank] = hp_guard_record(&job->guard[rank], times[rank], &count);
        assert_int_equal(due[rank], due[0]);
    }
    if (!due[0])
        return slot;
    job->agreements++;
    assert_in_range(count, 2, 2 * HP_GUARD_TIMES);
    for (unsigned i = 0; i < count; i++) {
        double most = job->guard[0].us[i];
        for (unsigned rank = 1; rank < RANKS; rank++)
            most = job->guard[rank].us[i] > most ? job->guard[rank].us[i] : most;
        for (unsigned rank = 0; rank < RANKS; rank++)
            job->guard[rank].us[i] = most;
    }
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_agreed(&job->guard[rank]);
    return slot;
}

static unsigned run(job_t *job, unsigned calls)
{
    unsigned slot = HP_SLOTS;
    for (unsigned i = 0; i < calls; i++)
        slot = call(job);
    return slot;
}

/* Calls until the question is settled. */
static unsigned settle(job_t *job)
{
    unsigned calls = 0;
    while (job->guard[0].open && calls < CALLS_MAX) {
        call(job);
        calls++;
    }
    return calls;
}

enum {
    TWO = 1 << HP_SLOT_RULE | 1 << HP_SLOT_NATIVE,
    THREE = TWO | 1 << HP_SLOT_MODEL,
    SETTLED_AFTER = 17, /* calls; with those before a communicator is set up it stays below 20 */
    MOCKUP = 1 << HP_SLOT_MOCKUP,
    TRIED = 3, /* calls of a mock-up that is out */
    KEPT = 5   /* of one that stays in */
};

static void one_slot_is_never_tried(void **state)
{
    (void)state;
    job_t *job = job_start(1 << HP_SLOT_RULE, 5, 1, 1);
    assert_int_equal(run(job, 3000), HP_SLOT_RULE);
    assert_int_equal(job->calls[HP_SLOT_RULE], 3000);
    assert_int_equal(job->timed + job->agreements, 0);
    job->guard[0].calls = UINT32_MAX - 20; /* also when the counter comes to its end */
    bool timed;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(hp_guard_next(&job->guard[0], &timed), HP_SLOT_RULE);
}

static void the_fastest_stays(void **state)
{
    (void)state;
    static const struct {
        uint8_t offered;
        double us[HP_SLOTS];
        unsigned winner;
    } cases[] = {
        {TWO, {10, 20, 0}, HP_SLOT_RULE},       {TWO, {20, 10, 0}, HP_SLOT_NATIVE},
        {TWO, {10, 10, 0}, HP_SLOT_NATIVE}, /* what does not pay is left to the host MPI */
        {TWO, {10, 10.5, 0}, HP_SLOT_RULE},     {THREE, {10, 12, 8}, HP_SLOT_MODEL},
        {THREE, {10, 12, 11}, HP_SLOT_RULE},    {THREE, {10, 9, 9.5}, HP_SLOT_NATIVE},
        {THREE, {100, 9, 9.5}, HP_SLOT_NATIVE}, {THREE, {100, 9, 3}, HP_SLOT_MODEL},
        {TWO, {0.2, 0.1, 0}, HP_SLOT_NATIVE},   {TWO, {1e6, 2e6, 0}, HP_SLOT_RULE},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        job_t *job = job_start(cases[i].offered, cases[i].us[0], cases[i].us[1], cases[i].us[2]);
        assert_in_range(settle(job), 1, SETTLED_AFTER);
        assert_in_range(job->agreements, 1, 2);
        for (unsigned k = 0; k < 100; k++)
            assert_int_equal(call(job), cases[i].winner);
    }
}

/* A slot that is far behind is dropped after two timed rounds. */
static void the_hopeless_is_not_tried_on(void **state)
{
    (void)state;
    job_t *job = job_start(TWO, 5000, 10, 0);
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_RULE], 4);
    job = job_start(THREE, 10, 5000, 11);
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 3);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_RULE);
    job = job_start(TWO, 10, 22,
                    0); /* the slowest rank takes 1.4 times as long as the fastest; only the slowest counts */
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 3);
    job = job_start(TWO, 10, 18, 0); /* two times are too few to say so */
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 8);
}

static job_t *job_start_with(uint8_t offered, hp_guard_calls_t calls, double rule_us, double native_us,
                             double model_us)
{
    job_t *job = job_start(offered, rule_us, native_us, model_us);
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_init(&job->guard[rank], offered, HP_SLOT_RULE, calls);
    return job;
}

/* Of long calls the host MPI is tried once where it is far behind, twice where it is behind, and the trial ends then. */
static void long_calls_are_judged_each_round(void **state)
{
    (void)state;
    static const struct {
        uint8_t offered;
        double us[HP_SLOTS];
        unsigned winner, rule_calls, native_calls, model_calls;
    } cases[] = {
        {TWO, {1000, 5000}, HP_SLOT_RULE, 2, 1, 0},
        {TWO, {1000, 1500}, HP_SLOT_RULE, 3, 2, 0},
        {TWO, {1000, 1200}, HP_SLOT_RULE, 4, 3, 0},
        {TWO, {1000, 1050}, HP_SLOT_RULE, 5, 4, 0},
        {TWO, {5000, 1000}, HP_SLOT_NATIVE, 2, 1, 0},
        {THREE, {1000, 5000, 1500}, HP_SLOT_RULE, 3, 1, 3},
        {THREE, {1000, 5000, 900}, HP_SLOT_MODEL, 4, 1, 4},
        {TWO, {1000, 1000}, HP_SLOT_NATIVE, 9, 8, 0}, /* no difference: to the end */
        {TWO, {100, 400}, HP_SLOT_RULE, 3, 2, 0},     /* it costs little: once more */
        {TWO, {100, 1400}, HP_SLOT_RULE, 2, 1, 0},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        job_t *job = job_start_with(cases[i].offered, (hp_guard_calls_t){.is_long = true}, cases[i].us[0],
                                    cases[i].us[1], cases[i].us[2]);
        settle(job);
        assert_int_equal(job->guard[0].chosen, cases[i].winner);
        assert_int_equal(job->calls[HP_SLOT_RULE], cases[i].rule_calls);
        assert_int_equal(job->calls[HP_SLOT_NATIVE], cases[i].native_calls);
        assert_int_equal(job->calls[HP_SLOT_MODEL], cases[i].model_calls);
    }
    job_t *job = job_start_with(TWO | MOCKUP, (hp_guard_calls_t){.is_long = true}, 1000, 1100, 0);
    job->us[HP_SLOT_MOCKUP] = 1050; /* it gets its two timed calls */
    settle(job);
    run(job, 140);
    assert_int_equal(job->calls[HP_SLOT_MOCKUP], 2);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_RULE);
}

/* A link lets the first messages through at once: few calls have decided, so the next ones are looked at soon. */
static void what_few_calls_decide_is_looked_at_soon(void **state)
{
    (void)state;
    job_t *job = job_start_with(TWO, (hp_guard_calls_t){.is_long = true}, 1000, 6000, 0);
    settle(job);
    job->us[HP_SLOT_RULE] = 9000;
    run(job, 16);
    assert_int_equal(job->guard[0].reopened, 1);
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_NATIVE);
    job = job_start_with(TWO, (hp_guard_calls_t){.is_long = true}, 1000, 1000, 0); /* to the end of a trial */
    settle(job);
    const unsigned agreements = job->agreements;
    run(job, 127);
    assert_int_equal(job->agreements, agreements);
    call(job);
    assert_int_equal(job->agreements, agreements + 1);
}

/* Noise of half the time, long calls: what is 40% faster wins as often as with short ones. */
static void noise_does_not_decide_early(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (unsigned i = 0; i < 500; i++) {
        job_t *job = job_start_with(TWO, (hp_guard_calls_t){.is_long = true}, i % 2 ? 1400 : 1000,
                                    i % 2 ? 1000 : 1400, 0);
        job->noise = 50;
        job->random = (check_random_t){i * 77 + 1};
        settle(job);
        wrong += job->guard[0].chosen != (i % 2 ? HP_SLOT_NATIVE : HP_SLOT_RULE);
    }
    assert_in_range(wrong, 0, 15);
}

/* What was slow for calls of nearly this size is out at the first sign, and stays in without one. */
static void the_doubted_must_prove_itself(void **state)
{
    (void)state;
    const uint8_t native = 1 << HP_SLOT_NATIVE;
    job_t *job = job_start_with(TWO, (hp_guard_calls_t){.is_long = true, .doubted = native}, 1000, 1300, 0);
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 1);
    job = job_start_with(TWO, (hp_guard_calls_t){.doubted = native}, 10, 13, 0);
    settle(job);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 3);
    job = job_start_with(TWO, (hp_guard_calls_t){.doubted = native}, 10, 8, 0);
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_NATIVE);
}

/* What was found elsewhere is used at once, checked soon, and tried again when it is wrong here. */
static void what_was_found_is_rough(void **state)
{
    (void)state;
    const double found[HP_SLOTS] = {20, 10, -1, -1};
    job_t *job = job_start(TWO, 20, 11, 0);
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_trust(&job->guard[rank], HP_SLOT_NATIVE, HP_SLOT_NATIVE, found);
    assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_NATIVE);
    assert_int_equal(run(job, 63), HP_SLOT_NATIVE);
    assert_int_equal(job->agreements, 0);
    call(job);
    assert_int_equal(job->agreements, 1);
    assert_false(job->guard[0].is_rough);
    run(job, 3000);
    assert_int_equal(job->calls[HP_SLOT_RULE], 0);
    job = job_start(TWO, 5, 40, 0); /* another network */
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_trust(&job->guard[rank], HP_SLOT_NATIVE, HP_SLOT_NATIVE, found);
    run(job, 90);
    assert_int_equal(job->guard[0].reopened, 1);
    assert_int_equal(call(job), HP_SLOT_RULE);
    job = job_start(TWO, 20, 11, 0); /* long calls: an agreement costs little */
    for (unsigned rank = 0; rank < RANKS; rank++) {
        hp_guard_init(&job->guard[rank], TWO, HP_SLOT_RULE, (hp_guard_calls_t){.is_long = true});
        hp_guard_trust(&job->guard[rank], HP_SLOT_NATIVE, HP_SLOT_NATIVE, found);
    }
    run(job, 16);
    assert_int_equal(job->agreements, 1);
}

/* Times that jump, of a machine with more ranks than cores, are no drift; nor are eight calls of which one is as it was, unless the
 * others take four times as long. */
static void one_side_only_is_a_drift(void **state)
{
    (void)state;
    job_t *job = job_start(TWO, 10, 15, 0);

    settle(job);
    run(job, 200); /* the first check */
    for (unsigned i = 0; i < 10000; i++) {
        job->us[HP_SLOT_RULE] = i % 8 ? 20 : 8;
        call(job);
    }
    assert_int_equal(job->guard[0].reopened, 0);
    job->us[HP_SLOT_RULE] = 20;
    run(job, CALLS_MAX);
    assert_int_equal(job->guard[0].reopened, 1);
    job = job_start(TWO, 10, 15, 0);
    settle(job);
    for (unsigned i = 0; i < 300; i++) {
        job->us[HP_SLOT_RULE] = i % 8 ? 41 : 8;
        call(job);
    }
    assert_int_equal(job->guard[0].reopened, 1);
}

/* The others are settled; calls until the mock-up is tried, and its trial. */
static void try_mockup(job_t *job)
{
    assert_int_equal(job->calls[HP_SLOT_MOCKUP], 0);
    for (unsigned i = 0; i < 128 && !job->guard[0].open; i++)
        call(job);
    assert_int_equal(job->guard[0].open, 1u << job->guard[0].chosen | MOCKUP);
    const unsigned agreements = job->agreements;
    assert_in_range(settle(job), 1, SETTLED_AFTER);
    assert_in_range(job->agreements - agreements, 1, 2);
}

/* A mock-up comes long after the others, is out after two timed rounds unless it is the fastest by then, and never needs many calls. */
static void a_mockup_is_tried_shortly(void **state)
{
    (void)state;
    static const struct {
        uint8_t offered;
        double us[HP_SLOTS];
        unsigned winner, second, mockup_calls;
    } cases[] = {
        {TWO | MOCKUP, {10, 20, 0, 30}, HP_SLOT_RULE, HP_SLOT_RULE, TRIED},
        {TWO | MOCKUP, {20, 10, 0, 30}, HP_SLOT_NATIVE, HP_SLOT_NATIVE, TRIED},
        {TWO | MOCKUP, {20, 10, 0, 9.6}, HP_SLOT_NATIVE, HP_SLOT_NATIVE, TRIED},
        {TWO | MOCKUP, {10, 10, 0, 10}, HP_SLOT_NATIVE, HP_SLOT_NATIVE, TRIED},
        {TWO | MOCKUP, {20, 10, 0, 8}, HP_SLOT_MOCKUP, HP_SLOT_NATIVE, KEPT},
        {TWO | MOCKUP, {9, 10, 0, 8}, HP_SLOT_MOCKUP, HP_SLOT_RULE, KEPT},
        {THREE | MOCKUP, {10, 12, 8, 9}, HP_SLOT_MODEL, HP_SLOT_MODEL, TRIED},
        {THREE | MOCKUP, {10, 12, 8, 7}, HP_SLOT_MOCKUP, HP_SLOT_MODEL, KEPT},
        {1 << HP_SLOT_RULE | MOCKUP,
         {10, 0, 0, 12},
         HP_SLOT_RULE,
         HP_SLOT_RULE,
         TRIED}, /* the rules' is the host MPI */
        {1 << HP_SLOT_RULE | MOCKUP, {10, 0, 0, 9.6}, HP_SLOT_RULE, HP_SLOT_RULE, TRIED},
        {1 << HP_SLOT_RULE | MOCKUP, {10, 0, 0, 7}, HP_SLOT_MOCKUP, HP_SLOT_RULE, 8},
        {TWO | MOCKUP,
         {5000, 6000, 0, 10},
         HP_SLOT_MOCKUP,
         HP_SLOT_RULE,
         TRIED}, /* the others have no hope */
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        job_t *job = job_start(cases[i].offered, cases[i].us[0], cases[i].us[1], cases[i].us[2]);
        job->us[HP_SLOT_MOCKUP] = cases[i].us[HP_SLOT_MOCKUP];
        assert_in_range(settle(job), 0, SETTLED_AFTER);
        assert_in_range(job->agreements, 0, 2);
        try_mockup(job);
        assert_int_equal(job->calls[HP_SLOT_MOCKUP], cases[i].mockup_calls);
        assert_int_equal(hp_guard_verdict(&job->guard[0]), cases[i].second);
        for (unsigned k = 0; k < 100; k++)
            assert_int_equal(call(job), cases[i].winner);
    }
}

/* It was the fastest at first, but is not in the end: the best of the others stays. */
static void a_mockup_that_becomes_slow(void **state)
{
    (void)state;
    job_t *job = job_start(TWO | MOCKUP, 20, 10, 0);
    job->us[HP_SLOT_MOCKUP] = 8;
    settle(job);
    run(job, 128);
    while (job->guard[0].round < 2 + 2)
        call(job);
    assert_true(job->guard[0].open & MOCKUP);
    job->us[HP_SLOT_MOCKUP] = 100;
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_NATIVE);
    job->us[HP_SLOT_NATIVE] = 40; /* a drift, after which it is tried again */
    job->us[HP_SLOT_MOCKUP] = 8;
    run(job, 300);
    assert_int_equal(job->guard[0].reopened, 1);
    settle(job);
    run(job, 300);
    assert_int_equal(call(job), HP_SLOT_MOCKUP);
    assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_RULE);
}

/* Noise of half the time: what is 40% faster still wins, nearly always. */
static void noise_does_not_decide(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (unsigned i = 0; i < 500; i++) {
        check_random_t random = {i * 77 + 1};
        job_t *job = job_start(TWO, i % 2 ? 14 : 10, i % 2 ? 10 : 14, 0);
        job->noise = 50;
        job->random = random;
        settle(job);
        wrong += job->guard[0].chosen != (i % 2 ? HP_SLOT_NATIVE : HP_SLOT_RULE);
    }
    assert_in_range(wrong, 0, 10);
}

/* Where the two take about the same and each time may be twice as long as another, what is taken over is little of it: the host MPI keeps
 * what chance would have given away. What is a third faster is taken all the same. */
static void chance_is_for_the_host_mpi(void **state)
{
    (void)state;
    enum { JOBS = 500 };
    unsigned taken[2] = {0};
    for (unsigned i = 0; i < JOBS; i++)
        for (unsigned faster = 0; faster < 2; faster++) {
            check_random_t random = {i * 77 + 1};
            job_t *job = job_start(TWO, faster ? 10 : 15, 15, 0);
            job->noise = 100;
            job->random = random;
            settle(job);
            taken[faster] += job->guard[0].chosen == HP_SLOT_RULE;
        }
    assert_in_range(taken[0], 0, JOBS / 4);
    assert_in_range(taken[1], JOBS * 9 / 10, JOBS);
}

typedef struct {
    unsigned by_trial, in_the_end;
} taken_t;

/* Of 500 jobs, with the host MPI at 15 us, those that run what takes rule_us. */
static taken_t take(double rule_us, unsigned noise, bool shares_cores)
{
    taken_t taken = {0, 0};

    for (unsigned i = 0; i < 500; i++) {
        check_random_t random = {i * 77 + 1};
        job_t *job = job_start_with(TWO, (hp_guard_calls_t){.shares_cores = shares_cores}, rule_us, 15, 0);
        job->noise = noise;
        job->random = random;
        settle(job);
        taken.by_trial += job->guard[0].chosen == HP_SLOT_RULE;
        run(job, 3000);
        taken.in_the_end += hp_guard_verdict(&job->guard[0]) == HP_SLOT_RULE;
    }
    return taken;
}

/* What the trial chose by chance is found out; what is faster holds. */
static void the_first_check_tells(void **state)
{
    (void)state;
    for (unsigned shares = 0; shares < 2; shares++) {
        const taken_t equal = take(15, 100, shares), faster = take(10, 100, shares),
                      a_tenth = take(13.5, 15, shares);
        assert_in_range(equal.in_the_end, 0, equal.by_trial / 2);
        assert_in_range(faster.in_the_end, faster.by_trial * 95 / 100, 500);
        assert_int_equal(a_tenth.in_the_end, a_tenth.by_trial);
        assert_true(shares ? a_tenth.in_the_end == 0 : a_tenth.in_the_end >= 490);
    }
}

/* Where ranks share cores, what is brief must be a fifth faster; what takes longer need not be. */
static void a_shared_core_has_its_price(void **state)
{
    (void)state;
    const hp_guard_calls_t shared = {.shares_cores = true};

    job_t *job = job_start_with(TWO, shared, 85, 100, 0);
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_NATIVE);
    job = job_start_with(TWO, shared, 75, 100, 0);
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_RULE);
    job = job_start_with(TWO, shared, 8500, 10000, 0);
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_RULE);
    /* When it is broken off, too. */
    job = job_start_with(TWO, shared, 85, 100, 0);
    for (unsigned i = 0; i < 9; i++)
        call(job);
    assert_true(hp_guard_break_off(&job->guard[0]));
    assert_int_equal(job->guard[0].chosen, HP_SLOT_NATIVE);
}

/* Ranks that come up to 1 ms apart to a collective of 10 us that synchronizes them. What is slower never stays; what is
 * faster mostly does: the times of those who wait are chance, and may speak for the host MPI. */
static void late_ranks_do_not_hide_the_difference(void **state)
{
    (void)state;
    unsigned slower_stays = 0, faster_stays = 0;
    for (unsigned i = 0; i < 200; i++) {
        job_t *job = job_start(TWO, i % 2 ? 15 : 10, i % 2 ? 10 : 15, 0);
        for (unsigned rank = 0; rank < RANKS; rank++)
            hp_guard_init(&job->guard[rank], TWO, HP_SLOT_RULE, (hp_guard_calls_t){.synchronizes = true});
        job->synchronizes = true;
        job->late_us = 1000;
        job->random = (check_random_t){i * 99 + 1};
        settle(job);
        slower_stays += i % 2 && job->guard[0].chosen == HP_SLOT_RULE;
        faster_stays += i % 2 == 0 && job->guard[0].chosen == HP_SLOT_RULE;
    }
    assert_int_equal(slower_stays, 0);
    assert_in_range(faster_stays, 60, 100);
}

/* The last rank leaves at once, but those who wait take long to notice. */
static void who_waits_counts_too(void **state)
{
    (void)state;
    hp_guard_t guard;
    unsigned count = 0;
    hp_guard_init(&guard, TWO, HP_SLOT_RULE, (hp_guard_calls_t){.synchronizes = true});
    while (guard.open) {
        bool timed;
        const unsigned slot = hp_guard_next(&guard, &timed);
        if (!hp_guard_record(&guard, slot == HP_SLOT_RULE ? 50 : 30, &count))
            continue;
        for (unsigned i = 0; i < count; i += 2) /* the fastest rank's: better than the host MPI's */
            guard.us[i + 1] = guard.slot_of[i / 2] == HP_SLOT_RULE ? -0.5 : -1;
        hp_guard_agreed(&guard);
    }
    assert_int_equal(guard.chosen, HP_SLOT_NATIVE);
}

/* What is used for the first time is slow: two calls of each slot do not count. */
static void cold_calls_do_not_count(void **state)
{
    (void)state;
    job_t *job = job_start(THREE, 500, 20, 400);
    for (unsigned i = 0; i < 2 + 3; i++)
        call(job);
    assert_int_equal(job->calls[HP_SLOT_RULE], 2);
    assert_int_equal(job->calls[HP_SLOT_NATIVE], 1);
    assert_int_equal(job->calls[HP_SLOT_MODEL], 2);
    job->us[HP_SLOT_RULE] = 10;
    settle(job);
    assert_int_equal(job->guard[0].chosen, HP_SLOT_RULE);
    assert_in_range(job->calls[HP_SLOT_RULE] + job->calls[HP_SLOT_NATIVE] + job->calls[HP_SLOT_MODEL], 1,
                    SETTLED_AFTER);
}

/* Where a call has failed the ranks never agree again; the program may go on calling, and nothing grows. */
static void agreements_that_fail(void **state)
{
    (void)state;
    for (unsigned is_long = 0; is_long < 2; is_long++) {
        hp_guard_t guard;
        unsigned count, failed = 0;
        hp_guard_init(&guard, THREE, HP_SLOT_RULE, (hp_guard_calls_t){.is_long = is_long});
        for (unsigned i = 0; i < CALLS_MAX; i++) {
            bool is_timed;
            hp_guard_next(&guard, &is_timed);
            assert_in_range(guard.timed, 0, HP_GUARD_TIMES - 1);
            if (is_timed && hp_guard_record(&guard, 10, &count)) {
                assert_in_range(count, 2, 2 * HP_GUARD_TIMES);
                hp_guard_lost(&guard);
                failed++;
            }
        }
        assert_in_range(failed, 1, CALLS_MAX / 100);
    }
}

static void drift_reopens_the_question(void **state)
{
    (void)state;
    job_t *job = job_start(TWO, 10, 15, 0);
    settle(job);
    assert_int_equal(run(job, 200), HP_SLOT_RULE);
    job->us[HP_SLOT_RULE] = 40; /* another job came onto the network */
    run(job, 300);
    assert_int_equal(job->guard[0].reopened, 1);
    assert_int_equal(call(job), HP_SLOT_NATIVE);
    job->us[HP_SLOT_RULE] = 10; /* it has gone again: not seen, the host MPI is as fast as before */
    run(job, 2000);
    assert_int_equal(job->guard[0].reopened, 1);
    job->us[HP_SLOT_NATIVE] = 5;
    run(job, 5000);
    assert_int_equal(job->guard[0].reopened, 2);
    assert_int_equal(call(job), HP_SLOT_NATIVE);
}

/* On a busy machine each check may find another time than the one before. */
static void times_that_jump_are_looked_at_ever_less(void **state)
{
    (void)state;
    job_t *job = job_start(1u << HP_SLOT_RULE | 1u << HP_SLOT_NATIVE, 10, 12, 0);

    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const double times = i / 300 % 2 ? 4 : 1;
        job->us[HP_SLOT_RULE] = 10 * times;
        job->us[HP_SLOT_NATIVE] = 12 * times;
        call(job);
    }
    assert_in_range(job->guard[0].reopened, 2, 10);
    assert_in_range(job->agreements, 5, 50);
    assert_true(job->calls[HP_SLOT_NATIVE] < 100);
}

/* Calls that nobody can time: the rules' slot before there is an answer, then the answer, the old one too while the
 * question is open again. */
static void the_verdict_so_far(void **state)
{
    (void)state;
    job_t *job = job_start(TWO, 20, 10, 0);
    unsigned open = 0;
    for (; job->guard[0].open; open++) {
        assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_RULE);
        call(job);
    }
    assert_in_range(open, 1, SETTLED_AFTER);
    assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_NATIVE);
    job->us[HP_SLOT_NATIVE] = 80;
    for (unsigned i = 0; i < CALLS_MAX && !job->guard[0].open; i++) {
        assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_NATIVE);
        call(job);
    }
    for (open = 0; job->guard[0].open; open++) {
        assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_NATIVE);
        call(job);
    }
    assert_in_range(open, 1, SETTLED_AFTER);
    assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_RULE);
}

static void offer(job_t *job, unsigned slot)
{
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_offer(&job->guard[rank], slot);
}

/* What comes later is tried against what was chosen, alone; meanwhile that stays the verdict. */
static void one_more_slot_is_offered(void **state)
{
    (void)state;
    for (unsigned better = 0; better < 2; better++) {
        job_t *job = job_start(TWO, 20, 10, better ? 5 : 12);
        settle(job);
        job->calls[HP_SLOT_RULE] = 0;
        offer(job, HP_SLOT_MODEL);
        assert_int_equal(hp_guard_verdict(&job->guard[0]), HP_SLOT_NATIVE);
        assert_in_range(settle(job), 1, SETTLED_AFTER);
        assert_int_equal(job->calls[HP_SLOT_RULE], 0);
        assert_int_equal(call(job), better ? HP_SLOT_MODEL : HP_SLOT_NATIVE);
    }
}

/* A slot that is alone is timed where another one may come, so that somebody knows when that is worth it. */
static void the_time_spent_is_known(void **state)
{
    (void)state;
    job_t *job = job_start(1 << HP_SLOT_RULE, 20, 0, 10);
    for (unsigned rank = 0; rank < RANKS; rank++)
        hp_guard_init(&job->guard[rank], 1 << HP_SLOT_RULE, HP_SLOT_RULE, (hp_guard_calls_t){.may_grow = true});
    double sum = 0;
    unsigned calls = 0, seen = 0;
    for (; calls < CALLS_MAX; calls++) {
        const unsigned timed = job->guard[0].timed;
        if (timed == HP_GUARD_CHECK_CALLS - 1) { /* the next one agrees, after which the times are gone */
            hp_guard_t guard = job->guard[0];
            unsigned count;
            hp_guard_record(&guard, 28, &count);
            sum += hp_guard_spent_us(&guard);
            seen++;
        }
        call(job);
    }
    assert_in_range(seen, 5, 10);
    assert_int_equal(job->agreements, seen);
    assert_in_range((unsigned)sum, 20 * CALLS_MAX / 4, 28 * CALLS_MAX); /* of the slowest rank; the last calls wait for a check */
    offer(job, HP_SLOT_MODEL);
    assert_in_range(settle(job), 1, SETTLED_AFTER + 1); /* both warm up */
    assert_int_equal(call(job), HP_SLOT_MODEL);
}

/* Timed calls and messages of its own grow with the logarithm of the calls. */
/* Few long calls: what two rounds have shown is known afterwards, what one has shown is not. */
static void a_trial_is_broken_off(void **state)
{
    (void)state;
    static const double rule_us[] = {1000, 1015, 900}, native_us[] = {1010, 1000, 1000};
    static const unsigned expected[] = {HP_SLOT_NATIVE, HP_SLOT_NATIVE, HP_SLOT_RULE}; /* 1 % is not worthwhile */
    for (unsigned i = 0; i < ARRAY_LENGTH(expected); i++) {
        job_t *job = job_start(1u << HP_SLOT_RULE | 1u << HP_SLOT_NATIVE, rule_us[i], native_us[i], 0);
        for (unsigned rank = 0; rank < RANKS; rank++)
            hp_guard_init(&job->guard[rank], 1u << HP_SLOT_RULE | 1u << HP_SLOT_NATIVE, HP_SLOT_RULE,
                          (hp_guard_calls_t){.is_long = true});
        for (unsigned calls = 0; calls < 5; calls++) { /* to warm up, and two rounds of two */
            hp_guard_t now = job->guard[0];
            assert_false(hp_guard_break_off(&now));
            call(job);
        }
        hp_guard_t now = job->guard[0];
        assert_true(now.open);
        assert_true(hp_guard_break_off(&now));
        assert_int_equal(now.chosen, expected[i]);
        assert_false(now.open);
        assert_false(hp_guard_break_off(&now)); /* it is over */
    }
}

static void looks_become_rare(void **state)
{
    (void)state;
    job_t *job = job_start(THREE, 10, 15, 20);
    run(job, CALLS_MAX);
    assert_in_range(job->agreements, 8, 2 + 10);
    assert_in_range(job->timed, 8, SETTLED_AFTER + 10 * HP_GUARD_CHECK_CALLS);
    assert_true(job->calls[HP_SLOT_RULE] > CALLS_MAX - SETTLED_AFTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slot_is_never_tried),
        cmocka_unit_test(the_fastest_stays),
        cmocka_unit_test(the_hopeless_is_not_tried_on),
        cmocka_unit_test(long_calls_are_judged_each_round),
        cmocka_unit_test(what_few_calls_decide_is_looked_at_soon),
        cmocka_unit_test(noise_does_not_decide_early),
        cmocka_unit_test(the_doubted_must_prove_itself),
        cmocka_unit_test(what_was_found_is_rough),
        cmocka_unit_test(one_side_only_is_a_drift),
        cmocka_unit_test(a_mockup_is_tried_shortly),
        cmocka_unit_test(a_mockup_that_becomes_slow),
        cmocka_unit_test(noise_does_not_decide),
        cmocka_unit_test(a_shared_core_has_its_price),
        cmocka_unit_test(chance_is_for_the_host_mpi),
        cmocka_unit_test(late_ranks_do_not_hide_the_difference),
        cmocka_unit_test(who_waits_counts_too),
        cmocka_unit_test(cold_calls_do_not_count),
        cmocka_unit_test(the_first_check_tells),
        cmocka_unit_test(agreements_that_fail),
        cmocka_unit_test(drift_reopens_the_question),
        cmocka_unit_test(times_that_jump_are_looked_at_ever_less),
        cmocka_unit_test(the_verdict_so_far),
        cmocka_unit_test(one_more_slot_is_offered),
        cmocka_unit_test(the_time_spent_is_known),
        cmocka_unit_test(a_trial_is_broken_off),
        cmocka_unit_test(looks_become_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
