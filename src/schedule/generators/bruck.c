/* bruck: few messages, by the digits of the distance that a block has to go (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal,
 * D. Weathersby, Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems, 1997).
 *
 * Radix r, p positions, weights w = 1, r, r^2, ... < p, values v = 1 ... r - 1: a message for each v w < p.
 * Alltoall: the block for the position d places on goes v w places where digit w of d is v. It leaves from the send
 * buffer and its last message brings it to its place in the receive buffer, so there is no rotation, before or after;
 * between two messages it waits in scratch under the number d, which is the same wherever it is.
 * Allgather: who has w blocks from its own on sends those to the position v w places before it.
 * Rounds: at most (r - 1) ceil(log_r p); messages of one weight do not wait for each other.  Bytes: allgather p - 1
 * blocks; alltoall p/r blocks a message, radix 2: p/2 log2 p in all, radix p: p - 1.
 * Constraints: alltoall: blocks of one size, as nobody knows what those have that pass through. */
#include "schedule/generator.h"

enum { RADIX };

typedef struct {
    uint32_t count, radix, me;
    uint32_t weight, distance; /* of this message */
    uint32_t stride;           /* between blocks whose digit is the same */
} message_t;

/* Where i blocks on around the circle, back ones back, is. */
static uint32_t on(const message_t *m, uint32_t i)
{
    return (uint32_t)(((uint64_t)m->me + i) % m->count);
}

static uint32_t back(const message_t *m, uint32_t i)
{
    return m->me >= i ? m->me - i : m->me + (m->count - i);
}

/* Distances first, first + stride, ... of the message that are in scratch: the first run of each. */
static hp_range_t scratch(const message_t *m, uint32_t first, uint32_t count, uint32_t run)
{
    return (hp_range_t){
        .space = HP_SPACE_SCRATCH, .first = first, .count = count, .run = run, .stride = m->stride};
}

/* Blocks whose first message this is: all lower digits are 0. They come from the send buffer; the block that has no
 * higher digit either has arrived, the others go on. */
static uint32_t first_messages(hp_schedule_t *schedule, const message_t *m)
{
    const uint32_t count = (m->count - 1 - m->distance) / m->stride + 1, start = on(m, m->distance);
    const uint32_t before_end = (m->count - 1 - start) / m->stride + 1;
    const uint32_t here = count < before_end ? count : before_end;

    hp_schedule_sends(schedule, (hp_range_t){HP_SPACE_SEND, start, here, 1, m->stride});
    if (count > here)
        hp_schedule_sends(schedule, (hp_range_t){HP_SPACE_SEND, start + here * m->stride - m->count,
                                                 count - here, 1, m->stride});
    hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, back(m, m->distance), 1));
    hp_schedule_receives(schedule, scratch(m, m->distance + m->stride, count - 1, 1));
    return count;
}

/* Blocks that have come a part of their way; those below distance + weight have arrived. */
static void further_messages(hp_schedule_t *schedule, const message_t *m, uint32_t count)
{
    const uint32_t run = m->weight - 1, to_end = m->count - 1 - m->distance;
    const uint32_t arrived = run < to_end ? run : to_end;

    hp_schedule_sends(schedule, scratch(m, m->distance + 1, count, run));
    for (uint32_t i = 1; i <= arrived; i++)
        hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, back(m, m->distance + i), 1));
    hp_schedule_receives(schedule, scratch(m, m->distance + m->stride + 1, count - arrived, run));
}

static void alltoall(hp_schedule_t *schedule, const message_t *m)
{
    const uint32_t value = m->distance / m->weight;

    hp_schedule_step(schedule, (int32_t)on(m, m->distance), (int32_t)back(m, m->distance), HP_ACTION_STORE);
    const uint32_t all = hp_range_digit(HP_SPACE_SCRATCH, m->count, m->radix, m->weight, value).count;
    const uint32_t first = first_messages(schedule, m);
    if (all > first)
        further_messages(schedule, m, all - first);
}

static void allgather(hp_schedule_t *schedule, const message_t *m)
{
    const uint32_t missing = m->count - m->distance;
    const uint32_t blocks = m->weight < missing ? m->weight : missing;

    hp_schedule_step(schedule, (int32_t)back(m, m->distance), (int32_t)on(m, m->distance), HP_ACTION_STORE);
    hp_schedule_sends_around(schedule, HP_SPACE_RECV, m->me, blocks, m->count);
    hp_schedule_receives_around(schedule, HP_SPACE_RECV, on(m, m->distance), blocks, m->count);
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const bool gathers = problem->pattern == HP_PATTERN_ALLGATHER;
    const uint32_t count = problem->count, radix = problem->parameter[RADIX];

    hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, gathers ? 0 : me, 1),
                      hp_range(HP_SPACE_RECV, me, 1), HP_ACTION_STORE);
    if (!gathers && radix < count)
        schedule->scratch_blocks = count;
    for (uint64_t weight = 1; weight < count; weight *= radix)
        for (uint64_t distance = weight; distance < weight * radix && distance < count; distance += weight) {
            const uint64_t stride = weight * radix < count ? weight * radix : count;
            const message_t m = {count, radix, me, (uint32_t)weight, (uint32_t)distance, (uint32_t)stride};
            gathers ? allgather(schedule, &m) : alltoall(schedule, &m);
        }
}

const hp_generator_t hp_generator_bruck = {
    .name = "bruck",
    .text =
        "blocks go their distance digit by digit: few messages, with radix r at most (r - 1) ceil(log_r p)",
    .patterns = HP_SERVES(ALLGATHER) | HP_SERVES(ALLTOALL),
    .equal = HP_SERVES(ALLTOALL),
    .parameters = {{"radix", 2, 0, 2, "of the digits: more messages, fewer blocks"}},
    .generate = generate};
