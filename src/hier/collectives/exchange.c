#include "hier/collectives/exchange.h"

#include <math.h>
#include <string.h>
#include "base/least.h"
#include "hier/blocks/generator.h"
#include "hier/blocks/program.h"
#include "hier/call/cut.h"

typedef struct {
    hp_comm_t *comm;
    hp_call_t call;
    char *send, *recv;         /* of the call that runs */
    const hp_blocks_t *longer; /* of a call in rows; NULL: it is not in rows, or there are none */
    char *own; /* copy of what this rank brings to an allreduce in place; NULL: it is not one */
    hp_problem_t problem;
    const uint32_t *ranks; /* of the positions; NULL: they are the ranks */
    uint32_t position;
    hp_cut_t cut; /* of a block, in slices; the program is of one, `last` of the last, if that is shorter */
    hp_block_program_t program, last;
    hp_pipeline_t pipeline;
    hp_task_t **tasks; /* of the operations, while they are emitted */
} exchange_t;

/* ---- one graph of tasks ---- */

/* What the operations of a slice have in common. */
typedef struct {
    const hp_task_t *work;
    size_t offset; /* of the slice in its block */
} slice_t;

static hp_operand_t operand(const exchange_t *x, const slice_t *slice, const hp_block_spot_t *spot)
{
    if (spot->memory == HP_IN_WORK)
        return hp_within(hp_of(slice->work), spot->offset);
    return hp_within(hp_behind(spot->memory == HP_IN_SEND ? &x->send : &x->recv),
                     spot->offset + slice->offset);
}

static hp_task_t *emit_operation(const exchange_t *x, hp_segment_t *segment,
                                 const hp_block_operation_t *operation, const slice_t *slice)
{
    const hp_operand_t in = operand(x, slice, &operation->in), out = operand(x, slice, &operation->out);

    switch ((hp_block_do_t)operation->what) {
    case HP_BLOCK_SEND:
        return hp_emit_send(segment, operation->lane, in, operation->count);
    case HP_BLOCK_RECV:
        return hp_emit_recv(segment, operation->lane, out, operation->count);
    case HP_BLOCK_COPY:
        return hp_emit_copy(segment, out, in, operation->count);
    case HP_BLOCK_REDUCE:
        return hp_emit_reduce(segment, in, out, operation->count);
    case HP_BLOCK_REDUCE_ONTO:
        break;
    }
    return hp_emit_reduce_to(segment, out, in, out, operation->count);
}

static bool uses_work(const hp_block_operation_t *operation)
{
    return (operation->what != HP_BLOCK_RECV && operation->in.memory == HP_IN_WORK) ||
           (operation->what != HP_BLOCK_SEND && operation->out.memory == HP_IN_WORK);
}

static void emit(const void *plan, hp_segment_t *segment, uint64_t index)
{
    const exchange_t *x = *(exchange_t *const *)plan;
    const bool is_shorter = hp_cut_count(&x->cut, index) < x->cut.segment_elements;
    const hp_block_program_t *program = is_shorter ? &x->last : &x->program;
    hp_task_t *work = NULL;

    if (program->work_elements > 0) /* takes the memory: whoever uses it waits for that */
        work = hp_emit_copy(segment, hp_scratch(), hp_behind(&x->send), 0);
    const slice_t slice = {work, hp_cut_offset(&x->cut, index)};
    for (uint32_t i = 0; i < program->operation_count; i++) {
        const hp_block_operation_t *operation = &program->operations[i];
        hp_task_t *task = x->tasks[i] = emit_operation(x, segment, operation, &slice);
        if (uses_work(operation))
            hp_emit_after(task, work);
        for (uint32_t k = 0; k < operation->after_count; k++)
            hp_emit_after(task, x->tasks[program->after[operation->first_after + k]]);
    }
}

/* ---- preparing ---- */

static void describe_ranks(exchange_t *x)
{
    x->problem = (hp_problem_t){.pattern = hp_collective_pattern(x->call.collective),
                                .count = x->comm->size,
                                .root = x->call.root,
                                .ordered = !x->call.commutative,
                                .placement = x->comm->network ? &x->comm->network->ranks : NULL};
    x->position = x->comm->rank;
    x->ranks = NULL;
}

static bool make_lanes(const hp_block_program_t *program, hp_request_t *request, const hp_setting_t *setting)
{
    for (uint32_t i = 0; i < program->operation_count; i++) {
        hp_block_operation_t *operation = &program->operations[i];
        if (operation->what > HP_BLOCK_RECV)
            continue;
        const hp_direction_t direction = operation->what == HP_BLOCK_SEND ? HP_LANE_SEND : HP_LANE_RECV;
        operation->lane = hp_request_lane(request, direction, operation->peer, operation->stream,
                                          hp_setting_lane_limit(setting, direction));
        if (operation->lane < 0)
            return false;
    }
    return true;
}

/* What nodes cannot do is done without them. */
static const hp_generator_t *choose(exchange_t *x, const hp_setting_t *setting)
{
    const hp_generator_t *generator = hp_block_generator(x->call.collective, setting, &x->problem);

    if (generator || !hp_problem_has_nodes(&x->problem))
        return generator;
    describe_ranks(x);
    return hp_block_generator(x->call.collective, setting, &x->problem);
}

/* Of those in the list that are not empty, on average. */
static uint64_t mean_count(const hp_block_list_t *list, uint32_t entries)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < entries; i++) {
        sum += list->counts[i];
        count += list->counts[i] > 0;
    }
    return count ? sum / count : 0;
}

/* Of a block that this rank sends or receives. Other ranks may have others, and so more steps under way or fewer; all have
 * the first one that is not through, so that one can always move. */
static uint64_t block_bytes(const exchange_t *x)
{
    const hp_blocks_t *blocks = x->call.blocks;
    uint64_t count = x->call.count;

    if (blocks) {
        const hp_block_entries_t entries =
            hp_collective_blocks(x->call.collective, x->call.root, x->comm->size, x->comm->rank);
        count = hp_most_u64(mean_count(&blocks->send, entries.send), mean_count(&blocks->recv, entries.recv));
    }
    return count * x->call.type.extent;
}

/* What is reduced on its way through nodes goes slice by slice, so that nodes reduce while others' slices are between them. In one piece,
 * 4 hosts x 4 ranks at 250 Mbit/s (2 cores) take 126 ms for blocks of 256 KiB, in slices of 16 to 64 KiB 104 to 106; the links
 * need 105. */
static bool reduces_in_nodes(const exchange_t *x)
{
    return x->problem.pattern == HP_PATTERN_REDUCE_SCATTER && hp_problem_has_nodes(&x->problem);
}

/* What is passed on from neighbour to neighbour goes slice by slice, too, if one keeps a link busy for so long that its message costs
 * nothing beside that: the next one is under way while a slice is passed on. Rings, blocks of 128 KiB: 16 hosts on four switches at
 * 100 Mbit/s, allgather 273 -> 165 ms (the links need 167), reduce_scatter 260 -> 171; 4 hosts x 4 ranks at 1 Gbit/s, allgather
 * 15.0 -> 13.6. At 12.5 GB/s (simulated) slices of 32 KiB would take 1.5 times as long as whole blocks; where many send to one,
 * two slices come in each other's way. INFINITY: nobody knows how fast links are, or there are none. */
static double least_slice(const exchange_t *x)
{
    static const double slice_us = 128;
    const hp_comm_t *comm = x->comm;
    const double rate = comm->network ? comm->network->rate : comm->probes.between_rate;

    return rate > 0 && hp_hierarchy_node_count(comm->hierarchy) > 1 ? slice_us * rate : INFINITY;
}

static hp_cut_t cut_of(const exchange_t *x, const hp_generator_t *generator, const hp_setting_t *setting)
{
    static const hp_cut_t whole = {.count = 1, .segment_elements = 1};
    const hp_pattern_t pattern = x->problem.pattern;
    const bool is_passed_on = pattern == HP_PATTERN_ALLGATHER || pattern == HP_PATTERN_REDUCE_SCATTER;

    if (!is_passed_on || x->call.blocks || x->longer)
        return whole;
    const double least = reduces_in_nodes(x) ? 1 : least_slice(x), block = (double)block_bytes(x);
    if (least >= block || setting->segment_bytes >= block ||
        (!reduces_in_nodes(x) && !hp_block_passes_on(generator, &x->problem)))
        return whole;
    hp_setting_t slices = *setting;
    slices.segment_bytes = hp_most_u64(slices.segment_bytes, (uint64_t)least);
    return hp_cut_make(&x->call, &slices);
}

static uint32_t steps_in_flight(const exchange_t *x, const hp_generator_t *generator,
                                const hp_schedule_t *schedule)
{
    const hp_block_load_t load = {.messages = x->comm->knobs.messages,
                                  .bytes = block_bytes(x),
                                  .room = x->comm->network ? x->comm->network->room : 0};

    return hp_block_steps_in_flight(generator, &x->problem, schedule, x->position, &load);
}

static hp_status_t make_programs(exchange_t *x, hp_arena_t *arena, const hp_setting_t *setting)
{
    const hp_generator_t *generator = choose(x, setting);
    const hp_pattern_t pattern = x->problem.pattern;
    hp_schedule_t schedule;

    if (!generator)
        return HP_ERR_ARG;
    x->cut = cut_of(x, generator, setting);
    const uint64_t slices = hp_cut_segments(&x->cut);
    const size_t rest = hp_cut_count(&x->cut, slices - 1);
    hp_call_t call = x->call;
    if (slices > 1)
        call.count = x->cut.segment_elements;
    hp_block_problem_t problem = {
        .schedule = &schedule,
        .problem = &x->problem,
        .position = x->position,
        .ranks = x->ranks,
        .call = &call,
        .longer = x->longer,
        .stride = x->call.count,
        .in_place = hp_call_is_in_place(&x->call) &&
                    (pattern == HP_PATTERN_ALLGATHER ||
                     (hp_pattern_is(pattern, HP_PATTERN_ROOTED) && x->position == x->problem.root))};
    hp_schedule_init(&schedule);
    hp_status_t status = hp_schedule_make(&schedule, generator, &x->problem, x->position);
    problem.steps_in_flight = steps_in_flight(x, generator, &schedule);
    if (status == HP_OK)
        status = hp_block_program_make(arena, &problem, &x->program);
    if (status == HP_OK && rest < x->cut.segment_elements) {
        call.count = rest;
        status = hp_block_program_make(arena, &problem, &x->last);
    }
    hp_schedule_fini(&schedule);
    return status;
}

static hp_pipeline_t pipeline_of(const exchange_t *x)
{
    enum { WINDOW = 2 };
    const hp_block_program_t *program = &x->program;
    const hp_type_t *type = &x->call.type;
    const bool works = program->work_elements > 0;

    return (hp_pipeline_t){.segment_count = hp_cut_segments(&x->cut),
                           .tasks_per_segment = program->operation_count + works,
                           .edges_per_segment = program->after_count + (works ? program->operation_count : 0),
                           .window_segments = WINDOW,
                           .scratch_bytes = works ? hp_type_span(type, program->work_elements) : 1,
                           .scratch_per_segment = works,
                           .scratch_shift = -type->true_lb,
                           .type = *type,
                           .op = x->call.op,
                           .commutative = x->call.commutative,
                           .kernel = x->call.kernel,
                           .emit = emit};
}

/* Schedules may read what is brought when there is a part of the result. */
static void copy_own(exchange_t *x)
{
    const hp_type_t *type = &x->call.type;

    memcpy(x->own, (char *)x->call.recv + type->true_lb, hp_type_span(type, x->call.count));
    x->call.send = x->own - type->true_lb;
}

/* Where the operations find what is brought, and put the result. */
static void aim(exchange_t *x)
{
    x->send = (char *)x->call.send;
    x->recv = x->call.recv;
}

static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    exchange_t *x = plan;

    x->call.send = call->send;
    x->call.recv = call->recv;
    if (x->own)
        copy_own(x);
    aim(x);
    x->pipeline.tag = hp_start_tag(start);
    return hp_request_start_again(start->request, &x->pipeline, true);
}

/* What a rank gets depends on which ranks are before it, whatever the operation. */
static bool is_scan(hp_pattern_t pattern)
{
    return pattern == HP_PATTERN_SCAN || pattern == HP_PATTERN_EXSCAN;
}

/* The positions are the ranks node by node. */
static void order_by_nodes(exchange_t *x)
{
    const hp_hierarchy_t *h = x->comm->hierarchy;
    uint32_t members;

    x->ranks = hp_hierarchy_members(h, 0, 0, &members);
    x->position = hp_hierarchy_place(h, x->comm->rank);
    x->problem.placement = x->comm->network ? &x->comm->network->places : NULL;
}

/* The positions are the ranks in the order of their nodes, where that tells anything, and keeps the order of operands. */
static void describe_nodes(exchange_t *x, const hp_setting_t *setting)
{
    const hp_hierarchy_t *h = x->comm->hierarchy;
    const uint32_t depth = hp_hierarchy_node_depth(h), nodes = hp_hierarchy_node_count(h);

    if (depth == 0 || nodes == x->comm->size || hp_collective_is(x->call.collective, HP_OWN_SIZES) ||
        ((x->problem.ordered || is_scan(x->problem.pattern)) && !hp_hierarchy_is_contiguous(h)))
        return;
    order_by_nodes(x);
    x->problem.root = hp_hierarchy_place(h, x->call.root);
    x->problem.node_first = hp_hierarchy_starts(h, depth);
    x->problem.node_count = nodes;
    hp_block_use_nodes(setting, &x->problem);
}

/* The collective of equal blocks. */
static hp_collective_t of_equal(hp_collective_t collective)
{
    switch (collective) {
    case HP_ALLTOALLV:
    case HP_ALLTOALLW:
        return HP_ALLTOALL;
    case HP_GATHERV:
        return HP_GATHER;
    case HP_SCATTERV:
        return HP_SCATTER;
    default:
        return collective;
    }
}

/* Rows are blocks of one size; what is in them is no business of the schedule. */
static void describe_rows(exchange_t *x)
{
    x->longer = x->call.blocks;
    x->call.collective = of_equal(x->call.collective);
    x->call.blocks = NULL;
    x->call.count = x->call.row;
}

/* What a reduce_scatter leaves to each rank, where that is the same for all; 0: it is not. */
static size_t equal_count(const exchange_t *x)
{
    const size_t *counts = x->call.blocks->send.counts;

    for (uint32_t i = 1; i < x->comm->size; i++)
        if (counts[i] != counts[0])
            return 0;
    return counts[0];
}

static void describe_equal(exchange_t *x)
{
    const size_t count = equal_count(x);

    if (count == 0)
        return;
    x->call.collective = HP_REDUCE_SCATTER_BLOCK;
    x->call.blocks = NULL;
    x->call.count = count;
}

/* An allreduce has no blocks whose order tells ranks from positions: these are the ranks node by node, if the operation lets them. */
static void describe_places(exchange_t *x)
{
    const hp_hierarchy_t *h = x->comm->hierarchy;
    uint32_t least, most;

    if (hp_hierarchy_node_depth(h) == 0 || (x->problem.ordered && !hp_hierarchy_is_contiguous(h)))
        return;
    order_by_nodes(x);
    hp_hierarchy_node_sizes(h, &least, &most);
    x->problem.per_node = least == most ? most : 0;
}

/* NULL: no memory. The blocks of other collectives have been copied before, where that is needed. */
static exchange_t *describe(const hp_start_t *start, const hp_call_t *call)
{
    hp_arena_reset(start->arena);
    exchange_t **plan = hp_request_plan(start->request, sizeof *plan);
    exchange_t *x = plan ? hp_arena_get(start->arena, sizeof *x) : NULL;
    if (!x)
        return NULL;
    *plan = x;
    *x = (exchange_t){.comm = start->comm, .call = *call};
    if (call->row > 0)
        describe_rows(x);
    else if (call->collective == HP_REDUCE_SCATTER)
        describe_equal(x);
    describe_ranks(x);
    if (call->collective != HP_ALLREDUCE)
        return x;
    describe_places(x);
    if (call->send != call->recv)
        return x;
    if (!(x->own = hp_arena_get(start->arena, hp_type_span(&call->type, call->count))))
        return NULL;
    copy_own(x);
    return x;
}

static hp_status_t run(const hp_start_t *start, exchange_t *x, const hp_setting_t *setting)
{
    hp_status_t status = make_programs(x, start->arena, setting);

    if (status != HP_OK)
        return status;
    x->tasks = hp_arena_get(start->arena, (x->program.operation_count + 1) * sizeof *x->tasks);
    if (!x->tasks || !make_lanes(&x->program, start->request, setting) ||
        !make_lanes(&x->last, start->request, setting))
        return HP_ERR_NO_MEM;
    aim(x);
    x->pipeline = pipeline_of(x);
    x->pipeline.tag = hp_start_tag(start);
    if (start->again)
        *start->again = (hp_again_t){.start = start_again, .plan = x};
    return hp_request_start(start->request, &x->pipeline);
}

hp_status_t hp_exchange_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    exchange_t *x = describe(start, call);
    return x ? run(start, x, setting) : HP_ERR_NO_MEM;
}

bool hp_exchange_carries(const hp_comm_t *comm, const hp_call_t *call, bool through_nodes,
                         const hp_setting_t *setting)
{
    exchange_t x = {.comm = (hp_comm_t *)comm, .call = *call};

    describe_rows(&x);
    describe_ranks(&x);
    if (through_nodes)
        describe_nodes(&x, setting);
    const hp_generator_t *generator = choose(&x, setting);
    return generator && (hp_problem_has_nodes(&x.problem) || !(generator->direct & 1u << x.problem.pattern));
}

bool hp_exchange_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    (void)comm;
    (void)call;
    (void)setting;
    return false;
}

hp_status_t hp_exchange_nodes_start(const hp_start_t *start, const hp_call_t *call,
                                    const hp_setting_t *setting)
{
    exchange_t *x = describe(start, call);

    if (!x)
        return HP_ERR_NO_MEM;
    describe_nodes(x, setting);
    return run(start, x, setting);
}

bool hp_exchange_nodes_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    return hp_exchange_runs_alone(comm, call, setting);
}
