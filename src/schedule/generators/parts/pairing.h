/* pairing: where recursive algorithms need a power of two, or another number: the first 2 x (count - power) positions pair up. The odd
 * one of a pair hands its data to the even one and waits for the result; the even ones and all others take part, the
 * root as number 0, numbered in order. For generators. Threads: pure. Ownership: plain data. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_PAIRING_H
#define HP_SCHEDULE_GENERATORS_PARTS_PAIRING_H

#include "schedule/schedule.h"

typedef struct {
    uint32_t power;  /* that take part */
    uint32_t rounds; /* log2 power, where that is one of two */
    uint32_t paired; /* 2 x (count - power) */
    bool paired_here, takes_part;
    uint32_t number; /* of this position among those that take part */
} hp_pairing_t;

/* The largest power of two takes part; or so many, at least half of them. */
hp_pairing_t hp_pairing_of(uint32_t count, uint32_t position);
hp_pairing_t hp_pairing_among(uint32_t count, uint32_t power, uint32_t position);
/* The position that has this number. */
uint32_t hp_pairing_position(const hp_pairing_t *pairing, uint32_t number);
/* The steps of a position of a pair before the algorithm proper: the even one reduces what the odd one has into own.
 * And after it: the odd one gets the result. */
void hp_schedule_pair_in(hp_schedule_t *schedule, const hp_pairing_t *pairing, uint32_t me, hp_range_t own);
void hp_schedule_pair_out(hp_schedule_t *schedule, const hp_pairing_t *pairing, uint32_t me,
                          hp_range_t result);

#endif
