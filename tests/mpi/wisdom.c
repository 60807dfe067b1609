/* wisdom: a program that has the guard find something on one communicator, and then calls the same on another one.
 *
 * usage: wisdom same|halves|once CALLS
 *   same    two duplicates of MPI_COMM_WORLD, one after the other
 *   halves  the upper half of the ranks calls; then pairs of a rank of each half do
 *   once    one duplicate
 * Every result is checked. wisdom.py looks at what the library says of it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "mpi_check.h"

enum { COUNT = 16384 };

static void call_often(MPI_Comm comm, int calls)
{
    static int send[COUNT], recv[COUNT];
    int rank, size;

    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_MPI(MPI_Comm_size(comm, &size));
    for (int call = 0; call < calls; call++) {
        send[0] = rank == 0 ? call : -1;
        CHECK_MPI(MPI_Bcast(send, COUNT, MPI_INT, 0, comm));
        CHECK_EQUAL(send[0], call, "bcast");
        send[COUNT - 1] = rank + call;
        CHECK_MPI(MPI_Allreduce(send, recv, COUNT, MPI_INT, MPI_SUM, comm));
        CHECK_EQUAL(recv[COUNT - 1], size * (size - 1) / 2 + size * call, "allreduce");
        CHECK_MPI(MPI_Allgather(&rank, 1, MPI_INT, recv, 1, MPI_INT, comm));
        CHECK_EQUAL(recv[size - 1], size - 1, "allgather");
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int rank, size;

    CHECK_MPI(MPI_Init(&argc, &argv));
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(argc == 3, "usage: wisdom same|halves|once CALLS");
    const int calls = atoi(argv[2]), half = size / 2, is_upper = rank >= half;
    if (strcmp(argv[1], "halves") == 0) {
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, is_upper, 0, &comm));
        if (is_upper)
            call_often(comm, calls);
        CHECK_MPI(MPI_Comm_free(&comm));
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % half, 0, &comm));
        call_often(comm, calls);
        CHECK_MPI(MPI_Comm_free(&comm));
    } else {
        for (int i = 0; i < (strcmp(argv[1], "same") == 0 ? 2 : 1); i++) {
            CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            call_often(comm, calls);
            CHECK_MPI(MPI_Comm_free(&comm));
        }
    }
    CHECK_MPI(MPI_Finalize());
    return 0;
}
