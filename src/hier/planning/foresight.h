/* foresight: what an earlier run has found for calls on a communicator that is not set up yet: whether setting it up will pay.
 *
 * Of the findings (wisdom.h) with which all ranks begin, so that all of them foresee the same; what a rank learns later is not in
 * it. By the number of ranks alone: nobody knows yet on which nodes they are; of several findings the least gain counts.
 *
 * Threads: set before the first call. Ownership: one static table a process. */
#ifndef HP_HIER_PLANNING_FORESIGHT_H
#define HP_HIER_PLANNING_FORESIGHT_H

#include "hier/planning/wisdom.h"

/* In place of what was set before. */
void hp_foresight_set(const hp_finding_t *list, size_t count);

/* The share of the host MPI's time that what was chosen saves: 0, the host MPI was the best, to 1; < 0: nothing is known. */
double hp_foresight_gain(uint32_t ranks, hp_collective_t collective, uint64_t bytes);

#endif
