#include "event_engine/wait.h"

#include <sched.h>
#include <time.h>
#include "base/clock.h"

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
    const struct timespec nap = {.tv_sec = (time_t)(policy->sleep_ns / 1000000000u),
                                 .tv_nsec = (long)(policy->sleep_ns % 1000000000u)};
    uint64_t now_ns;

    switch (hp_wait_step(wait, policy, &now_ns)) {
    case HP_WAIT_SPIN:
        break;
    case HP_WAIT_YIELD:
        sched_yield();
        break;
    case HP_WAIT_SLEEP:
        nanosleep(&nap, NULL);
        break;
    }
}
