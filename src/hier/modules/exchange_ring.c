/* exchange_ring: reduce-scatter, then allgather, around a ring (P. Patarasuk, X. Yuan, Bandwidth Optimal
 * All-reduce Algorithms for Clusters of Workstations, 2009).
 *
 * n blocks. In step s each position sends block (position - s) to the next one, which reduces its own into it;
 * after n - 1 steps position r holds the finished block r + 1, and n - 1 more steps hand the finished blocks
 * around. Rounds: 2 (n - 1).  Bytes: 2 (n - 1)/n of the segment in each direction of a link: the least there
 * is. Every message goes to the neighbour.  Constraints: block b is reduced from position b on around the
 * ring, so the operation must commute. A segment's steps follow each other: only other leaders' segments
 * overlap with them. */
#include "hier/modules/exchange.h"

static uint32_t blocks(uint32_t count)
{
    return count;
}

static uint32_t steps(uint32_t count)
{
    return 2 * (count - 1);
}

static bool step(uint32_t count, uint32_t position, uint32_t i, hp_exchange_step_t *out)
{
    const bool finished = i >= count - 1;
    /* Of the block that is sent; the one before it is received. The second half begins with the block that
     * the first half has just finished. */
    const uint32_t behind = finished ? i - (count - 1) : i;
    const uint32_t sent = (position + (finished ? 1 : 0) + count - behind) % count;

    if (i >= steps(count))
        return false;
    *out = (hp_exchange_step_t){.to = (int32_t)((position + 1) % count),
                                .from = (int32_t)((position + count - 1) % count),
                                .send = {sent, 1},
                                .recv = {(sent + count - 1) % count, 1},
                                .take = finished ? HP_TAKE_STORE : HP_TAKE_REDUCE_LEFT,
                                .finished = finished};
    return true;
}

const hp_exchange_t hp_exchange_ring = {.blocks = blocks, .steps = steps, .step = step};
