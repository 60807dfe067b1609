/* cost: how long the schedules of a problem take on a network.
 *
 * LogGP's arithmetic (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, 1995) on a network whose links are shared: a
 * message keeps the sender's processor busy for send_us and the receiver's for recv_us, takes the latency of each link
 * on its way, and of each link its bytes / rate. What comes is stored at once, or reduced at reduce_rate; a local step
 * copies at copy_rate.
 *
 *   the run    all positions at once, message by message. Steps wait only for those that schedule.h orders before
 *              them, so the processor may overtake; each processor and each link serves what comes first. The first
 *              byte goes on as soon as a link lets it; messages of slower links share a faster one
 *   the figures without a run: rounds, the busiest processor, the busiest link, and from them an estimate, which is
 *              the largest of: the longest chain of dependent messages as if it were alone; what the busiest link or
 *              processor has to do, and the latency of so many rounds
 *
 * A message of several segments runs the same schedule once for each; a position works on so many segments at a time as
 * the window allows. Beyond the first few each segment takes as long as the last of those did on average.
 *
 * Plain +, -, *, / in one order: ranks that ask the same get the same answer.
 * Threads: pure. Ownership: the caller's. */
#ifndef HP_SCHEDULE_COST_H
#define HP_SCHEDULE_COST_H

#include "schedule/cost/cost_terms.h"
#include "schedule/generator.h"

/* schedules: of all positions, as verified. HP_ERR_ARG: messages do not meet, or positions wait for ever; or machines
 * names one that is not there. HP_ERR_NO_MEM. */
hp_status_t hp_schedules_cost(const hp_schedule_t *schedules, const hp_problem_t *problem,
                              const hp_cost_setting_t *setting, hp_cost_t *cost);
/* Makes them, and the same. */
hp_status_t hp_generator_cost(const hp_generator_t *generator, const hp_problem_t *problem,
                              const hp_cost_setting_t *setting, hp_cost_t *cost);

#endif
