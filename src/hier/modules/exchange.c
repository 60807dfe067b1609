#include "hier/modules/exchange.h"

hp_fold_in_t hp_fold_in(uint32_t count, uint32_t position)
{
    hp_fold_in_t in = {.power = 1};

    while (in.power <= count / 2) {
        in.power *= 2;
        in.rounds++;
    }
    in.paired = 2 * (count - in.power);
    in.paired_here = position < in.paired;
    in.takes_part = !in.paired_here || position % 2 == 1;
    in.number = in.paired_here ? position / 2 : position - in.paired / 2;
    return in;
}

uint32_t hp_fold_in_position(const hp_fold_in_t *in, uint32_t number)
{
    return number < in->paired / 2 ? 2 * number + 1 : number + in->paired / 2;
}

hp_exchange_step_t hp_fold_in_before(const hp_fold_in_t *in, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return in->takes_part ? (hp_exchange_step_t){.to = HP_NOBODY,
                                                 .from = (int32_t)position - 1,
                                                 .recv = all,
                                                 .take = HP_TAKE_FOLD_LEFT}
                          : (hp_exchange_step_t){.to = (int32_t)position + 1, .from = HP_NOBODY, .send = all};
}

hp_exchange_step_t hp_fold_in_after(const hp_fold_in_t *in, uint32_t position, uint32_t blocks)
{
    const hp_blocks_t all = {0, blocks};
    return in->takes_part
               ? (hp_exchange_step_t){.to = (int32_t)position - 1,
                                      .from = HP_NOBODY,
                                      .send = all,
                                      .finished = true}
               : (hp_exchange_step_t){
                     .to = HP_NOBODY, .from = (int32_t)position + 1, .recv = all, .finished = true};
}
