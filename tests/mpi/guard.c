/* guard: a program that calls each collective often enough for the guard to settle, on the whole job, on a part of
 * it, and on a communicator with a hint; every result is checked. explain.py runs it and looks at what the library
 * says of it.
 *
 * usage: guard CALLS [LATE]
 *
 * With LATE: long messages alone; so many times the last rank comes 10 ms late to each of three calls, then CALLS times in time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hanpmpi/hanpmpi.h"

enum { SMALL = 4, MIDDLE = 2500, LARGE = 40000 };

static void expect(int right, const char *what, int call)
{
    if (right)
        return;
    fprintf(stderr, "guard: wrong result of %s, call %d\n", what, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int come_together, is_late; /* to each call; but this rank */

static void come(void)
{
    if (come_together)
        MPI_Barrier(MPI_COMM_WORLD);
    if (is_late)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void one_of_each(double *send, double *recv, int count, int call, MPI_Comm comm)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int root = call % size, last = count - 1;
    send[0] = rank + call;
    send[last] = rank - call;
    come();
    MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, comm);
    expect(recv[last] == size * (size - 1) / 2.0 - (double)size * call, "allreduce", call);
    come();
    MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_MAX, root, comm);
    expect(rank != root || (recv[last] == size - 1 - call && (last == 0 || recv[0] == size - 1 + call)),
           "reduce", call);
    recv[last] = rank == root ? 7.0 * call : -1;
    come();
    MPI_Bcast(recv, count, MPI_DOUBLE, root, comm);
    expect(recv[last] == 7.0 * call, "bcast", call);
    MPI_Barrier(comm);
}

static void some_late(double *send, double *recv, int late_calls, int calls)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    come_together = 1;
    for (int call = 0; call < late_calls + calls; call++) {
        is_late = rank == size - 1 && call < late_calls;
        one_of_each(send, recv, LARGE, call, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const int counts[] = {SMALL, MIDDLE, LARGE};
    const int calls = argc > 1 ? atoi(argv[1]) : 100;
    double *send = calloc(LARGE, sizeof *send), *recv = calloc(LARGE, sizeof *recv);
    MPI_Comm half, hinted;
    MPI_Info info;
    int rank;

    MPI_Init(&argc, &argv);
    if (!send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) {
        some_late(send, recv, atoi(argv[2]), calls);
        MPI_Finalize();
        free(send);
        free(recv);
        return 0;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Info_create(&info);
    MPI_Info_set(info, HANPMPI_HINT_ALLREDUCE, "han");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted);
    for (int call = 0; call < calls; call++)
        for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
            one_of_each(send, recv, counts[i], call, MPI_COMM_WORLD);
            one_of_each(send, recv, counts[i], call, half);
        }
    for (int call = 0; call < 3; call++)
        one_of_each(send, recv, SMALL, call, hinted);
    MPI_Comm_free(&hinted);
    MPI_Comm_free(&half);
    MPI_Info_free(&info);
    MPI_Finalize();
    free(send);
    free(recv);
    return 0;
}
