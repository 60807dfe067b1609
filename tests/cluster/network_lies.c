/* network_lies CALLS BYTES: CALLS times an Allgather, an Alltoall and a Bcast of blocks of BYTES, each behind a barrier, every
 * block of every result checked. network_lies.py runs it where HANPMPI_NETWORK is not true. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned char *send, *recv;
    int bytes, rank, size;
} blocks_t;

/* What rank `from` has for rank `to` in that call. */
static int value(int from, int to, int call)
{
    return (7 * from + 31 * to + call) % 251;
}

/* Block i, of the recv buffer, is to hold the value, whole. */
static void expect(const blocks_t *blocks, int i, int wanted, const char *what, int call)
{
    const unsigned char *block = blocks->recv + (size_t)i * (size_t)blocks->bytes;
    const size_t bytes = (size_t)blocks->bytes;

    if (block[0] == wanted && memcmp(block, block + 1, bytes - 1) == 0)
        return;
    fprintf(stderr, "network_lies: wrong result of %s, call %d, rank %d, block %d\n", what, call,
            blocks->rank, i);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(unsigned char *block, const blocks_t *blocks, int with)
{
    memset(block, with, (size_t)blocks->bytes);
}

static void begin(const blocks_t *blocks)
{
    memset(blocks->recv, 255, (size_t)blocks->bytes * (size_t)blocks->size);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allgather(const blocks_t *blocks, int call)
{
    fill(blocks->send, blocks, value(blocks->rank, 0, call));
    begin(blocks);
    MPI_Allgather(blocks->send, blocks->bytes, MPI_BYTE, blocks->recv, blocks->bytes, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int i = 0; i < blocks->size; i++)
        expect(blocks, i, value(i, 0, call), "Allgather", call);
}

static void alltoall(const blocks_t *blocks, int call)
{
    for (int i = 0; i < blocks->size; i++)
        fill(blocks->send + (size_t)i * (size_t)blocks->bytes, blocks, value(blocks->rank, i, call));
    begin(blocks);
    MPI_Alltoall(blocks->send, blocks->bytes, MPI_BYTE, blocks->recv, blocks->bytes, MPI_BYTE,
                 MPI_COMM_WORLD);
    for (int i = 0; i < blocks->size; i++)
        expect(blocks, i, value(i, blocks->rank, call), "Alltoall", call);
}

static void bcast(const blocks_t *blocks, int call)
{
    begin(blocks);
    if (blocks->rank == 0)
        fill(blocks->recv, blocks, value(0, 0, call));
    MPI_Bcast(blocks->recv, blocks->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    expect(blocks, 0, value(0, 0, call), "Bcast", call);
}

int main(int argc, char **argv)
{
    blocks_t blocks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &blocks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &blocks.size);
    const int calls = argc > 2 ? atoi(argv[1]) : 0;
    blocks.bytes = argc > 2 ? atoi(argv[2]) : 0;
    if (calls < 1 || blocks.bytes < 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    blocks.send = calloc((size_t)blocks.size, (size_t)blocks.bytes);
    blocks.recv = calloc((size_t)blocks.size, (size_t)blocks.bytes);
    if (!blocks.send || !blocks.recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int call = 0; call < calls; call++) {
        allgather(&blocks, call);
        alltoall(&blocks, call);
        bcast(&blocks, call);
    }
    if (blocks.rank == 0)
        printf("right: %d calls of each\n", calls);
    free(blocks.send);
    free(blocks.recv);
    MPI_Finalize();
    return 0;
}
