/* schedule_cost: what hanpmpi_info --schedule --cost prints: how long schedules take on a network.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_SCHEDULE_COST_H
#define HANPMPI_INFO_SCHEDULE_COST_H

#include "schedule/schedule.h"

/* text: "network=FILE bytes=64K"; without a network that of the problem, if it has one. Returns the exit status; what is wrong has been said. */
int info_print_cost(const char *text, const hp_schedule_t *schedules, const hp_problem_t *problem);

#endif
