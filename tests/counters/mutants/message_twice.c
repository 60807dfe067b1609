/* Mutant: on the way down a tree the root sends to its first child twice. */
#include "schedules.h"

hp_status_t __wrap_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position)
{
    const hp_status_t status = __real_hp_schedule_make(schedule, generator, problem, position);

    if (status == HP_OK && position == 0 && problem->pattern == HP_PATTERN_BCAST && schedule->step_count > 0)
        hp_schedule_send(schedule, (uint32_t)schedule->steps[0].to, hp_range(HP_SPACE_RECV, 0, 1));
    return schedule->status;
}
