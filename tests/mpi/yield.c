/* yield: lets ranks share cores. Preloaded into the tests only.
 *
 * MPICH spins while it waits and has no setting that makes it yield: three ranks on two cores take 10 ms for
 * a small Allreduce (measured here, Debian's MPICH 4.0.2 on UCX), 10 us with this. It wraps UCX's progress
 * function, which every wait in MPICH comes to, and gives the core away when nothing has happened for a
 * while. Open MPI yields by itself (mpi_yield_when_idle) in its progress function, and only there when nothing has
 * happened: what it calls for that is taken from it, and done here.
 *
 * Ranks that only yield starve beside something that computes: each yield hands over a whole time slice, and in between they use up
 * what cores there are (seven ranks of MPICH on two cores, 2,000 fuzzed collectives: 2 s alone, 46 s beside one busy process).
 * With YIELD_NAPS=1 a rank of MPICH that has yielded for a while naps instead (2 s, 10 s), without the 50 us that Linux adds to a
 * sleep. The tests' presets set it; what measures times does not. With YIELD_NAPS_GROW=1, too, ranks nap sooner and longer, each time longer than
 * before, until something happens, and ranks of Open MPI nap as well. scripts/check sets it where no time is measured: 1,500 fuzzed collectives on
 * seven ranks, beside other work, took 7 s of processor time instead of 10 s on MPICH, on Open MPI 6 s instead of 10 s, when a rank still yielded
 * 20 times before it napped for 20 us; after 4 times and for 50 us ranks of MPICH take two thirds of that, and are done sooner, too.
 *
 * Threads: any. */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    EMPTY_POLLS = 5,   /* an idle rank of MPICH yields after about 0.5 us; 1 to 100 measured alike */
    EMPTY_YIELDS = 20, /* and naps after so many in a row; 5 to 20 measured alike */
    NAP_NS = 20000,
    GROWING_YIELDS = 4,   /* where naps grow: as many, */
    FIRST_NAP_NS = 50000, /* the first nap, */
    LONG_NAP_NS = 200000 /* and the longest: with 400 us or more, collectives cost more processor time, too */
};

/* Whether a rank naps, and for how long at most; threads that meet in find write the same. */
static bool naps, naps_grow;

/* What this thread has done since something happened. */
static _Thread_local struct {
    int yields;
    long nap_ns; /* the last one */
} idle;

unsigned ucp_worker_progress(void *worker);
void opal_progress(void);

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

/* The wrapped function; of a library that was loaded for a part of the program alone, too. */
static void *find(const char *name, const char *library)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    void *handle = symbol ? NULL : dlopen(library, RTLD_LAZY | RTLD_NOLOAD);

    if (handle)
        symbol = dlsym(handle, name);
    if (!symbol)
        abort();
    naps = is_set("YIELD_NAPS");
    naps_grow = naps && is_set("YIELD_NAPS_GROW");
    if (naps)
        prctl(PR_SET_TIMERSLACK, 1UL); /* ns; of this thread and those it starts from now on */
    return symbol;
}

static void something_happened(void)
{
    idle.yields = 0;
    idle.nap_ns = 0;
}

static void give_core_away(bool may_nap)
{
    if (!may_nap || ++idle.yields <= (naps_grow ? GROWING_YIELDS : EMPTY_YIELDS)) {
        syscall(SYS_sched_yield);
        return;
    }
    idle.nap_ns = !naps_grow ? NAP_NS : idle.nap_ns ? 2 * idle.nap_ns : FIRST_NAP_NS;
    if (idle.nap_ns > LONG_NAP_NS)
        idle.nap_ns = LONG_NAP_NS;
    nanosleep(&(const struct timespec){.tv_nsec = idle.nap_ns}, NULL);
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    static _Thread_local int empty;

    if (!real) {
        void *symbol = find("ucp_worker_progress", "libucp.so.0");
        memcpy(&real, &symbol, sizeof real);
    }
    unsigned events = real(worker);
    if (events) {
        empty = 0;
        something_happened();
    } else if (++empty % EMPTY_POLLS == 0) {
        give_core_away(naps);
    }
    return events;
}

/* In opal_progress: how deep, and whether it wanted to yield. */
static _Thread_local int depth;
static _Thread_local bool yielded;

int sched_yield(void)
{
    if (!depth)
        return (int)syscall(SYS_sched_yield);
    yielded = true;
    return 0;
}

void opal_progress(void)
{
    static void (*real)(void);

    if (!real) {
        void *symbol = find("opal_progress", "libopen-pal.so.40");
        memcpy(&real, &symbol, sizeof real);
    }
    yielded = false;
    depth++;
    real();
    depth--;
    if (depth)
        yielded = false; /* of the outer one, nothing is known yet */
    else if (yielded)
        give_core_away(naps_grow); /* naps of 20 us alone cost more than they give */
    else
        something_happened();
}
