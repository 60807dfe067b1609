#include "crossing.h"

size_t tune_crossing(size_t low, size_t high, size_t unit, int steps, tune_crossing_fn_t ask, void *context)
{
    for (int i = 0; i < steps; i++) {
        const size_t middle = (low + (high - low) / 2) / unit * unit;
        const int upper = middle > low && middle < high ? ask(context, middle) : -1;
        if (upper < 0)
            break;
        if (upper)
            high = middle;
        else
            low = middle;
    }
    return high;
}
