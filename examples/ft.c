/* ft: a partial differential equation in the spectrum, the 3D FFT's transposition by MPI_Alltoall or MPI_Ialltoall.
 *
 * After the specification of FT of the NAS Parallel Benchmarks (D. Bailey et al., RNR-94-007): du/dt = alpha times the
 * Laplacian of u, with alpha = 10^-6, on a periodic grid of random complex numbers. The spectrum is computed once; in
 * each of six iterations (--iterations) it is multiplied by exp(-4 alpha pi^2 |k|^2 t), transformed back and checked by
 * a sum over 1024 points.
 *
 * A rank has some of the planes of one z (it computes along x and y in them) and some of the y for all z (it computes
 * along z). Between the two lies a transposition, in which every rank sends to every other one. What goes to one rank
 * lies together: a plane is cut in as many parts of y as there are ranks,
 *
 *      by z   [group of planes][part of y: for whom][plane of the group][y][x]
 *      by y   [group of planes][from whom          ][plane of the group][y][x]
 *
 * so MPI_Alltoall of a group takes one to the other, and nothing is packed. In the blocking form all planes of a rank
 * are one group.
 *
 * What can overlap: a group can travel while another is transformed along x and y. Here for 3 groups:
 *
 *      blocking      z | all groups  | x y of 0 1 2 | sum
 *
 *      non-blocking    | 0 | 1 | 2 |                  sum   in the network
 *                    z     | x y of 0 | of 1 | of 2 |       in the processor
 *
 * The sum over all ranks (MPI_Allreduce or MPI_Iallreduce) is looked at in the end, so it can be under way in the next
 * iteration.
 *
 * The sums of the iterations are compared with the published ones. --seed N takes the Nth stretch of the random
 * numbers; the first is the benchmark's.
 *
 * Threads: one. Ownership: ft_t has its arrays until ft_free. */
#include "common.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex complex_t;

enum { PUBLISHED = 6, SUM_POINTS = 1024, BATCH = 16 /* lines that are transformed side by side */ };
static const double ALPHA = 1e-6, TOLERANCE = 1e-12;

/* clang-format off */
static const struct {
    long nx, ny, nz;
    complex_t published[PUBLISHED]; /* sums of the first iterations */
} classes[] = {
    {64, 64, 64,
     {554.6087004964 + 484.5363331978 * I, 554.6385409189 + 486.5304269511 * I, 554.6148406171 + 488.3910722336 * I,
      554.5423607415 + 490.1273169046 * I, 554.4255039624 + 491.7475857993 * I, 554.2683411902 + 493.2597244941 * I}},
    {128, 128, 32,
     {567.3612178944 + 529.3246849175 * I, 563.1436885271 + 528.2149986629 * I, 559.4024089970 + 527.0996558037 * I,
      556.0698047020 + 526.0027904925 * I, 553.0898991250 + 524.9400845633 * I, 550.4159734538 + 523.9212247086 * I}},
    {256, 256, 128,
     {504.6735008193 + 511.4047905510 * I, 505.9412319734 + 509.8809666433 * I, 506.9376896287 + 509.8144042213 * I,
      507.7892868474 + 510.1336130759 * I, 508.5233095391 + 510.4914655194 * I, 509.1487099959 + 510.7917842803 * I}},
};
/* clang-format on */
static const char class_letters[] = "SWA";

static struct {
    long class, planes, iterations;
} options = {.class = 0, .planes = 1, .iterations = PUBLISHED};

typedef struct {
    MPI_Comm comm;
    int rank, size;
    long nx, ny, nz;
    long planes, rows;                 /* this rank's: planes of one z; rows of one y, in each plane */
    long group;                        /* planes that are transposed together */
    complex_t *spectrum, *by_y, *by_z; /* of as many points each: planes * ny * nx = nz * rows * nx */
    MPI_Request *requests;             /* [planes / group] */
    example_progress_t progress;
    long longest;                         /* line */
    complex_t *roots;                     /* [longest]: exp(-2 pi i k / longest) */
    complex_t *batch[2];                  /* [longest][BATCH] */
    long *x_places, *y_places, *z_places; /* of the points of a line in the array */
    double *decay;                        /* [longest]: exp(-4 alpha pi^2 k^2 t) */
} ft_t;

/* Where the rows that a plane has of a part begin: those for a rank, by z, or from a rank, by y. */
static long place_of(const ft_t *f, long plane, long part)
{
    return ((plane / f->group * f->size + part) * f->group + plane % f->group) * f->rows * f->nx;
}

static void ft_make(ft_t *f, MPI_Comm comm, long group)
{
    *f = (ft_t){.comm = comm,
                .nx = classes[options.class].nx,
                .ny = classes[options.class].ny,
                .nz = classes[options.class].nz};
    MPI_Comm_rank(comm, &f->rank);
    MPI_Comm_size(comm, &f->size);
    f->planes = f->nz / f->size;
    f->rows = f->ny / f->size;
    f->group = group && group < f->planes ? group : f->planes;
    while (f->planes % f->group)
        f->group--;
    f->requests = example_allocate((size_t)(f->planes / f->group), sizeof(MPI_Request));
    for (long i = 0; i < f->planes / f->group; i++)
        f->requests[i] = MPI_REQUEST_NULL;

    const size_t points = (size_t)(f->planes * f->ny * f->nx);
    f->spectrum = example_allocate(points, sizeof(complex_t));
    f->by_y = example_allocate(points, sizeof(complex_t));
    f->by_z = example_allocate(points, sizeof(complex_t));

    f->longest = f->nx > f->ny ? f->nx : f->ny;
    f->longest = f->nz > f->longest ? f->nz : f->longest;
    f->roots = example_allocate((size_t)f->longest, sizeof(complex_t));
    for (long k = 0; k < f->longest; k++)
        f->roots[k] = cexp(-2 * M_PI * I * (double)k / (double)f->longest);
    for (int i = 0; i < 2; i++)
        f->batch[i] = example_allocate((size_t)f->longest * BATCH, sizeof(complex_t));
    f->decay = example_allocate((size_t)f->longest, sizeof(double));
    f->x_places = example_allocate((size_t)f->nx, sizeof(long));
    f->y_places = example_allocate((size_t)f->ny, sizeof(long));
    f->z_places = example_allocate((size_t)f->nz, sizeof(long));
    for (long x = 0; x < f->nx; x++)
        f->x_places[x] = x;
    for (long y = 0; y < f->ny; y++)
        f->y_places[y] = place_of(f, 0, y / f->rows) + y % f->rows * f->nx;
    for (long z = 0; z < f->nz; z++)
        f->z_places[z] = place_of(f, z % f->planes, z / f->planes);
}

static void ft_free(ft_t *f)
{
    free(f->requests);
    free(f->spectrum);
    free(f->by_y);
    free(f->by_z);
    free(f->roots);
    free(f->batch[0]);
    free(f->batch[1]);
    free(f->decay);
    free(f->x_places);
    free(f->y_places);
    free(f->z_places);
}

/* What the grid begins with, by z. */
static void make_grid(const ft_t *f, long seed, complex_t *grid)
{
    for (long plane = 0; plane < f->planes; plane++) {
        const long before = ((seed - 1) * f->nz + f->rank * f->planes + plane) * f->ny * f->nx;
        uint64_t state = example_npb_at(2 * (uint64_t)before);
        for (long y = 0; y < f->ny; y++) {
            complex_t *row = grid + place_of(f, plane, 0) + f->y_places[y];
            for (long x = 0; x < f->nx; x++) {
                const double real = example_npb_next(&state);
                row[x] = real + example_npb_next(&state) * I;
            }
        }
    }
}

/* Without the cases of infinity that the operator has. */
static inline complex_t times(complex_t a, complex_t b)
{
    return creal(a) * creal(b) - cimag(a) * cimag(b) + (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}

/* BATCH lines of n points side by side in batch[0]: radix 2, after Stockham. Returns where the result is. */
static const complex_t *transform_batch(const ft_t *f, long n, bool inverse)
{
    complex_t *from = f->batch[0], *to = f->batch[1];

    for (long half = n / 2, width = BATCH; half >= 1; half /= 2, width *= 2) {
        for (long p = 0; p < half; p++) {
            const complex_t root = f->roots[p * (f->longest / 2 / half)];
            const complex_t factor = inverse ? conj(root) : root;
            const complex_t *a = from + p * width, *b = from + (p + half) * width;
            complex_t *sums = to + 2 * p * width, *differences = sums + width;
            for (long i = 0; i < width; i++) {
                sums[i] = a[i] + b[i];
                differences[i] = times(a[i] - b[i], factor);
            }
        }
        complex_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Transforms lines in their places. Line number i begins stride * i after the first one. The inverse is not
 * divided by n. */
static void transform(ft_t *f, complex_t *data, const long *places, long n, long lines, long stride,
                      bool inverse)
{
    for (long first = 0; first < lines; first += BATCH) {
        const long count = lines - first < BATCH ? lines - first : BATCH;
        complex_t *begin = data + first * stride;
        for (long k = 0; k < n; k++) {
            for (long i = 0; i < count; i++)
                f->batch[0][k * BATCH + i] = begin[places[k] + i * stride];
        }
        const complex_t *result = transform_batch(f, n, inverse);
        for (long k = 0; k < n; k++) {
            for (long i = 0; i < count; i++)
                begin[places[k] + i * stride] = result[k * BATCH + i];
        }
        example_step(&f->progress);
    }
}

/* The planes of a group, along x and y. */
static void transform_planes(ft_t *f, long group, bool inverse)
{
    const long first = group * f->group;
    transform(f, f->by_z + place_of(f, first, 0), f->x_places, f->nx, f->group * f->ny, f->nx, inverse);
    for (long plane = first; plane < first + f->group; plane++)
        transform(f, f->by_z + place_of(f, plane, 0), f->y_places, f->ny, f->nx, 1, inverse);
}

/* One group. The non-blocking form has only begun it. */
static void transpose(example_t *e, const ft_t *f, long group, const complex_t *from, complex_t *to)
{
    const long begin = place_of(f, group * f->group, 0);
    const int count = (int)(f->group * f->rows * f->nx);

    if (e->nonblocking)
        TIMED(e, MPI_Ialltoall(from + begin, count, MPI_C_DOUBLE_COMPLEX, to + begin, count,
                               MPI_C_DOUBLE_COMPLEX, f->comm, &f->requests[group]));
    else
        TIMED(e, MPI_Alltoall(from + begin, count, MPI_C_DOUBLE_COMPLEX, to + begin, count,
                              MPI_C_DOUBLE_COMPLEX, f->comm));
}

/* Its end. */
static void await(example_t *e, const ft_t *f, long group)
{
    if (e->nonblocking)
        TIMED(e, MPI_Wait(&f->requests[group], MPI_STATUS_IGNORE));
}

/* MPI_Test calls while planes are transformed. */
static void expect_planes(example_t *e, ft_t *f)
{
    const long batches = f->planes * (f->ny + f->nx) / BATCH;
    f->progress =
        example_progress(e, f->requests, (int)(f->planes / f->group), e->nonblocking ? e->tests : 0, batches);
}

/* by_z, the grid, to the spectrum. */
static void forward(example_t *e, ft_t *f)
{
    expect_planes(e, f);
    for (long group = 0; group < f->planes / f->group; group++) {
        transform_planes(f, group, false);
        transpose(e, f, group, f->by_z, f->by_y);
    }
    for (long group = 0; group < f->planes / f->group; group++)
        await(e, f, group);
    transform(f, f->by_y, f->z_places, f->nz, f->rows * f->nx, 1, false);
    memcpy(f->spectrum, f->by_y, (size_t)(f->nz * f->rows * f->nx) * sizeof(complex_t));
}

/* The spectrum, at the time, to by_y. */
static void evolve(ft_t *f, int time)
{
    for (long k = 0; k < f->longest; k++)
        f->decay[k] = exp(-4 * ALPHA * M_PI * M_PI * (double)(k * k) * time);
    for (long z = 0; z < f->nz; z++) {
        for (long row = 0; row < f->rows; row++) {
            const long y = f->rank * f->rows + row, begin = f->z_places[z] + row * f->nx;
            const double decay =
                f->decay[z < f->nz / 2 ? z : f->nz - z] * f->decay[y < f->ny / 2 ? y : f->ny - y];
            for (long x = 0; x < f->nx; x++)
                f->by_y[begin + x] =
                    f->spectrum[begin + x] * (decay * f->decay[x < f->nx / 2 ? x : f->nx - x]);
        }
    }
}

/* by_y, a spectrum, to by_z, the grid times the number of its points. */
static void backward(example_t *e, ft_t *f)
{
    transform(f, f->by_y, f->z_places, f->nz, f->rows * f->nx, 1, true);
    for (long group = 0; group < f->planes / f->group; group++)
        transpose(e, f, group, f->by_y, f->by_z);
    expect_planes(e, f);
    for (long group = 0; group < f->planes / f->group; group++) {
        await(e, f, group);
        transform_planes(f, group, true);
    }
}

/* What this rank has of the points. */
static complex_t sum_of_points(const ft_t *f)
{
    complex_t sum = 0;

    for (long j = 1; j <= SUM_POINTS; j++) {
        const long x = j % f->nx, y = 3 * j % f->ny, plane = 5 * j % f->nz - f->rank * f->planes;
        if (plane >= 0 && plane < f->planes)
            sum += f->by_z[place_of(f, plane, 0) + f->y_places[y] + x];
    }
    return sum;
}

/* Over all ranks. Nothing is computed of a sum before the end: the non-blocking form has only begun it. */
static void add_up(example_t *e, const ft_t *f, complex_t *sum, MPI_Request *request)
{
    if (e->nonblocking)
        TIMED(e, MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, f->comm, request));
    else
        TIMED(e, MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, f->comm));
}

static void run(example_t *e, ft_t *f, complex_t *sums)
{
    const double points = (double)(f->nx * f->ny * f->nz);
    MPI_Request *requests = example_allocate((size_t)options.iterations, sizeof *requests);

    forward(e, f);
    for (int i = 0; i < options.iterations; i++) {
        evolve(f, i + 1);
        example_come_late(e);
        backward(e, f);
        example_come_late(e);
        sums[i] = sum_of_points(f);
        add_up(e, f, &sums[i], &requests[i]);
    }
    for (long i = 0; i < options.iterations; i++) {
        if (e->nonblocking)
            TIMED(e, MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        sums[i] /= points;
    }
    free(requests);
}

static bool are_near(const complex_t *sums, const complex_t *expected, long count)
{
    bool near = true;
    for (long i = 0; i < count; i++)
        near = near && cabs(sums[i] - expected[i]) <= TOLERANCE * cabs(expected[i]);
    return near;
}

/* Whether the grid comes back from its spectrum. */
static bool comes_back(example_t *e, ft_t *f)
{
    const double points = (double)(f->nx * f->ny * f->nz);
    bool right = true;

    make_grid(f, e->seed, f->by_z);
    forward(e, f);
    evolve(f, 0);
    backward(e, f);
    make_grid(f, e->seed, f->by_y); /* which is free now, and as long */
    for (long i = 0; i < f->planes * f->ny * f->nx; i++)
        right = right && cabs(f->by_z[i] / points - f->by_y[i]) <= TOLERANCE;
    return right;
}

/* Rank 0 does all of a small class by itself. */
static bool is_as_alone(const example_t *e, const complex_t *sums)
{
    example_t without = {0};
    ft_t alone;

    if (e->rank != 0 || class_letters[options.class] == 'A')
        return true;
    complex_t *expected = example_allocate((size_t)options.iterations, sizeof *expected);
    ft_make(&alone, MPI_COMM_SELF, 0);
    make_grid(&alone, e->seed, alone.by_z);
    run(&without, &alone, expected);
    ft_free(&alone);
    const bool near = are_near(sums, expected, options.iterations);
    free(expected);
    return near;
}

/* Of every bit of the grid: the same on any number of ranks. */
static uint64_t checksum_of(const ft_t *f)
{
    uint64_t sum = 0;
    for (long plane = 0; plane < f->planes; plane++) {
        for (long y = 0; y < f->ny; y++) {
            const complex_t *row = f->by_z + place_of(f, plane, 0) + f->y_places[y];
            for (long x = 0; x < f->nx; x++) {
                uint64_t bits[2];
                memcpy(bits, &row[x], sizeof bits);
                sum += example_hash((uint64_t)(((f->rank * f->planes + plane) * f->ny + y) * f->nx + x),
                                    bits[0], bits[1]);
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, f->comm);
    return sum;
}

/* Every rank has as many planes, and as many rows. Says so where that cannot be. */
static bool has_ranks(const example_t *e)
{
    const long planes = classes[options.class].nz;
    char accepted[64] = "1";

    if (planes % e->size == 0 && classes[options.class].ny % e->size == 0)
        return true;
    for (long ranks = 2; ranks <= planes; ranks *= 2) {
        const size_t length = strlen(accepted);
        snprintf(accepted + length, sizeof accepted - length, ", %ld", ranks);
    }
    if (e->rank == 0)
        fprintf(stderr, "ft: %d ranks: class %c has %ld planes; accepted are %s ranks\n", e->size,
                class_letters[options.class], planes, accepted);
    return false;
}

int main(int argc, char **argv)
{
    const example_option_t own[] = {
        {"class", "size: 64^3, 128 x 128 x 32, 256 x 256 x 128 points", &options.class,
         .letters = class_letters},
        {"planes", "planes that are transposed together (--nonblocking)", &options.planes, 1, 1000},
        {"iterations", "iterations", &options.iterations, 1, 10000},
    };
    complex_t *sums;
    example_t e;
    ft_t f;
    int exit_code;

    if (!example_init(&e, "ft",
                      "3D FFT: transposed by MPI_Alltoall or, in groups of planes, by MPI_Ialltoall.", argc,
                      argv, own, sizeof own / sizeof own[0], &exit_code))
        return exit_code;
    if (!has_ranks(&e)) {
        MPI_Finalize();
        return EXIT_BAD_OPTION;
    }

    sums = example_allocate((size_t)options.iterations, sizeof *sums);
    ft_make(&f, MPI_COMM_WORLD, e.nonblocking ? options.planes : 0);
    const int to_each = (int)(f.planes * f.rows * f.nx);
    for (long i = 0; i < e.warm_up; i++)
        MPI_Alltoall(f.by_z, to_each, MPI_C_DOUBLE_COMPLEX, f.by_y, to_each, MPI_C_DOUBLE_COMPLEX, f.comm);
    make_grid(&f, e.seed, f.by_z);

    example_start_clock(&e);
    run(&e, &f, sums);
    const double total = example_stop_clock(&e), in_mpi = e.in_mpi;

    const uint64_t checksum = checksum_of(&f);
    bool right = true;
    if (e.check) {
        const long published = options.iterations < PUBLISHED ? options.iterations : PUBLISHED;
        right = (e.seed != 1 || are_near(sums, classes[options.class].published, published)) &
                is_as_alone(&e, sums) & comes_back(&e, &f);
    }
    e.in_mpi = in_mpi;
    exit_code = example_report(&e, total, checksum, right,
                               "\"class\": \"%c\", \"points\": %ld, \"planes\": %ld, \"groups\": %ld, "
                               "\"message_bytes\": %ld",
                               class_letters[options.class], f.nx * f.ny * f.nz, f.planes, f.planes / f.group,
                               f.group * f.rows * f.nx * (long)sizeof(complex_t));
    free(sums);
    ft_free(&f);
    MPI_Finalize();
    return exit_code;
}
