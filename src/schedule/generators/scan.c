/* scan: reductions over the positions up to one's own, inclusive and exclusive, in their order.
 *
 * scan_doubling (W. D. Hillis, G. L. Steele, Data Parallel Algorithms, 1986): in round k a position has the result over
 * the 2^k positions up to its own, hands it to the one 2^k on and puts what comes from 2^k before in front. An exscan
 * first hands what each brings one place on; then positions 1 ... p - 1 do the same with that.
 * Rounds: ceil(log2 p), exscan 1 + ceil(log2 (p - 1)).  Bytes: the message in every round.
 * scan_chain: each block goes from position to position, which puts its own behind it; blocks follow each other.
 * Rounds: p - 1, and one more for each further block.  Bytes: the message once.
 * Constraints: none. */
#include "schedule/generator.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { STREAM_SHIFT, STREAM_DOUBLE };

/* The results of positions `first` ... in RECV, so far over one position each. */
static void double_up(hp_schedule_t *schedule, uint32_t count, uint32_t first, uint32_t me)
{
    const hp_range_t sum = hp_range(HP_SPACE_RECV, 0, 1);

    schedule->stream = STREAM_DOUBLE;
    for (uint64_t distance = 1; me >= first && distance < count - first; distance *= 2) {
        const bool sends = me + distance < count, receives = me >= first + distance;
        if (!sends && !receives)
            continue;
        hp_schedule_step(schedule, sends ? (int32_t)(me + distance) : HP_NO_POSITION,
                         receives ? (int32_t)(me - distance) : HP_NO_POSITION, HP_ACTION_REDUCE_LEFT);
        if (sends)
            hp_schedule_sends(schedule, sum);
        if (receives)
            hp_schedule_receives(schedule, sum);
    }
}

static void generate_doubling(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const uint32_t last = problem->count - 1;
    const hp_range_t own = hp_range(HP_SPACE_SEND, 0, 1), sum = hp_range(HP_SPACE_RECV, 0, 1);

    if (problem->pattern == HP_PATTERN_SCAN) {
        hp_schedule_local(schedule, me, own, sum, HP_ACTION_STORE);
        double_up(schedule, problem->count, 0, me);
        return;
    }
    schedule->stream = STREAM_SHIFT;
    hp_schedule_step(schedule, me < last ? (int32_t)me + 1 : HP_NO_POSITION,
                     me > 0 ? (int32_t)me - 1 : HP_NO_POSITION, HP_ACTION_STORE);
    hp_schedule_sends(schedule, hp_range(HP_SPACE_SEND, 0, me < last));
    hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, 0, me > 0));
    double_up(schedule, problem->count, 1, me);
}

static void hand_on(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, uint32_t block)
{
    const bool inclusive = problem->pattern == HP_PATTERN_SCAN, is_last = me == problem->count - 1;
    const hp_range_t own = hp_range(HP_SPACE_SEND, block, 1), result = hp_range(HP_SPACE_RECV, block, 1);
    const hp_range_t with_own = inclusive ? result : hp_range(HP_SPACE_SCRATCH, block, 1);

    if (inclusive)
        hp_schedule_local(schedule, me, own, result, HP_ACTION_STORE);
    if (me > 0)
        hp_schedule_receive(schedule, me - 1, result, inclusive ? HP_ACTION_REDUCE_LEFT : HP_ACTION_STORE);
    if (is_last)
        return;
    if (!inclusive && me > 0) {
        hp_schedule_local(schedule, me, result, with_own, HP_ACTION_STORE);
        hp_schedule_local(schedule, me, own, with_own, HP_ACTION_REDUCE_RIGHT);
    }
    hp_schedule_send(schedule, me + 1, me > 0 ? with_own : own);
}

static void generate_chain(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    const bool is_inner = me > 0 && me < problem->count - 1;

    schedule->cut = problem->parameter[BLOCKS];
    schedule->scratch_blocks = problem->pattern == HP_PATTERN_EXSCAN && is_inner ? schedule->cut : 0;
    for (uint32_t block = 0; block < schedule->cut; block++)
        hand_on(schedule, problem, me, block);
}

const hp_generator_t hp_generator_scan_doubling = {
    .name = "scan_doubling",
    .text = "scan over twice as many positions each round: ceil(log2 p) rounds",
    .patterns = HP_SERVES(SCAN) | HP_SERVES(EXSCAN),
    .ordered = HP_SERVES(SCAN) | HP_SERVES(EXSCAN),
    .generate = generate_doubling};

const hp_generator_t hp_generator_scan_chain = {
    .name = "scan_chain",
    .text = "a pipeline from the first position to the last: each sends the message once",
    .patterns = HP_SERVES(SCAN) | HP_SERVES(EXSCAN),
    .ordered = HP_SERVES(SCAN) | HP_SERVES(EXSCAN),
    .parameters = {{"blocks", 1, BLOCKS_MAX, 1, "into so many the vector is cut"}},
    .generate = generate_chain};
