/* circulant_bcast: n blocks to all positions in as few rounds as there can be, any p and n (J. L. Traeff, Optimal
 * Broadcast Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast, Reduction and All-Reduction,
 * arXiv 2407.18004).
 *
 * q = ceil(log2 p); skips s(q) = p, each the half of the one above rounded up, s(0) = 1. In round i, with k = i mod q,
 * all positions send to the one s(k) on and receive from the one s(k) before. In q rounds the root sends q new blocks;
 * position r gets the k-th itself where r is a sum of skips of which s(k) is the lowest (r's first block), and of the
 * q blocks before these all but one. Which of them in which round is searched along such sums, from p + r - s(k) down,
 * so that whom it comes from has it: skips_from. The rounds in front, of blocks that do not exist, are left out, and
 * blocks after the last are the last, sent once.
 * Reduce: all messages backwards, each with what the receiver of the bcast has of the block. Allreduce: both.
 * Rounds: n - 1 + q; allreduce twice that.  Bytes: a position receives the message once, and sends a block a round at
 * most, as the root does; reduce the other way round.  Constraints: to reduce the operation must commute. */
#include "schedule/generator.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { STREAM_REDUCE, STREAM_BCAST };
enum { ROUNDS_MAX = 32 };

typedef struct {
    uint32_t count, rounds; /* p, q */
    uint64_t skips[ROUNDS_MAX + 1];
    int64_t blocks, ahead; /* n; rounds that are left out at the beginning */
} graph_t;

/* What a position receives in rounds k, k + q, ...: block[k], block[k] + q, ... less those ahead. */
typedef struct {
    const graph_t *graph;
    uint64_t target, last;
    uint64_t unused; /* skips, as bits */
    uint32_t found;
    int64_t block[ROUNDS_MAX];
    int64_t last_round; /* in which it gets block n - 1 */
} received_t;

/* Looks for what comes in rounds found, found + 1, ... among sums of unused skips, each below `end`, on top of `sum`:
 * the first one that is in the reach of the round, at most target - s(round), at least more than target - s(round + 1),
 * and not beyond the one before. */
static void skips_from(received_t *r, uint64_t sum, uint32_t end)
{
    const graph_t *graph = r->graph;

    for (uint32_t skip = end; skip-- > 0;) {
        const uint64_t next = sum + graph->skips[skip];
        if (!(r->unused >> skip & 1) || next >= r->last || next > r->target - graph->skips[r->found])
            continue;
        if (next <= r->target - graph->skips[r->found + 1])
            skips_from(r, next, skip);
        if (r->found == graph->rounds || sum > r->target - graph->skips[r->found + 1])
            return;
        r->last = next;
        r->unused &= ~((uint64_t)1 << skip);
        r->block[r->found++] = (int64_t)skip - graph->rounds;
        if (r->found == graph->rounds)
            return;
    }
}

static uint32_t first_block(const graph_t *graph, uint64_t position)
{
    uint32_t skip = graph->rounds;

    while (position > 0)
        if (graph->skips[--skip] <= position)
            position -= graph->skips[skip];
    return skip;
}

/* The block that comes in a round; negative: none yet. */
static int64_t block_in(const received_t *r, int64_t round)
{
    const int64_t q = r->graph->rounds;
    return r->block[round % q] + round / q * q - r->graph->ahead;
}

static void find_received(received_t *r, const graph_t *graph, uint32_t position)
{
    const uint32_t first = first_block(graph, position), q = graph->rounds;

    *r = (received_t){.graph = graph,
                      .target = (uint64_t)graph->count + position,
                      .last = 2 * (uint64_t)graph->count,
                      .unused = (((uint64_t)2 << q) - 1) & ~((uint64_t)1 << first),
                      .last_round = INT64_MAX};
    if (position == 0)
        return;
    skips_from(r, 0, q + 1);
    for (uint32_t k = 0; k < q; k++) {
        if (r->block[k] == 0) /* skip q, all the way round: straight from the root */
            r->block[k] = first;
        int64_t round = k;
        while (round < graph->ahead || block_in(r, round) < graph->blocks - 1)
            round += q;
        if (round < r->last_round)
            r->last_round = round;
    }
}

/* The block that comes to the position in the round; -1: none. */
static int64_t comes(const received_t *r, uint32_t position, int64_t round)
{
    const int64_t block = position > 0 ? block_in(r, round) : -1;

    if (block < r->graph->blocks - 1)
        return block < 0 ? -1 : block;
    return round == r->last_round ? r->graph->blocks - 1 : -1;
}

/* The messages of a round: of a bcast, or backwards. */
static void add_round(hp_schedule_t *schedule, hp_space_t space, bool reduces, int32_t to, int64_t sent,
                      int32_t from, int64_t received)
{
    const hp_range_t out = hp_range(space, (uint32_t)sent, sent >= 0);
    const hp_range_t in = hp_range(space, (uint32_t)received, received >= 0);

    to = sent >= 0 ? to : HP_NO_POSITION;
    from = received >= 0 ? from : HP_NO_POSITION;
    if (to < 0 && from < 0)
        return;
    hp_schedule_step(schedule, reduces ? from : to, reduces ? to : from,
                     reduces ? HP_ACTION_REDUCE_RIGHT : HP_ACTION_STORE);
    hp_schedule_sends(schedule, reduces ? in : out);
    hp_schedule_receives(schedule, reduces ? out : in);
}

static void add_rounds(hp_schedule_t *schedule, const graph_t *graph, uint32_t me, hp_space_t space,
                       bool reduces)
{
    const int64_t rounds = graph->blocks - 1 + graph->rounds;
    const uint32_t count = graph->count;
    received_t mine, theirs[ROUNDS_MAX];
    uint32_t to[ROUNDS_MAX], from[ROUNDS_MAX];

    find_received(&mine, graph, me);
    for (uint32_t k = 0; k < graph->rounds; k++) {
        to[k] = (uint32_t)((me + graph->skips[k]) % count);
        from[k] = (uint32_t)((me + count - graph->skips[k]) % count);
        find_received(&theirs[k], graph, to[k]);
    }
    schedule->stream = reduces ? STREAM_REDUCE : STREAM_BCAST;
    for (int64_t i = 0; i < rounds; i++) {
        const int64_t round = graph->ahead + (reduces ? rounds - 1 - i : i);
        const uint32_t k = (uint32_t)(round % graph->rounds);
        add_round(schedule, space, reduces, (int32_t)to[k], comes(&theirs[k], to[k], round), (int32_t)from[k],
                  comes(&mine, me, round));
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t blocks = problem->parameter[BLOCKS];
    const bool in_scratch = problem->pattern == HP_PATTERN_REDUCE && me != 0;
    const hp_space_t space = in_scratch ? HP_SPACE_SCRATCH : HP_SPACE_RECV;
    graph_t graph = {.count = problem->count, .blocks = blocks};

    for (uint64_t size = problem->count; size > 1; size -= size / 2)
        graph.rounds++;
    graph.skips[graph.rounds] = problem->count;
    for (uint32_t k = graph.rounds; k-- > 0;)
        graph.skips[k] = graph.skips[k + 1] - graph.skips[k + 1] / 2;
    graph.ahead = (graph.rounds - (blocks - 1) % graph.rounds) % graph.rounds;
    schedule->cut = blocks;
    schedule->scratch_blocks = in_scratch ? blocks : 0;
    if (problem->pattern != HP_PATTERN_BCAST) {
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, blocks), hp_range(space, 0, blocks),
                          HP_ACTION_STORE);
        add_rounds(schedule, &graph, me, space, true);
    }
    if (problem->pattern != HP_PATTERN_REDUCE)
        add_rounds(schedule, &graph, me, space, false);
}

const hp_generator_t hp_generator_circulant_bcast = {
    .name = "circulant_bcast",
    .text = "n blocks along a circulant graph, for any p: the fewest rounds, n - 1 + ceil(log2 p)",
    .patterns = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE),
    .parameters = {{"blocks", 1, BLOCKS_MAX, 8, "into so many the vector is cut"}},
    .generate = generate};
