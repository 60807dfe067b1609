/* model: how long a collective would take with given settings, from a handful of probes of the machine.
 *
 * The arithmetic is plain +, -, *, / in one order, so that ranks that were given the same probes come to the
 * same answer. Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_SELECTION_MODEL_H
#define HP_HIER_SELECTION_MODEL_H

#include "hier/selection/rule.h"

/* What was measured. Zero: not known. Bandwidths in bytes per microsecond (= MB/s). */
typedef struct {
    double flag_us;                /* one rank of a node sees what another has stored in shared memory */
    double inside_us, inside_rate; /* message between ranks of a node: half a round trip of 8 bytes; stream */
    double between_us, between_rate; /* the same between nodes */
    double between_cpu_us;           /* processor time of sending and receiving one such message */
    double copy_rate, reduce_rate;   /* one rank's memcpy; its sum of doubles, bytes of one operand */
    double overlap; /* 0..1: share of a copy's time that hides behind a stream between nodes */
    uint32_t cores; /* of a node: more ranks than these take turns */
} hp_probes_t;

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
