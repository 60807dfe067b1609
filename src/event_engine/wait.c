#include "event_engine/wait.h"

#include <sched.h>
#include <time.h>
#include "base/clock.h"

void hp_wait_idle(hp_wait_t *wait, const hp_wait_policy_t *policy)
{
    wait->empty_polls++;
    if (wait->empty_polls <= policy->spin_polls)
        return;
    uint64_t now = hp_clock_ns();
    if (wait->empty_polls == policy->spin_polls + 1)
        wait->yielding_since_ns = now;
    if (now - wait->yielding_since_ns < policy->sleep_after_ns) {
        sched_yield();
    } else {
        struct timespec nap = {.tv_sec = (time_t)(policy->sleep_ns / 1000000000u),
                               .tv_nsec = (long)(policy->sleep_ns % 1000000000u)};
        nanosleep(&nap, NULL);
    }
}
