#include "simulated_collectives.h"

#include <stdio.h>
#include <stdlib.h>

#define RUN(call, name, ...) ((call)->own ? PMPI_##name : MPI_##name)(__VA_ARGS__)

int64_t simulated_input(int rank, size_t element)
{
    return (int64_t)(rank * 1000003LL + (int64_t)element * 7919 + (int64_t)(element >> 7));
}

/* ---- every element ---- */

static int64_t of_root(const simulated_call_t *call, int block, size_t element)
{
    (void)block;
    return simulated_input(call->root, element);
}

static int64_t sum(const simulated_call_t *call, int block, size_t element)
{
    const int64_t ranks = call->size;
    (void)block;
    return 1000003LL * (ranks * (ranks - 1) / 2) + ranks * simulated_input(0, element);
}

/* The place of this rank's element in what is made of a block for each. */
static size_t mine(const simulated_call_t *call, size_t element)
{
    return (size_t)call->rank * (size_t)call->count + element;
}

static int64_t my_sum(const simulated_call_t *call, int block, size_t element)
{
    return sum(call, block, mine(call, element));
}

static int64_t of_block(const simulated_call_t *call, int block, size_t element)
{
    (void)call;
    return simulated_input(block, element);
}

static int64_t mine_of_block(const simulated_call_t *call, int block, size_t element)
{
    return simulated_input(block, mine(call, element));
}

static int64_t mine_of_root(const simulated_call_t *call, int block, size_t element)
{
    (void)block;
    return simulated_input(call->root, mine(call, element));
}

/* ---- the calls ---- */

static void run_bcast(const simulated_call_t *call)
{
    RUN(call, Bcast, call->recv, call->count, MPI_INT64_T, call->root, call->comm);
}

static void run_reduce(const simulated_call_t *call)
{
    RUN(call, Reduce, call->send, call->recv, call->count, MPI_INT64_T, call->op, call->root, call->comm);
}

static void run_allreduce(const simulated_call_t *call)
{
    RUN(call, Allreduce, call->send, call->recv, call->count, MPI_INT64_T, call->op, call->comm);
}

static void run_barrier(const simulated_call_t *call)
{
    RUN(call, Barrier, call->comm);
}

static void run_allgather(const simulated_call_t *call)
{
    RUN(call, Allgather, call->send, call->count, MPI_INT64_T, call->recv, call->count, MPI_INT64_T,
        call->comm);
}

static void run_alltoall(const simulated_call_t *call)
{
    RUN(call, Alltoall, call->send, call->count, MPI_INT64_T, call->recv, call->count, MPI_INT64_T,
        call->comm);
}

static void run_gather(const simulated_call_t *call)
{
    RUN(call, Gather, call->send, call->count, MPI_INT64_T, call->recv, call->count, MPI_INT64_T, call->root,
        call->comm);
}

static void run_scatter(const simulated_call_t *call)
{
    RUN(call, Scatter, call->send, call->count, MPI_INT64_T, call->recv, call->count, MPI_INT64_T, call->root,
        call->comm);
}

static void run_reduce_scatter_block(const simulated_call_t *call)
{
    RUN(call, Reduce_scatter_block, call->send, call->recv, call->count, MPI_INT64_T, call->op, call->comm);
}

int simulated_pairs_percent = 5;

static bool few_meet(int from, int to)
{
    const uint32_t mixed = ((uint32_t)from * 0x9e3779b1u) ^ ((uint32_t)to * 0x85ebca77u + 0x165667b1u);
    return (mixed ^ mixed >> 15) * 0x2c1b3c6du >> 16 < 65536u * (uint32_t)simulated_pairs_percent / 100;
}

/* So many entries for each rank, all zero. */
static int *arrays(const simulated_call_t *call, size_t entries)
{
    int *made = calloc(entries * (size_t)call->size, sizeof *made);
    if (!made) {
        fprintf(stderr, "out of memory for the counts of blocks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return made;
}

/* Counts, then displacements: of what is sent, then of what is received. */
static void run_alltoallv(const simulated_call_t *call)
{
    const size_t size = (size_t)call->size;
    int *counts = arrays(call, 4);

    for (int i = 0; i < call->size; i++) {
        counts[i] = few_meet(call->rank, i) ? call->count : 0;
        counts[2 * size + (size_t)i] = few_meet(i, call->rank) ? call->count : 0;
        counts[size + (size_t)i] = counts[3 * size + (size_t)i] = i * call->count;
    }
    RUN(call, Alltoallv, call->send, counts, counts + size, MPI_INT64_T, call->recv, counts + 2 * size,
        counts + 3 * size, MPI_INT64_T, call->comm);
    free(counts);
}

/* Counts, then displacements, of equal blocks. */
static int *equal_blocks(const simulated_call_t *call)
{
    int *counts = arrays(call, 2);

    for (int i = 0; i < call->size; i++) {
        counts[i] = call->count;
        counts[call->size + i] = i * call->count;
    }
    return counts;
}

static bool has_block(int from, int to)
{
    (void)to;
    return from % 4 != 3;
}

static void run_allgatherv(const simulated_call_t *call)
{
    int *counts = equal_blocks(call);

    for (int i = 0; i < call->size; i++)
        counts[i] = has_block(i, call->rank) ? call->count : 0;
    RUN(call, Allgatherv, call->send, counts[call->rank], MPI_INT64_T, call->recv, counts,
        counts + call->size, MPI_INT64_T, call->comm);
    free(counts);
}

static void run_gatherv(const simulated_call_t *call)
{
    int *counts = equal_blocks(call);
    RUN(call, Gatherv, call->send, call->count, MPI_INT64_T, call->recv, counts, counts + call->size,
        MPI_INT64_T, call->root, call->comm);
    free(counts);
}

static void run_scatterv(const simulated_call_t *call)
{
    int *counts = equal_blocks(call);
    RUN(call, Scatterv, call->send, counts, counts + call->size, MPI_INT64_T, call->recv, call->count,
        MPI_INT64_T, call->root, call->comm);
    free(counts);
}

const simulated_collective_t simulated_collectives[] = {
    {"bcast", .one_buffer = true, .run = run_bcast, .expected = of_root},
    {"reduce", .at_root = true, .in_place = true, .run = run_reduce, .expected = sum},
    {"allreduce", .in_place = true, .run = run_allreduce, .expected = sum},
    {"barrier", .run = run_barrier},
    {"allgather", .receives_all = true, .run = run_allgather, .expected = of_block},
    {"alltoall", .sends_all = true, .receives_all = true, .run = run_alltoall, .expected = mine_of_block},
    {"gather", .receives_all = true, .at_root = true, .run = run_gather, .expected = of_block},
    {"scatter", .sends_all = true, .run = run_scatter, .expected = mine_of_root},
    {"reduce_scatter_block", .sends_all = true, .run = run_reduce_scatter_block, .expected = my_sum},
    {"alltoallv", .sends_all = true, .receives_all = true, .run = run_alltoallv, .expected = mine_of_block,
     .comes = few_meet},
    {"allgatherv", .receives_all = true, .run = run_allgatherv, .expected = of_block, .comes = has_block},
    {"gatherv", .receives_all = true, .at_root = true, .run = run_gatherv, .expected = of_block},
    {"scatterv", .sends_all = true, .run = run_scatterv, .expected = mine_of_root},
};
const unsigned simulated_collective_count = sizeof simulated_collectives / sizeof *simulated_collectives;
