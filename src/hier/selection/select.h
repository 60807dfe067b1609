/* select: what runs a call, or why the library leaves it to the MPI below.
 *
 * Every input is the same on all ranks of the communicator (PITFALLS, "rules that keep it correct"), so all
 * ranks come to the same answer without a message. Order: hints of the communicator, then knobs, then the
 * rules of tuning/default_rules.def. Threads: pure, on read-only data. Ownership: nothing allocated. */
#ifndef HP_HIER_SELECTION_SELECT_H
#define HP_HIER_SELECTION_SELECT_H

#include "hier/collectives/algorithm.h"

/* Before a communicator is set up nothing is known of its nodes. May the call be taken, on whatever nodes its
 * ranks are? HP_OUTCOME_TAKEN (maybe), _HINT, _ONE_NODE or _RULE. one_node: all ranks of the job share a
 * node. knobs: with hints. */
hp_outcome_t hp_select_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                bool one_node);

/* Will every call pass, of whatever size? one_node: as above. */
bool hp_select_never(const hp_knobs_t *knobs, hp_collective_t collective, bool one_node);

/* What runs the call. HP_OUTCOME_TAKEN with *algorithm and *setting, or why not. */
hp_outcome_t hp_select(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                       const hp_algorithm_t **algorithm, hp_setting_t *setting);

/* The setting of an algorithm that is asked for by name where no rule covers the call. */
void hp_select_default_setting(const hp_knobs_t *knobs, hp_setting_t *setting);

#endif
