/* slack: a program that knows how long it does not touch what its calls have given it, and what it hands over.
 * profile.py compares that with what a recording says (HANPMPI_PROFILE_WATCH).
 *
 * Between two calls a rank computes for COMPUTE_S, and touches the buffers at both ends of that (no slack), in the middle
 * (half of it after the call, half before the next), or not at all; of 8 bytes and of many. For each line with a call it
 * writes to NAME.RANK: calls, the fewest and the most seconds after one of them, and before one: a recording samples some
 * of the calls, so the mean of those lies in between. The last rank comes late to the calls at the end, which are few
 * enough that all of them are sampled: rank 0 writes calls, and what all ranks together waited in them and were in them. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 30, LARGE = 1 << 15 };
static const double COMPUTE_S = 3e-3, LATE_S = 5e-3;

static int rank, size;
static FILE *file;
typedef struct {
    double least, most; /* seconds */
} range_t;
static range_t after, before; /* of the calls of a line */
static double left, touched;  /* the end of the call, and of the last touch */
static volatile double *send, *recv;

static void compute(double seconds)
{
    const double begin = MPI_Wtime();
    while (MPI_Wtime() < begin + seconds)
        ;
}

static void add(range_t *range, double value)
{
    range->least = value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
}

/* Both ends of both buffers, of so many elements. */
static void touch(int count)
{
    const double now = MPI_Wtime();

    if (touched < left)
        add(&after, now - left);
    for (int i = 0; i<count; i += count> 1 ? count - 1 : 1) {
        send[i] += 1;
        recv[i] += 1;
    }
    touched = MPI_Wtime();
}

/* The end of the time between two calls. */
static void end_gap(void)
{
    const double now = MPI_Wtime();

    if (touched < left)
        add(&after, now - left);
    add(&before, now - (touched < left ? left : touched));
}

static void begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    after = before = (range_t){INFINITY, 0};
    touched = 0;
}

static void end(int line)
{
    fprintf(file, "%d %d %.9f %.9f %.9f %.9f\n", line, CALLS, after.least, after.most, before.least,
            before.most);
}

#define RUN(count, compute_first, touches, compute_then)                                                     \
    do {                                                                                                     \
        begin();                                                                                             \
        for (int call = 0; call <= CALLS; call++) {                                                          \
            if (call > 0)                                                                                    \
                end_gap();                                                                                   \
            MPI_Allreduce((const void *)send, (void *)recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);     \
            left = MPI_Wtime();                                                                              \
            if (call == CALLS)                                                                               \
                break;                                                                                       \
            compute(compute_first);                                                                          \
            touches;                                                                                         \
            compute(compute_then);                                                                           \
        }                                                                                                    \
        end(__LINE__);                                                                                       \
    } while (0)

static void between_touches(int count)
{
    touch(count);
    compute(COMPUTE_S);
    touch(count);
}

/* The clock is that of all processes of the node. */
static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What all ranks waited for the last of them to enter, of the times at which each entered and left. */
static void write_late(const double *times, int ranks)
{
    double waited = 0, whole = 0;

    for (int call = 0; call < CALLS; call++) {
        double last = 0;
        for (int i = 0; i < ranks; i++)
            last = fmax(last, times[(i * CALLS + call) * 2]);
        for (int i = 0; i < ranks; i++) {
            const double *own = &times[(i * CALLS + call) * 2];
            waited += fmax(0, fmin(last, own[1]) - own[0]);
            whole += own[1] - own[0];
        }
    }
    fprintf(file, "late %d %.9f %.9f\n", CALLS, waited, whole);
}

static void come_late(void)
{
    double own[2 * CALLS], *all = calloc((size_t)size * 2 * CALLS, sizeof *all);
    MPI_Comm comm; /* the first calls on a communicator are all sampled */

    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < CALLS; call++) {
        MPI_Barrier(comm);
        if (rank == size - 1)
            compute(LATE_S);
        own[2 * call] = clock_s();
        MPI_Allreduce((const void *)send, (void *)recv, 1, MPI_DOUBLE, MPI_SUM, comm);
        own[2 * call + 1] = clock_s();
    }
    MPI_Gather(own, 2 * CALLS, MPI_DOUBLE, all, 2 * CALLS, MPI_DOUBLE, 0, comm);
    if (rank == 0)
        write_late(all, size);
    MPI_Comm_free(&comm);
    free(all);
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

    come_late();
    fclose(file);
    free((void *)send);
    free((void *)recv);
    MPI_Finalize();
    return 0;
}
