#include "hier/collectives/pipeline_plan.h"

typedef hp_pipeline_rotation_t rotation_t;
typedef hp_pipeline_plan_t plan_t;

#define ALWAYS_INLINE inline __attribute__((always_inline))

hp_place_t hp_pipeline_place(const hp_pipeline_plan_t *p, const hp_pipeline_rotation_t *rotation, uint32_t k,
                             hp_segment_t *segment, const hp_flow_t *flow)
{
    const hp_stage_t *stage = &rotation->stages[k];
    const hp_place_t anywhere = {.given = false};

    if (stage->team.position > 0 || p->call.count == 0)
        return anywhere;
    if (stage->outermost) {
        /* In place the result lies where inner stages may still read this rank's contribution. */
        hp_task_t *free = p->in_place ? flow->own_read : NULL;
        return p->result_here ? (hp_place_t){.given = true, .at = flow->result, .free = free} : anywhere;
    }
    if (k + 1 == rotation->stage_count) /* late ranks' values are still to come */
        return anywhere;
    const hp_stage_t *outer = &rotation->stages[k + 1];
    return outer->module->place ? outer->module->place(outer, segment, flow) : anywhere;
}

static ALWAYS_INLINE void emit_up(const plan_t *p, const rotation_t *rotation, hp_segment_t *segment,
                                  hp_flow_t *flow)
{
    if (p->in_order) {
        const hp_place_t into = {.given = p->result_here && p->comm->rank == 0, .at = flow->result};
        hp_segment_label(segment, hp_pipeline_label(&rotation->in_order, true));
        rotation->in_order.module->reduce(&rotation->in_order, segment, flow, into);
        return;
    }
    for (uint32_t k = 0; k < rotation->stage_count; k++) {
        const hp_stage_t *stage = &rotation->stages[k];
        hp_segment_label(segment, hp_pipeline_label(stage, true));
        if (hp_pipeline_is_fused(p, stage))
            stage->module->allreduce(stage, segment, flow);
        else
            stage->module->reduce(stage, segment, flow, hp_pipeline_place(p, rotation, k, segment, flow));
    }
}

static ALWAYS_INLINE void emit_down(const plan_t *p, const rotation_t *rotation, hp_segment_t *segment,
                                    hp_flow_t *flow)
{
    for (uint32_t k = rotation->stage_count; k-- > 0;) {
        const hp_stage_t *stage = &rotation->stages[k];
        if (hp_pipeline_is_fused(p, stage))
            continue;
        hp_segment_label(segment, hp_pipeline_label(stage, false));
        stage->module->bcast(stage, segment, flow);
    }
}

/* Operations that do not commute are reduced at rank 0. */
static void emit_forward(const plan_t *p, hp_segment_t *segment, hp_flow_t *flow)
{
    hp_segment_label(segment, HP_LABEL_OTHER);
    if (p->comm->rank == p->call.root) {
        hp_task_t *recv = hp_emit_recv(segment, p->forward, flow->result, flow->count);
        if (p->in_place)
            hp_emit_after(recv, flow->own_read);
    } else {
        hp_emit_after(hp_emit_send(segment, p->forward, flow->value, flow->count), flow->ready);
    }
}

void hp_pipeline_emit_step_end(const hp_pipeline_plan_t *p, hp_segment_t *segment, const hp_flow_t *flow)
{
    hp_task_t *done = hp_emit_set(segment, p->node->set_done, flow->step + 1);
    for (uint32_t k = 0; k < flow->node_read_count; k++)
        hp_emit_after(done, flow->node_reads[k]);
    if (flow->step + 1 < p->node->end_step)
        return;
    for (uint32_t t = 0; t < p->rotation_count; t++)
        for (uint32_t k = 0; k < p->rotations[t].stage_count; k++)
            if (p->rotations[t].stages[k].module->finish)
                p->rotations[t].stages[k].module->finish(&p->rotations[t].stages[k], segment);
}

/* The segment is to be in the buffer (at the root), or is there, after flow->ready. */
static void emit_advance(const plan_t *p, hp_segment_t *segment, hp_flow_t *flow)
{
    const uint64_t end = (flow->index * p->cut.segment_elements + flow->count) * p->call.type.bytes;

    hp_segment_label(segment, HP_LABEL_OTHER);
    hp_task_t *advance = hp_emit_advance(segment, p->advance, end, flow->count);
    hp_emit_after(advance, flow->ready);
    flow->ready = advance;
}

/* late: of the segment's rotation; NULL: all ranks take part alike. */
static ALWAYS_INLINE void emit_segment(const plan_t *p, const hp_late_ranks_t *late, hp_segment_t *segment,
                                       uint64_t index)
{
    const rotation_t *rotation = &p->rotations[index % p->rotation_count];
    hp_flow_t flow = hp_pipeline_flow(p, index);

    if (hp_pipeline_is_up(p))
        emit_up(p, rotation, segment, &flow);
    if (late && hp_pipeline_is_up(p))
        hp_late_ranks_reduce(late, segment, &flow, p->in_place);
    if (!late && rotation->stage_count == 0 && !p->in_order && p->result_here && !p->in_place) /* alone */
        flow.ready = hp_emit_copy(segment, flow.result, flow.value, flow.count);
    if (p->forward >= 0)
        emit_forward(p, segment, &flow);
    if (hp_pipeline_is_down(p)) {
        if (!p->in_place)
            flow.own_read = NULL;
        if (p->advance >= 0 && p->comm->rank == p->call.root)
            emit_advance(p, segment, &flow);
        emit_down(p, rotation, segment, &flow);
        if (late)
            hp_late_ranks_bcast(late, segment, &flow);
        if (p->advance >= 0 && p->comm->rank != p->call.root)
            emit_advance(p, segment, &flow);
    }
    if (index < p->rounds.count) {
        hp_segment_label(segment, HP_LABEL_IR);
        hp_leader_rounds_emit(p->round_lanes, segment, &flow);
    }
    hp_segment_label(segment, HP_LABEL_OTHER);
    if (p->node)
        hp_pipeline_emit_step_end(p, segment, &flow);
}

void hp_pipeline_emit(const void *plan, hp_segment_t *segment, uint64_t index)
{
    emit_segment(*(plan_t *const *)plan, NULL, segment, index);
}

void hp_pipeline_emit_around(const void *plan, hp_segment_t *segment, uint64_t index)
{
    const plan_t *p = *(plan_t *const *)plan;
    emit_segment(p, &p->late[index % p->rotation_count], segment, index);
}
