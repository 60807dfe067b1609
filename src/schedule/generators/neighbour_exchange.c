/* neighbour_exchange: positions take turns with their two neighbours (J. Chen, L. Zhang, Y. Zhang, W. Yuan, Performance
 * Evaluation of Allgather Algorithms on Terascale Linux Cluster with Fast Ethernet, 2005).
 *
 * Positions 2 P and 2 P + 1 are pair P. First both exchange their blocks. Then each turns to the neighbour in the next
 * pair, then to its own pair again, and so on; it sends the two blocks that it got last, so that in round t it gets
 * those of the pair (t + 1)/2 or t/2 places away, on the side of that neighbour.
 * Rounds: p/2.  Bytes: p - 1 blocks, half of the messages to each neighbour.  Constraints: p is even. */
#include "schedule/generator.h"

/* The pair whose blocks position me gets in a round >= 1; in round 0 it has its own pair's. */
static uint32_t pair_of_round(uint32_t pairs, uint32_t me, uint32_t round)
{
    const uint32_t away = (round + 1) / 2 % pairs;
    const bool before = (round % 2 == 1) == (me % 2 == 0);

    return (me / 2 + (before ? pairs - away : away)) % pairs;
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t count = problem->count, pairs = count / 2;

    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                      HP_ACTION_STORE);
    hp_schedule_step(schedule, (int32_t)(me ^ 1), (int32_t)(me ^ 1), HP_ACTION_STORE);
    hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, me, 1));
    hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, me ^ 1, 1));
    for (uint32_t round = 1; round < pairs; round++) {
        const bool before = (round % 2 == 1) == (me % 2 == 0);
        const int32_t partner = (int32_t)((me + (before ? count - 1 : 1)) % count);
        const uint32_t sent = round == 1 ? me / 2 : pair_of_round(pairs, me, round - 1);
        hp_schedule_step(schedule, partner, partner, HP_ACTION_STORE);
        hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, 2 * sent, 2));
        hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, 2 * pair_of_round(pairs, me, round), 2));
    }
}

const hp_generator_t hp_generator_neighbour_exchange = {
    .name = "neighbour_exchange",
    .text = "two blocks at a time to one neighbour, then the other: p/2 rounds, neighbours only",
    .patterns = HP_SERVES(ALLGATHER),
    .even = HP_SERVES(ALLGATHER),
    .generate = generate};
