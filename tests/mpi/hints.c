/* hints: info keys switch the library off, or choose algorithm and segment size, for one communicator.
 *
 * usage: hints [--thread-multiple] GROUP... ; the groups are in the table below. Without the library all of it must still run. */
#include "groups.h"
#include "between_nodes.h" /* generated */

enum { LONG_COUNT = 50000 };

/* One call of each collective, checked; count integers. */
static void collectives(MPI_Comm comm, int count)
{
    int size = hp_comm_size(comm), rank = hp_comm_rank(comm);
    int *send = malloc(sizeof *send * (size_t)count), *receive = malloc(sizeof *receive * (size_t)count);
    CHECK(send && receive, "out of memory");
    for (int i = 0; i < count; i++)
        send[i] = rank == size - 1 ? i : -1;
    CHECK_MPI(MPI_Bcast(send, count, MPI_INT, size - 1, comm));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(send[i], i, "Bcast");
    CHECK_MPI(MPI_Reduce(send, receive, count, MPI_INT, MPI_SUM, 0, comm));
    for (int i = 0; i < count && rank == 0; i++)
        CHECK_EQUAL(receive[i], i * size, "Reduce");
    CHECK_MPI(MPI_Allreduce(send, receive, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(receive[i], i * size, "Allreduce");
    free(send);
    free(receive);
}

static uint64_t taken(const char *collective)
{
    return hp_lib_stats(collective).taken;
}

/* Calls the three; bcast, reduce, allreduce: whether the library must take them (-1: either way). */
static void expect(MPI_Comm comm, int count, int bcast, int reduce, int allreduce, const char *what)
{
    const char *const names[] = {"bcast", "reduce", "allreduce"};
    const int expected[] = {bcast, reduce, allreduce};
    uint64_t before[3];
    bool matters = hp_lib_loaded() && hp_comm_size(comm) > 1;

    for (int i = 0; i < 3; i++)
        before[i] = taken(names[i]);
    collectives(comm, count);
    for (int i = 0; i < 3; i++)
        if (matters && expected[i] >= 0)
            CHECK(taken(names[i]) - before[i] == (uint64_t)expected[i], "%s: %s was %s", what, names[i],
                  expected[i] ? "passed through" : "taken");
}

static void set(MPI_Comm comm, const char *const *keys_and_values)
{
    MPI_Info info = hp_info_create(keys_and_values);
    CHECK_MPI(MPI_Comm_set_info(comm, info));
    CHECK_MPI(MPI_Info_free(&info));
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FORCED    HANPMPI_HINT_BCAST, "han", HANPMPI_HINT_REDUCE, "han", HANPMPI_HINT_ALLREDUCE, "han"

/* Off from the start, then on, off and on again. */
static void group_switch(void)
{
    MPI_Comm comm = hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(FORCED, HANPMPI_HINT_ENABLE, "off"));
    for (int i = 0; i < 6; i++)
        expect(comm, 10, 0, 0, 0, "hanpmpi=off");
    for (int round = 0; round < 3; round++) {
        set(comm, KEYS(HANPMPI_HINT_ENABLE, "on"));
        for (int i = 0; i < 6; i++)
            expect(comm, 10, 1, 1, 1, "hanpmpi=on, algorithms forced");
        set(comm, KEYS(HANPMPI_HINT_ENABLE, "off"));
        for (int i = 0; i < 6; i++)
            expect(comm, 10, 0, 0, 0, "hanpmpi=off after on");
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Each collective by itself; every algorithm that there is. */
static void group_algorithms(void)
{
    MPI_Comm comm = hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(FORCED));
    expect(comm, 10, 1, 1, 1, "forced by MPI_Comm_dup_with_info");
    set(comm, KEYS(HANPMPI_HINT_BCAST, "native"));
    expect(comm, 10, 0, 1, 1, "hanpmpi_bcast=native");
    set(comm, KEYS(HANPMPI_HINT_REDUCE, "native"));
    expect(comm, 10, 0, 0, 1, "hanpmpi_reduce=native");
    set(comm, KEYS(HANPMPI_HINT_ALLREDUCE, "native"));
    expect(comm, 10, 0, 0, 0, "hanpmpi_allreduce=native");
    set(comm, KEYS(HANPMPI_HINT_ALLREDUCE, "flags"));
    expect(comm, 10, 0, 0, 1, "hanpmpi_allreduce=flags");
    set(comm, KEYS(HANPMPI_HINT_ALLREDUCE, "han", HANPMPI_HINT_BETWEEN_NODES, "recursive_doubling"));
    expect(comm, 10, 0, 0, 1, "hanpmpi_between_nodes=recursive_doubling");
    set(comm, KEYS(HANPMPI_HINT_BCAST, "auto", HANPMPI_HINT_REDUCE, "auto", HANPMPI_HINT_ALLREDUCE, "auto"));
    expect(comm, 10, -1, -1, -1, "auto");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Segment sizes and shapes change how, never what. */
static void group_segments(void)
{
    const char *const sizes[] = {"64", "1000", "4K", "32K", "1M"};
    const char *const shapes[] = {"node:chain core:linear", "node:binary package:chain core:binomial",
                                  "core:knomial4"};
    MPI_Comm comm = hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(FORCED));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        set(comm, KEYS(HANPMPI_HINT_SEGMENT_BYTES, sizes[i], HANPMPI_HINT_SHAPES, shapes[i % 3]));
        expect(comm, 10, 1, 1, 1, sizes[i]);
        expect(comm, LONG_COUNT, 1, 1, 1, sizes[i]);
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

static void expect_barrier(MPI_Comm comm, int expected, const char *what)
{
    const uint64_t before = taken("barrier");
    CHECK_MPI(MPI_Barrier(comm));
    if (hp_lib_loaded() && hp_comm_size(comm) > 1)
        CHECK(taken("barrier") - before == (uint64_t)expected, "%s: a barrier was %s", what,
              expected ? "passed through" : "taken");
}

/* Every module, on every level that it is for, with several leaders: how, never what. */
static void group_modules(void)
{
    const char *const modules[] = {"core:shm package:shm",         "core:single_copy package:single_copy",
                                   "core:native node:native",      "core:p2p",
                                   "package:shm core:single_copy", "node:p2p"};
    const char *const leaders[] = {"1", "2", "16", "0"};
    MPI_Comm comm =
        hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(HANPMPI_HINT_BCAST, "han", HANPMPI_HINT_REDUCE, "han",
                                                HANPMPI_HINT_ALLREDUCE, "han", HANPMPI_HINT_BARRIER, "han"));
    for (size_t i = 0; i < 12; i++) {
        const char *module = modules[i % (sizeof modules / sizeof *modules)];
        set(comm, KEYS(HANPMPI_HINT_MODULES, module, HANPMPI_HINT_LEADERS, leaders[i % 4]));
        expect(comm, 10, 1, 1, 1, module);
        expect(comm, LONG_COUNT, 1, 1, 1, module);
        expect_barrier(comm, 1, module);
    }
    set(comm, KEYS(HANPMPI_HINT_BARRIER, "native"));
    expect_barrier(comm, 0, "hanpmpi_barrier=native");
    set(comm, KEYS(HANPMPI_HINT_BARRIER, "flags"));
    expect_barrier(comm, 1, "hanpmpi_barrier=flags");
    set(comm, KEYS(HANPMPI_HINT_MODULES, "node:shm", HANPMPI_HINT_LEADERS, "17"));
    expect(comm, LONG_COUNT, 1, 1, 1, "hanpmpi_modules=node:shm, hanpmpi_leaders=17 are ignored");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Everything else that says how: in pieces, over one link or several, however joined. */
static void group_settings(void)
{
    static const char *const sizes[] = {"0", "64", "100", "1000", "4K", "1M"};
    static const char *const few[] = {"1", "2", "3", "0"};
#define NAME(name, ...) #name,
    static const char *const joins[] = {"tree", BETWEEN_NODES_TABLE(NAME) "auto"};
#undef NAME
    enum { JOINS = sizeof joins / sizeof *joins };
    MPI_Comm comm = hp_comm_dup_hinted(
        MPI_COMM_WORLD, KEYS(HANPMPI_HINT_BCAST, "han", HANPMPI_HINT_REDUCE, "han", HANPMPI_HINT_ALLREDUCE,
                             "han", HANPMPI_HINT_BARRIER, "han", HANPMPI_HINT_GUARD, "0"));
    for (size_t i = 0; i < 4 * JOINS; i++) {
        set(comm, KEYS(HANPMPI_HINT_BETWEEN_NODES, joins[i % JOINS], HANPMPI_HINT_TREES, few[i % 4],
                       HANPMPI_HINT_SEGMENT_BYTES, "4000", HANPMPI_HINT_IB_SEGMENT_BYTES, sizes[i % 5],
                       HANPMPI_HINT_IR_SEGMENT_BYTES, sizes[(i / 2) % 6], HANPMPI_HINT_SENDS_PER_CHILD,
                       few[i % 3], HANPMPI_HINT_RECVS_PER_PARENT, few[i / 2 % 3],
                       HANPMPI_HINT_WINDOW_SEGMENTS, few[i / 4 % 4]));
        expect(comm, 10, 1, 1, 1, joins[i % JOINS]);
        expect(comm, LONG_COUNT, 1, 1, 1, joins[i % JOINS]);
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Values that are not accepted, and keys of other libraries: ignored, with a warning for ours. */
static void group_bad(void)
{
    MPI_Comm comm = hp_comm_dup_hinted(
        MPI_COMM_WORLD, KEYS(FORCED, HANPMPI_HINT_ENABLE, "perhaps", "romio_cb_write", "enable"));
    expect(comm, 10, 1, 1, 1, "hanpmpi=perhaps is ignored");
    set(comm, KEYS(HANPMPI_HINT_BCAST, "fastest"));
    expect(comm, 10, 1, 1, 1, "hanpmpi_bcast=fastest is ignored");
    set(comm, KEYS(HANPMPI_HINT_SEGMENT_BYTES, "-5"));
    expect(comm, LONG_COUNT, 1, 1, 1, "hanpmpi_segment_bytes=-5 is ignored");
    set(comm, KEYS(HANPMPI_HINT_SHAPES, "node:square"));
    expect(comm, 10, 1, 1, 1, "hanpmpi_shapes=node:square is ignored");
    set(comm,
        KEYS(HANPMPI_HINT_REDUCE, "?", HANPMPI_HINT_ALLREDUCE, "?", HANPMPI_HINT_BARRIER, "?",
             HANPMPI_HINT_MODULES, "?", HANPMPI_HINT_BETWEEN_NODES, "?", HANPMPI_HINT_TREES, "17",
             HANPMPI_HINT_LEADERS, "17", HANPMPI_HINT_IB_SEGMENT_BYTES, "-6", HANPMPI_HINT_IR_SEGMENT_BYTES,
             "-7", HANPMPI_HINT_SENDS_PER_CHILD, "-1", HANPMPI_HINT_RECVS_PER_PARENT, "-1",
             HANPMPI_HINT_WINDOW_SEGMENTS, "-1", HANPMPI_HINT_GUARD, "2", HANPMPI_HINT_ARRIVAL, "3"));
    expect(comm, LONG_COUNT, 1, 1, 1, "bad values of all other keys are ignored");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Ranks with unlike hints: those of rank 0 hold. */
static void group_rank0(void)
{
    int rank = hp_comm_rank(MPI_COMM_WORLD);
    MPI_Comm comm =
        hp_comm_dup_hinted(MPI_COMM_WORLD, rank == 0 ? KEYS(HANPMPI_HINT_ENABLE, "off") : KEYS(FORCED));
    for (int i = 0; i < 6; i++)
        expect(comm, 10, 0, 0, 0, "rank 0 has switched the library off");
    CHECK_MPI(MPI_Comm_free(&comm));
    comm = hp_comm_dup_hinted(
        MPI_COMM_WORLD, rank == 0 ? KEYS(FORCED, HANPMPI_HINT_SEGMENT_BYTES, "64")
                                  : KEYS(HANPMPI_HINT_ENABLE, "off", HANPMPI_HINT_SEGMENT_BYTES, "1000"));
    for (int i = 0; i < 6; i++)
        expect(comm, 1000, 1, 1, 1, "rank 0 forces");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* No hints at all, and MPI_INFO_NULL. */
static void group_none(void)
{
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm));
    expect(comm, 10, -1, -1, -1, "MPI_INFO_NULL");
    set(comm, KEYS("some_key", "some value"));
    expect(comm, 10, -1, -1, -1, "keys of others");
    CHECK_MPI(MPI_Comm_free(&comm));
}

static const hp_group_t groups[] = {
    {"switch", group_switch},   {"algorithms", group_algorithms}, {"segments", group_segments},
    {"bad", group_bad},         {"rank0", group_rank0},           {"none", group_none},
    {"modules", group_modules}, {"settings", group_settings},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
