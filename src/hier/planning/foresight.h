/* foresight: what an earlier run has found for calls on a communicator that is not set up yet: whether setting it up will pay.
 *
 * Of the findings (wisdom.h) with which all ranks begin, so that all of them foresee the same, and of what all of them find
 * together later, on a communicator of the whole job. By the number of ranks alone: nobody knows yet on which nodes they are; of
 * several findings from earlier the least gain counts.
 *
 * Threads: set before the first call; learn only in jobs without threads. Ownership: one static table a process. */
#ifndef HP_HIER_PLANNING_FORESIGHT_H
#define HP_HIER_PLANNING_FORESIGHT_H

#include "hier/planning/wisdom.h"

/* In place of what was set before. */
void hp_foresight_set(const hp_finding_t *list, size_t count);

/* All ranks of the job have found this, in a blocking call. What was known before stays. */
void hp_foresight_learn(const hp_finding_t *finding);

/* The share of the host MPI's time that what was chosen saves: 0, the host MPI was the best, to 1; < 0: nothing is known.
 * with_learned: for a blocking call. Such calls, of all communicators, are made in one order by all the ranks that are in them, so
 * that they have learned the same before it; before a non-blocking one they may not. */
double hp_foresight_gain(uint32_t ranks, hp_collective_t collective, uint64_t bytes, bool with_learned);

#endif
