/* victim: a program without MPI that libhanpmpi-noise.so is preloaded into; injector.py reads what it prints.
 *
 *   victim SECONDS [switch|read]
 *
 * Works for that long and prints three figures: how often and for how many seconds it was interrupted
 * according to the injector, and how many seconds it found missing itself. read: then a read from a pipe is
 * interrupted: "read ok". switch: no noise but for the middle third of the time, switched on and off by the
 * program. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "hanpmpi/noise.h"

static __typeof__(hanpmpi_noise_set) *noise_set;
static __typeof__(hanpmpi_noise_start) *noise_start;
static __typeof__(hanpmpi_noise_stop) *noise_stop;
static __typeof__(hanpmpi_noise_totals) *noise_totals;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Works, and returns the time that was missing: gaps that only an interruption or another process makes. */
static double work(double seconds)
{
    const double gap = 0.0005;
    double last = now(), lost = 0;
    const double end = last + seconds;
    while (last < end) {
        const double time = now();
        if (time - last > gap)
            lost += time - last;
        last = time;
    }
    return lost;
}

static const char *read_slowly(void)
{
    int ends[2], status;
    char byte;
    if (pipe(ends) != 0)
        return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        usleep(300000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    const ssize_t got = read(ends[0], &byte, 1);
    while (waitpid(child, &status, 0) < 0)
        ;
    return got == 1 && status == 0 ? "ok" : "interrupted";
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    double lost, slept;
    uint64_t count;

    noise_set = (__typeof__(noise_set))dlsym(RTLD_DEFAULT, "hanpmpi_noise_set");
    noise_start = (__typeof__(noise_start))dlsym(RTLD_DEFAULT, "hanpmpi_noise_start");
    noise_stop = (__typeof__(noise_stop))dlsym(RTLD_DEFAULT, "hanpmpi_noise_stop");
    noise_totals = (__typeof__(noise_totals))dlsym(RTLD_DEFAULT, "hanpmpi_noise_totals");
    if (!noise_set || !noise_start || !noise_stop || !noise_totals)
        return 1;
    if (argc > 2 && strcmp(argv[2], "switch") == 0) {
        work(seconds / 3);
        if (noise_set("constant:1") != 0 || noise_start(7) != 0)
            return 1;
        lost = work(seconds / 3);
        noise_stop();
        work(seconds / 3);
    } else {
        lost = work(seconds);
    }
    noise_totals(&count, &slept);
    printf("%" PRIu64 " %.6f %.6f\n", count, slept, lost);
    if (argc > 2 && strcmp(argv[2], "read") == 0)
        printf("read %s\n", read_slowly());
    return 0;
}
