/* model: how long a collective would take with given settings, from a handful of probes of the machine.
 *
 * LogGP's arithmetic (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, 1995) on a pipeline:
 *
 *      time  =  fill  +  (segments - 1) x steady
 *
 *   fill     the way of the first segment, stage by stage: hops x (latency + message), copies, reductions
 *   steady   what the busiest resource needs for a segment: the link of the node that has most messages, the
 *            processor of the rank that has most work (of the node's cores where ranks outnumber them), the
 *            node's memory. Work hides behind the link as far as the probe `overlap` says
 *
 * Collectives of blocks: model_blocks.h. Parts: model_inter_node.h, model_intra_node.h. All levels inside a node
 * count as one, and the node with the most ranks stands for all. The arithmetic is plain +, -, *, / in one order, so
 * that ranks that were given the same probes come to the same answer. Threads: any; what was chosen is kept for the
 * next one who asks. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_H
#define HP_HIER_PLANNING_MODEL_MODEL_H

#include "hier/comm/probes.h"
#include "hier/planning/rules/rule.h"

/* Are the probes there that a communicator of this layout needs? */
bool hp_probes_cover(const hp_probes_t *probes, const hp_layout_t *layout);

/* How long calls on a communicator must have taken before the machine is measured, or compared with what is known of it; first_us: of
 * several nodes, the first time (HANPMPI_PROBE_AFTER_US). is_known: compared. is_kept: a rank of it leaves what is found to the next run. */
double hp_probes_after_us(double first_us, const hp_layout_t *layout, bool is_known, bool is_kept);

/* all: what each of `size` ranks knows, stride bytes apart. The first that covers the layout is *out: the
 * same on all ranks that have the same table. false: none does, *out is left alone. */
bool hp_probes_adopt(const hp_probes_t *all, size_t stride, uint32_t size, const hp_layout_t *layout,
                     hp_probes_t *out);

/* Microseconds from the first rank's arrival to the last rank's end when all arrive at once. < 0: the
 * probes do not cover it, or the model knows nothing of the algorithm, HP_ALGORITHM_NATIVE among others. */
double hp_model_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                   uint64_t bytes, hp_algorithm_id_t algorithm, const hp_setting_t *setting);

/* Microseconds that no algorithm can beat: each node's data over its link, the ranks' data through the
 * memory, one latency. 0: not known, as of blocks whose sizes only some ranks know. */
double hp_model_bound_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                         uint64_t bytes);

/* The settings that the model expects to be fastest, among those of the default rules for one node, or for more than
 * one, with segments of 2 to 512 KiB; the first of those that are equally fast. Of collectives of blocks, with other
 * schedules, too, where these are expected to be clearly faster (hp_model_blocks_find); of vectors, where a network is known, by
 * every way to join the nodes. false: it knows none. *us:
 * the time it expects. */
bool hp_model_choose(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                     uint64_t bytes, hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us);

#endif
