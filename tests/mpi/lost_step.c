/* lost_step: a call that fails on one rank before its first message, here for want of memory, is counted there all the
 * same: the rank's later calls on the communicator report an error instead of taking the messages of the failed one.
 *
 * Rank 1 gets no memory for packing a short broadcast, which rank 0 has sent; then comes another of other values. Without
 * the library nothing fails. malloc is this program's, so that of the library's calls one size can fail. */
#include "mpi_check.h"

enum { COUNT = 101 };

static size_t refused_bytes; /* 0: none */

void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes)
{
    return refused_bytes && bytes == refused_bytes ? NULL : __libc_malloc(bytes);
}

int main(int argc, char **argv)
{
    static int holes[2 * COUNT], plain[COUNT];
    MPI_Comm comm;
    MPI_Datatype type;

    CHECK_MPI(MPI_Init(&argc, &argv));
    const int rank = hp_comm_rank(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &type));
    CHECK_MPI(MPI_Type_commit(&type));
    for (int i = 0; i < 5; i++) /* set up, and what is used for the first time is there */
        CHECK_MPI(MPI_Bcast(holes, COUNT - 1, type, 0, comm));

    for (int i = 0; i < 2 * COUNT; i++)
        holes[i] = rank == 0 ? 1 : -1;
    refused_bytes = rank == 1 && hp_lib_loaded() ? COUNT * sizeof(int) : 0;
    const int first = MPI_Bcast(holes, COUNT, type, 0, comm);
    refused_bytes = 0;
    for (int i = 0; i < COUNT; i++)
        plain[i] = rank == 0 ? 2 : -1;
    const int second = MPI_Bcast(plain, COUNT, MPI_INT, 0, comm);

    if (rank == 1 && hp_lib_loaded()) {
        CHECK_EQUAL(hp_error_class(first), MPI_ERR_NO_MEM, "the call without memory");
        CHECK(second != MPI_SUCCESS, "the next call succeeded, with %d instead of 2", plain[0]);
    } else {
        CHECK_MPI(first);
        CHECK_MPI(second);
        CHECK_EQUAL(plain[0], 2, "the second broadcast");
    }
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Finalize());
    return 0;
}
