#include "hier/modules/schedule_steps.h"

#include <assert.h>
#include "base/least.h"
#include "hier/call/cut.h"
#include "hier/modules/schedule_program.h"

/* A segment has so many pieces at most: each takes task memory. */
enum { PIECES_MAX = 256 };

/* What is done when contribution and result lie apart, and in place; NULL: that cannot be. */
typedef struct {
    hp_program_t *apart, *in_place;
} hp_way_t;

struct hp_schedule_use {
    hp_pattern_t pattern;
    bool is_leader;
    uint32_t rotation_count, way_count;
    hp_way_t *ways;
    size_t extent;
    hp_cut_t pieces; /* of a whole segment: one, unless segments take turns */
    /* While a segment is emitted, of each operation: its task, and that of the first piece. */
    hp_task_t **tasks, **holders;
};

/* ---- preparing ---- */

/* A segment in pieces of so many bytes, 0: in one, as a message is cut into segments. */
static hp_cut_t cut_segment(const hp_call_t *call, const hp_setting_t *setting, size_t bytes)
{
    if (call->count == 0) /* a barrier */
        return (hp_cut_t){.count = 0, .segment_elements = 1};
    const size_t whole = hp_cut_make(call, setting).segment_elements;
    const size_t least = (whole + PIECES_MAX - 1) / PIECES_MAX, wanted = bytes / call->type.bytes;
    size_t elements = wanted > least ? wanted : least;
    if (bytes == 0 || elements > whole)
        elements = whole;
    return (hp_cut_t){.count = whole, .segment_elements = elements, .extent = call->type.extent};
}

static uint32_t piece_count(const hp_cut_t *cut)
{
    return cut->count > cut->segment_elements ? (uint32_t)hp_cut_segments(cut) : 1;
}

_Static_assert((int)HP_STREAMS_MAX < (int)HP_START_STREAMS, "they and the pipeline's own");

/* The tag of a stream: the pipeline has one of its own between those of the schedules. */
static uint32_t tag_of(uint8_t stream)
{
    return stream < HP_STREAM_FORWARD ? stream : stream + 1u;
}

/* Programs and rotations may have messages to the same peers: they share lanes. */
static bool make_lanes(const hp_stage_t *stage, const hp_setting_t *setting, hp_program_t *program)
{
    for (uint32_t i = 0; i < program->operation_count; i++) {
        hp_operation_t *operation = &program->operations[i];
        if (operation->position < 0)
            continue;
        const bool sends = operation->what == HP_DO_SEND || operation->what == HP_DO_SEND_PACKED;
        const hp_direction_t direction = sends ? HP_LANE_SEND : HP_LANE_RECV;
        operation->lane = hp_request_lane(
            stage->start->request, direction, hp_team_rank(&stage->team, (uint32_t)operation->position),
            tag_of(operation->stream), hp_setting_lane_limit(setting, direction));
        if (operation->lane < 0)
            return false;
    }
    return true;
}

static hp_program_t *make_program(hp_stage_t *stage, const hp_setting_t *setting,
                                  const hp_program_problem_t *problem)
{
    hp_program_t *program = hp_program_make(stage->start->arena, problem);
    return program && make_lanes(stage, setting, program) ? program : NULL;
}

static bool make_programs(hp_schedule_use_t *use, hp_stage_t *stage, const hp_setting_t *setting,
                          hp_program_problem_t *problem)
{
    const bool can_be_in_place =
        use->pattern == HP_PATTERN_ALLREDUCE || (use->pattern == HP_PATTERN_REDUCE && use->is_leader);
    const bool takes_turns = problem->block >= 0;

    use->way_count = takes_turns ? problem->schedule->cut : 1;
    use->ways = hp_arena_get(stage->start->arena, use->way_count * sizeof *use->ways);
    for (uint32_t way = 0; way < use->way_count && use->ways; way++) {
        problem->block = takes_turns ? (int32_t)way : -1;
        problem->in_place = false;
        if (!(use->ways[way].apart = make_program(stage, setting, problem)))
            return false;
        problem->in_place = true;
        if (can_be_in_place && !(use->ways[way].in_place = make_program(stage, setting, problem)))
            return false;
    }
    return use->ways;
}

/* Adds to the stage what the program that needs most needs for a segment. */
static bool add_up(hp_schedule_use_t *use, hp_stage_t *stage)
{
    uint32_t operations = 0, edges = 0, scratch = 0, joins = 0;

    for (uint32_t way = 0; way < use->way_count; way++)
        for (unsigned in_place = 0; in_place < 2; in_place++) {
            const hp_program_t *program = in_place ? use->ways[way].in_place : use->ways[way].apart;
            if (!program)
                continue;
            operations = hp_most_u32(operations, program->operation_count);
            edges = hp_most_u32(edges, program->edges);
            scratch = hp_most_u32(scratch, program->scratch);
            joins = hp_most_u32(joins, (program->done >= 0) + (program->read >= 0));
        }
    const uint32_t pieces = piece_count(&use->pieces);
    stage->tasks += pieces * operations + (pieces > 1 ? joins : 0);
    stage->edges += pieces * (edges + (pieces > 1 ? joins : 0));
    stage->scratch += scratch;
    use->tasks = hp_arena_get(stage->start->arena, (operations + HP_AFTER_EXTRA) * sizeof *use->tasks);
    use->holders = hp_arena_get(stage->start->arena, (operations + 1) * sizeof *use->holders);
    if (!use->tasks || !use->holders)
        return false;
    use->tasks += HP_AFTER_EXTRA;
    return true;
}

/* Which rank each position is, where a network is known. False: no memory. */
static bool place(hp_problem_t *problem, const hp_stage_t *stage)
{
    const hp_comm_t *comm = stage->start->comm;

    if (!comm->network)
        return true;
    uint32_t *ranks = hp_arena_get(stage->start->arena, problem->count * sizeof *ranks);
    for (uint32_t i = 0; i < problem->count && ranks; i++)
        ranks[i] = hp_team_rank(&stage->team, i);
    problem->placement = &comm->network->ranks;
    problem->placed = ranks;
    return ranks != NULL;
}

static bool make_use(hp_schedule_use_t *use, hp_stage_t *stage, const hp_setting_t *setting,
                     const hp_schedule_wanted_t *wanted)
{
    const uint32_t position = stage->team.position;
    hp_problem_t problem = {
        .pattern = wanted->pattern, .count = stage->team.count, .ordered = !stage->commutative};
    hp_schedule_t schedule;

    if (!place(&problem, stage))
        return false;
    hp_generator_usual(wanted->generator, &problem);
    if (wanted->takes_turns)
        problem.parameter[0] = wanted->generator->parameters[0].least;
    hp_schedule_init(&schedule);
    hp_program_problem_t made = {.schedule = &schedule,
                                 .pattern = wanted->pattern,
                                 .position = position,
                                 .block = wanted->takes_turns ? 0 : -1,
                                 .commutative = stage->commutative};
    const bool is_made = hp_schedule_make(&schedule, wanted->generator, &problem, position) == HP_OK &&
                         make_programs(use, stage, setting, &made) && add_up(use, stage);
    hp_schedule_fini(&schedule);
    return is_made;
}

hp_schedule_use_t *hp_schedule_prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting,
                                       const hp_schedule_wanted_t *wanted)
{
    hp_schedule_use_t *use = hp_arena_get(stage->start->arena, sizeof *use);

    if (!use)
        return NULL;
    *use = (hp_schedule_use_t){.pattern = wanted->pattern,
                               .is_leader = stage->team.position == 0,
                               .rotation_count = stage->rotation_count,
                               .extent = call->type.extent,
                               .pieces = cut_segment(call, setting, wanted->piece_bytes)};
    return make_use(use, stage, setting, wanted) ? use : NULL;
}

/* ---- one segment ---- */

/* What runs for every segment; between them the compiler's calls would cost as much as what they do. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

typedef struct {
    hp_segment_t *segment;
    hp_task_t **tasks;
    size_t count;        /* elements, of a program of one block */
    hp_operand_t value;  /* the contribution; not in a bcast */
    hp_operand_t result; /* where the result goes; without a place: where it has come */
    bool has_result;     /* it has a place */
    hp_task_t **holders; /* NULL: there is one piece */
    size_t piece_offset;
    hp_task_t *taker,
        *packed; /* of a message that is being packed: the task that takes the buffer, and the last one */
} emission_t;

static ALWAYS_INLINE hp_operand_t operand(const emission_t *e, const hp_spot_t *spot)
{
    const hp_operand_t base = spot->base >= 0             ? hp_of(e->tasks[spot->base])
                              : spot->base == HP_AT_VALUE ? e->value
                                                          : e->result;
    return hp_within(base, spot->offset);
}

/* In a program of several blocks receives share scratch buffers. The pieces of a segment do: they come in one lane, in
 * order, so when one of them is posted the first one has its buffer. */
static hp_task_t *emit_aside(const emission_t *e, const hp_operation_t *operation, size_t count, uint32_t i)
{
    if (operation->holder >= 0) {
        hp_task_t *holder = e->tasks[operation->holder];
        hp_task_t *recv =
            hp_emit_recv(e->segment, operation->lane, hp_within(hp_of(holder), operation->out.offset), count);
        hp_emit_after(recv, holder); /* has started, then */
        return recv;
    }
    if (e->holders && e->piece_offset > 0)
        return hp_emit_recv(e->segment, operation->lane, hp_within(hp_of(e->holders[i]), e->piece_offset),
                            count);
    hp_task_t *recv = hp_emit_recv_scratch(e->segment, operation->lane, count);
    if (e->holders)
        e->holders[i] = recv;
    return recv;
}

static hp_task_t *emit_pack(emission_t *e, const hp_operation_t *operation, size_t count)
{
    const hp_operand_t into = e->taker ? hp_within(hp_of(e->taker), operation->out.offset) : hp_scratch();
    hp_task_t *pack = hp_emit_copy(e->segment, into, operand(e, &operation->in), count);

    hp_emit_after(pack, e->packed);
    e->taker = e->taker ? e->taker : pack;
    return e->packed = pack;
}

static hp_task_t *emit_packed(emission_t *e, const hp_operation_t *operation, size_t count)
{
    hp_task_t *send = hp_emit_send(e->segment, operation->lane, hp_of(e->taker), count);

    hp_emit_after(send, e->packed);
    e->taker = e->packed = NULL;
    return send;
}

static hp_task_t *emit_copy(emission_t *e, const hp_operation_t *operation, size_t count)
{
    const hp_operand_t from = operand(e, &operation->in);

    if (e->has_result)
        return hp_emit_copy(e->segment, hp_within(e->result, operation->out.offset), from, count);
    hp_task_t *copy = hp_emit_copy(e->segment, hp_scratch(), from, count);
    e->result = hp_of(copy);
    return copy;
}

/* All but the messages that most segments are made of. */
static hp_task_t *emit_other(emission_t *e, const hp_operation_t *operation, uint32_t i, size_t count)
{
    hp_segment_t *segment = e->segment;

    switch ((hp_do_t)operation->what) {
    case HP_DO_RECV_RESULT: {
        hp_task_t *recv = emit_aside(e, operation, count, i);
        e->result = hp_of(recv);
        return recv;
    }
    case HP_DO_RECV_ASIDE:
        return emit_aside(e, operation, count, i);
    case HP_DO_REDUCE:
        return hp_emit_reduce(segment, operand(e, &operation->in), operand(e, &operation->out), count);
    case HP_DO_REDUCE_ONTO: {
        const hp_operand_t out = operand(e, &operation->out);
        return hp_emit_reduce_to(segment, out, operand(e, &operation->in), out, count);
    }
    case HP_DO_COPY:
        return emit_copy(e, operation, count);
    case HP_DO_PACK:
        return emit_pack(e, operation, count);
    case HP_DO_SEND_PACKED:
        return emit_packed(e, operation, count);
    default:
        return hp_emit_join(segment);
    }
}

static ALWAYS_INLINE hp_task_t *emit_operation(emission_t *e, const hp_operation_t *operation, uint32_t i,
                                               size_t count)
{
    if (operation->what == HP_DO_SEND)
        return hp_emit_send(e->segment, operation->lane, operand(e, &operation->in), count);
    if (operation->what == HP_DO_RECV_RESULT && e->has_result)
        return hp_emit_recv(e->segment, operation->lane, hp_within(e->result, operation->out.offset), count);
    return emit_other(e, operation, i, count);
}

/* has_blocks: there are several. Those of no elements are not sent; other ranks know that too. */
static ALWAYS_INLINE void emit_operations(emission_t *e, const hp_program_t *program, bool has_blocks)
{
    const uint32_t operations = program->operation_count;
    const hp_operation_t *operation = program->operations;
    const int32_t *after = program->after; /* in the order of the operations */
    hp_task_t **const tasks = e->tasks;

    for (uint32_t i = 0; i < operations; i++, operation++) {
        const size_t count = has_blocks ? operation->count : e->count;
        const bool is_empty = has_blocks && count == 0 && operation->run_count > 0;
        hp_task_t *task = is_empty ? NULL : emit_operation(e, operation, i, count);
        tasks[i] = task;
        for (uint32_t left = operation->after_count; left > 0; left--, after++)
            if (!is_empty)
                hp_emit_after(task, tasks[*after]);
    }
}

static void emit_whole(emission_t *e, const hp_program_t *program)
{
    emit_operations(e, program, false);
}

static void emit_blocks(emission_t *e, hp_program_t *program, size_t extent)
{
    hp_program_cut(program, e->count, extent);
    e->taker = e->packed = NULL;
    emit_operations(e, program, true);
}

/* The task after an operation of all pieces. */
static hp_task_t *gather(hp_segment_t *segment, hp_task_t *gathered, hp_task_t *task)
{
    if (!gathered)
        gathered = hp_emit_join(segment);
    hp_emit_after(gathered, task);
    return gathered;
}

/* Piece after piece. What is known of the result and of its operations afterwards is that of all. */
static void emit_pieces(const hp_schedule_use_t *use, emission_t *e, const hp_program_t *program)
{
    const hp_operand_t value = e->value, result = e->result;
    hp_cut_t cut = use->pieces;
    hp_task_t *done = NULL, *read = NULL;
    hp_operand_t first = result;

    cut.count = e->count;
    e->holders = use->holders;
    for (uint32_t i = 0, pieces = (uint32_t)hp_cut_segments(&cut); i < pieces; i++) {
        const size_t offset = e->piece_offset = hp_cut_offset(&cut, i);
        e->count = hp_cut_count(&cut, i);
        e->value = hp_within(value, offset);
        if (e->has_result)
            e->result = hp_within(result, offset);
        emit_whole(e, program);
        if (i == 0 && program->done >= 0)
            first = hp_of(e->tasks[program->done]); /* the others lie behind it */
        if (program->done >= 0)
            done = gather(e->segment, done, e->tasks[program->done]);
        if (program->read >= 0)
            read = gather(e->segment, read, e->tasks[program->read]);
    }
    e->result = first;
    if (program->done >= 0)
        e->tasks[program->done] = done;
    if (program->read >= 0)
        e->tasks[program->read] = read;
}

/* The size of a segment decides: the last one is shorter than the others. */
static ALWAYS_INLINE void emit(const hp_schedule_use_t *use, emission_t *e, hp_program_t *program)
{
    e->holders = NULL;
    if (program->block_count > 1)
        emit_blocks(e, program, use->extent);
    else if (e->count > use->pieces.segment_elements)
        emit_pieces(use, e, program);
    else
        emit_whole(e, program);
}

/* The ways alternate among the segments of the stage's own rotation. */
static const hp_way_t *way_of(const hp_schedule_use_t *use, const hp_flow_t *flow)
{
    return use->way_count == 1 ? use->ways : &use->ways[flow->index / use->rotation_count % use->way_count];
}

/* An emission has more than most segments need: what is not set here is set where it is used. */
static ALWAYS_INLINE void begin(emission_t *e, const hp_schedule_use_t *use, hp_segment_t *segment,
                                const hp_flow_t *flow, hp_task_t *result_free)
{
    e->segment = segment;
    e->tasks = use->tasks;
    e->count = flow->count;
    e->value = flow->value;
    e->result = flow->result;
    e->has_result = true;
    e->tasks[HP_AFTER_READY] = flow->ready;
    e->tasks[HP_AFTER_FREE] = result_free;
}

void hp_schedule_reduce(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const hp_way_t *way = way_of(use, flow);
    const bool is_own = !hp_flow_is_made(flow);
    hp_program_t *program =
        is_own && into.given && hp_operand_address(flow->value) == hp_operand_address(into.at) ? way->in_place
                                                                                               : way->apart;
    emission_t e;

    begin(&e, use, segment, flow, into.free);
    e.result = into.at;
    e.has_result = into.given;
    emit(use, &e, program);
    if (is_own && program->read >= 0)
        flow->own_read = e.tasks[program->read];
    if (!use->is_leader || program->done < 0)
        return;
    if (program->block_count == 1 && !e.holders)
        e.result = hp_of(e.tasks[program->done]);
    flow->value = e.result; /* a task's: the stage has made it */
    flow->ready = e.tasks[program->done];
}

void hp_schedule_bcast(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow)
{
    hp_program_t *program = way_of(use, flow)->apart;
    emission_t e;

    begin(&e, use, segment, flow, flow->own_read);
    emit(use, &e, program);
    flow->ready = e.tasks[program->done];
    flow->value = flow->result;
}

void hp_schedule_allreduce(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow)
{
    /* An inner stage has put its value where the result goes (place in p2p.c). */
    const bool is_own = flow->value.base == flow->own.base;
    hp_program_t *program = is_own && !flow->in_place ? use->ways->apart : use->ways->in_place;
    emission_t e;

    begin(&e, use, segment, flow, flow->in_place ? flow->own_read : NULL);
    emit(use, &e, program);
    flow->ready = e.tasks[program->done];
    flow->value = flow->result;
}

/* Messages of no bytes: nothing is anywhere. */
void hp_schedule_barrier(hp_schedule_use_t *use, hp_segment_t *segment, hp_flow_t *flow)
{
    const hp_program_t *program = use->ways->apart;
    const hp_operation_t *operation = program->operations, *const end = operation + program->operation_count;
    const int32_t *after = program->after;
    hp_task_t **const tasks = use->tasks, **next = tasks;

    tasks[HP_AFTER_READY] = flow->ready;
    for (; operation < end; operation++, next++) {
        *next = operation->what == HP_DO_SEND          ? hp_emit_send(segment, operation->lane, flow->own, 0)
                : operation->what == HP_DO_RECV_RESULT ? hp_emit_recv(segment, operation->lane, flow->own, 0)
                                                       : hp_emit_join(segment);
        for (uint32_t left = operation->after_count; left > 0; left--, after++)
            hp_emit_after(*next, tasks[*after]);
    }
    flow->ready = tasks[program->done];
}
