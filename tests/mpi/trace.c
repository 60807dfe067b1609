/* trace: a program whose trace is looked at: large collectives, small ones, on the whole job and on a part of it.
 * trace.py runs it. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 1 << 17, CALLS = 3 };

static void all_of_them(double *send, double *recv, int count, MPI_Comm comm)
{
    MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, 1, comm);
    MPI_Bcast(recv, count, MPI_DOUBLE, 1, comm);
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm part;
    double *send = calloc(LARGE, sizeof *send), *recv = calloc(LARGE, sizeof *recv);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    if (!send || !recv || chdir("/") != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < LARGE; i++)
        send[i] = rank;
    for (int call = 0; call < CALLS; call++) {
        all_of_them(send, recv, LARGE, MPI_COMM_WORLD);
        all_of_them(send, recv, 1, part);
    }
    MPI_Comm_free(&part);
    MPI_Finalize();
    free(send);
    free(recv);
    return 0;
}
