#include "event_engine/wait.h"

#include <sched.h>
#include <time.h>
#include "base/clock.h"

/* With a core a rank, sleeping only delays the wake-up: it is for waits that are long anyway. With more ranks
 * than cores a rank that waits keeps others from running, and should sleep sooner (16 ranks on 2 cores: a 4 MiB reduce took 45 ms
 * with 10 ms before the first sleep, 36 ms with 0.2). A poll for messages is some microseconds of the host MPI's, of which
 * there it gets few before it yields, as a host MPI told that cores are few yields after each.
 *
 * Nor may those that sleep take the cores by waking up: the scheduler runs first who has slept, and last who yields, as a rank in
 * a collective of the host MPI does. Sleeps of 50 us and polls of 10 us by 15 ranks kept the 16th from 2 cores for 10 to 300 ms (a
 * 4-byte alltoall of the host MPI, integer sort, 4 virtual hosts x 4 at 1 Gbit/s, Open MPI 5.0.11). There, so many times
 * as fast as without the library:
 *
 *     sleeps begin after, and take      training   LAMMPS   integer sort   sparse exchange
 *     200 us   50 us                      1.26       1.11    0.59 to 0.86        0.97
 *     200 us   half the wait, <= 300 us   1.68       1.48    0.93 to 1.00     0.71 to 0.86
 *     1 ms     300 us                     1.69       1.78    0.91 to 0.93     0.83 to 1.03
 *     never                               1.60       1.62        0.95         0.93 to 1.01
 *
 * Who never sleeps would keep other threads of the program from running. */
hp_wait_policy_t hp_wait_policy(const hp_knobs_t *knobs, bool crowded)
{
    const uint64_t usual_us = crowded ? 1000 : 10000, usual_polls = crowded ? 5 : 50,
                   usual_sleep_us = crowded ? 300 : 50;

    return (hp_wait_policy_t){
        .spin_polls = knobs->spin_polls ? (uint64_t)knobs->spin_polls : usual_polls,
        .sleep_after_ns = (knobs->sleep_after_us ? (uint64_t)knobs->sleep_after_us : usual_us) * 1000,
        .sleep_ns = (knobs->sleep_us ? (uint64_t)knobs->sleep_us : usual_sleep_us) * 1000};
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
