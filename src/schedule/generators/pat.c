/* pat, sparbit: every block goes down a binomial tree of its own, the far positions first: few blocks go far, many go
 * near (pat: S. Jeaugey, PAT: a New Algorithm for All-gather and Reduce-scatter Operations at Scale, arXiv 2506.20252;
 * sparbit: W. J. Loch, G. P. Koslovski, Sparbit: a New Logarithmic-cost and Data Locality-aware MPI Allgather Algorithm,
 * arXiv 2109.08751: the same where messages may be of any size).
 *
 * In the tree of a block a position is known by its distance after the one that brings the block. Distance t, d its
 * lowest bit, gets it from t - d. All trees do the same at once, so a message is of one d: it goes from a position to the
 * one d places on. Up to a blocks go in one (a: the power of two below the parameter): first the distances that are
 * multiples of D, a subtrees of D positions each; then all subtrees at once take their edges one by one, each edge and
 * what is below it before the next one. Reduce-scatter: all backwards, reducing; so a position has partial results of no
 * more than log2 D blocks of a subtree at a time, in as much scratch.
 * Rounds: log2 a + p/a - 1 where p is a power of two; sparbit ceil(log2 p).  Bytes: p - 1 blocks.
 * Constraints: reduce-scatter: the operation must commute. */
#include "schedule/generator.h"

enum { AGGREGATE };

typedef struct {
    hp_schedule_t *schedule;
    uint32_t count, me;
    uint32_t power;    /* of two, >= count */
    uint32_t distance; /* D: between the roots of subtrees */
    uint32_t levels;   /* of a subtree: log2 D, at least 1 */
    bool reduces;
} pat_t;

/* The edges of one message: from distances first, first + stride, ... by d places on. */
typedef struct {
    uint32_t first, stride, d;
} edges_t;

/* The position whose block has come so far when it is here. */
static uint32_t back(const pat_t *pat, uint32_t distance)
{
    return (pat->me + pat->count - distance) % pat->count;
}

static uint32_t log_of(uint32_t power)
{
    return (uint32_t)__builtin_ctz(power);
}

/* Where what is below the distance is reduced: at a subtree's root, or once for each lowest bit. */
static hp_range_t sum_at(const pat_t *pat, uint32_t distance)
{
    const uint32_t in_subtree = distance % pat->distance;
    const uint32_t level = in_subtree ? log_of(in_subtree & -in_subtree) : 0;

    if (distance == 0)
        return hp_range(HP_SPACE_RECV, 0, 1);
    return hp_range(HP_SPACE_SCRATCH, (distance / pat->distance) * pat->levels + level, 1);
}

static bool is_leaf(const pat_t *pat, uint32_t distance)
{
    return distance % 2 == 1 || distance + 1 >= pat->count;
}

/* This position's contributions to what is reduced here from now on. */
static void add_contributions(const pat_t *pat, const edges_t *edges)
{
    hp_schedule_step(pat->schedule, (int32_t)pat->me, (int32_t)pat->me, HP_ACTION_STORE);
    for (uint32_t o = edges->first; o + edges->d < pat->count; o += edges->stride) {
        hp_schedule_sends(pat->schedule, hp_range(HP_SPACE_SEND, back(pat, o), 1));
        hp_schedule_receives(pat->schedule, sum_at(pat, o));
    }
}

static void message(const pat_t *pat, const edges_t *edges)
{
    const uint32_t on = (uint32_t)(((uint64_t)pat->me + edges->d) % pat->count), d = edges->d;
    hp_schedule_t *schedule = pat->schedule;

    if (edges->first + d >= pat->count)
        return;
    if (pat->reduces && d == 1) /* the first that comes to these */
        add_contributions(pat, edges);
    if (pat->reduces)
        hp_schedule_step(schedule, (int32_t)back(pat, d), (int32_t)on, HP_ACTION_REDUCE_RIGHT);
    else
        hp_schedule_step(schedule, (int32_t)on, (int32_t)back(pat, d), HP_ACTION_STORE);
    for (uint32_t o = edges->first; o + d < pat->count; o += edges->stride) {
        const uint32_t t = o + d;
        if (pat->reduces) {
            hp_schedule_sends(schedule,
                              is_leaf(pat, t) ? hp_range(HP_SPACE_SEND, back(pat, t), 1) : sum_at(pat, t));
            hp_schedule_receives(schedule, sum_at(pat, o));
        } else {
            hp_schedule_sends(schedule, hp_range(HP_SPACE_RECV, back(pat, o), 1));
            hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, back(pat, t), 1));
        }
    }
}

/* The edges below `node` of all subtrees, whose own edge is of weight places. */
static void subtrees(const pat_t *pat, uint32_t node, uint32_t weight)
{
    for (uint32_t i = 1; i < weight; i *= 2) {
        const uint32_t d = pat->reduces ? i : weight / 2 / i;
        const edges_t edges = {.first = node, .stride = pat->distance, .d = d};
        if (pat->reduces)
            subtrees(pat, node + d, d);
        message(pat, &edges);
        if (!pat->reduces)
            subtrees(pat, node + d, d);
    }
}

/* The edges between the roots of the subtrees. */
static void roots(const pat_t *pat)
{
    const uint32_t most = pat->power / 2, least = pat->distance;

    for (uint32_t i = least; i <= most; i *= 2) {
        const uint32_t d = pat->reduces ? i : most / (i / least);
        message(pat, &(edges_t){.first = 0, .stride = 2 * d, .d = d});
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, uint32_t aggregate)
{
    pat_t pat = {.schedule = schedule,
                 .count = problem->count,
                 .me = me,
                 .power = 1,
                 .reduces = problem->pattern == HP_PATTERN_REDUCE_SCATTER};

    while (pat.power < pat.count)
        pat.power *= 2;
    pat.distance = pat.power;
    while (pat.distance > 1 && pat.power / pat.distance <= aggregate / 2)
        pat.distance /= 2;
    pat.levels = pat.distance > 1 ? log_of(pat.distance) : 1;
    if (!pat.reduces) {
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                          HP_ACTION_STORE);
        roots(&pat);
    }
    subtrees(&pat, 0, pat.distance);
    if (pat.reduces) {
        schedule->scratch_blocks = ((pat.count - 1) / pat.distance + 1) * pat.levels;
        roots(&pat);
    }
}

static void generate_pat(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, problem->parameter[AGGREGATE]);
}

static void generate_sparbit(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    generate(schedule, problem, me, UINT32_MAX);
}

const hp_generator_t hp_generator_pat = {
    .name = "pat",
    .text = "a binomial tree for each block, far and few first; messages and scratch as small as one likes",
    .patterns = HP_SERVES(ALLGATHER) | HP_SERVES(REDUCE_SCATTER),
    .parameters = {{"aggregate", 1, 0, 8,
                    "blocks that a message has at most, rounded down to a power of two"}},
    .generate = generate_pat};

const hp_generator_t hp_generator_sparbit = {
    .name = "sparbit",
    .text = "Bruck's rounds the other way round: few blocks go far, most go near",
    .patterns = HP_SERVES(ALLGATHER),
    .generate = generate_sparbit};
