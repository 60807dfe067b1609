/* compute: a computation of a known amount, for programs that compute while messages are on their way.
 *
 * It multiplies a small matrix by a vector, again and again: work for the core, from its first-level cache, which takes
 * no bandwidth that messages need. An amount is a number of products, and it stays the same whatever happens
 * meanwhile. A computation that looked at a clock and stopped in time would hide what it is to show: when a message
 * takes the core away from it, it would do less work and seem to have lost nothing.
 *
 * Threads: one. Ownership: nothing but the struct. */
#ifndef HP_BENCH_COMPUTE_H
#define HP_BENCH_COMPUTE_H

#include <stdint.h>

enum { BENCH_COMPUTE_ORDER = 16 }; /* 2 KiB of doubles; a product is a tenth of a microsecond or so */

typedef struct {
    double matrix[BENCH_COMPUTE_ORDER][BENCH_COMPUTE_ORDER];
    double vector[BENCH_COMPUTE_ORDER];
    double products_per_us; /* of this rank, with a core of its own */
} bench_compute_t;

/* Measures this rank's speed: at least 50 ms. What ranks that share a core get of it is for the caller to find out, with a
 * computation as long as those it wants. */
void bench_compute_init(bench_compute_t *compute);

/* So many products. */
void bench_compute(bench_compute_t *compute, uint64_t products);

/* How many products take so long on this rank. At least one. */
uint64_t bench_compute_products(const bench_compute_t *compute, double us);

#endif
