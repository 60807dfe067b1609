/* host_calls_large: large counts; on an MPI without them the library hands those that fit to the plain functions. */
#include <dlfcn.h>
#include "host_calls.h"

/* Not every mpi.h declares them; the library has them all. */
#define FIND(variable, name)                                                                                 \
    do {                                                                                                     \
        void *symbol_ = dlsym(RTLD_DEFAULT, name);                                                           \
        CHECK(symbol_, "there is no %s", name);                                                              \
        memcpy(&(variable), &symbol_, sizeof symbol_);                                                       \
    } while (0)

static void large_neighbors(MPI_Comm comm, int sources, int destinations, const char *topology)
{
    enum { MOST = 8 };
    int (*alltoallv)(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
    int (*alltoallw)(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *,
                     const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm);
    int in[MOST], out[MOST], plain[MOST], ones[MOST], places[MOST];
    MPI_Count large_ones[MOST];
    MPI_Aint large_places[MOST], bytes[MOST];
    MPI_Datatype types[MOST];

    FIND(alltoallv, "MPI_Neighbor_alltoallv_c");
    FIND(alltoallw, "MPI_Neighbor_alltoallw_c");
    CHECK(sources <= MOST && destinations <= MOST, "more neighbours than room");
    for (int i = 0; i < MOST; i++) {
        in[i] = 100 * hp_me + i;
        out[i] = plain[i] = -1;
        large_ones[i] = ones[i] = 1;
        large_places[i] = places[i] = MOST - 1 - i;
        bytes[i] = (MPI_Aint)sizeof(int) * i;
        types[i] = MPI_INT;
    }
    CHECK_MPI(MPI_Neighbor_alltoallv(in, ones, places, MPI_INT, plain, ones, places, MPI_INT, comm));
    CHECK_MPI(alltoallv(in, large_ones, large_places, MPI_INT, out, large_ones, large_places, MPI_INT, comm));
    CHECK(memcmp(out, plain, sizeof out) == 0, "MPI_Neighbor_alltoallv_c, %s", topology);
    CHECK_MPI(MPI_Neighbor_alltoallw(in, ones, bytes, types, plain, ones, bytes, types, comm));
    CHECK_MPI(alltoallw(in, large_ones, bytes, types, out, large_ones, bytes, types, comm));
    CHECK(memcmp(out, plain, sizeof out) == 0, "MPI_Neighbor_alltoallw_c, %s", topology);
}

static void large_topologies(void)
{
    enum { MOST = 64 };
    const int size = hp_comm_size(hp_talk), left = (hp_me + size - 1) % size, right = (hp_me + 1) % size;
    const int dimensions[] = {size}, periods[] = {1}, two[] = {left, right}, weights[] = {1};
    int index[MOST], edges[2 * MOST];
    MPI_Comm made;

    CHECK_MPI(MPI_Cart_create(hp_talk, 1, dimensions, periods, 0, &made));
    large_neighbors(made, 2, 2, "a torus");
    CHECK_MPI(MPI_Comm_free(&made));
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    CHECK_MPI(MPI_Graph_create(hp_talk, size, index, edges, 0, &made));
    large_neighbors(made, 2, 2, "a graph");
    CHECK_MPI(MPI_Comm_free(&made));
    CHECK_MPI(MPI_Dist_graph_create_adjacent(hp_talk, 1, two, weights, 1, two + 1, weights, MPI_INFO_NULL, 0,
                                             &made));
    large_neighbors(made, 1, 1, "a distributed graph");
    CHECK_MPI(MPI_Comm_free(&made));
}

/* Arrays are significant on all ranks, unless in place, at the root only. */
static void large(void)
{
    enum { MOST = 64 };
    int (*allgatherv)(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *,
                      MPI_Datatype, MPI_Comm);
    int (*alltoallv)(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
    int (*gather)(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
    int (*gatherv)(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *,
                   MPI_Datatype, int, MPI_Comm);
    int (*reduce_scatter)(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*exchange)(void *, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *);
    const int size = hp_comm_size(hp_talk);
    const MPI_Count garbage = (MPI_Count)1 << 40;
    int in[MOST], out[MOST];
    MPI_Count ones[MOST];
    MPI_Aint places[MOST];

    FIND(allgatherv, "MPI_Allgatherv_c");
    FIND(alltoallv, "MPI_Alltoallv_c");
    FIND(gather, "MPI_Gather_c");
    FIND(gatherv, "MPI_Gatherv_c");
    FIND(reduce_scatter, "MPI_Reduce_scatter_c");
    FIND(exchange, "MPI_Sendrecv_replace_c");
    for (int i = 0; i < MOST; i++) {
        in[i] = 100 * hp_me + i;
        ones[i] = 1;
        places[i] = i;
    }
    CHECK_MPI(allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, hp_talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * i, "MPI_Allgatherv_c");
    out[hp_me] = -hp_me;
    CHECK_MPI(allgatherv(MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, out, ones, places, MPI_INT, hp_talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], -i, "MPI_Allgatherv_c in place");
    CHECK_MPI(alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, hp_talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * i + hp_me, "MPI_Alltoallv_c");
    CHECK_MPI(alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, ones, places, MPI_INT, hp_talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * hp_me + i, "MPI_Alltoallv_c in place");
    CHECK_MPI(gather(in, 1, MPI_INT, out, hp_me == 1 ? 1 : garbage, MPI_INT, 1, hp_talk));
    CHECK(hp_me != 1 || out[size - 1] == 100 * (size - 1), "MPI_Gather_c: %d", out[size - 1]);
    CHECK_MPI(gatherv(in + 1, 1, MPI_INT, out, hp_me == 1 ? ones : NULL, hp_me == 1 ? places : NULL, MPI_INT,
                      1, hp_talk));
    CHECK(hp_me != 1 || out[size - 1] == 100 * (size - 1) + 1, "MPI_Gatherv_c: %d", out[size - 1]);
    CHECK_MPI(reduce_scatter(in, out, ones, MPI_INT, MPI_MAX, hp_talk));
    CHECK_EQUAL(out[0], 100 * (size - 1) + hp_me, "MPI_Reduce_scatter_c");
    CHECK_MPI(exchange(in, 2, MPI_INT, (hp_me + 1) % size, TAG, (hp_me + size - 1) % size, TAG, hp_talk,
                       MPI_STATUS_IGNORE));
    CHECK_EQUAL(in[1], 100 * ((hp_me + size - 1) % size) + 1, "MPI_Sendrecv_replace_c");
    large_topologies();
}

void hp_group_large(void)
{
    if (dlsym(RTLD_DEFAULT, "MPI_Allgatherv_c"))
        large();
    else
        hp_group_skip("neither the MPI nor the library is there to have them");
}
