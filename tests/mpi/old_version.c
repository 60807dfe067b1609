/* old_version: preloaded into a rank in the library's place, what another version of it says in MPI_Init: its messages are longer. */
#include <mpi.h>
#include <string.h>

enum { HANDSHAKE_TAG = 32011, BYTES = 40000 };

/* The parent of ranks 1 and 2 is rank 0; that of rank 3, which has this version, is rank 2. */
static void tell_rank_0(void)
{
    static char message[BYTES] = "hanpmpi", report[2 * BYTES], verdict[2 * BYTES];
    int rank, size;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 1 && rank != 2)
        return;
    const int has_child = rank == 2 && size > 3;
    strcpy(message + 8, "9.9.9");
    if (has_child)
        PMPI_Recv(report, sizeof report, MPI_BYTE, 3, HANDSHAKE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Send(message, BYTES, MPI_BYTE, 0, HANDSHAKE_TAG, MPI_COMM_WORLD);
    PMPI_Recv(verdict, sizeof verdict, MPI_BYTE, 0, HANDSHAKE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (has_child)
        PMPI_Send(message, BYTES, MPI_BYTE, 3, HANDSHAKE_TAG, MPI_COMM_WORLD);
}

int MPI_Init(int *argc, char ***argv)
{
    const int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS)
        tell_rank_0();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        tell_rank_0();
    return code;
}
