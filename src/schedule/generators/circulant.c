/* circulant: reduce-scatter and allgather of any number of positions in as few rounds and bytes as there can be (J. L.
 * Traeff, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, arXiv 2410.14234).
 *
 * s is p, then half of it rounded up, and so on to 1; h is the half of s. Counted from itself around the circle a
 * position has partial results of blocks 0 ... s - 1: it sends h ... s - 1 to the position h places on, to which these
 * are 0 ... s - h - 1, and reduces what comes from h places before into its own. It ends with block 0, its own.
 * Allgather: the same steps backwards, storing. Allreduce: one after the other.
 * Rounds: ceil(log2 p), allreduce twice that.  Bytes: p - 1 blocks, allreduce 2 (p - 1); the least there is.
 * Constraints: blocks are reduced in the order of the distances, so the operation must commute. */
#include "schedule/generator.h"

enum { STREAM_REDUCE, STREAM_GATHER };
enum { ROUNDS_MAX = 32 };

typedef struct {
    hp_schedule_t *schedule;
    const hp_problem_t *problem;
    uint32_t me;
    uint32_t sizes[ROUNDS_MAX + 1]; /* p, ..., 1 */
    uint32_t rounds;
} circulant_t;

/* Blocks that begin at distance `first`, in a list of the last step. A reduce-scatter has the one at distance 0 in
 * place and the others in scratch. */
static void add(const circulant_t *c, bool receives, uint32_t first, uint32_t count)
{
    const bool scatters = c->problem->pattern == HP_PATTERN_REDUCE_SCATTER;
    void (*const add_range)(hp_schedule_t *, hp_range_t) =
        receives ? hp_schedule_receives : hp_schedule_sends;

    if (!scatters) {
        (receives ? hp_schedule_receives_around : hp_schedule_sends_around)(
            c->schedule, HP_SPACE_RECV, (uint64_t)c->me + first, count, c->problem->count);
    } else if (first == 0) {
        add_range(c->schedule, hp_range(HP_SPACE_RECV, 0, 1));
        add_range(c->schedule, hp_range(HP_SPACE_SCRATCH, 0, count - 1));
    } else {
        add_range(c->schedule, hp_range(HP_SPACE_SCRATCH, first - 1, count));
    }
}

/* The position so many places on. */
static uint32_t on(const circulant_t *c, uint32_t distance)
{
    return (uint32_t)(((uint64_t)c->me + distance) % c->problem->count);
}

static void reduce_scatter(const circulant_t *c)
{
    const uint32_t count = c->problem->count;

    c->schedule->stream = STREAM_REDUCE;
    hp_schedule_step(c->schedule, (int32_t)c->me, (int32_t)c->me, HP_ACTION_STORE);
    hp_schedule_sends_around(c->schedule, HP_SPACE_SEND, c->me, c->sizes[1], count);
    add(c, true, 0, c->sizes[1]);
    for (uint32_t i = 0; i < c->rounds; i++) {
        const uint32_t half = c->sizes[i + 1], blocks = c->sizes[i] - half;
        hp_schedule_step(c->schedule, (int32_t)on(c, half), (int32_t)on(c, count - half),
                         HP_ACTION_REDUCE_LEFT);
        if (i == 0) /* nothing has come yet */
            hp_schedule_sends_around(c->schedule, HP_SPACE_SEND, on(c, half), blocks, count);
        else
            add(c, false, half, blocks);
        add(c, true, 0, blocks);
    }
}

static void allgather(const circulant_t *c)
{
    c->schedule->stream = STREAM_GATHER;
    for (uint32_t i = c->rounds; i-- > 0;) {
        const uint32_t half = c->sizes[i + 1], blocks = c->sizes[i] - half;
        hp_schedule_step(c->schedule, (int32_t)on(c, c->problem->count - half), (int32_t)on(c, half),
                         HP_ACTION_STORE);
        add(c, false, 0, blocks);
        add(c, true, half, blocks);
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    circulant_t c = {.schedule = schedule, .problem = problem, .me = me};

    for (c.sizes[0] = problem->count; c.sizes[c.rounds] > 1; c.rounds++)
        c.sizes[c.rounds + 1] = c.sizes[c.rounds] - c.sizes[c.rounds] / 2;
    if (problem->pattern == HP_PATTERN_ALLREDUCE)
        schedule->cut = problem->count;
    if (problem->pattern == HP_PATTERN_REDUCE_SCATTER)
        schedule->scratch_blocks = c.sizes[1] - 1;
    if (problem->pattern == HP_PATTERN_ALLGATHER)
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                          HP_ACTION_STORE);
    else
        reduce_scatter(&c);
    if (problem->pattern != HP_PATTERN_REDUCE_SCATTER)
        allgather(&c);
}

const hp_generator_t hp_generator_circulant = {
    .name = "circulant",
    .text = "halves the distance each round, for any p: ceil(log2 p) rounds and the fewest bytes",
    .patterns = HP_SERVES(ALLREDUCE) | HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLGATHER),
    .generate = generate};
