/* model: how long a collective would take with given settings, from a handful of probes of the machine.
 *
 * The arithmetic is plain +, -, *, / in one order, so that ranks that were given the same probes come to the
 * same answer. Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_SELECTION_MODEL_H
#define HP_HIER_SELECTION_MODEL_H

#include "hier/selection/rule.h"

/* Are the probes there that a communicator of this layout needs? */
bool hp_probes_cover(const hp_probes_t *probes, const hp_layout_t *layout);

/* Microseconds from the first rank's arrival to the last rank's end when all arrive at once. < 0: the probes do
 * not cover it, or the model knows nothing of the algorithm, HP_ALGORITHM_NATIVE among others. */
double hp_model_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                   uint64_t bytes, hp_algorithm_id_t algorithm, const hp_setting_t *setting);

/* Microseconds that no algorithm can beat: each node's data over its link, the ranks' data over the memory, one
 * latency a round. 0: not known. */
double hp_model_bound_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                         uint64_t bytes);

/* The settings that the model expects to be fastest, among those worth considering. false: it knows none. *us:
 * the time it expects. */
bool hp_model_choose(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                     uint64_t bytes, hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us);

#endif
