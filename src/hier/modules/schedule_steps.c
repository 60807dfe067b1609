/* schedule_steps: see there. The running value is in flow->result. A task may not read a block before it was last
 * written, nor write it before it was last read and written; nothing else is waited for. What comes to be reduced
 * arrives in scratch buffers that are filled one after the other: in the exchanges that halve or scatter all of it fits
 * into one. */
#include "hier/modules/schedule_steps.h"

#include <assert.h>
#include <string.h>

/* Blocks that follow each other in memory. */
typedef struct {
    uint32_t first, count;
    bool own; /* of the own contribution, which is not written */
} run_t;

typedef struct {
    run_t *runs;
    uint32_t count;
} message_t;

typedef struct {
    int32_t send, recv; /* lanes; -1: there is no message */
    bool is_local;
    hp_action_t action;
    message_t out, in;
} step_t;

struct hp_schedule_use {
    uint32_t block_count, step_count;
    size_t extent;
    step_t *steps;
    /* First element of each block, and the end, of a segment of so many elements: all but the last are the same. */
    size_t *starts, elements;
    /* While a segment is emitted, for each block: the last task that writes it, and the last that reads it. */
    hp_task_t **writer, **reader;
};

/* ---- preparing ---- */

static int32_t make_lane(const hp_stage_t *stage, const hp_setting_t *setting, hp_direction_t direction,
                         int32_t position, uint32_t stream)
{
    return hp_request_lane(stage->start->request, direction, hp_team_rank(&stage->team, (uint32_t)position),
                           stream ? HP_STREAM_DOWN : HP_STREAM_UP, hp_setting_lane_limit(setting, direction));
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t blocks_of(const message_t *message)
{
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < message->count; i++)
        blocks += message->runs[i].count;
    return blocks;
}

static uint32_t runs_of(const hp_range_t *range)
{
    return (range->count + range->run - 1) / range->run;
}

/* The ranges of a list as runs of blocks. */
static bool make_message(message_t *message, hp_arena_t *arena, const hp_schedule_t *schedule,
                         const hp_list_t *list)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < list->count; i++)
        most += runs_of(&schedule->ranges[list->first + i]);
    *message = (message_t){.runs = hp_arena_get(arena, (most + 1) * sizeof(run_t))};
    for (uint32_t i = 0; i < list->count && message->runs; i++) {
        const hp_range_t *range = &schedule->ranges[list->first + i];
        assert(range->space != HP_SPACE_SCRATCH);
        for (uint32_t b = 0; b < range->count; b += range->run)
            message->runs[message->count++] = (run_t){.first = hp_range_block(range, b),
                                                      .count = least(range->run, range->count - b),
                                                      .own = range->space == HP_SPACE_SEND};
    }
    return message->runs;
}

/* Does what comes arrive in a scratch buffer? */
static bool is_aside(const step_t *step)
{
    return step->recv >= 0 && (step->action != HP_ACTION_STORE || step->in.count > 1);
}

/* Tasks and edges of step i at most: blocks that were written, or read, last by different tasks are at most two a step
 * and run before it. */
static void add_up(hp_stage_t *stage, const step_t *step, uint32_t runs_before)
{
    const uint32_t parts = 2 * runs_before + 2, blocks_in = least(blocks_of(&step->in), parts);
    const bool packs = step->send >= 0 && step->out.count > 1;
    const bool takes =
        step->is_local || is_aside(step); /* out of a scratch buffer, or the own contribution */

    stage->tasks +=
        (step->send >= 0) + (packs ? step->out.count : 0) + (step->recv >= 0) + (takes ? step->in.count : 0);
    stage->edges += least(blocks_of(&step->out), parts) + (packs ? step->out.count : 0) + 2 * blocks_in +
                    (takes ? 2 * step->in.count : 0) + 1;
}

/* Packed messages have a scratch buffer each; what comes to be reduced shares them. *room: blocks that still fit into the
 * one in use. */
static void add_scratch(hp_stage_t *stage, const step_t *step, uint32_t block_count, uint32_t *room)
{
    if (step->send >= 0 && step->out.count > 1)
        stage->scratch++;
    if (!is_aside(step))
        return;
    const uint32_t blocks = blocks_of(&step->in);
    if (blocks > *room) {
        stage->scratch++;
        *room = block_count;
    }
    *room -= blocks;
}

static bool make_step(hp_stage_t *stage, const hp_setting_t *setting, const hp_schedule_t *schedule,
                      const hp_step_t *what, step_t *step)
{
    *step = (step_t){.send = -1, .recv = -1, .action = what->action};
    step->is_local = what->to == (int32_t)stage->team.position;
    if (what->to >= 0 && !step->is_local &&
        (step->send = make_lane(stage, setting, HP_LANE_SEND, what->to, what->stream)) < 0)
        return false;
    if (what->from >= 0 && !step->is_local &&
        (step->recv = make_lane(stage, setting, HP_LANE_RECV, what->from, what->stream)) < 0)
        return false;
    return make_message(&step->out, stage->start->arena, schedule, &what->send) &&
           make_message(&step->in, stage->start->arena, schedule, &what->recv);
}

static hp_schedule_use_t *make_use(hp_stage_t *stage, const hp_setting_t *setting,
                                   const hp_schedule_t *schedule)
{
    hp_arena_t *arena = stage->start->arena;
    uint32_t room = 0, runs = 0;

    hp_schedule_use_t *use = hp_arena_get(arena, sizeof *use);
    if (!use)
        return NULL;
    use->block_count = schedule->cut;
    use->steps = hp_arena_get(arena, (schedule->step_count + 1) * sizeof *use->steps);
    use->starts = hp_arena_get(arena, (use->block_count + 1) * sizeof *use->starts);
    use->writer = hp_arena_get(arena, use->block_count * sizeof(hp_task_t *));
    use->reader = hp_arena_get(arena, use->block_count * sizeof(hp_task_t *));
    if (!use->steps || !use->starts || !use->writer || !use->reader)
        return NULL;
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        step_t *step = &use->steps[use->step_count++];
        if (!make_step(stage, setting, schedule, &schedule->steps[i], step))
            return NULL;
        add_up(stage, step, runs);
        add_scratch(stage, step, use->block_count, &room);
        runs += step->out.count + step->in.count;
    }
    stage->tasks += 1; /* the join at the end */
    stage->edges += 2 + least(use->block_count, 2 * runs + 2);
    return use;
}

hp_schedule_use_t *hp_schedule_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_generator_t *generator)
{
    hp_problem_t problem = {
        .pattern = HP_PATTERN_ALLREDUCE, .count = stage->team.count, .ordered = !stage->commutative};
    hp_schedule_t schedule;
    hp_schedule_use_t *use = NULL;

    hp_generator_usual(generator, &problem);
    hp_schedule_init(&schedule);
    if (hp_schedule_make(&schedule, generator, &problem, stage->team.position) == HP_OK)
        use = make_use(stage, setting, &schedule);
    hp_schedule_fini(&schedule);
    if (use)
        use->extent = call->type.extent;
    return use;
}

/* ---- one segment ---- */

typedef struct {
    hp_schedule_use_t *use;
    hp_segment_t *segment;
    hp_flow_t *flow;
    bool in_result;    /* the own contribution lies where the result goes */
    hp_task_t *holder; /* of the scratch buffer that receives share */
    size_t held;       /* elements of it */
} emission_t;

static void cut_blocks(hp_schedule_use_t *use, size_t elements)
{
    if (use->elements == elements)
        return;
    use->elements = elements;
    for (uint32_t block = 0; block <= use->block_count; block++)
        use->starts[block] = (size_t)((uint64_t)elements * block / use->block_count);
}

static size_t elements_of(const emission_t *e, const run_t *run)
{
    return e->use->starts[run->first + run->count] - e->use->starts[run->first];
}

static size_t elements_of_all(const emission_t *e, const message_t *message)
{
    size_t elements = 0;
    for (uint32_t i = 0; i < message->count; i++)
        elements += elements_of(e, &message->runs[i]);
    return elements;
}

static bool is_own(const emission_t *e, const run_t *run)
{
    return run->own && !e->in_result;
}

static char *address_of(const emission_t *e, const run_t *run)
{
    return (is_own(e, run) ? e->flow->own : e->flow->result) + e->use->starts[run->first] * e->use->extent;
}

/* task waits for the tasks recorded for the blocks; the same task in a row counts once. */
static void after_blocks(hp_task_t *task, hp_task_t *const *recorded, const run_t *run)
{
    for (uint32_t k = 0; k < run->count; k++)
        if (k == 0 || recorded[run->first + k] != recorded[run->first + k - 1])
            hp_emit_after(task, recorded[run->first + k]);
}

static void record_task(hp_task_t *task, hp_task_t **recorded, const run_t *run)
{
    for (uint32_t k = 0; k < run->count; k++)
        recorded[run->first + k] = task;
}

static void reads(const emission_t *e, hp_task_t *task, const run_t *run)
{
    if (is_own(e, run))
        return;
    after_blocks(task, e->use->writer, run);
    record_task(task, e->use->reader, run);
}

static void writes(const emission_t *e, hp_task_t *task, const run_t *run)
{
    after_blocks(task, e->use->writer, run);
    after_blocks(task, e->use->reader, run);
    record_task(task, e->use->writer, run);
}

/* The own contribution goes where the exchange works, unless an inner stage has put it there (place in p2p.c). */
static void emit_local(const emission_t *e, const step_t *step)
{
    assert(step->action == HP_ACTION_STORE && step->out.count == step->in.count);
    for (uint32_t i = 0; i < step->in.count && !e->in_result; i++) {
        const run_t *from = &step->out.runs[i], *to = &step->in.runs[i];
        const size_t elements = elements_of(e, to);
        if (elements == 0)
            continue;
        hp_task_t *copy = hp_emit_copy(e->segment, address_of(e, to), hp_at(address_of(e, from)), elements);
        hp_emit_after(copy, e->flow->ready);
        reads(e, copy, from);
        writes(e, copy, to);
    }
}

/* The blocks of a message one behind the other in a scratch buffer. Returns the last task that writes it. */
static hp_operand_t pack(const emission_t *e, const message_t *message, hp_task_t **packed)
{
    hp_operand_t into = hp_scratch();
    size_t at = 0;

    *packed = NULL;
    for (uint32_t i = 0; i < message->count; i++) {
        const run_t *run = &message->runs[i];
        const size_t elements = elements_of(e, run);
        if (elements == 0)
            continue;
        hp_task_t *copy = hp_emit_copy_to(e->segment, hp_within(into, at * e->use->extent),
                                          hp_at(address_of(e, run)), elements);
        hp_emit_after(copy, *packed); /* the first one takes the buffer */
        reads(e, copy, run);
        if (!*packed)
            into = hp_of(copy);
        *packed = copy;
        at += elements;
    }
    return into;
}

static void emit_send(const emission_t *e, const step_t *step)
{
    const size_t elements = elements_of_all(e, &step->out);
    const run_t *run = &step->out.runs[0];

    if (elements == 0)
        return;
    if (step->out.count == 1) {
        reads(e, hp_emit_send(e->segment, step->send, hp_at(address_of(e, run)), elements), run);
        return;
    }
    hp_task_t *packed;
    const hp_operand_t from = pack(e, &step->out, &packed);
    hp_emit_after(hp_emit_send(e->segment, step->send, from, elements), packed);
}

/* Into a part of the scratch buffer in use, or into a new one. */
static hp_task_t *receive_aside(emission_t *e, const step_t *step, size_t elements)
{
    const bool fits = e->holder && e->held + elements <= e->flow->count;
    hp_task_t *recv =
        fits ? hp_emit_recv_within(e->segment, step->recv, e->holder, e->held * e->use->extent, elements)
             : hp_emit_recv_scratch(e->segment, step->recv, elements);

    if (fits)
        hp_emit_after(recv, e->holder); /* has started, then */
    else
        e->holder = recv;
    e->held = (fits ? e->held : 0) + elements;
    return recv;
}

static void emit_receive(emission_t *e, const step_t *step)
{
    const size_t elements = elements_of_all(e, &step->in);
    size_t at = 0;

    if (elements == 0)
        return;
    if (!is_aside(step)) {
        const run_t *run = &step->in.runs[0];
        writes(e, hp_emit_recv(e->segment, step->recv, address_of(e, run), elements), run);
        return;
    }
    hp_task_t *recv = receive_aside(e, step, elements);
    for (uint32_t i = 0; i < step->in.count; i++) {
        const run_t *run = &step->in.runs[i];
        const size_t count = elements_of(e, run);
        const hp_operand_t theirs = hp_within(hp_of(recv), at * e->use->extent);
        const hp_operand_t mine = hp_at(address_of(e, run));
        if (count == 0)
            continue;
        hp_task_t *taken = step->action == HP_ACTION_STORE
                               ? hp_emit_copy(e->segment, mine.address, theirs, count)
                           : step->action == HP_ACTION_REDUCE_LEFT
                               ? hp_emit_reduce(e->segment, theirs, mine, count)
                               : hp_emit_reduce_to(e->segment, mine, theirs, mine, count);
        hp_emit_after(taken, recv);
        writes(e, taken, run);
        at += count;
    }
}

void hp_schedule_emit(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow)
{
    const run_t all = {.first = 0, .count = use->block_count};
    const bool untouched = !flow->value.task && flow->value.address == flow->own;
    emission_t e = {.use = use, .segment = segment, .flow = flow};

    cut_blocks(use, flow->count);
    e.in_result = !untouched || flow->own == flow->result;
    record_task(e.in_result ? flow->ready : NULL, use->writer, &all);
    record_task(flow->own == flow->result ? flow->own_read : NULL, use->reader, &all);
    for (uint32_t i = 0; i < use->step_count; i++) {
        const step_t *step = &use->steps[i];
        if (step->is_local)
            emit_local(&e, step);
        if (step->send >= 0)
            emit_send(&e, step);
        if (step->recv >= 0)
            emit_receive(&e, step);
    }
    hp_task_t *done = hp_emit_join(segment);
    after_blocks(done, use->writer, &all);
    flow->ready = done;
    flow->value = hp_at(flow->result);
}
