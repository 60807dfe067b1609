#include "schedule/generators/parts/pairing.h"

hp_pairing_t hp_pairing_of(uint32_t count, uint32_t position)
{
    uint32_t power = 1, rounds = 0;

    for (; power <= count / 2; power *= 2)
        rounds++;
    hp_pairing_t pairing = hp_pairing_among(count, power, position);
    pairing.rounds = rounds;
    return pairing;
}

hp_pairing_t hp_pairing_among(uint32_t count, uint32_t power, uint32_t position)
{
    hp_pairing_t pairing = {.power = power, .paired = 2 * (count - power)};

    pairing.paired_here = position < pairing.paired;
    pairing.takes_part = !pairing.paired_here || position % 2 == 0;
    pairing.number = pairing.paired_here ? position / 2 : position - pairing.paired / 2;
    return pairing;
}

uint32_t hp_pairing_position(const hp_pairing_t *pairing, uint32_t number)
{
    return number < pairing->paired / 2 ? 2 * number : number + pairing->paired / 2;
}

void hp_schedule_pair_in(hp_schedule_t *schedule, const hp_pairing_t *pairing, uint32_t me, hp_range_t own)
{
    if (pairing->paired_here && pairing->takes_part)
        hp_schedule_receive(schedule, me + 1, own, HP_ACTION_REDUCE_RIGHT);
    else if (pairing->paired_here)
        hp_schedule_send(schedule, me - 1, own);
}

void hp_schedule_pair_out(hp_schedule_t *schedule, const hp_pairing_t *pairing, uint32_t me,
                          hp_range_t result)
{
    if (pairing->paired_here && pairing->takes_part)
        hp_schedule_send(schedule, me + 1, result);
    else if (pairing->paired_here)
        hp_schedule_receive(schedule, me - 1, result, HP_ACTION_STORE);
}
