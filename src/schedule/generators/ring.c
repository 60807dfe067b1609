/* ring: blocks go around a ring of the positions (P. Patarasuk, X. Yuan, Bandwidth Optimal All-reduce Algorithms for
 * Clusters of Workstations, 2009).
 *
 * p blocks. Reduce-scatter: in step s each position sends block (me - s) to the next one, which reduces its own into
 * it; so block b goes around from position b on. Allgather: finished blocks are handed around. An allreduce is one
 * after the other; position r holds block r + 1 between them. Rounds: p - 1, allreduce 2 (p - 1).  Bytes: (p - 1)/p of
 * the message in each direction of a link and half: the least there is. Every message goes to the neighbour.
 * Constraints: block b is reduced from position b on around the ring, so the operation must commute. */
#include "schedule/generator.h"

enum { STREAM_REDUCE, STREAM_GATHER };

/* One step: sends a block and receives the one before it, around the circle. */
static void hand_on(hp_schedule_t *schedule, uint32_t count, uint32_t me, hp_space_t space, uint32_t sent,
                    hp_action_t action)
{
    hp_schedule_step(schedule, (int32_t)((me + 1) % count), (int32_t)((me + count - 1) % count), action);
    hp_schedule_sends(schedule, hp_range(space, sent % count, 1));
    hp_schedule_receives(schedule, hp_range(space, (sent + count - 1) % count, 1));
}

/* first: the block that the position has finished. */
static void gather(hp_schedule_t *schedule, uint32_t count, uint32_t me, uint32_t first)
{
    schedule->stream = STREAM_GATHER;
    for (uint32_t s = 0; s + 1 < count; s++)
        hand_on(schedule, count, me, HP_SPACE_RECV, first + count - s, HP_ACTION_STORE);
}

static void generate_allreduce(hp_schedule_t *schedule, uint32_t count, uint32_t me)
{
    schedule->cut = count;
    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, count), hp_range(HP_SPACE_RECV, 0, count),
                      HP_ACTION_STORE);
    schedule->stream = STREAM_REDUCE;
    for (uint32_t s = 0; s + 1 < count; s++)
        hand_on(schedule, count, me, HP_SPACE_RECV, me + count - s, HP_ACTION_REDUCE_LEFT);
    gather(schedule, count, me, me + 1);
}

/* Block b starts at position b + 1 and ends at position b. Two blocks of scratch take turns, so that one is received
 * while the other is sent. */
static void generate_reduce_scatter(hp_schedule_t *schedule, uint32_t count, uint32_t me)
{
    const uint32_t next = (me + 1) % count, previous = (me + count - 1) % count;

    schedule->scratch_blocks = count > 2 ? 2 : 0;
    for (uint32_t s = 1; s < count; s++) {
        const uint32_t block = (me + 2 * count - 1 - s) % count;
        const hp_range_t own = hp_range(HP_SPACE_SEND, block, 1);
        const hp_range_t sum =
            block == me ? hp_range(HP_SPACE_RECV, 0, 1) : hp_range(HP_SPACE_SCRATCH, s % 2, 1);
        hp_schedule_local(schedule, me, own, sum, HP_ACTION_STORE);
        hp_schedule_step(schedule, (int32_t)next, (int32_t)previous, HP_ACTION_REDUCE_LEFT);
        hp_schedule_sends(schedule, s == 1 ? hp_range(HP_SPACE_SEND, previous, 1)
                                           : hp_range(HP_SPACE_SCRATCH, (s - 1) % 2, 1));
        hp_schedule_receives(schedule, sum);
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    switch (problem->pattern) {
    case HP_PATTERN_ALLREDUCE:
        generate_allreduce(schedule, problem->count, me);
        break;
    case HP_PATTERN_REDUCE_SCATTER:
        generate_reduce_scatter(schedule, problem->count, me);
        break;
    default:
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                          HP_ACTION_STORE);
        gather(schedule, problem->count, me, me);
    }
}

const hp_generator_t hp_generator_ring = {
    .name = "ring",
    .text = "blocks go around a ring: the fewest bytes over each link, 2 (p - 1) rounds",
    .patterns = HP_SERVES(ALLREDUCE) | HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLGATHER),
    .generate = generate};
