/* foresight: what an earlier run has found for calls on a communicator that is not set up yet: whether setting it up will pay.
 *
 * Of the findings (wisdom.h) with which all ranks begin, so that all of them foresee the same; what a rank learns later is not in
 * it. By the number of ranks alone: nobody knows yet on which nodes they are; findings that contradict each other say nothing.
 *
 * Threads: set before the first call. Ownership: one static table a process. */
#ifndef HP_HIER_PLANNING_FORESIGHT_H
#define HP_HIER_PLANNING_FORESIGHT_H

#include "hier/planning/wisdom.h"

typedef enum {
    HP_FORESIGHT_NOTHING,
    HP_FORESIGHT_HOST, /* the host MPI was the best */
    HP_FORESIGHT_GAIN  /* it took half as long again as what was chosen, or longer */
} hp_foresight_t;

/* In place of what was set before. */
void hp_foresight_set(const hp_finding_t *list, size_t count);

hp_foresight_t hp_foresight(uint32_t ranks, hp_collective_t collective, uint64_t bytes);

#endif
