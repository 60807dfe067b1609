#include "compute.h"

#include <time.h>

enum { CHUNKS = 50, PRODUCTS_FIRST = 256 };

/* Shorter than the slices of time that Linux gives to processes which share a core (3 ms or so), so that some of the
 * chunks have the core for themselves; far longer than a tick of the clock. */
static const double chunk_seconds = 1e-3;

void bench_compute(bench_compute_t *compute, uint64_t products)
{
    double result[BENCH_COMPUTE_ORDER];

    for (uint64_t product = 0; product < products; product++) {
        for (int row = 0; row < BENCH_COMPUTE_ORDER; row++) {
            double sum = 0;
            for (int column = 0; column < BENCH_COMPUTE_ORDER; column++)
                sum += compute->matrix[row][column] * compute->vector[column];
            result[row] = sum;
        }
        for (int row = 0; row < BENCH_COMPUTE_ORDER; row++)
            compute->vector[row] = result[row];
        /* Somebody might look at the vector now: no product can be left out, put off or merged with another. */
        __asm__ volatile("" : : "r"(compute->vector) : "memory");
    }
}

static double seconds_of(bench_compute_t *compute, uint64_t products)
{
    struct timespec start, end;

    clock_gettime(CLOCK_MONOTONIC, &start);
    bench_compute(compute, products);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

void bench_compute_init(bench_compute_t *compute)
{
    uint64_t products = PRODUCTS_FIRST;
    double shortest;

    /* Every row and column adds up to 1: the vector goes to its mean, and never to zero, infinity or numbers that
     * processors are slow with. */
    for (int row = 0; row < BENCH_COMPUTE_ORDER; row++) {
        for (int column = 0; column < BENCH_COMPUTE_ORDER; column++)
            compute->matrix[row][column] = 0.5 / BENCH_COMPUTE_ORDER + (row == column ? 0.5 : 0);
        compute->vector[row] = row + 1;
    }
    while ((shortest = seconds_of(compute, products)) < chunk_seconds)
        products *= 2;
    /* The shortest one: whatever else runs on the machine can only make a chunk longer. */
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const double seconds = seconds_of(compute, products);
        if (seconds < shortest)
            shortest = seconds;
    }
    compute->products_per_us = (double)products / (1e6 * shortest);
}

uint64_t bench_compute_products(const bench_compute_t *compute, double us)
{
    const double products = us * compute->products_per_us;
    return products > 1 ? (uint64_t)products : 1;
}
