/* model_schedule: what one message costs between the nodes, from the schedules of the algorithm that joins them
 * (schedule/cost/cost.h): a network on which each node has one link, as fast as the probes say.
 *
 * The time is a sum of latencies, overheads, bytes and reductions along the longest way, and which way is the longest
 * depends on what they cost. So the schedules are run with a few such costs; the ways that were the longest are kept,
 * in how many latencies, overheads, messages' bytes they have, and the time for any costs is the largest of them.
 *
 * Threads: any; what was run is kept for the next one who asks, up to a limit. Ownership: the caller's. */
#ifndef HP_HIER_PLANNING_MODEL_MODEL_SCHEDULE_H
#define HP_HIER_PLANNING_MODEL_MODEL_SCHEDULE_H

#include "hier/comm/probes.h"
#include "schedule/generator.h"

enum { HP_MODEL_SCHEDULE_NODES_MAX = 64, HP_MODEL_WAYS = 14 };

/* Latencies and overheads as they are, link and reduce in parts of a message's bytes. */
typedef struct {
    double latencies, overheads, link, reduce;
} hp_model_way_t;

typedef struct {
    double messages;                    /* one, or as many as the algorithm has trees that take turns */
    hp_model_way_t ways[HP_MODEL_WAYS]; /* of all of these */
    hp_model_way_t most,
        mean; /* what the busiest position has to do for each, and the mean one; no latencies */
} hp_model_schedule_t;

/* pattern: with root 0. false: there is no such algorithm, it does not do this, there are more nodes than
 * HP_MODEL_SCHEDULE_NODES_MAX, or no memory. */
bool hp_model_schedule(const char *generator, hp_pattern_t pattern, uint32_t nodes,
                       hp_model_schedule_t *schedule);

/* The same of what a whole segment goes through: one message, in as many blocks as the problem says. */
bool hp_model_exchange_schedule(const hp_generator_t *generator, const hp_problem_t *problem,
                                hp_model_schedule_t *schedule);

/* What a position of an exchange has to do, for any number of nodes: rounds, and the parts of the segment that are moved,
 * and reduced, in all of them together. */
typedef struct {
    double rounds, moved, reduced;
    bool
        is_serial; /* a segment has to go all the way before the next one: all that a position sends goes to one other */
} hp_model_exchange_t;

/* false: no memory. */
bool hp_model_exchange(const hp_generator_t *generator, const hp_problem_t *problem,
                       hp_model_exchange_t *exchange);

/* From the first node's value to the last node's, of all its messages, of so many bytes each. */
double hp_model_schedule_us(const hp_model_schedule_t *schedule, const hp_probes_t *probes, double bytes);

#endif
