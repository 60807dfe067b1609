/* schedules: for mutants that stand before the making of a schedule (-Wl,--wrap): the real one, and theirs. */
#ifndef HP_TESTS_COUNTERS_MUTANTS_SCHEDULES_H
#define HP_TESTS_COUNTERS_MUTANTS_SCHEDULES_H

#include "schedule/generator.h"

hp_status_t __real_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position);
hp_status_t __wrap_hp_schedule_make(hp_schedule_t *schedule, const hp_generator_t *generator,
                                    const hp_problem_t *problem, uint32_t position);

/* Forgets all messages to and from that position. */
static inline void forget_partner(hp_schedule_t *schedule, int32_t partner)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < schedule->step_count && partner >= 0; i++)
        if (schedule->steps[i].to != partner && schedule->steps[i].from != partner)
            schedule->steps[kept++] = schedule->steps[i];
    schedule->step_count = partner >= 0 ? kept : schedule->step_count;
}

/* The one that a position has to do with last; HP_NO_POSITION: it has no messages. */
static inline int32_t last_partner(const hp_schedule_t *schedule)
{
    if (schedule->step_count == 0)
        return HP_NO_POSITION;
    const hp_step_t *last = &schedule->steps[schedule->step_count - 1];
    return last->to >= 0 ? last->to : last->from;
}

#endif
