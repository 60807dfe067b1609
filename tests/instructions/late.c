/* late: what a collective of 8 bytes costs the rank that comes last, in instructions of the whole call, MPI and all.
 *
 * A rank that comes early waits, in as many instructions as the other one takes time. The one that comes last finds everything
 * there: its instructions do not depend on time, and MPIs can be compared by them. Both ranks run in callgrind, the one that is
 * counted sleeps before each call; the least of several calls counts. With and without the library:
 *
 *   mpirun -np 2 valgrind --tool=callgrind --instr-atstart=no --combine-dumps=yes build/tests/instructions/MPI/late
 *
 * Each call is dumped under RANK/NAME: grep -h -A4 Trigger callgrind.out.* shows their summaries. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { WARM_UPS = 100, CALLS = 8, LATE_US = 200000 };

static double in = 1, out;

static void bcast(void)
{
    MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void reduce(void)
{
    MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(void);
    int late; /* a rank that would wait, were it not late */
} cases[] = {
    {"bcast", bcast, 1}, {"reduce", reduce, 0}, {"allreduce", allreduce, 0}, {"barrier", barrier, 0}};

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CALLGRIND_START_INSTRUMENTATION;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int i = 0; i < WARM_UPS; i++)
            cases[c].call();
        for (int i = 0; i < CALLS; i++) {
            char name[32];
            snprintf(name, sizeof name, "%d/%s", rank, cases[c].name);
            if (rank == cases[c].late)
                usleep(LATE_US);
            if (rank == cases[c].late)
                CALLGRIND_ZERO_STATS;
            cases[c].call();
            if (rank == cases[c].late)
                CALLGRIND_DUMP_STATS_AT(name);
        }
    }
    MPI_Finalize();
    return 0;
}
