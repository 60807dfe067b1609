/* corrupt: collectives whose result is wrong, to see that the benchmark finds it. Preloaded in front of the MPI, or of
 * the library.
 *
 * MPI_Bcast: the environment says which calls: CORRUPT_BYTES is their size, CORRUPT_CALL the number among them. On
 * rank 1 the byte in the middle of the buffer gets one bit flipped.
 * MPI_Alltoallv, with CORRUPT_SWAP: the first doubles of the blocks from ranks 0 and 1 change places. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void find_next(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static int calls;
    static int (*next)(void *, int, MPI_Datatype, int, MPI_Comm);
    const char *asked_bytes = getenv("CORRUPT_BYTES"), *asked_call = getenv("CORRUPT_CALL");
    int bytes, rank;

    if (!next)
        find_next(&next, "MPI_Bcast");
    const int code = next(buffer, count, type, root, comm);
    MPI_Type_size(type, &bytes);
    MPI_Comm_rank(comm, &rank);
    bytes *= count;
    if (asked_bytes && asked_call && bytes == atoi(asked_bytes) && calls++ == atoi(asked_call) && rank == 1)
        ((char *)buffer)[bytes / 2] ^= 1;
    return code;
}

int MPI_Alltoallv(const void *send, const int *sent, const int *send_places, MPI_Datatype send_type,
                  void *recv, const int *received, const int *recv_places, MPI_Datatype recv_type,
                  MPI_Comm comm)
{
    static int (*next)(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *,
                       MPI_Datatype, MPI_Comm);

    if (!next)
        find_next(&next, "MPI_Alltoallv");
    const int code = next(send, sent, send_places, send_type, recv, received, recv_places, recv_type, comm);
    if (getenv("CORRUPT_SWAP") && received[0] > 0 && received[1] > 0) {
        double *one = (double *)recv + recv_places[0], *other = (double *)recv + recv_places[1], first = *one;
        *one = *other;
        *other = first;
    }
    return code;
}
