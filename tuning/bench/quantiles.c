#include "quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest values, so that the median of two is their mean. */
static double at(const double *sorted, int count, double fraction)
{
    const double place = fraction * (count - 1);
    const int below = (int)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

bench_quantiles_t bench_quantiles(const double *values, int count)
{
    double *sorted = bench_allocate((size_t)count * sizeof *sorted);
    const int low = (int)floor(count / 2.0 - 0.98 * sqrt(count)), high = count - 1 - low;

    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    const bench_quantiles_t quantiles = {.min = sorted[0],
                                         .q1 = at(sorted, count, 0.25),
                                         .median = at(sorted, count, 0.5),
                                         .q3 = at(sorted, count, 0.75),
                                         .max = sorted[count - 1],
                                         .low95 = sorted[low > 0 ? low : 0],
                                         .high95 = sorted[high < count ? high : count - 1]};
    free(sorted);
    return quantiles;
}
