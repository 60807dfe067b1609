/* yield_mpich: lets MPICH's ranks share cores. Preloaded into the tests only.
 *
 * MPICH spins while it waits and has no setting that makes it yield: three ranks on two cores take 10 ms for
 * a small Allreduce (measured here, Debian's MPICH 4.0.2 on UCX), 10 us with this. It wraps UCX's progress
 * function, which every wait in MPICH comes to, and gives the core away when nothing has happened for a
 * while.
 *
 * Ranks that only yield starve beside something that computes: each yield hands over a whole time slice, and in between they use up
 * what cores there are (seven ranks on two cores, 2,000 fuzzed collectives: 2 s alone, 46 s beside one busy process).
 * With YIELD_MPICH_NAPS=1 a rank that has yielded for a while naps instead (2 s, 10 s), without the 50 us that Linux adds to a
 * sleep. The tests' presets set it; what measures times does not.
 *
 * Threads: any. */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    EMPTY_POLLS = 5,   /* an idle rank yields after about 0.5 us; 1 to 100 measured alike */
    EMPTY_YIELDS = 20, /* and naps after so many in a row; 5 to 20 measured alike */
    NAP_NS = 20000
};

unsigned ucp_worker_progress(void *worker);

static void give_core_away(int yields, bool naps)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    if (naps && yields > EMPTY_YIELDS)
        nanosleep(&nap, NULL);
    else
        sched_yield();
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    static bool naps;
    static _Thread_local int empty;

    if (!real) { /* threads that meet here find the same */
        void *symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
        const char *asked = getenv("YIELD_MPICH_NAPS");
        naps = asked && strcmp(asked, "1") == 0;
        if (naps)
            prctl(PR_SET_TIMERSLACK, 1UL); /* ns; of this thread and those it starts from now on */
        memcpy(&real, &symbol, sizeof real);
    }
    unsigned events = real(worker);
    if (events)
        empty = 0;
    else if (++empty % EMPTY_POLLS == 0)
        give_core_away(empty / EMPTY_POLLS, naps);
    return events;
}
