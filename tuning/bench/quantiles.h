/* quantiles: the figures that stand for many repetitions. Threads: any. Ownership: nothing is kept. */
#ifndef HP_BENCH_QUANTILES_H
#define HP_BENCH_QUANTILES_H

/* Quartiles, extremes, and an interval that holds the true median with a probability of 95% (the order
 * statistics n/2 -+ 0.98 sqrt(n), independent of the distribution). */
typedef struct {
    double min, q1, median, q3, max;
    double low95, high95;
} bench_quantiles_t;

/* values stay as they are. count >= 1. */
bench_quantiles_t bench_quantiles(const double *values, int count);

#endif
