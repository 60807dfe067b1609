/* pairs: for the simulator, where all ranks have one clock: how long a message takes from each rank to each other,
 * alone.
 *
 *   smpirun ... pairs BYTES
 *
 * Rank 0 prints a line "HOST HOST SECONDS" for each pair. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 64 };

static double send_one(int rank, int from, int to, double *message, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == from) {
        message[0] = MPI_Wtime();
        MPI_Send(message, count, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    }
    double seconds = 0;
    if (rank == to) {
        MPI_Recv(message, count, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seconds = MPI_Wtime() - message[0];
    }
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, to, MPI_COMM_WORLD);
    return seconds;
}

int main(int argc, char **argv)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, size, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = argc > 1 ? atoi(argv[1]) / (int)sizeof(double) : 0;
    double *message = malloc(((size_t)count + 1) * sizeof *message);
    char *names = malloc((size_t)size * NAME_BYTES);
    if (count < 1 || !message || !names)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Get_processor_name(mine, &length);
    mine[NAME_BYTES - 1] = '\0';
    MPI_Allgather(mine, NAME_BYTES, MPI_CHAR, names, NAME_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++) {
            const double seconds = from == to ? 0 : send_one(rank, from, to, message, count);
            if (rank == 0 && from != to)
                printf("%s %s %.9g\n", names + (size_t)from * NAME_BYTES, names + (size_t)to * NAME_BYTES, seconds);
        }
    free(message);
    free(names);
    MPI_Finalize();
    return 0;
}
