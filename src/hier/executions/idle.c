#include "hier/executions/idle.h"

#include <sched.h>
#include "base/clock.h"

/* A peer may itself wait for something that the program started before this collective and the host MPI moves
 * on: a message, a collective that passed. So who waits without messages of its own lets the host MPI work now and then,
 * a tenth of the time at most. Has it? */
static bool nudge(hp_idle_t *idle, const hp_comm_t *comm, uint64_t now_ns)
{
    const uint64_t nudge_ns = 20000;

    if (now_ns - idle->nudged_ns < nudge_ns || !comm->transport->ops->nudge)
        return false;
    comm->transport->ops->nudge(comm->transport);
    idle->nudged_ns = now_ns;
    return true;
}

/* Waiting for flags of the node alone. A poll costs a few ns, so more of them fit before the core is given
 * up. Whoever sets a flag wakes who sleeps for it, so a sleep costs a wake-up and no more. With more ranks
 * than cores that is still more than to yield: who sets the flag is about to run, and a wake-up is a system call
 * of the rank that all wait for (4 ranks on 2 cores: a barrier takes 6.7 us when they sleep after 10 us, 5.3 us after
 * 1 ms; ScaLAPACK's LU tests on 4 of 16 ranks are a tenth slower). */
static void idle_for_flags(hp_idle_t *idle, const hp_comm_t *comm, const hp_request_t *request)
{
    /* About a millisecond: then the nudges begin, whatever HANPMPI_SPIN_POLLS says. */
    const uint64_t polls_max = 100000, polls = (comm->crowded ? 1 : 20) * comm->wait_policy.spin_polls;
    const hp_wait_policy_t policy = {.spin_polls = polls < polls_max ? polls : polls_max,
                                     .sleep_after_ns = comm->wait_policy.sleep_after_ns,
                                     .sleep_ns = 200000};
    uint64_t now_ns;
    const hp_wait_step_t step = hp_wait_step(&idle->flags, &policy, &now_ns);

    if (step == HP_WAIT_SPIN) {
        if (!comm->crowded)
            hp_cpu_relax();
        return;
    }
    if (now_ns == idle->flags.yielding_since_ns) /* the first one comes a while later */
        idle->nudged_ns = now_ns;
    const bool has_yielded = nudge(idle, comm, now_ns) && comm->wait_policy.polls_yield;
    if (step == HP_WAIT_SLEEP)
        hp_request_sleep(request, policy.sleep_ns);
    else if (!has_yielded)
        sched_yield();
}

void hp_idle(hp_idle_t *idle, const hp_comm_t *comm, const hp_request_t *only)
{
    if (only && hp_request_waits_for_flags(only)) {
        idle_for_flags(idle, comm, only);
        return;
    }
    hp_wait_policy_t policy = comm->wait_policy;
    if (!only && !nudge(idle, comm, hp_clock_ns())) /* there may be no messages to poll for */
        policy.polls_yield = false;
    hp_wait_idle(&idle->messages, &policy);
}
