/* Mutant: both ends of a link forget it, so nobody waits: the subtree of the root's last child gets no data
 * and contributes none. */
#include "schedules.h"

hp_status_t __wrap_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position)
{
    const hp_status_t status = __real_hp_schedule_make(schedule, generator, problem, position);
    hp_schedule_t root;

    hp_schedule_init(&root);
    if (status == HP_OK && problem->pattern != HP_PATTERN_BARRIER &&
        __real_hp_schedule_make(&root, generator, problem, 0) == HP_OK) {
        const int32_t child = last_partner(&root);
        if (position == 0)
            forget_partner(schedule, child);
        else if ((int32_t)position == child)
            forget_partner(schedule, 0);
    }
    hp_schedule_fini(&root);
    return status;
}
