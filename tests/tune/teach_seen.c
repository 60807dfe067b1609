/* teach_seen: which algorithm did the MPI run? For test_teach_real.py, which has taught the MPI another one than its
 * default.
 *
 * Open MPI: its library exports the algorithms, so this program's ompi_coll_base_bcast_intra_pipeline comes before it,
 * counts, and calls it. MPICH: an alltoall by pairwise_sendrecv_replace, which is for MPI_IN_PLACE, sends what is in the
 * receive buffers.
 *
 *   mpirun -np N teach_seen BYTES...     a line for each size, of all ranks, then of all but the last, and but two:
 *                                        "RANKS BYTES 0", or 1: the taught one ran */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
static int pipelines;

int ompi_coll_base_bcast_intra_pipeline(void *, size_t, void *, size_t, void *, void *, size_t);

/* Integers are narrower in the one or the other version, and passed alike. */
int ompi_coll_base_bcast_intra_pipeline(void *buffer, size_t count, void *type, size_t root, void *comm,
                                        void *module, size_t segment)
{
    int (*next)(void *, size_t, void *, size_t, void *, void *, size_t);
    void *symbol = dlsym(RTLD_NEXT, "ompi_coll_base_bcast_intra_pipeline");

    memcpy(&next, &symbol, sizeof next);
    pipelines++;
    return next(buffer, count, type, root, comm, module, segment);
}

static int is_taught(MPI_Comm comm, char *send, char *recv, int bytes)
{
    (void)recv;
    pipelines = 0;
    MPI_Bcast(send, bytes, MPI_BYTE, 0, comm);
    return pipelines > 0;
}
#else
static int is_taught(MPI_Comm comm, char *send, char *recv, int bytes)
{
    int ranks;

    MPI_Comm_size(comm, &ranks);
    memset(send, 1, (size_t)ranks * (size_t)bytes);
    memset(recv, 2, (size_t)ranks * (size_t)bytes);
    MPI_Alltoall(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, comm);
    return recv[0] == 2 || recv[ranks * bytes - 1] == 2;
}
#endif

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int fewer = 0; fewer <= 2; fewer++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, rank < ranks - fewer ? 0 : MPI_UNDEFINED, rank, &comm);
        for (int i = 1; i < argc && comm != MPI_COMM_NULL; i++) {
            const int bytes = atoi(argv[i]);
            char *send = malloc((size_t)ranks * (size_t)bytes), *recv = malloc((size_t)ranks * (size_t)bytes);
            const int mine = is_taught(comm, send, recv, bytes);
            int all;
            MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_MAX, 0, comm);
            if (rank == 0)
                printf("%d %d %d\n", ranks - fewer, bytes, all);
            free(send);
            free(recv);
        }
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
