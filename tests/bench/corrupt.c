/* corrupt: an MPI_Bcast that changes one byte of its result, to see that the benchmark finds it.
 *
 * Preloaded in front of the MPI, or of the library. The environment says which calls: CORRUPT_BYTES is their
 * size. On rank 1 the byte in the middle of the buffer gets one bit flipped. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static int calls;
    static int (*next)(void *, int, MPI_Datatype, int, MPI_Comm);
    const char *asked_bytes = getenv("CORRUPT_BYTES"), *asked_call = getenv("CORRUPT_CALL");
    int bytes, rank;

    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "MPI_Bcast");
        memcpy(&next, &symbol, sizeof symbol);
    }
    const int code = next(buffer, count, type, root, comm);
    MPI_Type_size(type, &bytes);
    MPI_Comm_rank(comm, &rank);
    bytes *= count;
    if (asked_bytes && asked_call && bytes == atoi(asked_bytes) && calls++ == atoi(asked_call) && rank == 1)
        ((char *)buffer)[bytes / 2] ^= 1;
    return code;
}
