/* communicators: the three collectives on every kind of communicator.
 *
 * usage: communicators [--thread-multiple] [--way WORD] GROUP... ; the groups are in the table below. Each is collective over MPI_COMM_WORLD.
 */
#include "checked.h"
#include "groups.h"
#include "host_bugs.h"

static uint64_t next_salt(void)
{
    static uint64_t salt = 1u << 20;
    return hp_mix(salt++);
}

/* A commutative and a non-commutative operation, one segment with all roots and many with one. Collective over comm. */
static void exercise(MPI_Comm comm, uint64_t salt)
{
    const int counts[] = {1, 17, 1000};
    hp_typemap_t *integer = hp_typemap_create_basic(HP_BASIC_INT64);
    hp_typemap_t *matrix = hp_typemap_create_basic(HP_BASIC_MATRIX);

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        hp_check_all(&(hp_case_t){.comm = comm,
                                  .map = integer,
                                  .count = counts[i],
                                  .root = -1,
                                  .operation = HP_OPERATION_SUM,
                                  .salt = hp_hash(salt, i, 0)});
        hp_check_all(&(hp_case_t){.comm = comm,
                                  .map = matrix,
                                  .count = counts[i],
                                  .root = -1,
                                  .operation = HP_OPERATION_USER_PRODUCT,
                                  .salt = hp_hash(salt, i, 1)});
    }
    hp_typemap_free(integer);
    hp_typemap_free(matrix);
}

static void exercise_and_free(MPI_Comm comm, uint64_t salt)
{
    if (comm == MPI_COMM_NULL)
        return;
    exercise(comm, salt);
    CHECK_MPI(MPI_Comm_free(&comm));
}

static int world_rank(void)
{
    return hp_comm_rank(MPI_COMM_WORLD);
}

static int world_size(void)
{
    return hp_comm_size(MPI_COMM_WORLD);
}

/* MPI_COMM_SELF and other communicators of one rank. */
static void group_self(void)
{
    MPI_Comm alone;
    exercise(MPI_COMM_SELF, next_salt());
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, world_rank(), 0, &alone));
    exercise_and_free(alone, next_salt());
}

static void group_split(void)
{
    MPI_Comm comm;
    exercise(MPI_COMM_WORLD, next_salt());
    for (int parts = 1; parts <= 3; parts++) {
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, world_rank() % parts, world_rank(), &comm));
        exercise_and_free(comm, next_salt());
    }
    CHECK_MPI(
        MPI_Comm_split(MPI_COMM_WORLD, world_rank() == 0 && world_size() > 1 ? MPI_UNDEFINED : 0, 0, &comm));
    exercise_and_free(comm, next_salt());
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    exercise_and_free(comm, next_salt());
}

/* Ranks in another order than on the machine: reversed, shuffled, a subset out of order, Cartesian. */
static void group_reordered(void)
{
    int size = world_size(), rank = world_rank(), dimensions[] = {0, 0}, periods[] = {0, 1};
    MPI_Comm comm;

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm));
    exercise_and_free(comm, next_salt());
    for (uint64_t shuffle = 0; shuffle < 4; shuffle++) {
        CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(hp_hash(shuffle, (uint64_t)rank, 0) >> 40), &comm));
        exercise_and_free(comm, next_salt());
    }
    CHECK_MPI(MPI_Dims_create(size, 2, dimensions));
    CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 1, &comm));
    exercise_and_free(comm, next_salt());

    uint64_t salt = next_salt();
    if (rank % 2 == 0) { /* collective over the group only: the others do not take part */
        MPI_Group world, evens;
        int ranks[64], count = 0;
        CHECK(size <= 128, "room for 64 even ranks");
        for (int even = (size - 1) / 2 * 2; even >= 0; even -= 2)
            ranks[count++] = even;
        CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
        CHECK_MPI(MPI_Group_incl(world, count, ranks, &evens));
        CHECK_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 7, &comm));
        exercise_and_free(comm, salt);
        CHECK_MPI(MPI_Group_free(&evens));
        CHECK_MPI(MPI_Group_free(&world));
    }
}

/* An intercommunicator between the first ranks and the others. */
static MPI_Comm create_intercomm(int first, MPI_Comm *half)
{
    bool low = world_rank() < first;
    MPI_Comm inter;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, !low, world_rank(), half));
    CHECK_MPI(MPI_Intercomm_create(*half, 0, MPI_COMM_WORLD, low ? first : 0, 99, &inter));
    return inter;
}

/* Merged in both orders: the leaders' ranks do not grow with the nodes' (ompi #14197). */
static void group_merge(void)
{
    if (world_size() == 1) {
        hp_group_skip("needs 2 ranks");
        return;
    }
    for (int first = 1; first < world_size(); first++)
        for (int high = 0; high < 2; high++) {
            MPI_Comm half, merged, inter = create_intercomm(first, &half);
            CHECK_MPI(MPI_Intercomm_merge(inter, (world_rank() < first) == high, &merged));
            exercise_and_free(merged, next_salt());
            CHECK_MPI(MPI_Comm_free(&inter));
            exercise_and_free(half, next_salt());
        }
}

static void bcast_between(MPI_Comm inter, bool from_here, int root, int count)
{
    int64_t *data = calloc((size_t)count, sizeof *data);
    int rank = hp_comm_rank(inter);
    bool is_root = from_here && rank == root;
    CHECK(data, "out of memory");
    for (int i = 0; i < count; i++)
        data[i] = is_root ? i + 5 : -1;
    CHECK_MPI(
        MPI_Bcast(data, count, MPI_INT64_T, from_here ? (is_root ? MPI_ROOT : MPI_PROC_NULL) : root, inter));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(data[i], from_here && !is_root ? -1 : i + 5, "Bcast between groups");
    free(data);
}

static void reduce_between(MPI_Comm inter, bool to_here, int root, int count, int remote_size)
{
    int64_t *send = calloc((size_t)count, sizeof *send), *receive = calloc((size_t)count, sizeof *receive);
    int rank = hp_comm_rank(inter);
    bool is_root = to_here && rank == root;
    CHECK(send && receive, "out of memory");
    for (int i = 0; i < count; i++)
        send[i] = rank + 1 + i;
    CHECK_MPI(MPI_Reduce(send, receive, count, MPI_INT64_T, MPI_SUM,
                         to_here ? (is_root ? MPI_ROOT : MPI_PROC_NULL) : root, inter));
    for (int i = 0; i < count && is_root; i++)
        CHECK_EQUAL(receive[i], (int64_t)remote_size * (remote_size + 1) / 2 + (int64_t)remote_size * i,
                    "Reduce between groups");
    CHECK_MPI(MPI_Allreduce(send, receive, count, MPI_INT64_T, MPI_SUM, inter));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(receive[i], (int64_t)remote_size * (remote_size + 1) / 2 + (int64_t)remote_size * i,
                    "Allreduce between groups");
    free(send);
    free(receive);
}

/* The same with a call that does not block, and a barrier of both groups in flight beside it. */
static void ibcast_between(MPI_Comm inter, bool from_here)
{
    bool is_root = from_here && hp_comm_rank(inter) == 0;
    int value = is_root ? 17 : -1;
    MPI_Request requests[2];

    CHECK_MPI(MPI_Ibcast(&value, 1, MPI_INT, from_here ? (is_root ? MPI_ROOT : MPI_PROC_NULL) : 0, inter,
                         &requests[0]));
    CHECK_MPI(MPI_Ibarrier(inter, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(value, from_here && !is_root ? -1 : 17, "Ibcast between groups");
}

/* Intercommunicators are recognised and passed through. */
static void group_inter(void)
{
    const int counts[] = {1, 1000};
    if (world_size() == 1) {
        hp_group_skip("needs 2 ranks");
        return;
    }
    MPI_Comm half, inter = create_intercomm((world_size() + 1) / 2, &half);
    int remote_size;
    CHECK_MPI(MPI_Comm_remote_size(inter, &remote_size));
    hanpmpi_collective_stats_t before[] = {hp_lib_stats("bcast"), hp_lib_stats("reduce"),
                                           hp_lib_stats("allreduce")};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int low = 0; low < 2; low++) {
            bool here = (world_rank() < (world_size() + 1) / 2) == low;
            bcast_between(inter, here, 0, counts[i]);
            reduce_between(inter, here, 0, counts[i], remote_size);
        }
    hanpmpi_collective_stats_t after[] = {hp_lib_stats("bcast"), hp_lib_stats("reduce"),
                                          hp_lib_stats("allreduce")};
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(after[i].taken, before[i].taken, "calls taken on an intercommunicator");
        CHECK_EQUAL(after[i].calls - before[i].calls, hp_lib_loaded() ? 4 : 0,
                    "calls on an intercommunicator");
    }
    uint64_t taken = hp_lib_stats("bcast").taken + hp_lib_stats("barrier").taken;
    for (int low = 0; low < 2; low++)
        ibcast_between(inter, (world_rank() < (world_size() + 1) / 2) == low);
    CHECK_EQUAL(hp_lib_stats("bcast").taken + hp_lib_stats("barrier").taken, taken,
                "calls taken on an intercommunicator");
    CHECK_MPI(MPI_Comm_free(&inter));
    CHECK_MPI(MPI_Comm_free(&half));
}

/* Setting a communicator up must not run through the wrappers: one call of the program counts once. */
static void group_recursion(void)
{
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    hanpmpi_collective_stats_t before = hp_lib_stats("allreduce");
    uint64_t others = hp_lib_stats("bcast").calls + hp_lib_stats("reduce").calls;
    for (int call = 1; call <= 10; call++) {
        int one = 1, sum = 0;
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQUAL(sum, world_size(), "sum of ones");
        CHECK_EQUAL(hp_lib_stats("allreduce").calls - before.calls, hp_lib_loaded() ? call : 0,
                    "Allreduce calls");
        CHECK_EQUAL(hp_lib_stats("bcast").calls + hp_lib_stats("reduce").calls, others,
                    "calls of the others");
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* A private duplicate is made inside a blocking collective of the library's, and nowhere else: not when a
 * communicator is created, and not in a call that must not wait for others. */
static void group_lazy(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int value = world_rank(), sum = 0;
    uint64_t before = hp_lib_resources().duplicates;

    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Scan(&value, &sum, 0, MPI_INT, MPI_SUM, comm)); /* nothing to do */
    CHECK_EQUAL(hp_lib_resources().duplicates, before, "private duplicates before the first collective");
    CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    if (hp_lib_forced("bcast") && world_size() > 1)
        CHECK_EQUAL(hp_lib_resources().duplicates, before + 1, "private duplicates after it");
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_EQUAL(hp_lib_resources().duplicates, before, "private duplicates after MPI_Comm_free");
}

/* Rank 0: Ibcast, then Send. Rank 1: Recv, then Ibcast. The Send may not wait for the broadcast. On a
 * communicator that the library has never seen, and on one that it has set up. */
static void group_ibcast(void)
{
    if (world_size() == 1) {
        hp_group_skip("needs 2 ranks");
        return;
    }
    enum {
        BYTES = 1 << 20,
        DATA_BYTES = 1 << 17
    }; /* neither is sent eagerly; data: 2048 segments of 64 bytes */
    unsigned char *data = malloc(DATA_BYTES), *message = malloc(BYTES);
    MPI_Comm comm;
    MPI_Request request;
    CHECK(data && message, "out of memory");
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int round = 0; round < 6; round++) {
        memset(data, world_rank() == 0 ? round + 1 : 0, DATA_BYTES);
        memset(message, world_rank() == 0 ? round + 2 : 0, BYTES);
        if (world_rank() == 1)
            CHECK_MPI(MPI_Recv(message, BYTES, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Ibcast(data, DATA_BYTES, MPI_BYTE, 0, comm, &request));
        if (world_rank() == 0)
            CHECK_MPI(MPI_Send(message, BYTES, MPI_BYTE, 1, 3, comm));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQUAL(data[DATA_BYTES - 1], round + 1, "broadcast byte");
        if (world_rank() <= 1)
            CHECK_EQUAL(message[BYTES - 1], round + 2, "message byte");
        exercise(comm, next_salt());
    }
    CHECK_MPI(MPI_Comm_free(&comm));
    free(data);
    free(message);
}

/* Rank 0 sends a message that needs its help to arrive, enters a collective, and only then waits for the
 * message; rank 1 receives it first. Whoever waits in a collective must let the host MPI go on. */
static void group_isend(void)
{
    enum { BYTES = 4 << 20 };
    unsigned char *message = malloc(BYTES);
    int value = 0;
    MPI_Request request;

    if (world_size() == 1) {
        free(message);
        hp_group_skip("needs 2 ranks");
        return;
    }
    CHECK(message, "out of memory");
    for (int round = 0; round < 20; round++) {
        memset(message, world_rank() == 0 ? round + 1 : 0, BYTES);
        if (world_rank() == 0)
            CHECK_MPI(MPI_Isend(message, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request));
        if (world_rank() == 1)
            CHECK_MPI(MPI_Recv(message, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (round % 3 == 0) {
            CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        } else if (round % 3 == 1) {
            value = world_rank() == 1 ? round : -1;
            CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD)); /* from the one that comes late */
            CHECK_EQUAL(value, round, "Bcast");
        } else {
            CHECK_MPI(MPI_Allreduce(&round, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            CHECK_EQUAL(value, round * world_size(), "Allreduce");
        }
        if (world_rank() == 0)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (world_rank() == 1)
            CHECK(message[0] == round + 1 && message[BYTES - 1] == round + 1, "message of round %d", round);
    }
    free(message);
}

/* Several communicators at a time, used in turns and freed in another order than they came. */
static void group_many(void)
{
    enum { COUNT = 10 };
    MPI_Comm comms[COUNT];
    for (int i = 0; i < COUNT; i++)
        CHECK_MPI(MPI_Comm_split(i % 3 ? comms[i / 2] : MPI_COMM_WORLD, 0,
                                 i % 2 ? -world_rank() : world_rank(), &comms[i]));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < COUNT; i++)
            exercise(comms[(i * 7 + round) % COUNT], next_salt());
    for (int i = 0; i < COUNT; i++)
        CHECK_MPI(MPI_Comm_free(&comms[(i * 3 + 1) % COUNT]));
}

static const hp_group_t groups[] = {
    {"self", group_self},   {"split", group_split},   {"reordered", group_reordered},
    {"merge", group_merge}, {"inter", group_inter},   {"recursion", group_recursion},
    {"lazy", group_lazy},   {"ibcast", group_ibcast}, {"many", group_many},
    {"isend", group_isend},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    if (!hp_check_way(&argc, argv)) {
        CHECK_MPI(MPI_Finalize());
        return HP_SKIP;
    }
    hp_basics_init();
    hp_operations_init();
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    hp_operations_fini();
    hp_basics_fini();
    CHECK_MPI(MPI_Finalize());
    return code;
}
