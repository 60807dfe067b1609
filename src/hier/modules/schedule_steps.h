/* schedule_steps: runs a schedule (schedule/schedule.h) among a team, for the module p2p: the tasks of each segment, by
 * whatever generator.
 *
 * Blocks are parts of the segment. Where blocks have nothing to do with each other, as in trees, segments may take turns
 * instead: the first one goes the way of block 0, the next one that of block 1, and so on, each as a whole or in pieces that
 * follow each other. What a segment needs is worked out when the collective is prepared (schedule_program.h).
 * Threads: as comm.h. Ownership: what is made lies in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_SCHEDULE_STEPS_H
#define HP_HIER_MODULES_SCHEDULE_STEPS_H

#include "hier/modules/module.h"
#include "schedule/generator.h"

typedef struct hp_schedule_use hp_schedule_use_t;

typedef struct {
    const hp_generator_t
        *generator;       /* it serves the pattern, and needs no more scratch than the message for it */
    hp_pattern_t pattern; /* bcast, reduce, allreduce, barrier; the root is position 0 */
    bool takes_turns;     /* as many ways as the generator has blocks at least */
    size_t piece_bytes;   /* of a segment, only where they take turns; 0: it is whole */
} hp_schedule_wanted_t;

/* Makes what this rank does, and its lanes, and adds to the stage what a segment needs. NULL: no memory. */
hp_schedule_use_t *hp_schedule_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_schedule_wanted_t *wanted);

/* The tasks of one segment. Reduce: flow->value of all members becomes that of the leader, where it wants that. */
void hp_schedule_reduce(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into);
/* flow->result of the leader -> flow->result of all. */
void hp_schedule_bcast(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow);
/* flow->value of all members -> flow->result of all. */
void hp_schedule_allreduce(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow);
/* flow->ready of all members -> flow->ready of all. */
void hp_schedule_barrier(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow);

#endif
