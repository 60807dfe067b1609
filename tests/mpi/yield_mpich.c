/* yield_mpich: lets MPICH's ranks share cores. Preloaded into the tests only.
 *
 * MPICH spins while it waits and has no setting that makes it yield: three ranks on two cores take 10 ms for
 * a small Allreduce (measured here, Debian's MPICH 4.0.2 on UCX), 10 us with this. It wraps UCX's progress
 * function, which every wait in MPICH comes to, and gives the core away when nothing has happened for a
 * while.
 *
 * Threads: any. */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>

enum { EMPTY_POLLS = 20 }; /* an idle rank yields after about 2 us; 1 to 100 measured alike */

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    static _Thread_local int empty;

    if (!real) { /* threads that meet here find the same address */
        void *symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
        memcpy(&real, &symbol, sizeof real);
    }
    unsigned events = real(worker);
    if (events) {
        empty = 0;
    } else if (++empty >= EMPTY_POLLS) {
        empty = 0;
        sched_yield();
    }
    return events;
}
