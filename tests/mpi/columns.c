/* columns: collectives of blocks whose datatype's elements lie within one another, as the columns of a matrix do, or run
 * backwards: an extent that is smaller than what an element spans. Distributed transposes and cuts of matrices are made so.
 *
 * usage: columns GROUP... ; the groups are in the table below. Each is collective over MPI_COMM_WORLD. */
#include <stdlib.h>
#include <string.h>
#include "groups.h"

enum { WIDTH = 2, ROUNDS = 5 }; /* columns of a block, which have so many rows */

typedef enum { BLOCKING, NONBLOCKING, PERSISTENT } way_t;
typedef enum { ALLTOALL, ALLTOALLV, ALLGATHER, ALLGATHERV, GATHER, GATHERV, SCATTER, SCATTERV } which_t;

typedef struct {
    void *buffer;
    int count; /* of each block */
    MPI_Datatype type;
} side_t;

static int rank, size;
/* Lists of equal blocks, one behind the other: of what is sent, and of what is received or the only ones. */
static int *sent, *from, *counts, *places;
static MPI_Datatype column, backwards, on_the_spot, one_number; /* the last: WIDTH * WIDTH times */
/* WIDTH rows of WIDTH columns a rank; and a block of them a rank, column by column. */
static double *matrix, *blocks;

static double value(int owner, int block, int element)
{
    return owner * 10000 + block * 100 + element;
}

static double *in_matrix(int block, int element)
{
    return &matrix[element % WIDTH * size * WIDTH + block * WIDTH + element / WIDTH];
}

static void list(int count, int *numbers, int *begins)
{
    for (int i = 0; i < size; i++) {
        numbers[i] = count;
        begins[i] = i * count;
    }
}

#if MPI_VERSION >= 4
#define MAKE(name, ...) CHECK_MPI(MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request))
#else
#define MAKE(name, ...) hp_group_skip("this MPI has no persistent collectives")
#endif
#define CALL(name, ...)                                                                                      \
    do {                                                                                                     \
        if (way == BLOCKING)                                                                                 \
            CHECK_MPI(MPI_##name(__VA_ARGS__, MPI_COMM_WORLD));                                              \
        else if (way == NONBLOCKING)                                                                         \
            CHECK_MPI(MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request));                                   \
        else                                                                                                 \
            MAKE(name, __VA_ARGS__);                                                                         \
    } while (0)
#define MPI_IAlltoall   MPI_Ialltoall
#define MPI_IAlltoallv  MPI_Ialltoallv
#define MPI_IAllgather  MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IGather     MPI_Igather
#define MPI_IGatherv    MPI_Igatherv
#define MPI_IScatter    MPI_Iscatter
#define MPI_IScatterv   MPI_Iscatterv

static void call(which_t which, way_t way, side_t s, side_t r, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;

    list(s.count, sent, from);
    list(which == SCATTERV ? s.count : r.count, counts, places);
    switch (which) {
    case ALLTOALL:
        CALL(Alltoall, s.buffer, s.count, s.type, r.buffer, r.count, r.type);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, s.buffer, sent, from, s.type, r.buffer, counts, places, r.type);
        break;
    case ALLGATHER:
        CALL(Allgather, s.buffer, s.count, s.type, r.buffer, r.count, r.type);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, s.buffer, s.count, s.type, r.buffer, counts, places, r.type);
        break;
    case GATHER:
        CALL(Gather, s.buffer, s.count, s.type, r.buffer, r.count, r.type, root);
        break;
    case GATHERV:
        CALL(Gatherv, s.buffer, s.count, s.type, r.buffer, counts, places, r.type, root);
        break;
    case SCATTER:
        CALL(Scatter, s.buffer, s.count, s.type, r.buffer, r.count, r.type, root);
        break;
    case SCATTERV:
        CALL(Scatterv, s.buffer, counts, places, s.type, r.buffer, r.count, r.type, root);
        break;
    }
    if (way == PERSISTENT && request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Start(&request));
    if (way != BLOCKING)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Request_free(&request));
}

static side_t columns(void)
{
    return (side_t){matrix, WIDTH, column};
}

static side_t plain(void)
{
    return (side_t){blocks, WIDTH * WIDTH, MPI_DOUBLE};
}

/* Block b of every rank is in the matrix; in `blocks` comes what they have for this one. */
static void from_matrix(which_t which, way_t way, int root)
{
    const bool scatters = which == SCATTER || which == SCATTERV;
    const int senders = scatters ? 1 : size;

    for (int b = 0; b < size; b++)
        for (int i = 0; i < WIDTH * WIDTH; i++)
            *in_matrix(b, i) = value(rank, b, i);
    memset(blocks, 0, sizeof(double) * WIDTH * WIDTH * (size_t)size);
    call(which, way, columns(), plain(), root);
    for (int b = 0; b < senders; b++)
        for (int i = 0; i < WIDTH * WIDTH; i++)
            CHECK_EQUAL((long)blocks[b * WIDTH * WIDTH + i], (long)value(scatters ? root : b, rank, i),
                        "sent as columns");
}

/* And the other way. */
static void to_matrix(which_t which, way_t way, int root)
{
    const bool all = which == ALLTOALL || which == ALLTOALLV;
    const bool receives = all || which == ALLGATHER || which == ALLGATHERV || rank == root;

    for (int b = 0; b < size; b++)
        for (int i = 0; i < WIDTH * WIDTH; i++)
            blocks[b * WIDTH * WIDTH + i] = value(rank, all ? b : 0, i);
    memset(matrix, 0, sizeof(double) * WIDTH * WIDTH * (size_t)size);
    call(which, way, plain(), columns(), root);
    for (int b = 0; b < size && receives; b++)
        for (int i = 0; i < WIDTH * WIDTH; i++)
            CHECK_EQUAL((long)*in_matrix(b, i), (long)value(b, all ? rank : 0, i), "received as columns");
}

static void in_place(way_t way)
{
    static const which_t whiches[] = {ALLTOALL, ALLGATHER};

    for (int k = 0; k < 2; k++) {
        for (int b = 0; b < size; b++)
            for (int i = 0; i < WIDTH * WIDTH; i++)
                *in_matrix(b, i) = value(rank, b, i);
        call(whiches[k], way, (side_t){MPI_IN_PLACE, 0, MPI_DATATYPE_NULL}, columns(), 0);
        for (int b = 0; b < size; b++)
            for (int i = 0; i < WIDTH * WIDTH; i++)
                CHECK_EQUAL((long)*in_matrix(b, i), (long)value(b, k ? b : rank, i), "columns in place");
    }
}

/* So many of the type's elements begin at the place `first`, each a step behind the one before. */
static void from_line(way_t way, int count, MPI_Datatype type, int first, int step)
{
    double mine[2 * WIDTH * WIDTH];

    for (int i = 0; i < 2 * WIDTH * WIDTH; i++)
        mine[i] = value(rank, 0, i);
    call(ALLGATHER, way, (side_t){&mine[first], count, type}, plain(), 0);
    for (int b = 0; b < size; b++)
        for (int i = 0; i < WIDTH * WIDTH; i++)
            CHECK_EQUAL((long)blocks[b * WIDTH * WIDTH + i], (long)value(b, 0, first + step * i),
                        "sent of a line");
}

static void run(way_t way)
{
    static const which_t out[] = {ALLTOALL, ALLTOALLV, SCATTER, SCATTERV};
    static const which_t in[] = {ALLTOALL, ALLTOALLV, ALLGATHER, ALLGATHERV, GATHER, GATHERV};

#if MPI_VERSION < 4
    if (way == PERSISTENT) {
        hp_group_skip("this MPI has no persistent collectives");
        return;
    }
#endif
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof out / sizeof *out; i++)
            from_matrix(out[i], way, round % size);
        for (size_t i = 0; i < sizeof in / sizeof *in; i++)
            to_matrix(in[i], way, round % size);
        in_place(way);
        from_line(way, WIDTH * WIDTH, backwards, 2 * WIDTH * WIDTH - 1, -2);
        from_line(way, WIDTH * WIDTH, on_the_spot, 1, 0);
        from_line(way, 1, one_number, 2, 0);
    }
}

static void group_blocking(void)
{
    run(BLOCKING);
}

static void group_nonblocking(void)
{
    run(NONBLOCKING);
}

static void group_persistent(void)
{
    run(PERSISTENT);
}

static const hp_group_t groups[] = {
    {"blocking", group_blocking},
    {"nonblocking", group_nonblocking},
    {"persistent", group_persistent},
};

int main(int argc, char **argv)
{
    MPI_Datatype strided;

    hp_mpi_init(&argc, &argv);
    rank = hp_comm_rank(MPI_COMM_WORLD);
    size = hp_comm_size(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Type_vector(WIDTH, 1, size * WIDTH, MPI_DOUBLE, &strided));
    CHECK_MPI(MPI_Type_create_resized(strided, 0, sizeof(double), &column));
    CHECK_MPI(MPI_Type_commit(&column));
    CHECK_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, -2 * (MPI_Aint)sizeof(double), &backwards));
    CHECK_MPI(MPI_Type_commit(&backwards));
    CHECK_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, 0, &on_the_spot));
    CHECK_MPI(MPI_Type_commit(&on_the_spot));
    CHECK_MPI(MPI_Type_vector(WIDTH * WIDTH, 1, 0, MPI_DOUBLE, &one_number));
    CHECK_MPI(MPI_Type_commit(&one_number));
    matrix = malloc(sizeof(double) * WIDTH * WIDTH * (size_t)size);
    blocks = malloc(sizeof(double) * WIDTH * WIDTH * (size_t)size);
    sent = malloc(4 * sizeof(int) * (size_t)size);
    CHECK(matrix && blocks && sent, "%d ranks: no memory", size);
    from = sent + size;
    counts = from + size;
    places = counts + size;
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    free(matrix);
    free(blocks);
    free(sent);
    CHECK_MPI(MPI_Type_free(&strided));
    CHECK_MPI(MPI_Type_free(&column));
    CHECK_MPI(MPI_Type_free(&backwards));
    CHECK_MPI(MPI_Type_free(&on_the_spot));
    CHECK_MPI(MPI_Type_free(&one_number));
    CHECK_MPI(MPI_Finalize());
    return code;
}
