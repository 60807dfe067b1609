#include "event_engine/wait.h"

#include <sched.h>
#include <time.h>
#include "base/clock.h"

/* With a core a rank, sleeping only delays the wake-up: it is for waits that are long anyway. With more ranks than cores a rank that
 * waits keeps others from running. A poll for messages is some microseconds of the host MPI's, of which there it gets few before it
 * yields, as a host MPI told that cores are few yields after each.
 *
 * Where the host MPI's ranks yield, those that wait here do not sleep: the scheduler runs first who has slept, and last who yields, and
 * where some ranks of a node do the one and some the other, some get no core at all: for 0.1 to 1 s in one of ten runs of the integer sort
 * (4 virtual hosts x 4, 1 Gbit/s, Open MPI 5.0.11, 16 ranks on 2 cores, Linux 6.18), for 3 and then 31 s in one of a hundred. There, so
 * many times as fast as without the library:
 *
 *     sleeps begin after, and take      training   LAMMPS   integer sort   sparse exchange
 *     200 us   50 us                      1.26       1.11    0.59 to 0.86        0.97
 *     1 ms     300 us                     1.64       1.67    0.75 to 0.97    0.83 to 1.03
 *     never                               1.85       1.75        1.12            0.97
 *
 * There, each poll that finds nothing yields in itself; with one more behind it a rank looks half as often as one that waits in the host
 * MPI, and where 8 ranks share a core, each look later is some 60 us. (ScaLAPACK's LU on 16 ranks, bcasts of 16 bytes among 4 hosts run here:
 * 4.6% longer than with the host MPI's, without the second yield 1.7%.)
 *
 * A host MPI that spins (MPICH) keeps its core until the scheduler takes it away, from one that yields, too; one that wakes up gets it
 * at once (8 ranks on 2 cores, an allreduce of 8 bytes: 10 ms with sleeps, 15 without). */
hp_wait_policy_t hp_wait_policy(const hp_knobs_t *knobs, bool crowded, bool host_yields)
{
    const uint64_t usual_after_us = !crowded      ? 10000
                                    : host_yields ? HP_WAIT_NEVER_US
                                                  : 1000,
                   usual_polls = crowded ? 5 : 50, usual_sleep_us = crowded ? 300 : 50;

    return (hp_wait_policy_t){
        .spin_polls = knobs->spin_polls ? (uint64_t)knobs->spin_polls : usual_polls,
        .sleep_after_ns = (knobs->sleep_after_us ? (uint64_t)knobs->sleep_after_us : usual_after_us) * 1000,
        .sleep_ns = (knobs->sleep_us ? (uint64_t)knobs->sleep_us : usual_sleep_us) * 1000,
        .polls_yield = host_yields};
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
        if (!policy->polls_yield)
            sched_yield();
        break;
    case HP_WAIT_SLEEP:
        nanosleep(&nap, NULL);
        break;
    }
}
