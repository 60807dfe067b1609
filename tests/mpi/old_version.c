/* old_version: preloaded into a rank in the library's place, what another version of it says in MPI_Init: its messages are longer. */
#include <mpi.h>
#include <string.h>

enum { HANDSHAKE_TAG = 32011, BYTES = 40000 };

static void tell_rank_0(void)
{
    static char message[BYTES] = "hanpmpi", verdict[2 * BYTES];
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 1) /* whose parent is rank 0 */
        return;
    strcpy(message + 8, "9.9.9");
    PMPI_Send(message, BYTES, MPI_BYTE, 0, HANDSHAKE_TAG, MPI_COMM_WORLD);
    PMPI_Recv(verdict, sizeof verdict, MPI_BYTE, 0, HANDSHAKE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
