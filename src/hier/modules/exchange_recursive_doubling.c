/* exchange_recursive_doubling: pairwise exchange of the whole segment (R. Thakur, R. Rabenseifner, W. Gropp,
 * Optimization of Collective Communication Operations in MPICH, 2005, section 4.5).
 *
 * In round k partners differ in bit k of their number: both send all they have and reduce. Rounds: floor(log2
 * n), and 2 where n is no power of two.  Bytes: the segment in every round.  Constraints: none; groups that
 * have been reduced are ranges of positions, so the order of operands is kept, and all positions compute the
 * same expression: the result is bitwise the same. */
#include "hier/modules/exchange.h"

static uint32_t blocks(uint32_t count)
{
    (void)count;
    return 1;
}

static uint32_t steps(uint32_t count)
{
    return hp_pairing_of(count, 0).rounds + 2;
}

static bool step(uint32_t count, uint32_t position, uint32_t i, hp_exchange_step_t *out)
{
    const hp_pairing_t pairing = hp_pairing_of(count, position);
    const uint32_t first = pairing.paired_here ? 1 : 0, rounds = pairing.takes_part ? pairing.rounds : 0;

    if (i < first) {
        *out = hp_pairing_before(&pairing, position, 1);
    } else if (i < first + rounds) {
        const uint32_t partner = pairing.number ^ (1u << (i - first));
        *out = (hp_exchange_step_t){.send = {0, 1}, .recv = {0, 1}};
        out->to = out->from = (int32_t)hp_pairing_position(&pairing, partner);
        out->take = partner < pairing.number ? HP_TAKE_REDUCE_LEFT : HP_TAKE_REDUCE_RIGHT;
    } else if (i == first + rounds && pairing.paired_here) {
        *out = hp_pairing_after(&pairing, position, 1);
    } else {
        return false;
    }
    return true;
}

const hp_exchange_t hp_exchange_recursive_doubling = {
    .blocks = blocks, .steps = steps, .step = step, .keeps_order = true};
