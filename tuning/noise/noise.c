/* noise: libhanpmpi-noise.so, an injector of noise for any program of any MPI.
 *
 * Preloaded into the ranks, it interrupts their main thread HANPMPI_NOISE_HZ times a second: a timer's
 * signal, whose handler sleeps (or burns its core) for a random time, as a daemon would that takes the core.
 * It needs no MPI: which rank this is tells the launcher's environment; where that says nothing (mpirun, ssh,
 * a shell) it does nothing. The method: 10 Hz, uniform 0 to 10 ms (5%) and 0 to 20 ms (10%): X. Luo 2020,
 * section 3.4.2.
 *
 * Interrupted system calls are started again (SA_RESTART), but poll, epoll_wait, nanosleep and their like are
 * not by any system's rules: they report EINTR, which MPI libraries expect.
 *
 * Threads: everything happens in the main thread; the handler touches `noise` only, and the others block the
 * signal meanwhile. Ownership: nothing is allocated but the timer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "hanpmpi/noise.h"
#include "settings.h"

#define NOISE_PUBLIC __attribute__((visibility("default")))

static struct {
    noise_settings_t settings;
    bool is_rank;
    uint32_t rank;
    bool has_timer;
    timer_t timer;
    noise_random_t random;
    double loaded_at; /* seconds of the monotonic clock */
    uint64_t count;
    double seconds;
} noise;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct timespec to_timespec(double seconds)
{
    const time_t whole = (time_t)seconds;
    return (struct timespec){whole, (long)(1e9 * (seconds - (double)whole))};
}

static void interrupt(int signal_number)
{
    const int kept_errno = errno;
    const double start = now(),
                 end = start + noise_draw(&noise.settings.amount, noise.settings.hz, &noise.random);

    (void)signal_number;
    if (noise.settings.burns) {
        while (now() < end)
            ;
    } else {
        const struct timespec until = to_timespec(end);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    noise.count++;
    noise.seconds += now() - start;
    errno = kept_errno;
}

/* The signal waits while its handler's data changes. Returns the mask to go back to. */
static sigset_t hold(void)
{
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, noise.settings.signal);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    return before;
}

static void let_go(const sigset_t *before)
{
    /* What came in meanwhile belongs to the time before: it is taken away unhandled. */
    sigset_t ours;
    const struct timespec at_once = {0, 0};
    sigemptyset(&ours);
    sigaddset(&ours, noise.settings.signal);
    while (sigtimedwait(&ours, NULL, &at_once) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool set_timer(double first, double period)
{
    const struct itimerspec times = {.it_value = to_timespec(first), .it_interval = to_timespec(period)};
    return timer_settime(noise.timer, 0, &times, NULL) == 0;
}

/* The handler and the timer, at the first start. The timer signals this thread, not whichever helper thread
 * of the MPI the kernel would choose. */
static bool make_timer(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART}, before;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = noise.settings.signal};

    if (noise.has_timer)
        return true;
    event._sigev_un._tid = getpid(); /* the main thread */
    if (sigaction(noise.settings.signal, NULL, &before) != 0 || before.sa_handler != SIG_DFL) {
        hp_error("noise: the program uses signal %d itself; name another in HANPMPI_NOISE_SIGNAL, %d to %d",
                 noise.settings.signal, SIGRTMIN, SIGRTMAX);
        return false;
    }
    if (timer_create(CLOCK_MONOTONIC, &event, &noise.timer) != 0) {
        hp_error("noise: no timer: %s", strerror(errno));
        return false;
    }
    sigaction(noise.settings.signal, &action, NULL);
    noise.has_timer = true;
    return true;
}

/* Begins a period after `delay` seconds; the interruption comes at a random place in it, the same in all that
 * follow: ranks are out of step. */
static int start(uint64_t stream, double delay)
{
    const double period = 1 / noise.settings.hz;
    int result = 0;

    if (!noise.is_rank || noise.settings.amount.kind == NOISE_OFF ||
        !noise_is_chosen(noise.settings.ranks, noise.rank))
        return 0;
    const sigset_t before = hold();
    noise.random = noise_random_start(noise.settings.seed, noise.rank, stream);
    /* never 0, which would switch the timer off */
    const double first = delay + period * (1e-6 + noise_random_unit(&noise.random));
    if (!make_timer() || !set_timer(first, period))
        result = -1;
    let_go(&before);
    return result;
}

NOISE_PUBLIC int hanpmpi_noise_set(const char *amount)
{
    char error[512];
    noise_amount_t parsed;
    if (!noise_amount_parse(amount, noise.settings.hz, &parsed, error, sizeof error)) {
        hp_error("noise: %s", error);
        return -1;
    }
    const sigset_t before = hold();
    noise.settings.amount = parsed;
    let_go(&before);
    return 0;
}

NOISE_PUBLIC int hanpmpi_noise_start(uint64_t stream)
{
    return start(stream, 0);
}

NOISE_PUBLIC void hanpmpi_noise_stop(void)
{
    if (!noise.has_timer)
        return;
    const sigset_t before = hold();
    set_timer(0, 0);
    let_go(&before);
}

NOISE_PUBLIC void hanpmpi_noise_totals(uint64_t *count, double *seconds)
{
    const sigset_t before = hold();
    *count = noise.count;
    *seconds = noise.seconds;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The rank as the launcher tells it. */
static bool find_rank(uint32_t *rank)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text) {
            *rank = (uint32_t)strtoul(text, NULL, 10);
            return true;
        }
    }
    return false;
}

/* A study with other noise than was asked for would be wrong without anybody noticing: the job ends. Rank 0
 * speaks for all; the others wait, because launchers end a job with its first rank. */
static void give_up(const char *error)
{
    if (noise.rank == 0)
        hp_error("noise: %s", error);
    else
        sleep(2);
    _exit(2);
}

__attribute__((constructor)) static void load(void)
{
    char error[512], who[32];

    noise.loaded_at = now();
    noise.is_rank = find_rank(&noise.rank);
    if (!noise.is_rank)
        return;
    snprintf(who, sizeof who, "rank %u", noise.rank);
    hp_log_set_who(who);
    if (!noise_settings_read(&noise.settings, error, sizeof error))
        give_up(error);
    if (start(0, noise.settings.delay_seconds) != 0)
        _exit(2);
}

__attribute__((destructor)) static void report(void)
{
    if (!noise.is_rank)
        return;
    hanpmpi_noise_stop();
    const double run = now() - noise.loaded_at;
    if (noise.settings.reports)
        dprintf(STDERR_FILENO, "hanpmpi: rank %u: noise: %llu times, %.4f s of %.2f s (%.2f%%)\n", noise.rank,
                (unsigned long long)noise.count, noise.seconds, run, 100 * noise.seconds / run);
}
