/* recursive_multiplying: recursive doubling with several partners in a round (M. Ruefenacht, M. Bull, S. Booth,
 * Generalisation of Recursive Doubling for AllReduce: Now with Simulation, Parallel Computing 69, 2017).
 *
 * The number of positions that take part is a product of factors up to radix r. In the round of factor f the f positions
 * that differ in that digit of their number send each other all they have, and each reduces the f values in the order of
 * the positions: all compute the same expression, so the result is bitwise the same. What comes waits in scratch, of which
 * each round has its own. Where the number of positions is no such product, the first ones pair up (pairing.h). Where nodes are
 * known to have so many positions each, no round is half inside them.
 * Rounds: log_r p where p is a power of r, and 2 with pairs; messages of a round do not wait for each other.  Bytes: the
 * message f - 1 times in the round of factor f.
 * For short messages: a round has one latency, but f - 1 overheads at each end. */
#include "schedule/generator.h"
#include "schedule/generators/parts/pairing.h"

enum { RADIX, FACTORS_MAX = 32 };

/* power = factor[0] x ... x factor[rounds - 1]. */
typedef struct {
    uint32_t power, rounds, factor[FACTORS_MAX];
} product_t;

/* Puts the factors of a number behind those that are there, the largest first. False: it has others than up to the radix. */
static bool add_factors(product_t *product, uint32_t number, uint32_t radix)
{
    product->power *= number;
    for (uint32_t factor = radix; factor >= 2; factor--)
        for (; number % factor == 0; number /= factor)
            product->factor[product->rounds++] = factor;
    return number == 1;
}

static bool factorize(product_t *product, uint32_t number, uint32_t radix)
{
    *product = (product_t){.power = 1};
    return add_factors(product, number, radix);
}

/* Of those that take part: all, with intra-node rounds and inter-node rounds where that is possible; or the largest
 * number with the fewest rounds that leaves a partner to each of the others. */
static product_t choose(const hp_problem_t *problem)
{
    const uint32_t count = problem->count, radix = problem->parameter[RADIX], inside = problem->per_node;
    product_t best, product;

    if (inside > 0 && count % inside == 0 && factorize(&best, inside, radix) &&
        add_factors(&best, count / inside, radix))
        return best;
    if (factorize(&best, count, radix))
        return best;
    best.rounds = FACTORS_MAX + 1;
    for (uint32_t power = count - 1; 2 * (uint64_t)power >= count; power--)
        if (factorize(&product, power, radix) && product.rounds < best.rounds)
            best = product;
    return best;
}

/* What came from those with other digits, in the order of these. */
static hp_range_t from_digit(uint32_t scratch, uint32_t own, uint32_t digit)
{
    return hp_range(HP_SPACE_SCRATCH, scratch + digit - (digit > own), 1);
}

/* All messages of a round, the next position's first. */
static void exchange(hp_schedule_t *schedule, const hp_pairing_t *pairing, uint32_t weight, uint32_t factor,
                     uint32_t scratch)
{
    const uint32_t own = pairing->number / weight % factor, first = pairing->number - own * weight;

    for (uint32_t shift = 1; shift < factor; shift++) {
        const uint32_t to = (own + shift) % factor, from = (own + factor - shift) % factor;
        hp_schedule_step(schedule, (int32_t)hp_pairing_position(pairing, first + to * weight),
                         (int32_t)hp_pairing_position(pairing, first + from * weight), HP_ACTION_STORE);
        hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, 0, 1));
        hp_schedule_receives(schedule, from_digit(scratch, own, from));
    }
}

/* The values of lower digits one after the other, then the own one, then the others. */
static void reduce(hp_schedule_t *schedule, uint32_t me, uint32_t own, uint32_t factor, uint32_t scratch)
{
    const hp_range_t all = hp_range(HP_SPACE_RECV, 0, 1), lowest = from_digit(scratch, own, 0);

    for (uint32_t digit = 1; digit < own; digit++)
        hp_schedule_local(schedule, me, from_digit(scratch, own, digit), lowest, HP_ACTION_REDUCE_RIGHT);
    if (own > 0)
        hp_schedule_local(schedule, me, lowest, all, HP_ACTION_REDUCE_LEFT);
    for (uint32_t digit = own + 1; digit < factor; digit++)
        hp_schedule_local(schedule, me, from_digit(scratch, own, digit), all, HP_ACTION_REDUCE_RIGHT);
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const product_t product = choose(problem);
    const hp_pairing_t pairing = hp_pairing_among(problem->count, product.power, me);
    const hp_range_t all = hp_range(HP_SPACE_RECV, 0, 1);

    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), all, HP_ACTION_STORE);
    hp_schedule_pair_in(schedule, &pairing, me, all);
    for (uint32_t round = 0, weight = 1; round < product.rounds && pairing.takes_part; round++) {
        const uint32_t factor = product.factor[round], scratch = schedule->scratch_blocks;
        exchange(schedule, &pairing, weight, factor, scratch);
        reduce(schedule, me, pairing.number / weight % factor, factor, scratch);
        schedule->scratch_blocks += factor - 1;
        weight *= factor;
    }
    schedule->stream = 1;
    hp_schedule_pair_out(schedule, &pairing, me, all);
}

const hp_generator_t hp_generator_recursive_multiplying = {
    .name = "recursive_multiplying",
    .text = "groups of r exchange all they have: log_r p rounds, for short messages",
    .patterns = HP_SERVES(ALLREDUCE),
    .ordered = HP_SERVES(ALLREDUCE),
    .parameters = {{"radix", 2, 0, 4, "positions of a group: fewer rounds, more messages in each"}},
    .generate = generate};
