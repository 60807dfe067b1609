#include "hier/modules/exchange.h"

hp_pairing_t hp_pairing_of(uint32_t count, uint32_t position)
{
    hp_pairing_t pairing = {.power = 1};

    while (pairing.power <= count / 2) {
        pairing.power *= 2;
        pairing.rounds++;
    }
    pairing.paired = 2 * (count - pairing.power);
    pairing.paired_here = position < pairing.paired;
    pairing.takes_part = !pairing.paired_here || position % 2 == 1;
    pairing.number = pairing.paired_here ? position / 2 : position - pairing.paired / 2;
    return pairing;
}

uint32_t hp_pairing_position(const hp_pairing_t *pairing, uint32_t number)
{
    return number < pairing->paired / 2 ? 2 * number + 1 : number + pairing->paired / 2;
}

hp_exchange_step_t hp_pairing_before(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return pairing->takes_part
               ? (hp_exchange_step_t){.to = HP_NOBODY,
                                      .from = (int32_t)position - 1,
                                      .recv = all,
                                      .take = HP_TAKE_REDUCE_LEFT}
               : (hp_exchange_step_t){.to = (int32_t)position + 1, .from = HP_NOBODY, .send = all};
}

hp_exchange_step_t hp_pairing_after(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return pairing->takes_part
               ? (hp_exchange_step_t){.to = (int32_t)position - 1,
                                      .from = HP_NOBODY,
                                      .send = all,
                                      .finished = true}
               : (hp_exchange_step_t){
                     .to = HP_NOBODY, .from = (int32_t)position + 1, .recv = all, .finished = true};
}
