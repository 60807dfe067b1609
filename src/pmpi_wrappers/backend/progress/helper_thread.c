#include "pmpi_wrappers/backend/progress/helper_thread.h"

#include <errno.h>
#include <ev.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cores.h"
#include "base/log.h"
#include "hier/executions/execution.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/progress/progress.h"

/* Between two looks. A segment of 32 KiB takes 260 us at 1 Gbit/s. A look costs 5 to 10 us with what the kernel does for
 * it; a processor of its own has nothing better to do. */
static const uint64_t shared_least_ns = 50000, shared_most_ns = 1000000;
static const uint64_t own_least_ns = 10000, own_most_ns = 200000;
/* A message may take the MPI several looks: it stops at so many, or after two that have found nothing. */
enum { LOOKS = 16, EMPTY_LOOKS = 2 };
/* For the MPI's progress; pages are made when used. */
enum { STACK_BYTES = 512 << 10 };
/* exit() waits so long for the thread to be out of the MPI. */
enum { EXIT_WAIT_MS = 200 };

static struct ev_loop *loop;
static const hp_helper_guest_t *guest;
static pthread_t thread;
static pid_t process; /* that has the thread; 0: none has. A child after a fork has none */
static ev_async quit, wake;
static ev_io timer; /* libev's own timers count in milliseconds */
static bool is_armed;
static uint64_t least_ns, most_ns, interval_ns, polls_seen;

/* ---- moving collectives on ---- */

static void arm(uint64_t ns)
{
    const struct itimerspec once = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)}};
    timerfd_settime(timer.fd, 0, &once, NULL);
    is_armed = ns != 0;
}

/* Returns whether anything moved. */
static bool move_on(void)
{
    bool any = false;
    for (int looks = 0, empty = 0; looks < LOOKS && empty < EMPTY_LOOKS && hp_progress_is_due(); looks++) {
        const bool moved = hp_progress_poll();
        empty = moved ? 0 : empty + 1;
        any |= moved;
    }
    return any;
}

/* While the program itself waits for something, it looks much more often than this thread could. */
static void on_time(struct ev_loop *unused, ev_io *watcher, int events)
{
    uint64_t expirations;
    (void)unused;
    (void)events;

    if (read(watcher->fd, &expirations, sizeof expirations) < 0 && errno == EAGAIN)
        return;
    is_armed = false;
    if (!hp_progress_is_due())
        return;
    const bool others = hp_progress_polls() != polls_seen;
    const bool moved = !others && move_on();
    polls_seen = hp_progress_polls();
    if (moved)
        interval_ns = least_ns;
    else
        interval_ns += interval_ns / 2;
    if (interval_ns > most_ns)
        interval_ns = most_ns;
    if (hp_progress_is_due())
        arm(interval_ns);
}

static void on_wake(struct ev_loop *unused, ev_async *watcher, int events)
{
    (void)unused;
    (void)watcher;
    (void)events;
    if (is_armed || !hp_progress_is_due())
        return;
    polls_seen = hp_progress_polls();
    interval_ns = least_ns;
    arm(interval_ns);
}

static void send_wake(void)
{
    ev_async_send(loop, &wake);
}

/* ---- where it runs ---- */

static int number_of(const char *const *variables)
{
    for (; *variables; variables++) {
        const char *text = getenv(*variables);
        if (text)
            return atoi(text);
    }
    return -1;
}

/* A processor that no rank needs, of those this process may use; -1: there is none, or nobody knows. Ranks that are
 * bound share theirs with as many as have the same ones: as many as their share of the launcher's cores says. */
static int spare_processor(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL};
    const int node_size = number_of(sizes), node_rank = number_of(ranks);
    const int of_job = (int)hp_cores_of_parent();
    cpu_set_t allowed;

    if (node_size <= 0 || node_rank < 0 || of_job <= 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return -1;
    const int count = CPU_COUNT(&allowed);
    const int sharing = (node_size * count + of_job - 1) / of_job;
    if (count < 2 * sharing)
        return -1;
    int left = sharing + node_rank % sharing; /* the first ones are the ranks' */
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &allowed) && left-- == 0)
            return processor;
    return -1;
}

static void place(pthread_attr_t *attributes)
{
    const int processor = spare_processor();

    least_ns = processor < 0 ? shared_least_ns : own_least_ns;
    most_ns = processor < 0 ? shared_most_ns : own_most_ns;
    if (hp_job.knobs.poll_us)
        least_ns = most_ns = (uint64_t)hp_job.knobs.poll_us * 1000;
    if (processor < 0)
        return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_attr_setaffinity_np(attributes, sizeof one, &one);
    hp_debug("the helper thread has processor %d", processor);
}

/* ---- its life ---- */

static void on_quit(struct ev_loop *of, ev_async *watcher, int events)
{
    (void)watcher;
    (void)events;
    ev_break(of, EVBREAK_ALL);
}

/* A look is short, and others wait for it. A thread that asks for short slices is scheduled early (Linux 6.12 and later;
 * before, who wakes up comes first anyway). */
static void ask_for_short_slices(void)
{
    struct { /* sched_attr of the kernel, whose header does not go together with <sched.h> */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime_ns = 100000};
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *work(void *unused)
{
    (void)unused;
    ask_for_short_slices();
    ev_run(loop, 0);
    return NULL;
}

static bool create(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    place(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* they are the program's */
    const bool created = pthread_create(&thread, &attributes, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (created)
        pthread_setname_np(thread, "hanpmpi");
    return created;
}

static bool loop_open(void)
{
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        return false;
    loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
    if (!loop) {
        close(fd);
        return false;
    }
    ev_async_init(&quit, on_quit);
    ev_async_start(loop, &quit);
    ev_async_init(&wake, on_wake);
    ev_async_start(loop, &wake);
    ev_io_init(&timer, on_time, fd, EV_READ);
    ev_io_start(loop, &timer);
    is_armed = false;
    return true;
}

static void loop_close(void)
{
    close(timer.fd);
    ev_loop_destroy(loop);
}

/* The process exits without MPI_Finalize: the end of the host MPI must not meet a thread inside it. One that is in it for long
 * is left there, so is the loop. */
static void at_exit(void)
{
    struct timespec until;

    if (process != getpid() || pthread_equal(pthread_self(), thread))
        return;
    process = 0;
    hp_progress_wake = NULL;
    ev_async_send(loop, &quit);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += EXIT_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_timedjoin_np(thread, NULL, &until);
}

/* Does the thread move collectives on? */
static bool moves_on(bool may)
{
    if (hp_job.knobs.progress != HP_PROGRESS_THREAD)
        return false;
    if (!may && hp_job.rank == 0)
        hp_warn(
            "HANPMPI_PROGRESS=thread: this MPI does not give MPI_THREAD_MULTIPLE, so no helper thread moves "
            "collectives on; the program's own MPI calls do");
    return may;
}

void hp_helper_thread_start(const hp_helper_guest_t *with)
{
    if (hp_ranks_take_turns)
        return;
    guest = with;
    const bool moves = moves_on(hp_job.has_threads);
    if (!moves && !guest)
        return;
    if (!loop_open()) {
        hp_warn("no event loop: %s; there is no helper thread", strerror(errno));
        return;
    }
    if (guest)
        guest->start(loop);
    if (!create()) {
        hp_warn("the helper thread cannot be started: too many threads or processes");
        if (guest)
            guest->stop(loop);
        loop_close();
        return;
    }
    process = getpid();
    if (moves)
        hp_progress_wake = send_wake;
    atexit(at_exit);
}

bool hp_helper_thread_moves_on(void)
{
    return hp_progress_wake != NULL;
}

void hp_helper_thread_stop(void)
{
    if (hp_ranks_take_turns || process != getpid())
        return;
    process = 0;
    hp_progress_wake = NULL;
    ev_async_send(loop, &quit);
    pthread_join(thread, NULL);
    if (guest)
        guest->stop(loop);
    loop_close();
}
