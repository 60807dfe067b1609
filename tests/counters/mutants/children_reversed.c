/* Mutant: the children of a rank come in the opposite order, so the operands of a reduction do too: wrong for
 * operations that are not commutative. */
#include "schedules.h"

hp_status_t __wrap_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position)
{
    const hp_status_t status = __real_hp_schedule_make(schedule, generator, problem, position);
    uint32_t low = 0, high = schedule->step_count;

    while (status == HP_OK && problem->pattern == HP_PATTERN_REDUCE) {
        while (low < high && schedule->steps[low].action == HP_ACTION_STORE)
            low++;
        while (low < high && schedule->steps[high - 1].action == HP_ACTION_STORE)
            high--;
        if (high - low < 2)
            break;
        const int32_t child = schedule->steps[--high].from;
        schedule->steps[high].from = schedule->steps[low].from;
        schedule->steps[low++].from = child;
    }
    return status;
}
