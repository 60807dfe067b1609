/* Mutant: the root of a tree forgets its last child, which goes on waiting for it. */
#include "schedules.h"

hp_status_t __wrap_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position)
{
    const hp_status_t status = __real_hp_schedule_make(schedule, generator, problem, position);

    if (status == HP_OK && position == 0 && problem->pattern != HP_PATTERN_BARRIER)
        forget_partner(schedule, last_partner(schedule));
    return status;
}
