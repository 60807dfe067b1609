/* scales: a program with a call site that loses scaling and one that does not, for any number of ranks; a test of what
 * hanpmpi_profile scaling says of it, on a machine (profile.py) and on simulated ones (../smpi/scaling.py).
 *
 *   scales WORK_MS
 *
 * In each step the ranks share WORK_MS milliseconds of work. Before the first barrier rank 0 is late by LATE_NS, however many
 * ranks wait for it: that loses. Before the second by EARLY_NS, divided by the ranks: that costs as much on all scales. Nobody
 * computes: a rank that sleeps takes as long beside any number of others. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 4, LATE_NS = 40000000, EARLY_NS = 16000000 };

/* Not inlined: it has no part in the call sites, of which there are two. */
static __attribute__((noinline)) void rest(double ns)
{
    const struct timespec time = {(time_t)(ns / 1e9), (long)(ns - 1e9 * (double)(time_t)(ns / 1e9))};
    if (ns > 0)
        nanosleep(&time, NULL);
}

static void loses(int rank)
{
    rest(rank == 0 ? LATE_NS : 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void keeps(int rank, int size)
{
    rest(rank == 0 ? (double)EARLY_NS / size : 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < STEPS; step++) {
        rest((argc > 1 ? atof(argv[1]) : 800) * 1e6 / size);
        loses(rank);
        keeps(rank, size);
    }
    MPI_Finalize();
    return 0;
}
