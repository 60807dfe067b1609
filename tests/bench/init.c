/* init: how long MPI_Init takes, for start_up: prints the most of all ranks in milliseconds, and the most memory of a rank in
 * KiB. Times are exchanged by messages, so that no collective is part of what is measured. */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    const double start = now_ms();
    int rank, size;

    MPI_Init(&argc, &argv);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double most[2] = {now_ms() - start, (double)usage.ru_maxrss}, theirs[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0)
        MPI_Send(most, 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(theirs, 2, MPI_DOUBLE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 2; k++)
            most[k] = theirs[k] > most[k] ? theirs[k] : most[k];
    }
    if (rank == 0)
        printf("%.3f %.0f\n", most[0], most[1]);
    MPI_Finalize();
    return 0;
}
