/* crossing: from which size on another configuration is faster, by binary search between two sizes. Threads:
 * pure but for ask. Ownership: nothing is kept. */
#ifndef HP_TUNE_CROSSING_H
#define HP_TUNE_CROSSING_H

#include <stddef.h>

/* Is the upper size's configuration faster at so many bytes? 1 yes, 0 no, -1: nobody can tell any more. */
typedef int (*tune_crossing_fn_t)(void *context, size_t bytes);

/* The first size that belongs to the upper one, in (low, high]: a multiple of `unit` where it was found by
 * asking, at most `steps` times, else high. */
size_t tune_crossing(size_t low, size_t high, size_t unit, int steps, tune_crossing_fn_t ask, void *context);

#endif
