/* slack: a program that knows how long it does not touch what its calls have given it, and what it hands over.
 * profile.py compares that with what a recording says (HANPMPI_PROFILE_WATCH).
 *
 * Between two calls a rank computes for COMPUTE_S, and touches the buffers at both ends of that (no slack), in the middle
 * (half of it after the call, half before the next), or not at all; of 8 bytes and of many. The last rank comes late to
 * the calls at the end. For each line with a call it writes to NAME.RANK: calls, and the mean seconds after it and before
 * it, or in it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 30, LARGE = 1 << 15 };
static const double COMPUTE_S = 3e-3, LATE_S = 5e-3;

static int rank, size;
static FILE *file;
static double after, before; /* sums, of the calls of a line */
static double left, touched; /* the end of the call, and of the last touch */
static volatile double *send, *recv;

static void compute(double seconds)
{
    const double begin = MPI_Wtime();
    while (MPI_Wtime() < begin + seconds)
        ;
}

/* Both ends of both buffers, of so many elements. */
static void touch(int count)
{
    const double now = MPI_Wtime();

    if (touched < left)
        after += now - left;
    for (int i = 0; i<count; i += count> 1 ? count - 1 : 1) {
        send[i] += 1;
        recv[i] += 1;
    }
    touched = MPI_Wtime();
}

/* The end of the time between two calls. */
static void end_gap(int call)
{
    const double now = MPI_Wtime();

    if (touched < left && call > 0)
        after += now - left;
    if (call > 0)
        before += now - (touched < left ? left : touched);
}

static void begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    after = before = 0;
    left = touched = MPI_Wtime();
}

static void end(int line, int calls)
{
    fprintf(file, "%d %d %.9f %.9f\n", line, calls, after / calls, before / calls);
}

#define RUN(count, compute_first, touches, compute_then)                                                     \
    do {                                                                                                     \
        begin();                                                                                             \
        for (int call = 0; call <= CALLS; call++) {                                                          \
            end_gap(call);                                                                                   \
            MPI_Allreduce((const void *)send, (void *)recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);     \
            left = MPI_Wtime();                                                                              \
            if (call == CALLS)                                                                               \
                break;                                                                                       \
            compute(compute_first);                                                                          \
            touches;                                                                                         \
            compute(compute_then);                                                                           \
        }                                                                                                    \
        end(__LINE__, CALLS);                                                                                \
    } while (0)

static void between_touches(int count)
{
    touch(count);
    compute(COMPUTE_S);
    touch(count);
}

int main(int argc, char **argv)
{
    char path[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s.%d", argc > 1 ? argv[1] : "slack", rank);
    file = fopen(path, "w");
    send = calloc(LARGE, sizeof *send);
    recv = calloc(LARGE, sizeof *recv);
    if (!file || !send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);

    RUN(LARGE, 0, between_touches(LARGE), 0);
    RUN(LARGE, COMPUTE_S / 2, touch(LARGE), COMPUTE_S / 2);
    RUN(LARGE, COMPUTE_S / 2, (void)0, COMPUTE_S / 2);
    RUN(1, 0, between_touches(1), 0);
    RUN(1, COMPUTE_S / 2, touch(1), COMPUTE_S / 2);
    RUN(1, COMPUTE_S / 2, (void)0, COMPUTE_S / 2);

    begin();
    for (int call = 0; call < CALLS; call++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double entered = MPI_Wtime();
        if (rank == size - 1)
            compute(LATE_S);
        const double called = MPI_Wtime();
        MPI_Allreduce((const void *)send, (void *)recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        after += MPI_Wtime() - called;
        before += called - entered;
    }
    fprintf(file, "late %d %.9f %.9f\n", CALLS, after / CALLS, before / CALLS);
    fclose(file);
    free((void *)send);
    free((void *)recv);
    MPI_Finalize();
    return 0;
}
