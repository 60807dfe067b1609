/* intercept: MPI_X, PMPI_X and MPI_X_c from C: every call is intercepted once, and gives the right result.
 * Options: intercept_check.h. */
#include "intercept_check.h"

static int bcasts, reduces, allreduces, barriers, blocks;

static void bcast(int root, MPI_Comm comm, int form)
{
    int data[3] = {0};
    if (hp_comm_rank(comm) == root)
        memcpy(data, (const int[]){root, 7, form}, sizeof data);
    switch (form) {
    case 0:
        CHECK_MPI(MPI_Bcast(data, 3, MPI_INT, root, comm));
        break;
    case 1:
        CHECK_MPI(PMPI_Bcast(data, 3, MPI_INT, root, comm));
        break;
#if MPI_VERSION >= 4
    case 2:
        CHECK_MPI(MPI_Bcast_c(data, 3, MPI_INT, root, comm));
        break;
    case 3:
        CHECK_MPI(PMPI_Bcast_c(data, 3, MPI_INT, root, comm));
        break;
#endif
    default:
        return;
    }
    bcasts++;
    CHECK(data[0] == root && data[1] == 7 && data[2] == form, "Bcast from %d", root);
}

static void reduce(int root, MPI_Comm comm, int form)
{
    int size = hp_comm_size(comm), rank = hp_comm_rank(comm);
    double send[2] = {rank, 1}, receive[2] = {-1, -1};
    switch (form) {
    case 0:
        CHECK_MPI(MPI_Reduce(send, receive, 2, MPI_DOUBLE, MPI_SUM, root, comm));
        break;
    case 1:
        CHECK_MPI(PMPI_Reduce(send, receive, 2, MPI_DOUBLE, MPI_SUM, root, comm));
        break;
#if MPI_VERSION >= 4
    case 2:
        CHECK_MPI(MPI_Reduce_c(send, receive, 2, MPI_DOUBLE, MPI_SUM, root, comm));
        break;
    case 3:
        CHECK_MPI(PMPI_Reduce_c(send, receive, 2, MPI_DOUBLE, MPI_SUM, root, comm));
        break;
#endif
    default:
        return;
    }
    reduces++;
    if (rank == root)
        CHECK(receive[0] == size * (size - 1) / 2.0 && receive[1] == size, "Reduce to %d", root);
}

static void allreduce(MPI_Comm comm, int form)
{
    int size = hp_comm_size(comm);
    double send[2] = {hp_comm_rank(comm), 1}, receive[2] = {-1, -1};
    switch (form) {
    case 0:
        CHECK_MPI(MPI_Allreduce(send, receive, 2, MPI_DOUBLE, MPI_SUM, comm));
        break;
    case 1:
        CHECK_MPI(PMPI_Allreduce(send, receive, 2, MPI_DOUBLE, MPI_SUM, comm));
        break;
#if MPI_VERSION >= 4
    case 2:
        CHECK_MPI(MPI_Allreduce_c(send, receive, 2, MPI_DOUBLE, MPI_SUM, comm));
        break;
    case 3:
        CHECK_MPI(PMPI_Allreduce_c(send, receive, 2, MPI_DOUBLE, MPI_SUM, comm));
        break;
#endif
    default:
        return;
    }
    allreduces++;
    CHECK(receive[0] == size * (size - 1) / 2.0 && receive[1] == size, "Allreduce of %d ranks", size);
}

static void barrier(MPI_Comm comm, int form)
{
    if (form > 1) /* there is no MPI_Barrier_c */
        return;
    CHECK_MPI(form ? PMPI_Barrier(comm) : MPI_Barrier(comm));
    barriers++;
}

/* All four, in flight together, by MPI_IX, PMPI_IX and their forms with large counts. */
static void nonblocking(MPI_Comm comm, int form)
{
    int size = hp_comm_size(comm), rank = hp_comm_rank(comm), data = rank == 0 ? 5 + form : -1,
        sums[2] = {-1, -1};
    MPI_Request requests[4];
    switch (form) {
    case 0:
        CHECK_MPI(MPI_Ibcast(&data, 1, MPI_INT, 0, comm, &requests[0]));
        CHECK_MPI(MPI_Ireduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, 0, comm, &requests[1]));
        CHECK_MPI(MPI_Iallreduce(&rank, &sums[1], 1, MPI_INT, MPI_SUM, comm, &requests[2]));
        CHECK_MPI(MPI_Ibarrier(comm, &requests[3]));
        break;
    case 1:
        CHECK_MPI(PMPI_Ibcast(&data, 1, MPI_INT, 0, comm, &requests[0]));
        CHECK_MPI(PMPI_Ireduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, 0, comm, &requests[1]));
        CHECK_MPI(PMPI_Iallreduce(&rank, &sums[1], 1, MPI_INT, MPI_SUM, comm, &requests[2]));
        CHECK_MPI(PMPI_Ibarrier(comm, &requests[3]));
        break;
#if MPI_VERSION >= 4
    case 2:
        CHECK_MPI(MPI_Ibcast_c(&data, 1, MPI_INT, 0, comm, &requests[0]));
        CHECK_MPI(MPI_Ireduce_c(&rank, &sums[0], 1, MPI_INT, MPI_SUM, 0, comm, &requests[1]));
        CHECK_MPI(MPI_Iallreduce_c(&rank, &sums[1], 1, MPI_INT, MPI_SUM, comm, &requests[2]));
        CHECK_MPI(MPI_Ibarrier(comm, &requests[3]));
        break;
#endif
    default:
        return;
    }
    bcasts++;
    reduces++;
    allreduces++;
    barriers++;
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(data, 5 + form, "Ibcast");
    CHECK_EQUAL(sums[1], size * (size - 1) / 2, "Iallreduce");
    CHECK_EQUAL(sums[0], rank == 0 ? sums[1] : -1, "Ireduce");
}

/* Every collective of blocks and every scan, blocking and not: the call, its result, its arguments. Rank r has 100 r for all,
 * or 100 r + i for rank i; root 0. P and S: MPI_ or PMPI_, nothing or _c. */
#define BLOCKS_TABLE(X, P, S)                                                                                \
    X(P##Allgather##S, P##Iallgather##S, into[last] == 100 * last, out, 1, MPI_INT, into, 1, MPI_INT, comm)  \
    X(P##Allgatherv##S, P##Iallgatherv##S, into[last] == 100 * last, out, 1, MPI_INT, into, counts, displs,  \
      MPI_INT, comm)                                                                                         \
    X(P##Alltoall##S, P##Ialltoall##S, into[last] == 100 * last + rank, out, 1, MPI_INT, into, 1, MPI_INT,   \
      comm)                                                                                                  \
    X(P##Alltoallv##S, P##Ialltoallv##S, into[last] == 100 * last + rank, out, counts, displs, MPI_INT,      \
      into, counts, displs, MPI_INT, comm)                                                                   \
    X(P##Alltoallw##S, P##Ialltoallw##S, into[last] == 100 * last + rank, out, counts, bytes, types, into,   \
      counts, bytes, types, comm)                                                                            \
    X(P##Reduce_scatter##S, P##Ireduce_scatter##S, into[0] == 50 * last * (last + 1) + (last + 1) * rank,    \
      out, into, counts, MPI_INT, MPI_SUM, comm)                                                             \
    X(P##Reduce_scatter_block##S, P##Ireduce_scatter_block##S,                                               \
      into[0] == 50 * last * (last + 1) + (last + 1) * rank, out, into, 1, MPI_INT, MPI_SUM, comm)           \
    X(P##Gather##S, P##Igather##S, into[last] == (rank ? -1 : 100 * last), out, 1, MPI_INT, into, 1,         \
      MPI_INT, 0, comm)                                                                                      \
    X(P##Gatherv##S, P##Igatherv##S, into[last] == (rank ? -1 : 100 * last), out, 1, MPI_INT, into, counts,  \
      displs, MPI_INT, 0, comm)                                                                              \
    X(P##Scatter##S, P##Iscatter##S, into[0] == rank, out, 1, MPI_INT, into, 1, MPI_INT, 0, comm)            \
    X(P##Scatterv##S, P##Iscatterv##S, into[0] == rank, out, counts, displs, MPI_INT, into, 1, MPI_INT, 0,   \
      comm)                                                                                                  \
    X(P##Scan##S, P##Iscan##S, into[0] == 50 * rank * (rank + 1), out, into, 1, MPI_INT, MPI_SUM, comm)      \
    X(P##Exscan##S, P##Iexscan##S, rank == 0 || into[0] == 50 * rank * (rank - 1), out, into, 1, MPI_INT,    \
      MPI_SUM, comm)

#define CALL_BLOCKS(blocking, nonblocking, result, ...)                                                      \
    memset(into, 0xff, sizeof into);                                                                         \
    CHECK_MPI(blocking(__VA_ARGS__));                                                                        \
    CHECK(result, #blocking);                                                                                \
    memset(into, 0xff, sizeof into);                                                                         \
    CHECK_MPI(nonblocking(__VA_ARGS__, &request));                                                           \
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));                                                        \
    CHECK(result, #nonblocking);

enum { MOST_RANKS = 16 };

#define DEFINE_BLOCKS(function, P, S, count_t, displ_t)                                                      \
    static void function(MPI_Comm comm)                                                                      \
    {                                                                                                        \
        int rank = hp_comm_rank(comm), last = hp_comm_size(comm) - 1, out[MOST_RANKS], into[MOST_RANKS];     \
        count_t counts[MOST_RANKS];                                                                          \
        displ_t displs[MOST_RANKS], bytes[MOST_RANKS];                                                       \
        MPI_Datatype types[MOST_RANKS];                                                                      \
        MPI_Request request;                                                                                 \
        CHECK(last < MOST_RANKS, "more than %d ranks", MOST_RANKS);                                          \
        for (int i = 0; i < MOST_RANKS; i++) {                                                               \
            out[i] = 100 * rank + i;                                                                         \
            counts[i] = 1;                                                                                   \
            displs[i] = i;                                                                                   \
            bytes[i] = i * (int)sizeof *out;                                                                 \
            types[i] = MPI_INT;                                                                              \
        }                                                                                                    \
        BLOCKS_TABLE(CALL_BLOCKS, P, S)                                                                      \
        blocks += 2;                                                                                         \
    }
DEFINE_BLOCKS(blocks_plain, MPI_, , int, int)
DEFINE_BLOCKS(blocks_profiling, PMPI_, , int, int)
#if MPI_VERSION >= 4
DEFINE_BLOCKS(blocks_large, MPI_, _c, MPI_Count, MPI_Aint)
DEFINE_BLOCKS(blocks_large_profiling, PMPI_, _c, MPI_Count, MPI_Aint)
#endif

static void (*const blocks_forms[])(MPI_Comm) = {
    blocks_plain,
    blocks_profiling,
#if MPI_VERSION >= 4
    blocks_large,
    blocks_large_profiling,
#endif
};

int main(int argc, char **argv)
{
    MPI_Comm copy;
    CHECK_MPI(MPI_Init(&argc, &argv));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    for (int round = 0; round < 5; round++)
        for (int form = 0; form < 4; form++) {
            for (int root = 0; root < hp_comm_size(MPI_COMM_WORLD); root++) {
                bcast(root, round % 2 ? copy : MPI_COMM_WORLD, form);
                reduce(root, round % 2 ? copy : MPI_COMM_WORLD, form);
            }
            allreduce(round % 2 ? copy : MPI_COMM_WORLD, form);
            barrier(round % 2 ? copy : MPI_COMM_WORLD, form);
            nonblocking(round % 2 ? copy : MPI_COMM_WORLD, form);
            if (form < (int)(sizeof blocks_forms / sizeof *blocks_forms))
                blocks_forms[form](round % 2 ? copy : MPI_COMM_WORLD);
        }
    hp_intercept_verify_(&bcasts, &reduces, &allreduces, &barriers, &blocks);
    CHECK_MPI(MPI_Comm_free(&copy));
    CHECK_MPI(MPI_Finalize());
    return 0;
}
