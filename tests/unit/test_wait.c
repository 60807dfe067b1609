/* test_wait: a waiting rank spins, then yields, then sleeps, and starts over when something happens.
 *
 * sched_yield and nanosleep are replaced by counters: nothing here waits, and the only clock that is read is the
 * one the code under test reads. Linked with --wrap. */
#include <sched.h>
#include <time.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_then_yields),
        cmocka_unit_test(sleeps_when_yielding_did_not_help),
        cmocka_unit_test(sleeping_is_forgotten_after_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
