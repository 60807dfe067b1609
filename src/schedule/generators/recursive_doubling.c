/* recursive_doubling: pairwise exchange of all that both have (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of
 * Collective Communication Operations in MPICH, 2005, sections 4.1 and 4.5).
 *
 * In round k partners differ in bit k of their number. Allreduce: both send the whole vector and reduce; what has been
 * reduced is of a range of positions, so the order of operands is kept, and all positions compute the same expression:
 * the result is bitwise the same. Rounds: floor(log2 p), and 2 where p is no power of two (pairing.h).  Bytes: the
 * message in every round.  Allgather: both send the range of blocks they have; a power of two only. Rounds: log2 p.
 * Bytes: (p - 1)/p of the result. */
#include "schedule/generators/parts/pairing.h"
#include "schedule/generator.h"

static void generate_allreduce(hp_schedule_t *schedule, uint32_t count, uint32_t me)
{
    const hp_pairing_t pairing = hp_pairing_of(count, me);
    const hp_range_t all = hp_range(HP_SPACE_RECV, 0, 1);

    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), all, HP_ACTION_STORE);
    hp_schedule_pair_in(schedule, &pairing, me, all);
    for (uint32_t bit = 1; bit < pairing.power && pairing.takes_part; bit *= 2) {
        const uint32_t number = pairing.number ^ bit;
        const int32_t partner = (int32_t)hp_pairing_position(&pairing, number);
        hp_schedule_step(schedule, partner, partner,
                         number < pairing.number ? HP_ACTION_REDUCE_LEFT : HP_ACTION_REDUCE_RIGHT);
        hp_schedule_sends(schedule, all);
        hp_schedule_receives(schedule, all);
    }
    schedule->stream = 1;
    hp_schedule_pair_out(schedule, &pairing, me, all);
}

static void generate_allgather(hp_schedule_t *schedule, uint32_t count, uint32_t me)
{
    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                      HP_ACTION_STORE);
    for (uint32_t size = 1; size < count; size *= 2) {
        const uint32_t mine = me & ~(size - 1);
        hp_schedule_step(schedule, (int32_t)(me ^ size), (int32_t)(me ^ size), HP_ACTION_STORE);
        hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, mine, size));
        hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, mine ^ size, size));
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    if (problem->pattern == HP_PATTERN_ALLREDUCE)
        generate_allreduce(schedule, problem->count, me);
    else
        generate_allgather(schedule, problem->count, me);
}

const hp_generator_t hp_generator_recursive_doubling = {.name = "recursive_doubling",
                                                        .text = "pairs exchange all they have: log2 p rounds",
                                                        .patterns =
                                                            HP_SERVES(ALLREDUCE) | HP_SERVES(ALLGATHER),
                                                        .ordered = HP_SERVES(ALLREDUCE),
                                                        .power_of_two = HP_SERVES(ALLGATHER),
                                                        .generate = generate};
