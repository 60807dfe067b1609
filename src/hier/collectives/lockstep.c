#include "hier/collectives/lockstep.h"

static const hp_label_t bcast_order[] = {HP_LABEL_IB, HP_LABEL_SB};
static const hp_label_t reduce_order[] = {HP_LABEL_SR, HP_LABEL_IR};
static const hp_label_t allreduce_order[] = {HP_LABEL_SR, HP_LABEL_IR, HP_LABEL_IB, HP_LABEL_SB};

static void set_order(hp_lockstep_t *lockstep, hp_collective_t collective)
{
    lockstep->order = collective == HP_BCAST    ? bcast_order
                      : collective == HP_REDUCE ? reduce_order
                                                : allreduce_order;
    lockstep->task_count = collective == HP_ALLREDUCE ? 4 : 2;
}

hp_status_t hp_lockstep_prepare(hp_lockstep_t *lockstep, const hp_start_t *start, const hp_call_t *call,
                                const hp_setting_t *setting, uint64_t iterations_max)
{
    uint32_t steps_per_segment = 0;

    *lockstep = (hp_lockstep_t){.plan = hp_pipeline_plan(start, call, setting)};
    if (!lockstep->plan)
        return HP_ERR_NO_MEM;
    set_order(lockstep, call->collective);
    lockstep->segments = hp_pipeline_segments(lockstep->plan);
    lockstep->iterations = lockstep->segments + lockstep->task_count - 1;
    if (!hp_pipeline_divides(lockstep->plan) || lockstep->iterations > iterations_max)
        return HP_ERR_ARG;
    for (uint32_t t = 0; t < lockstep->task_count; t++)
        steps_per_segment += (HP_TASKS_INTRA_NODE & 1u << lockstep->order[t]) != 0;
    return hp_pipeline_prepare(lockstep->plan, steps_per_segment);
}

hp_status_t hp_lockstep_start(hp_lockstep_t *lockstep)
{
    const uint64_t iteration = lockstep->next++;

    lockstep->part_count = 0;
    /* The oldest segment first: it is what others wait for. */
    for (uint32_t t = lockstep->task_count; t-- > 0;) {
        if (iteration < t || iteration - t >= lockstep->segments)
            continue;
        const uint32_t task = 1u << lockstep->order[t];
        lockstep->parts[lockstep->part_count++] =
            (hp_part_t){.segment = iteration - t, .tasks = task, .step = lockstep->steps};
        lockstep->steps += (task & HP_TASKS_INTRA_NODE) != 0;
    }
    return hp_pipeline_start_parts(lockstep->plan, lockstep->parts, lockstep->part_count);
}
