/* idle: what a rank does that waits for a collective of a communicator and finds nothing to move on: spin, yield, sleep
 * (event_engine/wait.h), by what it waits for; and let the host MPI work now and then.
 *
 * Threads: as comm.h. Ownership: one hp_idle_t per wait, plain data. */
#ifndef HP_HIER_EXECUTIONS_IDLE_H
#define HP_HIER_EXECUTIONS_IDLE_H

#include "event_engine/request.h"
#include "event_engine/wait.h"
#include "hier/comm/comm.h"

typedef struct {
    hp_wait_t messages, flags;
    uint64_t nudged_ns;
} hp_idle_t;

/* Nothing moved: returns at once, or after having yielded or slept. only: the request, when it alone is in execution;
 * else NULL. */
void hp_idle(hp_idle_t *idle, const hp_comm_t *comm, const hp_request_t *only);

/* Something moved: start over. */
static inline void hp_idle_reset(hp_idle_t *idle)
{
    *idle = (hp_idle_t){0};
}

#endif
