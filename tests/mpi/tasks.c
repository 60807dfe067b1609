/* tasks: hanpmpi_run_tasks: results are those of the collective, iterations as many as the pipeline's picture
 * has, and what cannot run is refused on all ranks together.
 *
 * usage: tasks [--thread-multiple] GROUP... ; the groups are in the table below. Without the library there is nothing to test. */
#include "groups.h"
#include "between_nodes.h" /* generated */
#include "tune/tasks/hanpmpi_tasks.h"

enum {
    SEGMENT_BYTES = 4096,
    SEGMENT_COUNT = SEGMENT_BYTES / sizeof(double),
    MOST = 9 * SEGMENT_COUNT + 17,
    ITERATIONS = 64
};

static const char *const names[] = {"bcast", "reduce", "allreduce"};
enum { BCAST, REDUCE, ALLREDUCE, COLLECTIVES };

static hanpmpi_run_tasks_fn_t run_tasks;

static bool found(void)
{
    run_tasks = hanpmpi_find_run_tasks();
    if (!run_tasks)
        hp_group_skip("the library is not loaded");
    return run_tasks != NULL;
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FORCED                                                                                               \
    HANPMPI_HINT_BCAST, "han", HANPMPI_HINT_REDUCE, "han", HANPMPI_HINT_ALLREDUCE, "han",                    \
        HANPMPI_HINT_GUARD, "0"

static void set(MPI_Comm comm, const char *const *keys_and_values)
{
    MPI_Info info = hp_info_create(keys_and_values);
    CHECK_MPI(MPI_Comm_set_info(comm, info));
    CHECK_MPI(MPI_Info_free(&info));
}

static double value(int rank, int i)
{
    return (double)(hp_hash((uint64_t)rank, (uint64_t)i, 0) % 1000);
}

typedef struct {
    double send[MOST], recv[MOST], expected[MOST], iteration_us[ITERATIONS];
} buffers_t;

/* The same from PMPI. */
static void expect(buffers_t *b, int collective, int count, MPI_Comm comm)
{
    memcpy(b->expected, b->send, sizeof b->expected);
    if (collective == BCAST)
        CHECK_MPI(PMPI_Bcast(b->expected, count, MPI_DOUBLE, 0, comm));
    else if (collective == REDUCE)
        CHECK_MPI(PMPI_Reduce(b->send, b->expected, count, MPI_DOUBLE, MPI_SUM, 0, comm));
    else
        CHECK_MPI(PMPI_Allreduce(b->send, b->expected, count, MPI_DOUBLE, MPI_SUM, comm));
}

static void check_one(MPI_Comm comm, MPI_Comm native, int collective, int count, const char *what)
{
    static buffers_t b;
    const int rank = hp_comm_rank(comm);
    const unsigned segments = (unsigned)(count + SEGMENT_COUNT - 1) / SEGMENT_COUNT;
    unsigned iterations = 0;
    double sum_us = 0;

    for (int i = 0; i < count; i++) {
        b.send[i] = value(rank, i);
        b.recv[i] = collective == BCAST ? b.send[i] : -1;
    }
    expect(&b, collective, count, native);
    const double start_s = MPI_Wtime();
    CHECK_EQUAL(run_tasks(&comm, names[collective], b.send, b.recv, (uint64_t)count, ITERATIONS,
                          b.iteration_us, &iterations),
                0, what);
    const double whole_us = (MPI_Wtime() - start_s) * 1e6;
    CHECK_EQUAL(iterations, segments + (collective == ALLREDUCE ? 3 : 1), names[collective]);
    for (unsigned k = 0; k < iterations; k++) {
        CHECK(b.iteration_us[k] >= 0, "%s: iteration %u took %f us", what, k, b.iteration_us[k]);
        sum_us += b.iteration_us[k];
    }
    CHECK(sum_us > 0 && sum_us <= whole_us + 100, "%s: iterations of %f us in a call of %f us", what, sum_us,
          whole_us);
    for (int i = 0; i < count; i++) {
        CHECK(b.send[i] == value(rank, i), "%s, %s: the contribution was written at %d", names[collective],
              what, i);
        if (collective != REDUCE || rank == 0)
            CHECK(b.recv[i] == b.expected[i], "%s, %s: element %d is %f, not %f", names[collective], what, i,
                  b.recv[i], b.expected[i]);
    }
}

/* A call of the program in between: both count the same steps and tags. */
static void check_call(MPI_Comm comm, const char *what)
{
    const int size = hp_comm_size(comm);
    static double send[MOST], recv[MOST];
    for (int i = 0; i < MOST; i++)
        send[i] = i;
    CHECK_MPI(MPI_Allreduce(send, recv, MOST, MPI_DOUBLE, MPI_SUM, comm));
    for (int i = 0; i < MOST; i++)
        CHECK(recv[i] == (double)i * size, "%s: a call between tasks: element %d", what, i);
}

static void check_all(MPI_Comm comm, MPI_Comm native, const char *what)
{
    static const int counts[] = {1, SEGMENT_COUNT, SEGMENT_COUNT + 1, 3 * SEGMENT_COUNT, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int collective = 0; collective < COLLECTIVES; collective++) {
            check_one(comm, native, collective, counts[i], what);
            if (i % 2)
                check_call(comm, what);
        }
}

static void group_results(void)
{
    static const char *const modules[] = {"p2p", "shm", "single_copy", "native"};
#define NAME(name, ...) #name,
    static const char *const joins[] = {"tree", BETWEEN_NODES_TABLE(NAME)};
#undef NAME
    static const char *const few[] = {"1", "2", "3"};

    if (!found() || hp_comm_size(MPI_COMM_WORLD) == 1)
        return;
    MPI_Comm native = hp_comm_dup_native(MPI_COMM_WORLD);
    MPI_Comm comm = hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(FORCED, HANPMPI_HINT_SEGMENT_BYTES, "4096"));
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++)
        for (size_t j = 0; j < sizeof joins / sizeof *joins; j++) {
            char levels[128], what[160];
            snprintf(levels, sizeof levels, "package:%s numa:%s l3:%s core:%s node:%s", modules[m],
                     modules[m], modules[m], modules[m], m == 3 && j == 0 ? "native" : "p2p");
            snprintf(what, sizeof what, "%s, %s", levels, joins[j]);
            set(comm, KEYS(HANPMPI_HINT_MODULES, levels, HANPMPI_HINT_BETWEEN_NODES, joins[j],
                           HANPMPI_HINT_TREES, few[(m + j) % 3], HANPMPI_HINT_LEADERS, few[j % 2]));
            check_all(comm, native, what);
        }
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Comm_free(&native));
}

static void refused(MPI_Comm comm, const char *collective, uint64_t count, unsigned iterations_max,
                    const char *what)
{
    static double send[MOST], recv[MOST], iteration_us[ITERATIONS];
    unsigned iterations;
    CHECK_EQUAL(run_tasks(&comm, collective, send, recv, count, iterations_max, iteration_us, &iterations),
                -1, what);
}

static void group_refused(void)
{
    if (!found())
        return;
    MPI_Comm comm = hp_comm_dup_hinted(MPI_COMM_WORLD, KEYS(FORCED, HANPMPI_HINT_SEGMENT_BYTES, "4096"));
    refused(comm, "barrier", 10, ITERATIONS, "no tasks");
    refused(comm, "scatter", 10, ITERATIONS, "no such collective");
    refused(comm, "bcast", 0, ITERATIONS, "no data");
    refused(comm, "bcast", MOST, 10, "one iteration too many");
    refused(comm, "allreduce", MOST, 12, "one iteration too many");
    check_call(comm, "after calls that were refused");
    if (hp_comm_size(comm) == 1)
        refused(comm, "bcast", 10, ITERATIONS, "one rank");
    set(comm, KEYS(HANPMPI_HINT_ALLREDUCE, "flags", HANPMPI_HINT_REDUCE, "native"));
    refused(comm, "allreduce", 10, ITERATIONS, "another algorithm");
    refused(comm, "reduce", 10, ITERATIONS, "left to the host MPI");
    set(comm, KEYS(HANPMPI_HINT_ENABLE, "off"));
    refused(comm, "bcast", 10, ITERATIONS, "switched off");
    CHECK_MPI(MPI_Comm_free(&comm));
}

static const hp_group_t groups[] = {{"results", group_results}, {"refused", group_refused}};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
