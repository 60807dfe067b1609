/* cost_run: the run of cost.h: all positions at once, message by message. Threads: pure. Ownership: the caller's. */
#ifndef HP_SCHEDULE_COST_RUN_H
#define HP_SCHEDULE_COST_RUN_H

#include "schedule/cost/cost_graph.h"

/* Fills us and share_us. block_bytes: of one segment. HP_ERR_ARG: positions wait for ever; HP_ERR_NO_MEM. */
hp_status_t hp_cost_run(const hp_cost_graph_t *graph, uint32_t positions, const hp_cost_setting_t *setting,
                        double block_bytes, hp_cost_t *cost);

#endif
