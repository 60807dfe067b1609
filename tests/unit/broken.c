#include "broken.h"
#include <string.h>
#include "check.h"

static const char *const kind_texts[] = {
#define X(id, text) text,
    BROKEN_TABLE(X)
#undef X
};

static bool leave_out_block(hp_schedule_t *schedule, hp_step_t *step)
{
    if (step->send.count == 0)
        return false;
    hp_range_t *last = &schedule->ranges[step->send.first + step->send.count - 1];
    if (--last->count == 0)
        step->send.count--;
    return true;
}

static void leave_out_step(hp_schedule_t *schedule, uint32_t i)
{
    memmove(&schedule->steps[i], &schedule->steps[i + 1],
            (--schedule->step_count - i) * sizeof *schedule->steps);
}

/* False: there is nothing of that kind to be broken in this step. */
static bool damage(hp_schedule_t *schedule, uint32_t i, uint32_t me, const hp_problem_t *problem,
                   broken_kind_t what)
{
    hp_step_t *step = &schedule->steps[i];
    const bool local = step->to == (int32_t)me;

    switch (what) {
    case BROKEN_PARTNER:
        if (step->to < 0 || local || problem->count < 3)
            return false;
        do
            step->to = (step->to + 1) % (int32_t)problem->count;
        while (step->to == (int32_t)me);
        return true;
    case BROKEN_LEFT_OUT:
        if (step->sync && local) /* a fence: that nothing is lost without it is no fault */
            return false;
        if (step->sync)
            leave_out_step(schedule, i);
        return step->sync || leave_out_block(schedule, step);
    case BROKEN_PLACE:
        if (step->recv.count == 0)
            return false;
        schedule->ranges[step->recv.first].first++;
        return true;
    default:
        if (step->from < 0 || step->sync)
            return false;
        if (step->action != HP_ACTION_STORE && problem->ordered)
            step->action =
                step->action == HP_ACTION_REDUCE_LEFT ? HP_ACTION_REDUCE_RIGHT : HP_ACTION_REDUCE_LEFT;
        else
            step->action = step->action == HP_ACTION_STORE ? HP_ACTION_REDUCE_LEFT : HP_ACTION_STORE;
        return true;
    }
}

uint32_t broken_are_found(const hp_generator_t *generator, const hp_problem_t *problem, broken_kind_t what)
{
    uint32_t broken = 0;

    for (uint32_t position = 0; position < problem->count; position++)
        for (uint32_t i = 0;; i++) {
            hp_schedule_t *schedules = hp_schedules_make(generator, problem);
            assert_non_null(schedules);
            const bool last = i >= schedules[position].step_count;
            hp_fault_t fault = {.step = -1};
            if (!last && damage(&schedules[position], i, position, problem, what)) {
                if (hp_schedules_verify(schedules, problem, &fault) != HP_ERR_ARG)
                    fail_msg("%s %s: position %u, step %u: %s was not seen",
                             hp_pattern_name(problem->pattern), generator->name, position, i,
                             kind_texts[what]);
                if ((what == BROKEN_PARTNER || what == BROKEN_LEFT_OUT) && fault.step < 0)
                    fail_msg("%s %s: position %u, step %u: no step is named: %s",
                             hp_pattern_name(problem->pattern), generator->name, position, i, fault.text);
                broken++;
            }
            hp_schedules_free(schedules, problem->count);
            if (last)
                break;
        }
    return broken;
}
