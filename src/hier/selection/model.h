/* model: how long a collective would take with given settings, from a handful of probes of the machine.
 *
 * LogGP's arithmetic (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, 1995) on a pipeline:
 *
 *      time  =  fill  +  (segments - 1) x steady
 *
 *   fill     the way of the first segment, stage by stage: hops x (latency + message), copies, folds
 *   steady   what the busiest resource needs for a segment: the link of the node that has most messages, the
 *            processor of the rank that has most work (of the node's cores where ranks outnumber them), the
 *            node's memory. Work hides behind the link as far as the probe `overlap` says
 *
 * Parts: model_between.h, model_inside.h. All levels inside a node count as one, and the node with the most
 * ranks stands for all. The arithmetic is plain +, -, *, / in one order, so that ranks that were given the
 * same probes come to the same answer. Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_SELECTION_MODEL_H
#define HP_HIER_SELECTION_MODEL_H

#include "hier/selection/rule.h"

/* X(field, unit, largest believable value, text). What was measured; zero: not known. Rates in bytes per
 * microsecond (= MB/s). */
#define HP_PROBE_TABLE(X)                                                                                    \
    X(flag_us, "us", 1e5, "one rank of a node sees what another has stored in shared memory")                \
    X(inside_us, "us", 1e6, "message between ranks of a node: half a round trip of 8 bytes")                 \
    X(inside_rate, "MB/s", 1e7, "stream of messages between two ranks of a node")                            \
    X(between_us, "us", 1e6, "message between nodes: half a round trip of 8 bytes")                          \
    X(between_rate, "MB/s", 1e7, "stream of messages between two nodes")                                     \
    X(between_cpu_us, "us", 1e5, "processor time that a message between nodes takes at each end")            \
    X(copy_rate, "MB/s", 1e7, "one rank's memcpy")                                                           \
    X(node_copy_rate, "MB/s", 1e9, "memcpy of all ranks of a node at a time, together")                      \
    X(reduce_rate, "MB/s", 1e7, "one rank's sum of doubles, bytes of one operand")                           \
    X(overlap, "of 1", 1, "share of a copy's time that hides behind a stream between nodes")                 \
    X(cores, "", 1 << 20, "cores of a node: more ranks than these take turns")

typedef struct {
#define X(field, unit, most, text) double field;
    HP_PROBE_TABLE(X)
#undef X
} hp_probes_t;

/* Are the probes there that a communicator of this layout needs? */
bool hp_probes_cover(const hp_probes_t *probes, const hp_layout_t *layout);

/* Microseconds from the first rank's arrival to the last rank's end when all arrive at once. < 0: the probes do
 * not cover it, or the model knows nothing of the algorithm, HP_ALGORITHM_NATIVE among others. */
double hp_model_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                   uint64_t bytes, hp_algorithm_id_t algorithm, const hp_setting_t *setting);

/* Microseconds that no algorithm can beat: each node's data over its link, the ranks' data through the memory,
 * one latency. 0: not known. */
double hp_model_bound_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                         uint64_t bytes);

/* The settings that the model expects to be fastest, among those of the default rules for one node, or for more
 * than one, with segments of 2 to 512 KiB; the first of those that are equally fast. false: it knows none. *us:
 * the time it expects. */
bool hp_model_choose(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                     uint64_t bytes, hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us);

#endif
