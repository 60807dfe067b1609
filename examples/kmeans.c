/* kmeans: K-means clustering, each iteration's sums added up by MPI_Allreduce or MPI_Iallreduce.
 *
 * Every rank has its share of the points. An iteration finds the nearest centroid of each point, adds up, for
 * each cluster, how many points it has got and their coordinates, over all ranks, and moves the centroids.
 * With --batch it takes a few points at a time and moves the centroids by less and less (D. Sculley, Web-scale
 * k-means clustering, 2010); without, it is Lloyd's algorithm.
 *
 * What can overlap: distances are sums over the dimensions, so the distances of the *next* iteration can be
 * added up dimension by dimension, as the new centroids come in. Here for 4 chunks of the dimensions:
 *
 *      blocking      assign | allreduce of all sums         | move 0 1 2 3, distances 0 1 2 3 | assign ...
 *
 *      non-blocking  assign | chunk 0 | chunk 1 | chunk 2 | chunk 3 |                      in the network
 *                                     | move, distances 0 | 1 | 2 | 3 | assign ...         in the processor
 *
 * The same messages, in pieces; all but the first can hide behind computing. The points are small integers, so
 * that the sums are exact, and the centroids the same, bit for bit, in both forms, on any number of ranks
 * (with --batch: on this number of ranks).
 *
 * Threads: one. Ownership: kmeans_t has its arrays until kmeans_free. */
#include "common.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static struct {
    long points, dims, clusters, batch, iterations, chunks;
} options = {.points = 8000, .dims = 256, .clusters = 512, .batch = 0, .iterations = 10, .chunks = 8};

/* Points first ... first + count, and the centroids, which are the same on all ranks. Arrays of dims x clusters
 * hold the clusters of one dimension side by side: a chunk of the dimensions is one piece of memory. */
typedef struct {
    long count, batch_count;
    unsigned char *points; /* [count][dims] */
    long *batch;           /* the points of this iteration, by number */
    int *nearest;          /* [batch_count] */
    float *distances;      /* [batch_count][clusters], squared */
    float *centroids;      /* [dims][clusters] */
    double *sums;          /* [1 + dims][clusters]: how many points, then their coordinates */
    double *weights;       /* [clusters]: points that a centroid has got so far */
} kmeans_t;

/* Eight bits a coordinate: every cluster has a place of its own, and points lie around it. */
static unsigned char coordinate(long seed, long point, long dim)
{
    const uint64_t place =
        example_hash((uint64_t)seed, (uint64_t)(point % options.clusters), (uint64_t)dim + 1);
    const uint64_t offset = example_hash((uint64_t)seed + 1, (uint64_t)point, (uint64_t)dim + 1);
    return (unsigned char)(place % 160 + offset % 96);
}

static void kmeans_make(kmeans_t *k, long seed, long first, long count, long batch_count)
{
    k->count = count;
    k->batch_count = batch_count;
    k->points = example_allocate((size_t)(count * options.dims), 1);
    for (long i = 0; i < count; i++) {
        for (long j = 0; j < options.dims; j++)
            k->points[i * options.dims + j] = coordinate(seed, first + i, j);
    }
    k->batch = example_allocate((size_t)batch_count, sizeof *k->batch);
    k->nearest = example_allocate((size_t)batch_count, sizeof *k->nearest);
    k->distances = example_allocate((size_t)(batch_count * options.clusters), sizeof *k->distances);
    k->centroids = example_allocate((size_t)(options.dims * options.clusters), sizeof *k->centroids);
    k->sums = example_allocate((size_t)((1 + options.dims) * options.clusters), sizeof *k->sums);
    k->weights = example_allocate((size_t)options.clusters, sizeof *k->weights);
}

static void kmeans_free(kmeans_t *k)
{
    free(k->points);
    free(k->batch);
    free(k->nearest);
    free(k->distances);
    free(k->centroids);
    free(k->sums);
    free(k->weights);
}

/* The first centroids: points at even distances. */
static void make_centroids(kmeans_t *k, long seed)
{
    for (long c = 0; c < options.clusters; c++) {
        for (long j = 0; j < options.dims; j++)
            k->centroids[j * options.clusters + c] =
                coordinate(seed, c * (options.points / options.clusters), j);
    }
}

static long batch_share(long points_of_rank, int rank, int size)
{
    const long share =
        example_first_of(options.batch, size, rank + 1) - example_first_of(options.batch, size, rank);
    return options.batch == 0 || share > points_of_rank ? points_of_rank : share;
}

/* Batch number `iteration` of the points from `start`: the next ones, from the first again after the last. */
static void take_batch(long *batch, long start, long points, long share, long iteration)
{
    for (long i = 0; i < share; i++)
        batch[i] = start + (iteration * share + i) % points;
}

/* Adds the dimensions of a chunk to the distances of one point from all centroids. */
static void add_distances_of_point(kmeans_t *k, long i, long first_dim, long end_dim)
{
    const long clusters = options.clusters;
    const unsigned char *point = k->points + k->batch[i] * options.dims;
    float *restrict distance = k->distances + i * clusters;
    long j = first_dim;

    for (; j + 4 <= end_dim; j += 4) { /* four at a time: the distances are read and written less often */
        const float *restrict c0 = k->centroids + j * clusters, *restrict c1 = c0 + clusters;
        const float *restrict c2 = c1 + clusters, *restrict c3 = c2 + clusters;
        const float p0 = point[j], p1 = point[j + 1], p2 = point[j + 2], p3 = point[j + 3];
        for (long c = 0; c < clusters; c++) {
            const float d0 = p0 - c0[c], d1 = p1 - c1[c], d2 = p2 - c2[c], d3 = p3 - c3[c];
            distance[c] = distance[c] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
        }
    }
    for (; j < end_dim; j++) {
        const float *restrict centroid = k->centroids + j * clusters;
        for (long c = 0; c < clusters; c++) {
            const float d = (float)point[j] - centroid[c];
            distance[c] += d * d;
        }
    }
}

static void add_distances(kmeans_t *k, long first_dim, long end_dim, example_progress_t *progress)
{
    for (long i = 0; i < k->batch_count; i++) {
        add_distances_of_point(k, i, first_dim, end_dim);
        example_step(progress);
    }
}

/* The nearest centroid of each point; counts them, and makes room for the next distances. */
static void assign(kmeans_t *k)
{
    memset(k->sums, 0, (size_t)options.clusters * sizeof *k->sums);
    for (long i = 0; i < k->batch_count; i++) {
        float *distance = k->distances + i * options.clusters, least = FLT_MAX;
        for (int c = 0; c < options.clusters; c++) {
            if (distance[c] < least) {
                least = distance[c];
                k->nearest[i] = c;
            }
        }
        k->sums[k->nearest[i]]++;
        memset(distance, 0, (size_t)options.clusters * sizeof *distance);
    }
}

static void add_up(kmeans_t *k, long first_dim, long end_dim)
{
    for (long j = first_dim; j < end_dim; j++) {
        double *sum = k->sums + (1 + j) * options.clusters;
        memset(sum, 0, (size_t)options.clusters * sizeof *sum);
        for (long i = 0; i < k->batch_count; i++)
            sum[k->nearest[i]] += k->points[k->batch[i] * options.dims + j];
    }
}

/* Moves the centroids in some dimensions. The counts lie before the first dimension and come with it. */
static void move_centroids(kmeans_t *k, long first_dim, long end_dim)
{
    const double *count = k->sums;
    for (long c = 0; first_dim == 0 && c < options.clusters; c++)
        k->weights[c] = count[c] + (options.batch ? k->weights[c] : 0);
    for (long j = first_dim; j < end_dim; j++) {
        const double *sum = k->sums + (1 + j) * options.clusters;
        float *centroid = k->centroids + j * options.clusters;
        for (long c = 0; c < options.clusters; c++) {
            if (count[c] > 0)
                centroid[c] = (float)(centroid[c] + (sum[c] - count[c] * centroid[c]) / k->weights[c]);
        }
    }
}

/* Where the sums of a chunk begin; the counts belong to the first. */
static long sums_of_chunk(long chunk)
{
    return chunk == 0 ? 0 : (1 + example_first_of(options.dims, options.chunks, chunk)) * options.clusters;
}

static void run_blocking(example_t *e, kmeans_t *k)
{
    example_progress_t none = {0};

    take_batch(k->batch, 0, k->count, k->batch_count, 0);
    add_distances(k, 0, options.dims, &none);
    for (long iteration = 0; iteration < options.iterations; iteration++) {
        assign(k);
        example_come_late(e);
        add_up(k, 0, options.dims);
        TIMED(e, MPI_Allreduce(MPI_IN_PLACE, k->sums, (int)((1 + options.dims) * options.clusters),
                               MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        take_batch(k->batch, 0, k->count, k->batch_count, iteration + 1);
        move_centroids(k, 0, options.dims);
        add_distances(k, 0, options.dims, &none);
    }
}

static void run_nonblocking(example_t *e, kmeans_t *k)
{
    MPI_Request *requests = example_allocate((size_t)options.chunks, sizeof *requests);
    example_progress_t none = {0};

    take_batch(k->batch, 0, k->count, k->batch_count, 0);
    add_distances(k, 0, options.dims, &none);
    for (long iteration = 0; iteration < options.iterations; iteration++) {
        assign(k);
        example_come_late(e);
        for (long chunk = 0; chunk < options.chunks; chunk++) {
            const long first = sums_of_chunk(chunk), count = sums_of_chunk(chunk + 1) - first;
            add_up(k, example_first_of(options.dims, options.chunks, chunk),
                   example_first_of(options.dims, options.chunks, chunk + 1));
            TIMED(e, MPI_Iallreduce(MPI_IN_PLACE, k->sums + first, (int)count, MPI_DOUBLE, MPI_SUM,
                                    MPI_COMM_WORLD, &requests[chunk]));
        }
        take_batch(k->batch, 0, k->count, k->batch_count, iteration + 1);
        example_progress_t progress =
            example_progress(e, requests, (int)options.chunks, e->tests, options.chunks * k->batch_count);
        for (long chunk = 0; chunk < options.chunks; chunk++) {
            const long first_dim = example_first_of(options.dims, options.chunks, chunk);
            const long end_dim = example_first_of(options.dims, options.chunks, chunk + 1);
            TIMED(e, MPI_Wait(&requests[chunk], MPI_STATUS_IGNORE));
            move_centroids(k, first_dim, end_dim);
            add_distances(k, first_dim, end_dim, &progress);
        }
    }
    free(requests);
}

/* Rank 0 clusters all points by itself; all compare. */
static bool is_right(const example_t *e, const kmeans_t *mine)
{
    const size_t count = (size_t)(options.dims * options.clusters);
    float *expected = example_allocate(count, sizeof *expected);

    if (e->rank == 0) {
        kmeans_t all = {0};
        example_progress_t none = {0};
        long taken = 0;
        for (int rank = 0; rank < e->size; rank++) {
            const long first = example_first_of(options.points, e->size, rank);
            taken += batch_share(example_first_of(options.points, e->size, rank + 1) - first, rank, e->size);
        }
        kmeans_make(&all, e->seed, 0, options.points, taken);
        make_centroids(&all, e->seed);
        for (long iteration = 0; iteration < options.iterations; iteration++) {
            long *batch = all.batch;
            for (int rank = 0; rank < e->size; rank++) {
                const long first = example_first_of(options.points, e->size, rank);
                const long points = example_first_of(options.points, e->size, rank + 1) - first;
                const long share = batch_share(points, rank, e->size);
                take_batch(batch, first, points, share, iteration);
                batch += share;
            }
            add_distances(&all, 0, options.dims, &none);
            assign(&all);
            add_up(&all, 0, options.dims);
            move_centroids(&all, 0, options.dims);
        }
        memcpy(expected, all.centroids, count * sizeof *expected);
        kmeans_free(&all);
    }
    MPI_Bcast(expected, (int)count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    const bool right = memcmp(expected, mine->centroids, count * sizeof *expected) == 0;
    free(expected);
    return right;
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"points", "points, of all ranks together", &options.points, 1, 100000000},
        {"dims", "dimensions", &options.dims, 1, 100000},
        {"clusters", "clusters", &options.clusters, 1, 10000},
        {"batch", "points that an iteration takes, of all ranks together; 0: all", &options.batch, 0,
         100000000},
        {"iterations", "iterations", &options.iterations, 1, 1000000},
        {"chunks", "pieces that the sums are added up in (--nonblocking)", &options.chunks, 1, 10000},
    };
    example_t e;
    kmeans_t k;
    int exit_code;

    if (!example_init(&e, "kmeans",
                      "K-means clustering: sums by MPI_Allreduce or, in chunks, by MPI_Iallreduce.", argc,
                      argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;
    if (options.chunks > options.dims)
        options.chunks = options.dims;
    if (options.clusters > options.points)
        options.clusters = options.points;

    const long first = example_first_of(options.points, e.size, e.rank);
    const long count = example_first_of(options.points, e.size, e.rank + 1) - first;
    kmeans_make(&k, e.seed, first, count, batch_share(count, e.rank, e.size));
    make_centroids(&k, e.seed);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Allreduce(MPI_IN_PLACE, k.sums, (int)((1 + options.dims) * options.clusters), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);

    example_start_clock(&e);
    if (e.nonblocking)
        run_nonblocking(&e, &k);
    else
        run_blocking(&e, &k);
    const double total = example_stop_clock(&e);

    uint64_t checksum = 0;
    for (long i = 0; i < options.dims * options.clusters; i++) {
        uint32_t bits;
        memcpy(&bits, &k.centroids[i], sizeof bits);
        checksum = example_hash(checksum, bits, (uint64_t)i);
    }
    exit_code = example_report(
        &e, total, checksum, !e.check || is_right(&e, &k),
        "\"points\": %ld, \"dims\": %ld, \"clusters\": %ld, \"batch\": %ld, \"iterations\": %ld, "
        "\"chunks\": %ld, \"message_bytes\": %ld",
        options.points, options.dims, options.clusters, options.batch, options.iterations, options.chunks,
        (1 + options.dims) * options.clusters * (long)sizeof(double));
    kmeans_free(&k);
    MPI_Finalize();
    return exit_code;
}
