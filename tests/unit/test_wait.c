/* test_wait: a waiting rank spins, then yields, then sleeps, and starts over when something happens.
 *
 * sched_yield and nanosleep are replaced by counters: nothing here waits, and the only clock that is read is the
 * one the code under test reads. Linked with --wrap. */
#include <sched.h>
#include <time.h>
#include "base/cores.h"
#include "check.h"
#include "event_engine/wait.h"

int __wrap_sched_yield(void);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

static unsigned yields, sleeps;
static struct timespec last_sleep;

int __wrap_sched_yield(void)
{
    yields++;
    return 0;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    sleeps++;
    last_sleep = *wanted;
    return 0;
}

static void idle(hp_wait_t *wait, const hp_wait_policy_t *policy, unsigned times)
{
    yields = sleeps = 0;
    while (times-- > 0)
        hp_wait_idle(wait, policy);
}

static const uint64_t never_ns = UINT64_MAX;

static void spins_then_yields(void **state)
{
    (void)state;
    const hp_wait_policy_t policy = {.spin_polls = 50, .sleep_after_ns = never_ns, .sleep_ns = 1};
    hp_wait_t wait = {0, 0};
    idle(&wait, &policy, 50);
    assert_int_equal(yields + sleeps, 0);
    idle(&wait, &policy, 7);
    assert_int_equal(yields, 7);
    assert_int_equal(sleeps, 0);
    hp_wait_reset(&wait);
    idle(&wait, &policy, 50);
    assert_int_equal(yields + sleeps, 0);
    idle(&wait, &policy, 1);
    assert_int_equal(yields, 1);
}

static void sleeps_when_yielding_did_not_help(void **state)
{
    (void)state;
    const hp_wait_policy_t policy = {.spin_polls = 2, .sleep_after_ns = 0, .sleep_ns = 3000000050u};
    hp_wait_t wait = {0, 0};
    idle(&wait, &policy, 2);
    assert_int_equal(yields + sleeps, 0);
    idle(&wait, &policy, 3);
    assert_int_equal(yields, 0);
    assert_int_equal(sleeps, 3);
    assert_int_equal(last_sleep.tv_sec, 3);
    assert_int_equal(last_sleep.tv_nsec, 50);
}

/* The time without progress counts from the first yield of this wait, not of an earlier one. */
static void sleeping_is_forgotten_after_progress(void **state)
{
    (void)state;
    const hp_wait_policy_t asleep = {.spin_polls = 0, .sleep_after_ns = 0, .sleep_ns = 1};
    const hp_wait_policy_t patient = {.spin_polls = 0, .sleep_after_ns = 1000000000000u, .sleep_ns = 1};
    hp_wait_t wait = {0, 1}; /* began in the first nanosecond of this machine */
    hp_wait_reset(&wait);
    idle(&wait, &patient, 5);
    assert_int_equal(yields, 5);
    assert_int_equal(sleeps, 0);
    idle(&wait, &asleep, 1);
    assert_int_equal(sleeps, 1);
}

static void sleeps_sooner_where_cores_are_few(void **state)
{
    (void)state;
    static const hp_cores_t roomy = {.count = 2, .limit = 4, .sharers = 2, .beside = 4},
                            shared = {.count = 1, .limit = 4, .sharers = 2, .beside = 2},
                            limited = {.count = 4, .limit = 2, .sharers = 1, .beside = 3},
                            unknown = {.sharers = 2, .beside = 2};
    hp_knobs_t knobs = {.spin_polls = 7, .sleep_us = 3};
    const hp_wait_policy_t usual = hp_wait_policy(&knobs, hp_cores_are_crowded(&roomy), false);

    assert_int_equal(usual.spin_polls, 7);
    assert_int_equal(usual.sleep_ns, 3000);
    assert_int_equal(usual.sleep_after_ns, 10000000);
    assert_int_equal(hp_wait_policy(&knobs, hp_cores_are_crowded(&unknown), false).sleep_after_ns, 10000000);
    assert_int_equal(hp_wait_policy(&knobs, hp_cores_are_crowded(&shared), false).sleep_after_ns, 1000000);
    assert_int_equal(hp_wait_policy(&knobs, hp_cores_are_crowded(&limited), false).sleep_after_ns, 1000000);
    knobs.spin_polls = 0;
    assert_int_equal(hp_wait_policy(&knobs, false, false).spin_polls, 50);
    assert_int_equal(hp_wait_policy(&knobs, true, false).spin_polls, 5);
    knobs.sleep_us = 0;
    assert_int_equal(hp_wait_policy(&knobs, false, false).sleep_ns, 50000);
    assert_int_equal(hp_wait_policy(&knobs, true, false).sleep_ns, 300000);
    knobs.sleep_after_us = 5;
    assert_int_equal(hp_wait_policy(&knobs, true, false).sleep_after_ns, 5000);
    assert_int_equal(hp_wait_policy(&knobs, false, false).sleep_after_ns, 5000);
}

/* On cores that are shared; and unless the knob says when. */
static void never_sleeps_beside_ranks_that_yield(void **state)
{
    (void)state;
    hp_knobs_t knobs = {.sleep_us = 1};
    hp_wait_policy_t policy = hp_wait_policy(&knobs, true, true);
    hp_wait_t wait = {0};
    uint64_t now_ns = 0;

    assert_int_equal(hp_wait_policy(&knobs, false, true).sleep_after_ns, 10000000);
    wait.empty_polls = policy.spin_polls + 1; /* and has yielded since the clock began */
    assert_int_equal(hp_wait_step(&wait, &policy, &now_ns), HP_WAIT_YIELD);
    assert_true(now_ns > 0);
    idle(&wait, &policy, 10); /* each poll before it has yielded */
    assert_int_equal(yields + sleeps, 0);
    policy.polls_yield = false;
    idle(&wait, &policy, 10);
    assert_int_equal(yields, 10);
    knobs.sleep_after_us = 5;
    policy = hp_wait_policy(&knobs, true, true);
    assert_int_equal(policy.sleep_after_ns, 5000);
    assert_int_equal(hp_wait_step(&wait, &policy, &now_ns), HP_WAIT_SLEEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_then_yields),
        cmocka_unit_test(sleeps_when_yielding_did_not_help),
        cmocka_unit_test(sleeping_is_forgotten_after_progress),
        cmocka_unit_test(sleeps_sooner_where_cores_are_few),
        cmocka_unit_test(never_sleeps_beside_ranks_that_yield),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
