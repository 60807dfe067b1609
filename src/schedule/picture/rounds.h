/* rounds: in which round each message of schedules passes, where a position can send one message and receive one in
 * each round: what pictures and tables are made of.
 *
 * A message passes in the first round in which what it carries is there, what it replaces has been sent, and both ends
 * are free; those that come first in the steps choose first. The messages of a position in one stream leave in the order
 * of its steps. Local copies take no time. A sync step comes after all before it, and before all after it.
 *
 * Threads: pure. Ownership: a hp_rounds_t owns its lists; fini frees them. */
#ifndef HP_SCHEDULE_ROUNDS_H
#define HP_SCHEDULE_ROUNDS_H

#include "schedule/schedule.h"

/* A message; or a local copy or reduction, from and to the same position, which comes before the messages of its
 * round. */
typedef struct {
    uint32_t from, to, from_step, to_step;
    uint32_t round, blocks;
} hp_message_t;

typedef struct {
    uint32_t rounds;        /* how many there are */
    hp_message_t *messages; /* in an order in which they can pass; local ones, too */
    uint32_t message_count, local_count;
} hp_rounds_t;

/* schedules: of all positions, verified. HP_OK; HP_ERR_NO_MEM; HP_ERR_ARG: they do not get through. */
hp_status_t hp_rounds_init(hp_rounds_t *rounds, const hp_schedule_t *schedules, const hp_problem_t *problem);
void hp_rounds_fini(hp_rounds_t *rounds);

#endif
