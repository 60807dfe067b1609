#include "schedule/generators/parts/butterfly.h"

enum { STREAM_REDUCE, STREAM_GATHER };

/* Blocks first, ... of the vector, or of the send buffer, in a list of the last step. */
static void sends(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector, bool from_send,
                  uint32_t first, uint32_t count)
{
    const uint32_t power = vector->pairing.power;

    if (from_send)
        hp_schedule_sends_around(schedule, HP_SPACE_SEND, first, count, power);
    else
        hp_schedule_sends_around(schedule, vector->space, (uint64_t)first + power - vector->first, count,
                                 power);
}

static void receives(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector, uint32_t first,
                     uint32_t count)
{
    const uint32_t power = vector->pairing.power;

    hp_schedule_receives_around(schedule, vector->space, (uint64_t)first + power - vector->first, count,
                                power);
}

void hp_schedule_butterfly_halve(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector)
{
    const hp_pairing_t *pairing = &vector->pairing;
    const hp_butterfly_t *butterfly = vector->butterfly;
    const hp_range_t brought = hp_range(HP_SPACE_SEND, 0, pairing->power);
    const hp_range_t all = hp_range(vector->space, 0, pairing->power);

    schedule->stream = STREAM_REDUCE;
    if (pairing->paired_here && pairing->takes_part)
        hp_schedule_local(schedule, vector->me, brought, all, HP_ACTION_STORE);
    hp_schedule_pair_in(schedule, pairing, vector->me, pairing->takes_part ? all : brought);
    for (uint32_t level = pairing->takes_part ? pairing->rounds : 0; level-- > 0;) {
        const uint32_t number = pairing->number, size = 1u << level;
        const uint32_t partner = butterfly->partner(pairing->power, number, level);
        const uint32_t kept = butterfly->first(pairing->power, number, level);
        const int32_t position = (int32_t)hp_pairing_position(pairing, partner);
        /* What is sent on unchanged is not copied. */
        const bool in_send = level == pairing->rounds - 1 && !pairing->paired_here;
        if (in_send) {
            hp_schedule_step(schedule, (int32_t)vector->me, (int32_t)vector->me, HP_ACTION_STORE);
            sends(schedule, vector, true, kept, size);
            receives(schedule, vector, kept, size);
        }
        hp_schedule_step(schedule, position, position,
                         partner < number ? HP_ACTION_REDUCE_LEFT : HP_ACTION_REDUCE_RIGHT);
        sends(schedule, vector, in_send, butterfly->first(pairing->power, partner, level), size);
        receives(schedule, vector, kept, size);
    }
}

void hp_schedule_butterfly_double(hp_schedule_t *schedule, const hp_butterfly_vector_t *vector)
{
    const hp_pairing_t *pairing = &vector->pairing;
    const hp_butterfly_t *butterfly = vector->butterfly;

    schedule->stream = STREAM_GATHER;
    for (uint32_t level = 0; level < pairing->rounds && pairing->takes_part; level++) {
        const uint32_t partner = butterfly->partner(pairing->power, pairing->number, level);
        const int32_t position = (int32_t)hp_pairing_position(pairing, partner);
        hp_schedule_step(schedule, position, position, HP_ACTION_STORE);
        sends(schedule, vector, false, butterfly->first(pairing->power, pairing->number, level), 1u << level);
        receives(schedule, vector, butterfly->first(pairing->power, partner, level), 1u << level);
    }
}

void hp_schedule_butterfly(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me,
                           const hp_butterfly_t *butterfly)
{
    hp_butterfly_vector_t vector = {.butterfly = butterfly,
                                    .pairing = hp_pairing_of(problem->count, me),
                                    .me = me,
                                    .space = HP_SPACE_RECV};
    const uint32_t power = vector.pairing.power;

    switch (problem->pattern) {
    case HP_PATTERN_ALLREDUCE:
        schedule->cut = power;
        hp_schedule_butterfly_halve(schedule, &vector);
        hp_schedule_butterfly_double(schedule, &vector);
        hp_schedule_pair_out(schedule, &vector.pairing, me, hp_range(HP_SPACE_RECV, 0, power));
        break;
    case HP_PATTERN_REDUCE_SCATTER: /* only the half that is kept in the first round is in scratch */
        vector.space = HP_SPACE_SCRATCH;
        vector.first = butterfly->first(power, me, vector.pairing.rounds - 1);
        schedule->scratch_blocks = power / 2;
        hp_schedule_butterfly_halve(schedule, &vector);
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SCRATCH, (me + power - vector.first) % power, 1),
                          hp_range(HP_SPACE_RECV, 0, 1), HP_ACTION_STORE);
        break;
    default:
        hp_schedule_local(schedule, me, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, me, 1),
                          HP_ACTION_STORE);
        hp_schedule_butterfly_double(schedule, &vector);
    }
}
