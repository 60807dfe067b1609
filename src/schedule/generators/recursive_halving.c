/* recursive_halving: reduce-scatter of any number of positions in a logarithm of rounds (R. Thakur, R. Rabenseifner, W.
 * Gropp, Optimization of Collective Communication Operations in MPICH, 2005, section 4.4).
 *
 * Where p is no power of two the first positions pair up (pairing.h): the even one of a pair reduces what the odd one
 * brings, and has both blocks from then on. At level k, from the highest bit down, partners differ in bit k of their
 * number; each sends the half of its blocks that is the other's and reduces what comes into its own. At the end the odd
 * ones get their block.
 * Rounds: floor(log2 p), and 2 where p is no power of two.  Bytes: p - 1 blocks; the odd ones of pairs send p.
 * Constraints: the operation must commute (the first partners are the farthest). */
#include "schedule/generator.h"
#include "schedule/generators/parts/pairing.h"

enum { STREAM_HALVE, STREAM_RESULT };

typedef struct {
    hp_schedule_t *schedule;
    hp_pairing_t pairing;
    uint32_t me, count;
    uint32_t first; /* block that scratch begins with */
} halving_t;

/* The blocks of numbers first to first + numbers - 1. */
static hp_range_t blocks(const halving_t *h, hp_space_t space, uint32_t first, uint32_t numbers)
{
    const uint32_t end = first + numbers, begin = hp_pairing_position(&h->pairing, first);
    const uint32_t end_block = end < h->pairing.power ? hp_pairing_position(&h->pairing, end) : h->count;

    return hp_range(space, begin - (space == HP_SPACE_SCRATCH ? h->first : 0), end_block - begin);
}

static void halve(const halving_t *h)
{
    const uint32_t number = h->pairing.number;

    for (uint32_t size = h->pairing.power / 2; size > 0; size /= 2) {
        const uint32_t kept = number & ~(size - 1), sent = kept ^ size;
        const int32_t partner = (int32_t)hp_pairing_position(&h->pairing, number ^ size);
        /* What is sent on unchanged is not copied. */
        const bool in_send = size == h->pairing.power / 2 && !h->pairing.paired_here;
        if (in_send)
            hp_schedule_local(h->schedule, h->me, blocks(h, HP_SPACE_SEND, kept, size),
                              blocks(h, HP_SPACE_SCRATCH, kept, size), HP_ACTION_STORE);
        hp_schedule_step(h->schedule, partner, partner, HP_ACTION_REDUCE_LEFT);
        hp_schedule_sends(h->schedule, blocks(h, in_send ? HP_SPACE_SEND : HP_SPACE_SCRATCH, sent, size));
        hp_schedule_receives(h->schedule, blocks(h, HP_SPACE_SCRATCH, kept, size));
    }
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    halving_t h = {.schedule = schedule,
                   .pairing = hp_pairing_of(problem->count, me),
                   .me = me,
                   .count = problem->count};
    const hp_pairing_t *pairing = &h.pairing;
    const hp_range_t result = hp_range(HP_SPACE_RECV, 0, 1), brought = hp_range(HP_SPACE_SEND, 0, h.count);

    schedule->stream = STREAM_HALVE;
    if (!pairing->takes_part) {
        hp_schedule_pair_in(schedule, pairing, me, brought);
    } else if (pairing->paired_here) {
        const hp_range_t all = hp_range(HP_SPACE_SCRATCH, 0, h.count);
        schedule->scratch_blocks = h.count;
        hp_schedule_local(schedule, me, brought, all, HP_ACTION_STORE);
        hp_schedule_pair_in(schedule, pairing, me, all);
    } else {
        const hp_range_t half =
            blocks(&h, HP_SPACE_SEND, pairing->number & pairing->power / 2, pairing->power / 2);
        h.first = half.first;
        schedule->scratch_blocks = half.count;
    }
    if (pairing->takes_part) {
        halve(&h);
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SCRATCH, me - h.first, 1), result, HP_ACTION_STORE);
    }
    schedule->stream = STREAM_RESULT;
    hp_schedule_pair_out(schedule, pairing, me,
                         pairing->takes_part ? hp_range(HP_SPACE_SCRATCH, me + 1, 1) : result);
}

const hp_generator_t hp_generator_recursive_halving = {
    .name = "recursive_halving",
    .text = "halves the blocks and the distance each round, any p: floor(log2 p) rounds, and 2 more",
    .patterns = HP_SERVES(REDUCE_SCATTER),
    .generate = generate};
