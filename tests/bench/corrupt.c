/* corrupt: collectives whose result is wrong, to see that the benchmark finds it. Preloaded in front of the MPI, or of
 * the library.
 *
 * MPI_Bcast: the environment says which calls: CORRUPT_BYTES is their size, CORRUPT_CALL the number among them. On
 * rank 1 the byte in the middle of the buffer gets one bit flipped.
 * MPI_Alltoallv, with CORRUPT_SWAP: the first doubles of the blocks from ranks 0 and 1 change places.
 * Each as PMPI_X, too, which is what the benchmark calls on the host MPI's side. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void find_next(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

static int depth; /* the next one may come to the other of both names */

typedef int bcast_t(void *, int, MPI_Datatype, int, MPI_Comm);

static int corrupt_bcast(bcast_t *next, void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static int calls;
    const char *asked_bytes = getenv("CORRUPT_BYTES"), *asked_call = getenv("CORRUPT_CALL");
    int bytes, rank;

    depth++;
    const int code = next(buffer, count, type, root, comm);
    depth--;
    MPI_Type_size(type, &bytes);
    MPI_Comm_rank(comm, &rank);
    bytes *= count;
    if (depth == 0 && asked_bytes && asked_call && bytes == atoi(asked_bytes) &&
        calls++ == atoi(asked_call) && rank == 1)
        ((char *)buffer)[bytes / 2] ^= 1;
    return code;
}

#define BCAST(name)                                                                                          \
    int name(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)                            \
    {                                                                                                        \
        static bcast_t *next;                                                                                \
        if (!next)                                                                                           \
            find_next(&next, #name);                                                                         \
        return corrupt_bcast(next, buffer, count, type, root, comm);                                         \
    }
BCAST(MPI_Bcast)
BCAST(PMPI_Bcast)

typedef int alltoallv_t(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                        const int *, MPI_Datatype, MPI_Comm);

static int corrupt_alltoallv(alltoallv_t *next, const void *send, const int *sent, const int *send_places,
                             MPI_Datatype send_type, void *recv, const int *received, const int *recv_places,
                             MPI_Datatype recv_type, MPI_Comm comm)
{
    depth++;
    const int code = next(send, sent, send_places, send_type, recv, received, recv_places, recv_type, comm);
    depth--;
    if (depth == 0 && getenv("CORRUPT_SWAP") && received[0] > 0 && received[1] > 0) {
        double *one = (double *)recv + recv_places[0], *other = (double *)recv + recv_places[1], first = *one;
        *one = *other;
        *other = first;
    }
    return code;
}

#define ALLTOALLV(name)                                                                                      \
    int name(const void *send, const int *sent, const int *send_places, MPI_Datatype send_type, void *recv,  \
             const int *received, const int *recv_places, MPI_Datatype recv_type, MPI_Comm comm)             \
    {                                                                                                        \
        static alltoallv_t *next;                                                                            \
        if (!next)                                                                                           \
            find_next(&next, #name);                                                                         \
        return corrupt_alltoallv(next, send, sent, send_places, send_type, recv, received, recv_places,      \
                                 recv_type, comm);                                                           \
    }
ALLTOALLV(MPI_Alltoallv)
ALLTOALLV(PMPI_Alltoallv)
