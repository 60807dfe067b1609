#include "tune/tasks/lockstep.h"

static const hp_label_t bcast_order[] = {HP_LABEL_IB, HP_LABEL_SB};
static const hp_label_t reduce_order[] = {HP_LABEL_SR, HP_LABEL_IR};
static const hp_label_t allreduce_order[] = {HP_LABEL_SR, HP_LABEL_IR, HP_LABEL_IB, HP_LABEL_SB};

bool hp_lockstep_is_intra_node(hp_label_t task)
{
    return task == HP_LABEL_SR || task == HP_LABEL_SB;
}

static bool is_up(hp_label_t task)
{
    return task == HP_LABEL_SR || task == HP_LABEL_IR;
}

/* ---- one task of one segment ---- */

static void emit_up(const hp_pipeline_plan_t *plan, const hp_pipeline_rotation_t *rotation, hp_label_t task,
                    hp_segment_t *segment, hp_flow_t *flow)
{
    /* What sr has made is where it was left. */
    if (task == HP_LABEL_IR && rotation->stage_count > 0 && !rotation->stages[0].inter_node)
        flow->value = flow->result;
    for (uint32_t k = 0; k < rotation->stage_count; k++) {
        const hp_stage_t *stage = &rotation->stages[k];
        if (hp_pipeline_label(stage, true) != task)
            continue;
        if (hp_pipeline_is_fused(plan, stage)) {
            stage->module->allreduce(stage, segment, flow);
            continue;
        }
        const bool last = !stage->outermost && stage->team.position == 0 &&
                          hp_pipeline_label(&rotation->stages[k + 1], true) != task;
        const hp_place_t place = last ? (hp_place_t){.given = true, .at = flow->result} /* outlasts it */
                                      : hp_pipeline_place(plan, rotation, k, segment, flow);
        stage->module->reduce(stage, segment, flow, place);
    }
}

static void emit_down(const hp_pipeline_plan_t *plan, const hp_pipeline_rotation_t *rotation, hp_label_t task,
                      hp_segment_t *segment, hp_flow_t *flow)
{
    for (uint32_t k = rotation->stage_count; k-- > 0;) {
        const hp_stage_t *stage = &rotation->stages[k];
        if (hp_pipeline_label(stage, false) == task && !hp_pipeline_is_fused(plan, stage))
            stage->module->bcast(stage, segment, flow);
    }
}

/* The engine's segment `index` of the request is a part of the iteration. */
static void emit(const void *lockstep, hp_segment_t *segment, uint64_t index)
{
    const hp_lockstep_t *l = *(hp_lockstep_t *const *)lockstep;
    const hp_pipeline_plan_t *plan = l->plan;
    const hp_part_t *part = &l->parts[index];
    const hp_pipeline_rotation_t *rotation = &plan->rotations[part->segment % plan->rotation_count];
    hp_flow_t flow = hp_pipeline_flow(plan, part->segment);

    flow.step = plan->node ? plan->node->first_step + part->step : 0;
    hp_segment_label(segment, part->task);
    if (is_up(part->task))
        emit_up(plan, rotation, part->task, segment, &flow);
    else
        emit_down(plan, rotation, part->task, segment, &flow);
    if (rotation->stage_count == 0 && plan->result_here && part->task == l->order[0]) /* alone */
        flow.ready = hp_emit_copy(segment, flow.result, flow.value, flow.count);
    hp_segment_label(segment, HP_LABEL_OTHER);
    if (plan->node && hp_lockstep_is_intra_node(part->task))
        hp_pipeline_emit_step_end(plan, segment, &flow);
}

/* ---- the iterations ---- */

static void set_order(hp_lockstep_t *lockstep, hp_collective_t collective)
{
    lockstep->order = collective == HP_BCAST    ? bcast_order
                      : collective == HP_REDUCE ? reduce_order
                                                : allreduce_order;
    lockstep->task_count = collective == HP_ALLREDUCE ? 4 : 2;
}

/* The same on all ranks. */
static bool divides(const hp_pipeline_plan_t *plan)
{
    return plan->call.count > 0 && !plan->in_place &&
           (plan->call.commutative || plan->call.collective == HP_BCAST);
}

hp_status_t hp_lockstep_prepare(hp_lockstep_t *lockstep, const hp_start_t *start, const hp_call_t *call,
                                const hp_setting_t *setting, uint64_t iterations_max)
{
    uint32_t steps_per_segment = 0;

    *lockstep = (hp_lockstep_t){.plan = hp_pipeline_plan(start, call, setting, NULL)};
    if (!lockstep->plan)
        return HP_ERR_NO_MEM;
    set_order(lockstep, call->collective);
    lockstep->segments = lockstep->plan->segment_count;
    lockstep->iterations = lockstep->segments + lockstep->task_count - 1;
    if (!divides(lockstep->plan) || lockstep->iterations > iterations_max)
        return HP_ERR_ARG;
    hp_lockstep_t **slot = hp_request_plan(start->request, sizeof *slot);
    if (!slot)
        return HP_ERR_NO_MEM;
    *slot = lockstep; /* what emit is given */
    lockstep->plan->pipeline.emit = emit;
    for (uint32_t t = 0; t < lockstep->task_count; t++)
        steps_per_segment += hp_lockstep_is_intra_node(lockstep->order[t]);
    lockstep->plan->step_count = lockstep->segments * steps_per_segment;
    return hp_pipeline_prepare(lockstep->plan);
}

hp_status_t hp_lockstep_start(hp_lockstep_t *lockstep)
{
    hp_pipeline_t *pipeline = &lockstep->plan->pipeline;
    const uint64_t iteration = lockstep->next++;

    lockstep->part_count = 0;
    /* The oldest segment first: it is what others wait for. */
    for (uint32_t t = lockstep->task_count; t-- > 0;) {
        if (iteration < t || iteration - t >= lockstep->segments)
            continue;
        const hp_label_t task = lockstep->order[t];
        lockstep->parts[lockstep->part_count++] =
            (hp_part_t){.segment = iteration - t, .task = task, .step = lockstep->steps};
        lockstep->steps += hp_lockstep_is_intra_node(task);
    }
    pipeline->segment_count = pipeline->window_segments = lockstep->part_count;
    return hp_request_start(lockstep->plan->start.request, pipeline);
}
