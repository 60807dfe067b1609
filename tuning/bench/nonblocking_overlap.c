#include "nonblocking_overlap.h"

/* Calls and computations too short for the clock hide nothing. */
static double percent(double hidden, double whole)
{
    const double share = whole > 0 ? 100 * hidden / whole : 0;
    return share < 0 ? 0 : share > 100 ? 100 : share;
}

double bench_overlap_imb(double pure, double compute, double both)
{
    return percent(pure + compute - both, pure < compute ? pure : compute);
}

double bench_overlap_osu(double pure, double compute, double both)
{
    return percent(pure - (both - compute), pure);
}
