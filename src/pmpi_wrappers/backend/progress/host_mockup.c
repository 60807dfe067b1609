#include "pmpi_wrappers/backend/progress/host_mockup.h"

#include <stdlib.h>
#include "pmpi_wrappers/backend/progress/host_collectives.h"

/* Blocks of one size: counts, and behind them displacements. */
typedef struct {
    int *counts, *displs;
} equal_t;

static bool equal_init(equal_t *equal, int64_t count, uint32_t ranks)
{
    equal->counts = malloc(2 * (size_t)ranks * sizeof(int));
    if (!equal->counts)
        return false;
    equal->displs = equal->counts + ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        equal->counts[r] = (int)count;
        equal->displs[r] = (int)((uint64_t)r * (uint64_t)count); /* where it counts it fits */
    }
    return true;
}

static int gather(const hp_block_arguments_t *a, const equal_t *recv, MPI_Comm comm)
{
    return P(Gatherv)(a->send.buffer, (int)a->send.count, a->send.type, (void *)a->recv.buffer, recv->counts,
                      recv->displs, a->recv.type, a->root, comm);
}

static int scatter(const hp_block_arguments_t *a, const equal_t *send, MPI_Comm comm)
{
    return P(Scatterv)(a->send.buffer, send->counts, send->displs, a->send.type, (void *)a->recv.buffer,
                       (int)a->recv.count, a->recv.type, a->root, comm);
}

static int alltoall(const hp_block_arguments_t *a, const equal_t *send, const equal_t *recv, MPI_Comm comm)
{
    return P(Alltoallv)(a->send.buffer, send->counts, send->displs, a->send.type, (void *)a->recv.buffer,
                        recv->counts, recv->displs, a->recv.type, comm);
}

static int reduce_scatter_block(const hp_block_arguments_t *a, const equal_t *recv, MPI_Comm comm)
{
    return P(Reduce_scatter)(a->send.buffer, (void *)a->recv.buffer, recv->counts, a->recv.type, a->op, comm);
}

/* Counts that MPI does not look at on this rank may be anything: they are only handed on, in arrays. */
int hp_host_mockup(const hp_block_arguments_t *a, uint32_t ranks, MPI_Comm comm)
{
    equal_t send = {NULL, NULL}, recv = {NULL, NULL};
    int code = MPI_ERR_NO_MEM;

    if (!equal_init(&send, a->send.count, ranks) || !equal_init(&recv, a->recv.count, ranks))
        P(Comm_call_errhandler)(comm, code);
    else if ((code = hp_host_collective_begin(comm)) == MPI_SUCCESS)
        code = a->collective == HP_GATHER     ? gather(a, &recv, comm)
               : a->collective == HP_SCATTER  ? scatter(a, &send, comm)
               : a->collective == HP_ALLTOALL ? alltoall(a, &send, &recv, comm)
                                              : reduce_scatter_block(a, &recv, comm);
    free(send.counts);
    free(recv.counts);
    return code;
}

int hp_host_mockup_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int rank,
                             MPI_Comm comm)
{
    const void *mine = send == MPI_IN_PLACE && rank != 0 ? recv : send;
    int code = hp_host_collective_begin(comm);

    if (code == MPI_SUCCESS)
        code = P(Reduce)(mine, rank == 0 ? recv : NULL, count, type, op, 0, comm);
    return code == MPI_SUCCESS ? P(Bcast)(recv, count, type, 0, comm) : code;
}
