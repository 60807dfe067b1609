#include "limits.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PING_PONGS = 200, STREAM_MESSAGES = 16, STREAM_BYTES = 1 << 20, STREAM_TRIALS = 3, TAG = 1 };

/* Half of the shortest round trip from rank 0 to `other`, on rank 0; 0 elsewhere. */
static double ping_pong(const bench_job_t *job, int other)
{
    double message = 0, best = 1e9;
    MPI_Status status;

    if (job->rank != 0 && job->rank != other)
        return 0;
    const int peer = job->rank == 0 ? other : 0;
    for (int i = 0; i < PING_PONGS; i++) {
        const double start = MPI_Wtime();
        if (job->rank == 0)
            BENCH_MPI(MPI_Send(&message, 1, MPI_DOUBLE, peer, TAG, job->sync));
        BENCH_MPI(MPI_Recv(&message, 1, MPI_DOUBLE, peer, TAG, job->sync, &status));
        if (job->rank != 0)
            BENCH_MPI(MPI_Send(&message, 1, MPI_DOUBLE, peer, TAG, job->sync));
        const double round_trip = MPI_Wtime() - start;
        if (i > 0 && round_trip < best)
            best = round_trip;
    }
    return job->rank == 0 ? best / 2 : 0;
}

/* Bytes per second of a stream from rank 0 to `other`, as the receiver sees it; 0 elsewhere. The first
 * message is not timed: it takes what shaped links and switches let through faster than they can for long. */
static double stream(const bench_job_t *job, int other, char *buffer)
{
    MPI_Request requests[STREAM_MESSAGES];
    MPI_Status statuses[STREAM_MESSAGES];

    BENCH_MPI(MPI_Barrier(job->sync));
    if (job->rank != 0 && job->rank != other)
        return 0;
    if (job->rank == 0)
        BENCH_MPI(MPI_Isend(buffer, STREAM_BYTES, MPI_BYTE, other, TAG, job->sync, &requests[0]));
    for (int i = 0; i < STREAM_MESSAGES && job->rank == other; i++)
        BENCH_MPI(MPI_Irecv(buffer + (size_t)i * STREAM_BYTES, STREAM_BYTES, MPI_BYTE, 0, TAG, job->sync,
                            &requests[i]));
    /* Before the others start: they must not share its time. */
    BENCH_MPI(MPI_Wait(&requests[0], &statuses[0]));
    for (int i = 1; i < STREAM_MESSAGES && job->rank == 0; i++)
        BENCH_MPI(MPI_Isend(buffer + (size_t)i * STREAM_BYTES, STREAM_BYTES, MPI_BYTE, other, TAG, job->sync,
                            &requests[i]));
    const double start = MPI_Wtime();
    BENCH_MPI(MPI_Waitall(STREAM_MESSAGES - 1, requests + 1, statuses + 1));
    return job->rank == other ? (STREAM_MESSAGES - 1.0) * STREAM_BYTES / (MPI_Wtime() - start) : 0;
}

static double largest(const bench_job_t *job, double mine)
{
    double all;
    BENCH_MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, job->sync));
    return all;
}

void bench_limits_measure(const bench_job_t *job, bench_limits_t *limits)
{
    int near = 0, far = 0; /* the first other rank on rank 0's node, and on another */

    for (int r = job->size - 1; r > 0; r--)
        *(job->node_of[r] == job->node_of[0] ? &near : &far) = r;
    memset(limits, 0, sizeof *limits);
    if (near)
        limits->node_latency_us = 1e6 * largest(job, ping_pong(job, near));
    if (!far)
        return;
    limits->link_latency_us = 1e6 * largest(job, ping_pong(job, far));
    char *buffer = bench_allocate((size_t)STREAM_MESSAGES * STREAM_BYTES);
    memset(buffer, 0, (size_t)STREAM_MESSAGES * STREAM_BYTES);
    for (int trial = 0; trial < STREAM_TRIALS; trial++) {
        const double now = largest(job, stream(job, far, buffer));
        if (now > limits->link_bytes_per_second)
            limits->link_bytes_per_second = now;
    }
    free(buffer);
}

/* A clock that all processes of a node share; MPI_Wtime may count from each process's own start. */
static double node_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_copy_bandwidth(const bench_job_t *job, size_t bytes, size_t region_bytes)
{
    /* A trial is longer than the slices of time that ranks get when they share cores. */
    enum { TRIALS = 3, LEAST_BYTES = 4096, TRIAL_BYTES = 32 << 20 };
    double best = 0, slowest_node;

    if (bytes < LEAST_BYTES)
        bytes = LEAST_BYTES;
    const size_t places = region_bytes > bytes ? region_bytes / bytes : 1;
    const size_t copies = bytes < TRIAL_BYTES ? TRIAL_BYTES / bytes : 1;
    char *from = bench_allocate(places * bytes), *to = bench_allocate(places * bytes);
    memset(from, 1, places * bytes);
    memset(to, 1, places * bytes);
    for (size_t trial = 0, place = 0; trial < TRIALS; trial++) {
        double first, last;
        BENCH_MPI(MPI_Barrier(job->sync));
        const double start = node_clock();
        for (size_t i = 0; i < copies; i++, place = (place + 1) % places) {
            memcpy(to + place * bytes, from + place * bytes, bytes);
            __asm__ volatile("" : : "r"(to) : "memory"); /* or the compiler keeps the last copy only */
        }
        const double end = node_clock();
        BENCH_MPI(MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, job->node_comm));
        BENCH_MPI(MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, job->node_comm));
        const double now = 2.0 * (double)bytes * (double)copies * job->node_ranks / (last - first);
        if (now > best)
            best = now;
    }
    free(from);
    free(to);
    BENCH_MPI(MPI_Allreduce(&best, &slowest_node, 1, MPI_DOUBLE, MPI_MIN, job->sync));
    return slowest_node;
}

static int ceil_log2(int n)
{
    int rounds = 0;
    while (1 << rounds < n)
        rounds++;
    return rounds;
}

static bench_traffic_t traffic_of(const bench_job_t *job, const bench_case_t *what)
{
    const bench_collective_t *collective = what->collective;

    if (collective->has_blocks)
        return bench_blocks_traffic(job, &collective->blocks, bench_case_pattern(what),
                                    (int)(what->bytes / what->type->bytes), what->type->bytes, what->root);
    return (bench_traffic_t){.link = collective->link_bytes((double)what->bytes, job->node_count),
                             .memory = collective->memory_bytes((double)what->bytes, job->node_ranks_max),
                             .all_wait = true};
}

bench_bound_t bench_bound(const bench_job_t *job, const bench_limits_t *limits, const bench_case_t *what,
                          double copy_bytes_per_second)
{
    const double near = limits->node_latency_us > 0 ? limits->node_latency_us : limits->link_latency_us;
    const double inside = ceil_log2(job->size) * near;
    const double between = ceil_log2(job->node_count) * limits->link_latency_us;
    const bench_traffic_t traffic = traffic_of(job, what);
    bench_bound_t bound = {.latency_us = inside > between ? inside : between};

    if (what->bytes == 0 && !what->collective->no_data) /* nothing has to be sent */
        return (bench_bound_t){0};
    if (!traffic.all_wait)
        bound.latency_us = traffic.link > 0 ? limits->link_latency_us : 0;
    if (limits->link_bytes_per_second > 0)
        bound.link_us = 1e6 * traffic.link / limits->link_bytes_per_second;
    bound.memory_us = 1e6 * traffic.memory / copy_bytes_per_second;
    bound.us = bound.latency_us > bound.link_us ? bound.latency_us : bound.link_us;
    if (bound.memory_us > bound.us)
        bound.us = bound.memory_us;
    return bound;
}
