/* bine: binomial trees and butterflies with the partners nearer: distances 1, 1, 3, 5, 11, ..., a third less than 1, 2,
 * 4, 8, ... (D. De Sensi et al., Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality,
 * SC 2025, arXiv 2508.17311; the butterfly's distances: D. De Sensi et al., Swing, NSDI 2024).
 *
 * Tree (bcast, reduce, gather, scatter): positions stand for the integers of a window around 0, the root's, written in
 * base -2. Where bits 0 to j of a number are equal (and bit j + 1 is not), its children are those whose lowest e + 1
 * bits are the opposite, e < j; so numbers in a subtree are a range: all values of the lowest j bits. The window is one
 * in which no number's parent is outside: for any p, with the depth and the rounds of a binomial tree.
 * Butterfly (allreduce, reduce_scatter, allgather): at level k an even number's partner is the sum of (-2)^i, i <= k,
 * places on, an odd one's as many before; what they have is ranges around the circle, halved and doubled.
 * Rounds: ceil(log2 p), allreduce twice that (pairing.h where p is no power of two: 2 floor(log2 p) + 2).  Bytes: as
 * the binomial tree; reduce_scatter and allgather p - 1 blocks, allreduce 2 (p - 1)/p of the message.
 * Constraints: the operation must commute. Reduce_scatter, allgather: a power of two. */
#include "schedule/generator.h"
#include "schedule/generators/parts/butterfly.h"
#include "schedule/generators/parts/tree_links.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { BITS = 32 };

/* ---- base -2 ---- */

#define ODD_BITS UINT32_C(0xAAAAAAAA)

static uint32_t digits_of(int64_t value)
{
    return ((uint32_t)value + ODD_BITS) ^ ODD_BITS;
}

static int64_t value_of(uint32_t digits)
{
    return (int32_t)((digits ^ ODD_BITS) - ODD_BITS);
}

static uint32_t low_bits(uint32_t bits)
{
    return (uint32_t)(((uint64_t)1 << bits) - 1);
}

/* Numbers of so many digits are the integers from -below to above. */
static uint32_t below(uint32_t bits)
{
    return ODD_BITS & low_bits(bits);
}

static uint32_t above(uint32_t bits)
{
    return ~ODD_BITS & low_bits(bits);
}

/* ---- the tree ---- */

typedef struct {
    uint32_t count, bits;
    int64_t lowest, highest; /* the window */
} window_t;

/* How many children a number can have: j. */
static uint32_t equal_bits(const window_t *window, uint32_t digits)
{
    uint32_t j = 0;
    while (j < window->bits && ((digits ^ digits >> 1) >> j & 1) == 0)
        j++;
    return j;
}

static int64_t parent_of(const window_t *window, int64_t value)
{
    const uint32_t digits = digits_of(value);
    return value_of(digits ^ low_bits(equal_bits(window, digits) + 1));
}

/* Can the window end at this number: is none of its ancestors beyond it? */
static bool may_end(const window_t *window, int64_t end)
{
    for (int64_t value = end; value != 0; value = parent_of(window, value))
        if (end < 0 ? value < end : value > end)
            return false;
    return true;
}

static window_t window_of(uint32_t count)
{
    window_t window = {.count = count, .bits = 1};

    while (low_bits(window.bits) < count - 1)
        window.bits++;
    /* The root's two farthest children are in any window; beyond them, the first that will do. */
    const uint32_t nearer = window.bits - window.bits % 2;
    const int64_t least = (int64_t)below(nearer) - above(nearer);
    window.lowest = (int64_t)above(window.bits) - (count - 1);
    if (window.lowest > -least)
        window.lowest = -least;
    window.highest = window.lowest + count - 1;
    while (!may_end(&window, window.lowest) || !may_end(&window, window.highest)) {
        window.lowest--;
        window.highest--;
    }
    return window;
}

static uint32_t position_of(const window_t *window, int64_t value)
{
    return (uint32_t)(value < 0 ? value + window->count : value);
}

static hp_subtree_t subtree_of(const window_t *window, int64_t value)
{
    const uint32_t digits = digits_of(value), free_bits = equal_bits(window, digits);
    const int64_t middle = value_of(digits & ~low_bits(free_bits));
    int64_t first = middle - below(free_bits), last = middle + above(free_bits);

    first = first < window->lowest ? window->lowest : first;
    last = last > window->highest ? window->highest : last;
    return (hp_subtree_t){.root = position_of(window, value),
                          .first = position_of(window, first),
                          .count = (uint32_t)(last - first + 1)};
}

static void generate_tree(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const window_t window = window_of(problem->count);
    const int64_t mine = me <= window.highest ? (int64_t)me : (int64_t)me - window.count;
    const uint32_t digits = digits_of(mine), most = equal_bits(&window, digits);
    hp_subtree_t children[BITS];
    hp_tree_links_t links = {.parent = me == 0 ? HP_NO_POSITION
                                               : (int32_t)position_of(&window, parent_of(&window, mine)),
                             .own = subtree_of(&window, mine),
                             .children = children};

    for (uint32_t e = 0; e < most; e++) {
        const int64_t child = value_of(digits ^ low_bits(e + 1));
        if (child >= window.lowest && child <= window.highest)
            children[links.child_count++] = subtree_of(&window, child);
    }
    if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
        schedule->cut = problem->parameter[BLOCKS];
    hp_schedule_tree(schedule, problem, &links);
}

/* ---- the butterfly ---- */

static uint32_t partner(uint32_t power, uint32_t number, uint32_t level)
{
    const uint32_t forth = above(level + 1) - below(level + 1);
    return (number % 2 == 0 ? number + forth : number - forth) & (power - 1);
}

static uint32_t first(uint32_t power, uint32_t number, uint32_t level)
{
    return (number - (number % 2 == 0 ? below(level) : above(level))) & (power - 1);
}

static const hp_butterfly_t butterfly = {.partner = partner, .first = first};

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t tree = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(GATHER) | HP_SERVES(SCATTER);

    if (tree & 1u << problem->pattern)
        generate_tree(schedule, problem, me);
    else
        hp_schedule_butterfly(schedule, problem, me, &butterfly);
}

const hp_generator_t hp_generator_bine = {
    .name = "bine",
    .text = "binomial trees and butterflies with nearer partners: less traffic on the links that all share",
    .patterns = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(GATHER) | HP_SERVES(SCATTER) |
                HP_SERVES(ALLREDUCE) | HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLGATHER),
    .power_of_two = HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLGATHER),
    .parameters = {{"blocks", 1, BLOCKS_MAX, 1, "into so many the vector is cut along the tree"}},
    .generate = generate};
