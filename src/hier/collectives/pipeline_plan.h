/* pipeline_plan: the inside of pipeline.c and pipeline_segment.c, also for those that emit the tasks of its segments in an order of
 * their own.
 *
 * Threads: as comm.h. Ownership: everything lies in start->arena until the collective is done. */
#ifndef HP_HIER_COLLECTIVES_PIPELINE_PLAN_H
#define HP_HIER_COLLECTIVES_PIPELINE_PLAN_H

#include "hier/call/cut.h"
#include "hier/modules/late_ranks.h"
#include "hier/modules/leader_rounds.h"
#include "hier/modules/modules.h"

typedef struct {
    hp_leaders_t leaders;
    hp_stage_t stages[HP_LEVEL_COUNT]; /* innermost first */
    uint32_t stage_count;
    hp_stage_t in_order; /* reproducible reductions: their fan-in instead of the stages' */
} hp_pipeline_rotation_t;

typedef struct {
    hp_start_t start;
    hp_comm_t *comm;
    hp_call_t call;
    hp_setting_t setting;
    hp_modules_t modules; /* those of the setting where they serve */
    hp_cut_t cut;
    hp_pipeline_t pipeline;
    uint64_t segment_count;
    uint64_t step_count; /* of the node's memory: one a segment */
    size_t slot_bytes;   /* wanted of its slots */
    char *own, *result;  /* of the call that runs: send, recv */
    bool in_place;
    bool in_order;    /* up along all ranks in their order, whatever nodes they are on */
    bool result_here; /* this rank gets a result from the reduction itself */
    int32_t forward;  /* lane from rank 0 to the root, or its other end; -1: not needed, or not here */
    hp_around_t
        *around; /* the late ranks that it goes around, which is the communicator's; NULL: it does not */
    hp_late_ranks_t *late;     /* of each rotation, then */
    hp_leader_rounds_t rounds; /* of a barrier, each a segment, with one more behind them */
    hp_leader_lanes_t *round_lanes;
    bool modules_begin;  /* some module has something to do at each start */
    int32_t advance;     /* lane of the call's source; -1: it has none */
    hp_node_use_t *node; /* NULL: no memory of the node is used, or not here */
    hp_pipeline_rotation_t *rotations;
    uint32_t rotation_count;
} hp_pipeline_plan_t;

/* What is to be done; nothing is taken yet but memory, any other collective may follow. around: see pipeline.h; NULL: no late
 * ranks. NULL: out of memory. */
hp_pipeline_plan_t *hp_pipeline_plan(const hp_start_t *start, const hp_call_t *call,
                                     const hp_setting_t *setting, hp_around_t *around);
/* Takes steps of the node's memory and makes stages and lanes: now all segments must run. */
hp_status_t hp_pipeline_prepare(hp_pipeline_plan_t *p);

/* Do values go towards the root, and from it? */
static inline bool hp_pipeline_is_up(const hp_pipeline_plan_t *p)
{
    return p->call.collective != HP_BCAST;
}
static inline bool hp_pipeline_is_down(const hp_pipeline_plan_t *p)
{
    return p->call.collective != HP_REDUCE;
}

/* ---- pipeline_segment.c ---- */

/* Emits one segment; around: past the late ranks of the plan. plan: where the request keeps the pointer to it. */
void hp_pipeline_emit(const void *plan, hp_segment_t *segment, uint64_t index);
void hp_pipeline_emit_around(const void *plan, hp_segment_t *segment, uint64_t index);

/* The task that a stage is in the fan-in (up), or in the fan-out. */
static inline hp_label_t hp_pipeline_label(const hp_stage_t *stage, bool up)
{
    return stage->inter_node ? (up ? HP_LABEL_IR : HP_LABEL_IB) : (up ? HP_LABEL_SR : HP_LABEL_SB);
}

/* A segment before the first of its tasks. */
static inline hp_flow_t hp_pipeline_flow(const hp_pipeline_plan_t *p, uint64_t index)
{
    const bool empty = p->call.count == 0;
    hp_flow_t flow = {.index = index,
                      .step = p->node ? p->node->first_step + index : 0,
                      .count = empty ? 0 : hp_cut_count(&p->cut, index),
                      .offset = empty ? 0 : hp_cut_offset(&p->cut, index)};

    flow.in_place = p->in_place;
    flow.own = hp_within(hp_behind(&p->own), flow.offset);
    flow.result = hp_within(hp_behind(&p->result), flow.offset);
    flow.value = p->call.collective == HP_BCAST ? flow.result : flow.own;
    return flow;
}

/* Where the leader of the team of stage k is to put the team's value. */
hp_place_t hp_pipeline_place(const hp_pipeline_plan_t *p, const hp_pipeline_rotation_t *rotation, uint32_t k,
                             hp_segment_t *segment, const hp_flow_t *flow);
/* Are the stage's fan-in and fan-out one exchange? */
static inline bool hp_pipeline_is_fused(const hp_pipeline_plan_t *p, const hp_stage_t *stage)
{
    return !p->in_order && stage->outermost && p->call.collective != HP_BCAST &&
           p->call.collective != HP_REDUCE && stage->module->fuses && stage->module->fuses(stage);
}

/* This rank has read everything of flow->step; of the last step: it may have to stay until others have too. */
void hp_pipeline_emit_step_end(const hp_pipeline_plan_t *p, hp_segment_t *segment, const hp_flow_t *flow);

#endif
