/* rabenseifner: reduce-scatter by recursive halving, then an allgather by recursive doubling or a gather (R.
 * Rabenseifner, Optimization of Collective Reduction Operations, 2004: vector halving, distance doubling).
 *
 * p' = largest power of two <= p; p' blocks. Numbers are those of positions with their bits in reverse. At level k
 * partners differ in bit k of their number; each keeps one half of the range that both have, sends the other one and
 * reduces what comes, from the highest bit down, so that number q ends with block q. So the nearest positions exchange
 * half of the vector and the farthest, who may be behind links that all share, one block. Allreduce: the same way back,
 * storing. Reduce: up a binomial tree, whose links carry the blocks of a subtree. Bcast: the same tree down, then
 * doubling, which leaves out what the tree has brought (the scatter-allgather of M. Barnett et al., Interprocessor
 * Collective Communication Library, 1994). Rounds: 2 log2 p', half of that for reduce-scatter; where p is no power of
 * two 2 more, reduce and bcast 1.  Bytes: (p' - 1)/p' of the message in each half, and the message once on the links of
 * pairs for each round more.
 * Reduce-scatter, whose blocks are the positions': numbers are positions, so that the farthest exchange the most.
 * Constraints: the operation must commute. Reduce-scatter: a power of two. */
#include "schedule/generator.h"
#include "schedule/generators/parts/butterfly.h"

enum { STREAM_TREE = 2 };

/* Of a position that takes part, the number; of a number, the position. */
static uint32_t reversed(uint32_t power, uint32_t number)
{
    uint32_t bits = 0;

    for (uint32_t bit = 1; bit < power; bit *= 2, number /= 2)
        bits = 2 * bits + number % 2;
    return bits;
}

static uint32_t near_partner(uint32_t power, uint32_t place, uint32_t level)
{
    return place ^ power / 2 >> level;
}

static uint32_t near_first(uint32_t power, uint32_t place, uint32_t level)
{
    return reversed(power, place) >> level << level;
}

static const hp_butterfly_t near_halving = {.partner = near_partner, .first = near_first};

static uint32_t partner(uint32_t power, uint32_t number, uint32_t level)
{
    (void)power;
    return number ^ 1u << level;
}

static uint32_t first(uint32_t power, uint32_t number, uint32_t level)
{
    (void)power;
    return number >> level << level;
}

static const hp_butterfly_t halving = {.partner = partner, .first = first};

static uint32_t position_of(const hp_pairing_t *pairing, uint32_t number)
{
    return hp_pairing_position(pairing, reversed(pairing->power, number));
}

static void gather_to_root(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector)
{
    const hp_pairing_t *pairing = &vector->pairing;
    const uint32_t number = reversed(pairing->power, pairing->number);
    uint32_t size = 1;

    for (; size < pairing->power && (number & size) == 0; size *= 2)
        hp_schedule_receive(schedule, position_of(pairing, number + size),
                            hp_range(vector->space, number + size, size), HP_ACTION_STORE);
    if (size < pairing->power)
        hp_schedule_send(schedule, position_of(pairing, number - size),
                         hp_range(vector->space, number, size));
}

static void scatter_from_root(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector)
{
    const hp_pairing_t *pairing = &vector->pairing;
    const uint32_t number = reversed(pairing->power, pairing->number);

    for (uint32_t size = pairing->power / 2; size > 0; size /= 2)
        if (number % (2 * size) == size)
            hp_schedule_receive(schedule, position_of(pairing, number - size),
                                hp_range(vector->space, number, size), HP_ACTION_STORE);
        else if (number % size == 0)
            hp_schedule_send(schedule, position_of(pairing, number + size),
                             hp_range(vector->space, number + size, size));
}

/* As doubling, but who has had the blocks of its subtree does not get them again. */
static void double_scattered(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector)
{
    const hp_pairing_t *pairing = &vector->pairing;
    const uint32_t number = reversed(pairing->power, pairing->number);

    for (uint32_t size = 1; size < pairing->power; size *= 2) {
        const uint32_t mine = number & ~(size - 1), theirs = mine ^ size;
        const int32_t position = (int32_t)position_of(pairing, number ^ size);
        const bool one_way = (number & ~size) % (2 * size) == 0, is_lower = (number & size) == 0;
        const bool sends = !one_way || is_lower, receives = !one_way || !is_lower;
        hp_schedule_step(schedule, sends ? position : HP_NO_POSITION, receives ? position : HP_NO_POSITION,
                         HP_ACTION_STORE);
        hp_schedule_sends(schedule, hp_range(vector->space, mine, sends ? size : 0));
        hp_schedule_receives(schedule, hp_range(vector->space, theirs, receives ? size : 0));
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_butterfly_vector_t vector = {.butterfly = &near_halving,
                                    .pairing = hp_pairing_of(problem->count, me),
                                    .me = me,
                                    .space = HP_SPACE_RECV};
    const hp_pairing_t *pairing = &vector.pairing;

    if (problem->pattern == HP_PATTERN_REDUCE) {
        schedule->cut = pairing->power;
        if (me != 0 && pairing->takes_part) {
            vector.space = HP_SPACE_SCRATCH;
            schedule->scratch_blocks = pairing->power;
        }
        hp_schedule_butterfly_halve(schedule, &vector);
        schedule->stream = STREAM_TREE;
        if (pairing->takes_part)
            gather_to_root(schedule, &vector);
    } else if (problem->pattern == HP_PATTERN_BCAST) {
        schedule->cut = pairing->power;
        schedule->stream = STREAM_TREE;
        if (pairing->takes_part) {
            scatter_from_root(schedule, &vector);
            double_scattered(schedule, &vector);
        }
        hp_schedule_pair_out(schedule, pairing, me, hp_range(HP_SPACE_RECV, 0, pairing->power));
    } else {
        hp_schedule_butterfly(schedule, problem, me,
                              problem->pattern == HP_PATTERN_ALLREDUCE ? &near_halving : &halving);
    }
}

const hp_generator_t hp_generator_rabenseifner = {
    .name = "rabenseifner",
    .text = "halves the vector while it reduces, doubles it on the way back: 2 log2 p rounds, few bytes",
    .patterns = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE) | HP_SERVES(REDUCE_SCATTER),
    .power_of_two = HP_SERVES(REDUCE_SCATTER),
    .generate = generate};
