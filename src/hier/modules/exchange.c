#include "hier/modules/exchange.h"

hp_exchange_step_t hp_pairing_before(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return pairing->takes_part
               ? (hp_exchange_step_t){.to = HP_NOBODY,
                                      .from = (int32_t)position + 1,
                                      .recv = all,
                                      .take = HP_TAKE_REDUCE_RIGHT}
               : (hp_exchange_step_t){.to = (int32_t)position - 1, .from = HP_NOBODY, .send = all};
}

hp_exchange_step_t hp_pairing_after(const hp_pairing_t *pairing, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return pairing->takes_part
               ? (hp_exchange_step_t){.to = (int32_t)position + 1,
                                      .from = HP_NOBODY,
                                      .send = all,
                                      .finished = true}
               : (hp_exchange_step_t){
                     .to = HP_NOBODY, .from = (int32_t)position - 1, .recv = all, .finished = true};
}
