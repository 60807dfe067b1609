#include "arrival.h"

#include <mpi.h>
#include <sched.h>
#include <time.h>

const char *bench_arrival_name(bench_arrival_t arrival)
{
    static const char *const names[] = {
#define X(id, name) #name,
        BENCH_ARRIVAL_TABLE(X)
#undef X
    };
    return names[arrival];
}

/* splitmix64 (Steele, Lea, Flood 2014) of three numbers. */
static uint64_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = 0;
    const uint64_t parts[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        x = (x ^ parts[i]) + 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

/* Stretched so that the first rank's delay is 0 and the last one's is 1. */
static double random_delay(uint64_t seed, uint64_t repetition, int rank, int size)
{
    double least = 1, most = 0, mine = 0;
    for (int r = 0; r < size; r++) {
        const double delay = (double)(hash(seed, repetition, (uint64_t)r) >> 11) * 0x1p-53;
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        mine = r == rank ? delay : mine;
    }
    return most > least ? (mine - least) / (most - least) : 0;
}

double bench_arrival_delay(bench_arrival_t arrival, uint64_t seed, uint64_t repetition, int rank, int size)
{
    if (size == 1)
        return 0;
    switch (arrival) {
    case BENCH_ARRIVAL_ASCENDING:
        return (double)rank / (size - 1);
    case BENCH_ARRIVAL_LATE:
        return hash(seed, repetition, 0) % (uint64_t)size == (uint64_t)rank;
    case BENCH_ARRIVAL_RANDOM:
        return random_delay(seed, repetition, rank, size);
    case BENCH_ARRIVAL_NONE:
    case BENCH_ARRIVAL_COUNT:
        break;
    }
    return 0;
}

double bench_arrival_wait(double start, double seconds)
{
    /* Linux wakes a sleeper about 60 us late. */
    const double wake_up = 100e-6;
    double now = MPI_Wtime() - start;

    while (now < seconds) {
        const double rest = seconds - now - wake_up;
        if (rest > 0)
            nanosleep(&(struct timespec){.tv_sec = (time_t)rest,
                                         .tv_nsec = (long)((rest - (double)(time_t)rest) * 1e9)},
                      NULL);
        else
            sched_yield();
        now = MPI_Wtime() - start;
    }
    return now;
}
