/* kernels: what Pericherla and Vadhiyar (ICCS 2017) made non-blocking by hand, as small programs that know what they compute when:
 * a breadth-first search, K-means, a branch and bound with barriers, a quicksort that gathers; and an iteration that needs its
 * result at once. profile.py compares what hanpmpi_profile overlap expects of a recording with what was gained.
 *
 *   kernels NAME            the blocking forms, once each: for a recording
 *   kernels NAME measure    both forms of each in turns
 *
 * In each iteration a rank works, for a time that differs between ranks; takes part in the collective; goes on with what does
 * not need its result; and uses that. Rank 0 writes to NAME a line for each kernel: its name, the line of its blocking call, and,
 * where it measures, the seconds of both forms: medians of TURNS, of the slowest rank. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* COUNT: few enough for messages that are there without the MPI's being called. */
enum { ITERATIONS = 20, TURNS = 3, COUNT = 16, LARGE = 1 << 19 };
/* A short and a long share of the work, and what does not need the result. */
static const double SHORT_S = 2e-3, LONG_S = 6e-3, FREE_S = 4e-3;

static int rank, size;
static double *send, *recv;

/* A rank that sleeps takes as long beside other programs. */
static void compute(double seconds)
{
    const struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

/* The work goes from rank to rank: each has as much of it in the end. */
static void work_in_turns(int iteration)
{
    compute((iteration + rank) % 2 ? LONG_S : SHORT_S);
}

static void write_all(int count)
{
    for (int i = 0; i < count; i++)
        send[i] = rank + i;
}

static double sum_all(int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += recv[i];
    return sum;
}

/* A level: expands what is new; how much is new on all ranks; marks what was reached; is there another level? */
static int bfs(bool is_nonblocking)
{
    MPI_Request request;
    int line = 0;

    for (int level = 0, more = 1; more; level++) {
        work_in_turns(level);
        send[0] = level + 1 < ITERATIONS;
        if (is_nonblocking) {
            MPI_Iallreduce(send, recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        } else {
            line = __LINE__ + 1;
            MPI_Allreduce(send, recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        compute(FREE_S);
        if (is_nonblocking)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        more = recv[0] > 0;
    }
    return line;
}

/* An iteration: the sums of each cluster; what of the next distances the old centroids do for; the new centroids. */
static int kmeans(bool is_nonblocking)
{
    MPI_Request request;
    int line = 0;

    for (int i = 0; i < ITERATIONS; i++) {
        work_in_turns(i);
        write_all(COUNT);
        if (is_nonblocking) {
            MPI_Iallreduce(send, recv, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        } else {
            line = __LINE__ + 1;
            MPI_Allreduce(send, recv, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        compute(FREE_S);
        if (is_nonblocking)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (sum_all(COUNT) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return line;
}

/* A round: searches its part of the tree; a barrier; sorts the tours that it has found. */
static int tsp(bool is_nonblocking)
{
    MPI_Request request;
    int line = 0;

    for (int i = 0; i < ITERATIONS; i++) {
        work_in_turns(i);
        if (is_nonblocking) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
        } else {
            line = __LINE__ + 1;
            MPI_Barrier(MPI_COMM_WORLD);
        }
        compute(FREE_S);
        if (is_nonblocking)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return line;
}

/* A step: rank 0 sends the pivot; all sort, rank 0 the least; it gathers, makes the next input meanwhile, and merges. */
static int quicksort(bool is_nonblocking)
{
    MPI_Request request;
    double pivot = 0;
    int line = 0;

    for (int i = 0; i < ITERATIONS; i++) {
        MPI_Bcast(&pivot, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        compute(rank ? LONG_S : SHORT_S);
        write_all(COUNT);
        if (is_nonblocking) {
            MPI_Igather(send, COUNT, MPI_DOUBLE, recv, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
        } else {
            line = __LINE__ + 1;
            MPI_Gather(send, COUNT, MPI_DOUBLE, recv, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        if (rank == 0)
            compute(FREE_S);
        if (is_nonblocking)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0)
            pivot = sum_all(size * COUNT);
    }
    return line;
}

/* The result is needed at once: the same calls, and nothing to gain. */
static int needed(bool is_nonblocking)
{
    MPI_Request request;
    int line = 0;

    for (int i = 0; i < ITERATIONS; i++) {
        compute(SHORT_S);
        write_all(LARGE);
        if (is_nonblocking) {
            MPI_Iallreduce(send, recv, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            line = __LINE__ + 1;
            MPI_Allreduce(send, recv, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        if (sum_all(LARGE) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return line;
}

static const struct {
    const char *name;
    int (*run)(bool is_nonblocking); /* returns the line of the blocking call */
} kernels[] = {{"bfs", bfs}, {"kmeans", kmeans}, {"tsp", tsp}, {"quicksort", quicksort}, {"needed", needed}};

/* Seconds of the slowest rank. */
static double time_one(unsigned which, bool is_nonblocking, int *line)
{
    double seconds, slowest = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    *line = kernels[which].run(is_nonblocking);
    seconds = MPI_Wtime() - begin;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(FILE *file, unsigned which)
{
    double seconds[2][TURNS];
    int line = 0, none;

    for (int turn = 0; turn < TURNS; turn++) {
        seconds[0][turn] = time_one(which, false, &line);
        seconds[1][turn] = time_one(which, true, &none);
    }
    for (int form = 0; form < 2; form++)
        qsort(seconds[form], TURNS, sizeof(double), by_value);
    if (file)
        fprintf(file, "%s %d %.6f %.6f\n", kernels[which].name, line, seconds[0][TURNS / 2],
                seconds[1][TURNS / 2]);
}

int main(int argc, char **argv)
{
    FILE *file = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && rank == 0)
        file = fopen(argv[1], "w");
    send = calloc(LARGE, sizeof *send);
    recv = calloc((size_t)size * LARGE, sizeof *recv);
    if ((rank == 0 && !file) || !send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (unsigned which = 0; which < sizeof kernels / sizeof *kernels; which++) {
        int line = 0;
        if (argc > 2 && strcmp(argv[2], "measure") == 0) {
            measure(file, which);
            continue;
        }
        const double seconds = time_one(which, false, &line);
        if (file)
            fprintf(file, "%s %d %.6f\n", kernels[which].name, line, seconds);
    }
    if (file)
        fclose(file);
    free(send);
    free(recv);
    MPI_Finalize();
    return 0;
}
