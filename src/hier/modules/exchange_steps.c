/* exchange_steps: see there. The running value is in flow->result. A task may not read a block before it was
 * last written, nor write it before it was last read and written; nothing else is waited for. What comes to
 * be reduced arrives in scratch buffers that are filled one after the other: in the exchanges that halve or
 * scatter all of it fits into one. */
#include "hier/modules/exchange_steps.h"

#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

typedef struct {
    hp_exchange_step_t what;
    int32_t send, recv; /* lanes */
} step_t;

struct hp_exchange_use {
    uint32_t block_count, step_count;
    size_t extent;
    step_t *steps;
    /* While a segment is emitted, for each block: the last task that writes it, and the last that sends it.
     */
    hp_task_t **writer, **reader;
};

/* ---- preparing ---- */

static int32_t make_lane(const hp_stage_t *stage, const hp_setting_t *setting, hp_direction_t direction,
                         int32_t position, bool finished)
{
    return hp_request_lane(stage->start->request, direction, hp_team_rank(&stage->team, (uint32_t)position),
                           finished ? HP_STREAM_DOWN : HP_STREAM_UP,
                           hp_setting_lane_limit(setting, direction));
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Tasks and edges of step i at most: blocks that were written, or sent, last by different tasks are at most
 * two a step. */
static void add_up(hp_stage_t *stage, const hp_exchange_step_t *step, uint32_t i)
{
    const uint32_t parts = 2 * i + 2;

    stage->tasks += 3;
    stage->edges += least(step->send.count, parts) + 2 * least(step->recv.count, parts) + 2;
}

hp_exchange_use_t *hp_exchange_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_exchange_t *exchange)
{
    hp_arena_t *arena = stage->start->arena;
    const uint32_t count = stage->team.count, most = exchange->steps(count);
    uint32_t room = 0; /* blocks that still fit into the scratch buffer in use */

    hp_exchange_use_t *use = hp_arena_get(arena, sizeof *use);
    if (!use)
        return NULL;
    use->block_count = exchange->blocks(count);
    use->extent = call->type.extent;
    use->steps = hp_arena_get(arena, most * sizeof *use->steps);
    use->writer = hp_arena_get(arena, use->block_count * sizeof(hp_task_t *));
    use->reader = hp_arena_get(arena, use->block_count * sizeof(hp_task_t *));
    if (!use->steps || !use->writer || !use->reader)
        return NULL;
    hp_exchange_step_t what;
    for (uint32_t i = 0; exchange->step(count, stage->team.position, i, &what); i++) {
        step_t *step = &use->steps[use->step_count++];
        *step = (step_t){.what = what, .send = -1, .recv = -1};
        if (what.to != HP_NOBODY)
            step->send = make_lane(stage, setting, HP_LANE_SEND, what.to, what.finished);
        if (what.from != HP_NOBODY)
            step->recv = make_lane(stage, setting, HP_LANE_RECV, what.from, what.finished);
        if ((what.to != HP_NOBODY && step->send < 0) || (what.from != HP_NOBODY && step->recv < 0))
            return NULL;
        if (what.from != HP_NOBODY && what.take != HP_TAKE_STORE) {
            if (what.recv.count > room) {
                stage->scratch++;
                room = use->block_count;
            }
            room -= what.recv.count;
        }
        add_up(stage, &what, i);
    }
    stage->tasks += 2; /* the copy at the beginning, the join at the end */
    stage->edges += 2 + least(use->block_count, 2 * use->step_count + 2);
    return use;
}

/* ---- one segment ---- */

/* First element of a block; of block block_count: the end. */
static size_t start_of(const hp_exchange_use_t *use, size_t count, uint32_t block)
{
    return (size_t)((uint64_t)count * block / use->block_count);
}

/* task waits for the tasks recorded for the blocks; the same task in a row counts once. */
static void after_blocks(hp_task_t *task, hp_task_t *const *recorded, const hp_blocks_t *blocks)
{
    for (uint32_t k = 0; k < blocks->count; k++)
        if (k == 0 || recorded[blocks->first + k] != recorded[blocks->first + k - 1])
            hp_emit_after(task, recorded[blocks->first + k]);
}

static void record_task(hp_task_t *task, hp_task_t **recorded, const hp_blocks_t *blocks)
{
    for (uint32_t k = 0; k < blocks->count; k++)
        recorded[blocks->first + k] = task;
}

/* Copies the own value to where the exchange works, unless an inner stage has put it there (place in p2p.c). */
static hp_task_t *emit_own_copy(hp_segment_t *segment, const hp_flow_t *flow)
{
    const bool untouched = !flow->value.task && flow->value.address == flow->own;

    if (!untouched || flow->own == flow->result)
        return flow->ready;
    hp_task_t *copy = hp_emit_copy(segment, flow->result, flow->value, flow->count);
    hp_emit_after(copy, flow->ready);
    return copy;
}

void hp_exchange_emit(const hp_stage_t *stage, hp_exchange_use_t *use, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_blocks_t all = {0, use->block_count};
    hp_task_t *holder = NULL; /* of the scratch buffer in use */
    size_t used = 0;          /* elements of it */
    (void)stage;

    record_task(emit_own_copy(segment, flow), use->writer, &all);
    record_task(flow->own == flow->result ? flow->own_read : NULL, use->reader, &all);
    for (uint32_t i = 0; i < use->step_count; i++) {
        const step_t *step = &use->steps[i];
        const hp_blocks_t *out = &step->what.send, *in = &step->what.recv;
        const size_t out_start = start_of(use, flow->count, out->first);
        const size_t out_count = start_of(use, flow->count, out->first + out->count) - out_start;
        const size_t in_start = start_of(use, flow->count, in->first);
        const size_t in_count = start_of(use, flow->count, in->first + in->count) - in_start;
        char *const own = flow->result + in_start * use->extent;

        if (step->what.to != HP_NOBODY && out_count > 0) {
            hp_task_t *send =
                hp_emit_send(segment, step->send, hp_at(flow->result + out_start * use->extent), out_count);
            after_blocks(send, use->writer, out);
            record_task(send, use->reader, out);
        }
        if (step->what.from == HP_NOBODY || in_count == 0)
            continue;
        hp_task_t *taken;
        if (step->what.take == HP_TAKE_STORE) {
            taken = hp_emit_recv(segment, step->recv, own, in_count);
        } else {
            const bool fits = holder && used + in_count <= flow->count;
            hp_task_t *recv =
                fits ? hp_emit_recv_within(segment, step->recv, holder, used * use->extent, in_count)
                     : hp_emit_recv_scratch(segment, step->recv, in_count);
            if (fits)
                hp_emit_after(recv, holder); /* has started, then */
            else
                holder = recv;
            used = (fits ? used : 0) + in_count;
            taken = step->what.take == HP_TAKE_REDUCE_LEFT
                        ? hp_emit_reduce(segment, hp_of(recv), hp_at(own), in_count)
                        : hp_emit_reduce_to(segment, hp_at(own), hp_of(recv), hp_at(own), in_count);
            hp_emit_after(taken, recv);
        }
        after_blocks(taken, use->writer, in);
        after_blocks(taken, use->reader, in);
        record_task(taken, use->writer, in);
    }
    hp_task_t *done = hp_emit_join(segment);
    after_blocks(done, use->writer, &all);
    flow->ready = done;
    flow->value = hp_at(flow->result);
}
