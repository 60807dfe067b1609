/* dissemination: everybody hears of everybody in as few rounds as one message a round allows (D. Hensgen, R. Finkel,
 * U. Manber, Two Algorithms for Barrier Synchronization, 1988).
 *
 * In round k each position tells the one 2^k after it, around the circle, and hears from the one 2^k before it: then it
 * has heard, through others, of the 2^(k+1) - 1 before it.
 * Rounds: ceil(log2 p).  Bytes: none; one message a position and round.  Constraints: none. */
#include "schedule/generator.h"

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint64_t count = problem->count;

    for (uint64_t distance = 1; distance < count; distance *= 2)
        hp_schedule_sync(schedule, (int32_t)((me + distance) % count),
                         (int32_t)((me + count - distance) % count));
}

const hp_generator_t hp_generator_dissemination = {
    .name = "dissemination",
    .text = "each tells the one 1, 2, 4, ... places on: ceil(log2 p) rounds",
    .patterns = HP_SERVES(BARRIER),
    .generate = generate};
