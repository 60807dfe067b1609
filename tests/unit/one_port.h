/* one_port: how many rounds schedules take where a position sends one message at a time and receives one at a time,
 * which is what papers count. A message takes a round, whatever it carries; local steps take none. Steps wait only for
 * those that schedule.h orders before them. Twice it is tried: each port takes its messages in the order of the steps,
 * which keeps algorithms in rounds that are made of rounds; or a position sends, of what it could, the first whose
 * receiver is free, which pipelines need that branch. The fewer rounds count.
 *
 * Threads: single-threaded. Ownership: nothing is kept. */
#ifndef HP_TESTS_UNIT_ONE_PORT_H
#define HP_TESTS_UNIT_ONE_PORT_H

#include "schedule/schedule.h"

typedef struct {
    uint64_t rounds;
    uint64_t sent; /* blocks, by the position that sends the most */
} one_port_t;

/* schedules: of all positions, as verified. Where the first try takes no more rounds than expected there is no second.
 * Fails the test where there is no memory. */
one_port_t one_port_run(const hp_schedule_t *schedules, const hp_problem_t *problem, uint64_t expected);

#endif
