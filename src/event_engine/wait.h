/* wait: what a rank does while nothing has arrived: spin, then yield its core, then sleep.
 *
 * With a core per rank the first polls catch almost everything and nothing is given up. With more ranks
 * than cores the rank that should send needs our core: yielding after few polls is what keeps such a job
 * going (a spinning MPI was measured 100 times slower than a yielding one). A rank that waits for
 * milliseconds waits for a slow peer, not for a message on its way; sleeping then costs little and frees the
 * core for good, unless the other ranks there yield (wait.c). Threads: one hp_wait_t per waiting thread. Ownership: plain data. */
#ifndef HP_EVENT_ENGINE_WAIT_H
#define HP_EVENT_ENGINE_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/knobs.h"

typedef struct {
    uint64_t spin_polls;     /* empty polls before the first yield */
    uint64_t sleep_after_ns; /* time without progress before the first sleep */
    uint64_t sleep_ns;
    bool polls_yield; /* a poll of the host MPI that finds nothing has yielded in itself */
} hp_wait_policy_t;

/* Longer than any job. */
#define HP_WAIT_NEVER_US (UINT64_MAX / 1000)

/* As the knobs say. crowded: more ranks are on the node than cores that they may use. host_yields: the host MPI yields whenever it finds
 * nothing to do. */
hp_wait_policy_t hp_wait_policy(const hp_knobs_t *knobs, bool crowded, bool host_yields);

typedef struct {
    uint64_t empty_polls;
    uint64_t yielding_since_ns;
} hp_wait_t;

/* Something happened: start over. */
static inline void hp_wait_reset(hp_wait_t *wait)
{
    wait->empty_polls = 0;
}

/* A poll found nothing: counts it, and returns what to do now. *now_ns: the time, unless that is to spin. */
typedef enum { HP_WAIT_SPIN, HP_WAIT_YIELD, HP_WAIT_SLEEP } hp_wait_step_t;
hp_wait_step_t hp_wait_step(hp_wait_t *wait, const hp_wait_policy_t *policy, uint64_t *now_ns);

/* The same, and does it: returns at once, or after having yielded or slept. */
void hp_wait_idle(hp_wait_t *wait, const hp_wait_policy_t *policy);

#endif
