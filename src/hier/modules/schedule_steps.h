/* schedule_steps: the tasks of a schedule (schedule/schedule.h) among a team, for the module p2p: an allreduce of each
 * segment, by whatever generator.
 *
 * Blocks are parts of the segment. The running value is where the result goes. A message of blocks that do not follow
 * each other in memory is packed.
 * Threads: as comm.h. Ownership: what is made lies in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_SCHEDULE_STEPS_H
#define HP_HIER_MODULES_SCHEDULE_STEPS_H

#include "hier/modules/module.h"
#include "schedule/generator.h"

typedef struct hp_schedule_use hp_schedule_use_t;

/* Makes steps and lanes of this rank, and adds to the stage what a segment needs. The generator does allreduces, and
 * needs no scratch for them. NULL: no memory. */
hp_schedule_use_t *hp_schedule_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_generator_t *generator);
/* The allreduce of one segment: flow->value of all members -> flow->result of all. */
void hp_schedule_emit(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow);

#endif
