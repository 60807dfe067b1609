/* probe: a small program that tells what the library did in it. bad_input.py runs it and reads its lines:
 *
 *   rank 0 backend openmpi bcast 5/5 reduce 5/5 allreduce 5/5 events -1
 *
 * taken/intercepted calls; events of profiler.c, -1 without it. The results of its five calls of each are
 * checked. */
#include <dlfcn.h>

#include "mpi_check.h"

enum { CALLS = 5, LINE_BYTES = 160, COUNT = 100 };

static int profiler_events(void)
{
    int (*events)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "hp_profiler_events");
    memcpy(&events, &symbol, sizeof events);
    return events ? events() : -1;
}

static void call_all(int rank, int size)
{
    int values[COUNT], sums[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = rank == size - 1 ? i : -1;
    CHECK_MPI(MPI_Bcast(values, COUNT, MPI_INT, size - 1, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(values[i], i, "Bcast");
    CHECK_MPI(MPI_Reduce(values, sums, COUNT, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT && rank == 0; i++)
        CHECK_EQUAL(sums[i], i * size, "Reduce");
    CHECK_MPI(MPI_Allreduce(values, sums, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(sums[i], i * size, "Allreduce");
}

int main(int argc, char **argv)
{
    char line[LINE_BYTES] = "", *lines;
    size_t used;

    CHECK_MPI(MPI_Init(&argc, &argv));
    int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);
    for (int i = 0; i < CALLS; i++)
        call_all(rank, size);

    used = (size_t)snprintf(line, sizeof line, "rank %d backend %s", rank,
                            hp_lib_loaded() ? hp_lib_backend() : "absent");
    const char *const names[] = {"bcast", "reduce", "allreduce"};
    for (int i = 0; i < 3; i++) {
        hanpmpi_collective_stats_t stats = hp_lib_stats(names[i]);
        used += (size_t)snprintf(line + used, sizeof line - used, " %s %" PRIu64 "/%" PRIu64, names[i],
                                 stats.taken, stats.calls);
    }
    snprintf(line + used, sizeof line - used, " events %d", profiler_events());
    lines = calloc((size_t)size, LINE_BYTES);
    CHECK(lines, "out of memory");
    CHECK_MPI(MPI_Gather(line, LINE_BYTES, MPI_CHAR, lines, LINE_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int i = 0; i < size && rank == 0; i++)
        printf("%s\n", lines + i * LINE_BYTES);
    free(lines);
    CHECK_MPI(MPI_Finalize());
    return 0;
}
