/* exchange_steps: the tasks of an exchange (exchange.h) among a team, for the module p2p.
 *
 * Threads: as comm.h. Ownership: what is made lies in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_EXCHANGE_STEPS_H
#define HP_HIER_MODULES_EXCHANGE_STEPS_H

#include "hier/modules/exchange.h"
#include "hier/modules/module.h"

typedef struct hp_exchange_use hp_exchange_use_t;

/* Makes steps and lanes of this rank, and adds to the stage what a segment needs. NULL: no memory. */
hp_exchange_use_t *hp_exchange_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_exchange_t *exchange);
/* The allreduce of one segment: flow->value of all members -> flow->result of all. */
void hp_exchange_emit(const hp_stage_t *stage, hp_exchange_use_t *use, hp_segment_t *segment,
                      hp_flow_t *flow);

#endif
