/* exchange_rabenseifner: reduce-scatter by recursive halving, allgather by recursive doubling (R.
 * Rabenseifner, Optimization of Collective Reduction Operations, 2004).
 *
 * p' = largest power of two <= n; p' blocks. Round k of the first half: the partner differs in the k-th
 * highest bit; each keeps one half of the range that both have, sends the other one and reduces what comes. So
 * position q ends with block q. The second half goes the same way back. Rounds: 2 log2 p' (+ 2).  Bytes: 2
 * (p' - 1)/p' of the segment, and the segment twice more on the links of the pairs where n is no power of
 * two.  Constraints: the operation must commute (the first partners are the farthest). */
#include "hier/modules/exchange.h"

static uint32_t blocks(uint32_t count)
{
    return hp_pairing_of(count, 0).power;
}

static uint32_t steps(uint32_t count)
{
    return 2 * hp_pairing_of(count, 0).rounds + 2;
}

/* The size-aligned range of blocks that holds a number. */
static hp_blocks_t range_of(uint32_t number, uint32_t size)
{
    return (hp_blocks_t){number & ~(size - 1), size};
}

static hp_exchange_step_t exchange(const hp_pairing_t *pairing, uint32_t round)
{
    const bool finished = round >= pairing->rounds;
    const uint32_t size = 1u << (finished ? round - pairing->rounds : pairing->rounds - 1 - round);
    const uint32_t partner = pairing->number ^ size;
    const hp_blocks_t mine = range_of(pairing->number, size), theirs = range_of(partner, size);
    const int32_t position = (int32_t)hp_pairing_position(pairing, partner);

    return (hp_exchange_step_t){.to = position,
                                .from = position,
                                .send = finished ? mine : theirs,
                                .recv = finished ? theirs : mine,
                                .take = finished                    ? HP_TAKE_STORE
                                        : partner < pairing->number ? HP_TAKE_REDUCE_LEFT
                                                                    : HP_TAKE_REDUCE_RIGHT,
                                .finished = finished};
}

static bool step(uint32_t count, uint32_t position, uint32_t i, hp_exchange_step_t *out)
{
    const hp_pairing_t pairing = hp_pairing_of(count, position);
    const uint32_t first = pairing.paired_here ? 1 : 0, rounds = pairing.takes_part ? 2 * pairing.rounds : 0;

    if (i < first)
        *out = hp_pairing_before(&pairing, position, pairing.power);
    else if (i < first + rounds)
        *out = exchange(&pairing, i - first);
    else if (i == first + rounds && pairing.paired_here)
        *out = hp_pairing_after(&pairing, position, pairing.power);
    else
        return false;
    return true;
}

const hp_exchange_t hp_exchange_rabenseifner = {.blocks = blocks, .steps = steps, .step = step};
