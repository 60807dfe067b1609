#include "event_engine/wait.h"

#include <sched.h>
#include <time.h>
#include "base/clock.h"

/* With a core a rank, sleeping only delays the wake-up: it is for waits that are long anyway. With more ranks
 * than cores a rank that waits keeps others from running; 200 us is several rounds of yielding among them
 * (measured on 16 ranks over 2 cores: a 4 MiB reduce took 45 ms with 10 ms before the first sleep, 36 ms with
 * 0.2). A poll for messages is some microseconds of the host MPI's, of which there it gets few before it yields, as a host
 * MPI told that cores are few yields after each.
 *
 * Nor may those that sleep take the cores by waking up: the scheduler runs first who has slept, and last who yields, as a rank in
 * a collective of the host MPI does. Sleeps of 50 us and polls of 10 us by 15 ranks kept the 16th from 2 cores for 10 to 300 ms
 * (integer sort, 4 virtual hosts x 4 at 1 Gbit/s, Open MPI 5.0.11: 0.86 times as fast as without the library; with sleeps that grow to
 * 300 us 1.00; to 1 ms, which may be in a message's way, 0.7 to 0.9). */
hp_wait_policy_t hp_wait_policy(const hp_knobs_t *knobs, bool crowded)
{
    const uint64_t usual_us = crowded ? 200 : 10000, usual_polls = crowded ? 5 : 50, usual_sleep_us = 50;
    const uint64_t sleep_most_us = crowded && !knobs->sleep_us ? 300 : 0;

    return (hp_wait_policy_t){
        .spin_polls = knobs->spin_polls ? (uint64_t)knobs->spin_polls : usual_polls,
        .sleep_after_ns = (knobs->sleep_after_us ? (uint64_t)knobs->sleep_after_us : usual_us) * 1000,
        .sleep_ns = (knobs->sleep_us ? (uint64_t)knobs->sleep_us : usual_sleep_us) * 1000,
        .sleep_most_ns = sleep_most_us * 1000};
}

static void sleep_now(const hp_wait_t *wait, const hp_wait_policy_t *policy, uint64_t now_ns)
{
    const uint64_t half_ns = (now_ns - wait->yielding_since_ns) / 2;
    const uint64_t grown_ns = half_ns < policy->sleep_most_ns ? half_ns : policy->sleep_most_ns;
    const uint64_t ns = grown_ns > policy->sleep_ns ? grown_ns : policy->sleep_ns;
    const struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

    nanosleep(&nap, NULL);
}

hp_wait_step_t hp_wait_step(hp_wait_t *wait, const hp_wait_policy_t *policy, uint64_t *now_ns)
{
    wait->empty_polls++;
    if (wait->empty_polls <= policy->spin_polls)
        return HP_WAIT_SPIN;
    *now_ns = hp_clock_ns();
    if (wait->empty_polls == policy->spin_polls + 1)
        wait->yielding_since_ns = *now_ns;
    return *now_ns - wait->yielding_since_ns < policy->sleep_after_ns ? HP_WAIT_YIELD : HP_WAIT_SLEEP;
}

void hp_wait_idle(hp_wait_t *wait, const hp_wait_policy_t *policy)
{
    uint64_t now_ns;

    switch (hp_wait_step(wait, policy, &now_ns)) {
    case HP_WAIT_SPIN:
        break;
    case HP_WAIT_YIELD:
        sched_yield();
        break;
    case HP_WAIT_SLEEP:
        sleep_now(wait, policy, now_ns);
        break;
    }
}
