/* pairwise: each block straight from who has it to who wants it, one partner a round (the exchanges of R. Thakur,
 * R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, 2005, sections 4.3 and 4.4).
 *
 * In round i of pairwise a position sends to the one i places after it and receives from the one i places before it; of
 * pairwise_xor both are position (me xor i). Alltoall and allgather: no round needs another one, and no two positions
 * send to the same one in a round. Reduce-scatter: a position reduces into its block what comes. Where the operation
 * does not commute those that come from after it, the last first, are reduced in scratch and joined at the end.
 * Rounds: p - 1.  Bytes: p - 1 blocks: alltoall and reduce-scatter cannot do with fewer.
 * Constraints: pairwise_xor: a power of two; and for reduce-scatter the operation must commute. */
#include "schedule/generator.h"

static void own_block(hp_schedule_t *schedule, hp_pattern_t pattern, uint32_t me)
{
    const uint32_t sent = pattern == HP_PATTERN_ALLGATHER ? 0 : me;
    const uint32_t received = pattern == HP_PATTERN_REDUCE_SCATTER ? 0 : me;

    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, sent, 1), hp_range(HP_SPACE_RECV, received, 1),
                      HP_ACTION_STORE);
}

static void exchange(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, uint32_t to,
                     uint32_t from)
{
    const bool reduces = problem->pattern == HP_PATTERN_REDUCE_SCATTER;
    const bool after = problem->ordered && from > me;
    const bool first_after = after && from == problem->count - 1;

    hp_schedule_step(schedule, (int32_t)to, (int32_t)from,
                     reduces && !first_after ? HP_ACTION_REDUCE_LEFT : HP_ACTION_STORE);
    hp_schedule_sends(schedule,
                      hp_range(HP_SPACE_SEND, problem->pattern == HP_PATTERN_ALLGATHER ? 0 : to, 1));
    hp_schedule_receives(schedule, reduces ? hp_range(after ? HP_SPACE_SCRATCH : HP_SPACE_RECV, 0, 1)
                                           : hp_range(HP_SPACE_RECV, from, 1));
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t count = problem->count;
    const bool joins = problem->pattern == HP_PATTERN_REDUCE_SCATTER && problem->ordered && me < count - 1;

    own_block(schedule, problem->pattern, me);
    for (uint32_t i = 1; i < count; i++)
        exchange(schedule, problem, me, (uint32_t)(((uint64_t)me + i) % count), (me + (count - i)) % count);
    if (joins) {
        schedule->scratch_blocks = 1;
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SCRATCH, 0, 1), hp_range(HP_SPACE_RECV, 0, 1),
                          HP_ACTION_REDUCE_RIGHT);
    }
}

static void generate_xor(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    own_block(schedule, problem->pattern, me);
    for (uint32_t i = 1; i < problem->count; i++)
        exchange(schedule, problem, me, me ^ i, me ^ i);
}

enum { DIRECT = HP_SERVES(ALLTOALL) | HP_SERVES(ALLGATHER), PATTERNS = DIRECT | HP_SERVES(REDUCE_SCATTER) };

const hp_generator_t hp_generator_pairwise = {
    .name = "pairwise",
    .text = "each block straight to its place, to the position i places on in round i",
    .patterns = PATTERNS,
    .ordered = HP_SERVES(REDUCE_SCATTER),
    .direct = DIRECT,
    .generate = generate};

const hp_generator_t hp_generator_pairwise_xor = {
    .name = "pairwise_xor",
    .text = "each block straight to its place, in round i pairs whose numbers differ by xor i",
    .patterns = PATTERNS,
    .power_of_two = PATTERNS,
    .direct = DIRECT,
    .generate = generate_xor};
