#include "hier/collectives/exchange.h"

#include <stdatomic.h>
#include "hier/collectives/block_program.h"
#include "schedule/generators/generators.h"

typedef struct {
    hp_comm_t *comm;
    hp_call_t call;
    hp_problem_t problem;
    const uint32_t *ranks; /* of the positions; NULL: they are the ranks */
    uint32_t position;
    hp_block_program_t program;
    hp_pipeline_t pipeline;
    hp_task_t **tasks; /* of the operations, while they are emitted */
} exchange_t;

/* ---- which schedule ---- */

static const hp_generator_t *usual(hp_pattern_t pattern)
{
    static const hp_generator_t *const generators[HP_PATTERN_COUNT] = {
        [HP_PATTERN_ALLGATHER] = &hp_generator_ring,          [HP_PATTERN_ALLTOALL] = &hp_generator_pairwise,
        [HP_PATTERN_REDUCE_SCATTER] = &hp_generator_pairwise, [HP_PATTERN_GATHER] = &hp_generator_linear,
        [HP_PATTERN_SCATTER] = &hp_generator_linear,          [HP_PATTERN_SCAN] = &hp_generator_scan_doubling,
        [HP_PATTERN_EXSCAN] = &hp_generator_scan_doubling,
    };
    return generators[pattern];
}

enum {
#define HP_GENERATOR(name) GENERATOR_##name,
#include "schedule/generators/generators.def"
#undef HP_GENERATOR
    GENERATOR_COUNT
};

/* Sets of patterns: those that were asked about, and those of them in whose schedules every position knows all sizes. */
typedef struct {
    _Atomic unsigned asked, telling;
} sizes_t;

/* With the problem's algorithm inside the nodes: what is so for one radix is so for all. */
static bool few_nodes_tell(const hp_generator_t *generator, const hp_problem_t *asked)
{
    static const uint32_t two[] = {0, 2, 4}, three[] = {0, 1, 4, 6}, four[] = {0, 2, 4, 6, 8};
    const hp_problem_t shapes[] = {{.count = 4, .node_first = two, .node_count = 2},
                                   {.count = 6, .node_first = three, .node_count = 3},
                                   {.count = 8, .node_first = four, .node_count = 4}};
    static const uint32_t leaders[] = {1, HP_LEADERS_ALL};
    bool tell = generator->patterns & ~generator->equal & 1u << asked->pattern;

    for (unsigned i = 0; i < 6 && tell; i++) {
        hp_problem_t problem = shapes[i / 2];
        problem.pattern = asked->pattern;
        problem.leaders = leaders[i % 2];
        problem.inside = asked->inside;
        problem.inside_parameter = 2;
        tell = hp_generator_holds(generator, problem, hp_schedule_tells_sizes);
    }
    return tell;
}

/* Seen in schedules of few positions. Threads that ask at the same time find the same. */
static bool tells_sizes(const hp_generator_t *generator, const hp_problem_t *problem)
{
    static sizes_t flat[GENERATOR_COUNT], of_nodes[GENERATOR_COUNT], with_inside[GENERATOR_COUNT];
    const bool has_nodes = hp_problem_has_nodes(problem);
    const unsigned bit = 1u << problem->pattern;
    unsigned i = 0;

    while (i < GENERATOR_COUNT && hp_generator(i) != generator)
        i++;
    if (i == GENERATOR_COUNT)
        return false;
    sizes_t *sizes = !has_nodes ? &flat[i] : problem->inside ? &with_inside[i] : &of_nodes[i];
    if (!(atomic_load(&sizes->asked) & bit)) {
        if (has_nodes ? few_nodes_tell(generator, problem)
                      : hp_generator_holds_for_few(generator, problem->pattern, hp_schedule_tells_sizes))
            atomic_fetch_or(&sizes->telling, bit);
        atomic_fetch_or(&sizes->asked, bit);
    }
    return atomic_load(&sizes->telling) & bit;
}

/* Can it do the problem for the call? The same on all ranks. */
static bool serves(const hp_generator_t *generator, hp_collective_t collective, hp_problem_t *problem)
{
    if (!generator ||
        (hp_collective_is(collective, HP_OWN_SIZES) && !(generator->direct & 1u << problem->pattern)))
        return false;
    if (hp_collective_is(collective, HP_BLOCKS_DIFFER) && !tells_sizes(generator, problem))
        return false;
    hp_generator_usual(generator, problem);
    return hp_generator_serves(generator, problem, NULL, 0);
}

/* What a rank gets depends on which ranks are before it, whatever the operation. */
static bool is_scan(hp_pattern_t pattern)
{
    return pattern == HP_PATTERN_SCAN || pattern == HP_PATTERN_EXSCAN;
}

/* NULL: none can. */
static const hp_generator_t *choose(const hp_call_t *call, const hp_setting_t *setting, hp_problem_t *problem)
{
    const hp_generator_t *const wanted[] = {
        hp_inter_node_generator(setting->inter_node),
        hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED)
            ? hp_inter_node_tree((hp_shape_t)setting->shapes.shape[HP_LEVEL_NODE])
            : NULL,
        usual(problem->pattern)};

    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (serves(wanted[i], call->collective, problem))
            return wanted[i];
    return NULL;
}

/* ---- one graph of tasks ---- */

static hp_operand_t operand(const exchange_t *x, const hp_task_t *work, const hp_block_spot_t *spot)
{
    const hp_operand_t base = spot->memory == HP_IN_SEND   ? hp_at(x->call.send)
                              : spot->memory == HP_IN_RECV ? hp_at(x->call.recv)
                                                           : hp_of(work);
    return hp_within(base, spot->offset);
}

static hp_task_t *emit_receive(hp_segment_t *segment, const hp_block_operation_t *operation, hp_operand_t out,
                               const hp_task_t *work)
{
    return out.task ? hp_emit_recv_within(segment, operation->lane, work, out.offset, operation->count)
                    : hp_emit_recv(segment, operation->lane, out.address + out.offset, operation->count);
}

static hp_task_t *emit_operation(const exchange_t *x, hp_segment_t *segment,
                                 const hp_block_operation_t *operation, const hp_task_t *work)
{
    const hp_operand_t in = operand(x, work, &operation->in), out = operand(x, work, &operation->out);

    switch ((hp_block_do_t)operation->what) {
    case HP_BLOCK_SEND:
        return hp_emit_send(segment, operation->lane, in, operation->count);
    case HP_BLOCK_RECV:
        return emit_receive(segment, operation, out, work);
    case HP_BLOCK_COPY:
        return out.task ? hp_emit_copy_to(segment, out, in, operation->count)
                        : hp_emit_copy(segment, out.address + out.offset, in, operation->count);
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
    const hp_block_program_t *program = &x->program;
    hp_task_t *work = NULL;

    (void)index;
    if (program->work_elements > 0) /* takes the memory: whoever uses it waits for that */
        work = hp_emit_copy_to(segment, hp_scratch(), hp_at(x->call.send), 0);
    for (uint32_t i = 0; i < program->operation_count; i++) {
        const hp_block_operation_t *operation = &program->operations[i];
        hp_task_t *task = x->tasks[i] = emit_operation(x, segment, operation, work);
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
                                .ordered = !x->call.commutative};
    x->position = x->comm->rank;
    x->ranks = NULL;
}

static bool make_lanes(exchange_t *x, hp_request_t *request, const hp_setting_t *setting)
{
    for (uint32_t i = 0; i < x->program.operation_count; i++) {
        hp_block_operation_t *operation = &x->program.operations[i];
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

/* What nodes cannot do is done without: an algorithm inside them, several leaders (nodes may differ in size), nodes. */
static const hp_generator_t *choose_nearest(exchange_t *x, const hp_setting_t *setting)
{
    const hp_generator_t *generator = choose(&x->call, setting, &x->problem);

    if (!generator && x->problem.inside) {
        x->problem.inside = NULL;
        generator = choose(&x->call, setting, &x->problem);
    }
    if (!generator && hp_problem_has_nodes(&x->problem) && x->problem.leaders == HP_LEADERS_ALL) {
        x->problem.leaders = 1;
        generator = choose(&x->call, setting, &x->problem);
    }
    if (!generator && hp_problem_has_nodes(&x->problem)) {
        describe_ranks(x);
        generator = choose(&x->call, setting, &x->problem);
    }
    return generator;
}

static hp_status_t make_program(exchange_t *x, hp_arena_t *arena, const hp_setting_t *setting)
{
    const hp_generator_t *generator = choose_nearest(x, setting);
    const hp_pattern_t pattern = x->problem.pattern;
    hp_schedule_t schedule;

    if (!generator)
        return HP_ERR_ARG;
    const hp_block_problem_t problem = {
        .schedule = &schedule,
        .problem = &x->problem,
        .position = x->position,
        .ranks = x->ranks,
        .call = &x->call,
        .in_place = hp_call_is_in_place(&x->call) &&
                    (pattern == HP_PATTERN_ALLGATHER ||
                     (hp_pattern_is(pattern, HP_PATTERN_ROOTED) && x->position == x->problem.root)),
        .steps_in_flight = (uint32_t)x->comm->knobs.messages};
    hp_schedule_init(&schedule);
    hp_status_t status = hp_schedule_make(&schedule, generator, &x->problem, x->position);
    if (status == HP_OK)
        status = hp_block_program_make(arena, &problem, &x->program);
    hp_schedule_fini(&schedule);
    return status;
}

static hp_pipeline_t pipeline_of(const exchange_t *x)
{
    const hp_block_program_t *program = &x->program;
    const hp_type_t *type = &x->call.type;
    const bool works = program->work_elements > 0;

    return (hp_pipeline_t){.segment_count = 1,
                           .tasks_per_segment = program->operation_count + works,
                           .edges_per_segment = program->after_count + (works ? program->operation_count : 0),
                           .window_segments = 1,
                           .scratch_bytes =
                               works ? type->true_extent + (program->work_elements - 1) * type->extent : 1,
                           .scratch_per_segment = works,
                           .scratch_shift = -type->true_lb,
                           .type = *type,
                           .op = x->call.op,
                           .commutative = x->call.commutative,
                           .kernel = x->call.kernel,
                           .emit = emit};
}

static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    exchange_t *x = plan;

    x->call.send = call->send;
    x->call.recv = call->recv;
    x->pipeline.tag = hp_start_tag(start);
    return hp_request_start_again(start->request, &x->pipeline);
}

/* Linear: direct messages. Otherwise along that tree, or the algorithm of so few rounds that has its radix. */
static void describe_inside(exchange_t *x, hp_shape_t shape)
{
    static const uint32_t radixes[HP_SHAPE_COUNT] = {
        [HP_SHAPE_BINOMIAL] = 2, [HP_SHAPE_KNOMIAL4] = 4, [HP_SHAPE_KNOMIAL8] = 8};
    const bool is_rooted = hp_pattern_is(x->problem.pattern, HP_PATTERN_ROOTED);
    const uint32_t size = hp_problem_node_size(&x->problem, 0);

    if (shape == HP_SHAPE_LINEAR || (!is_rooted && !radixes[shape]))
        return;
    x->problem.inside = is_rooted                                         ? hp_inter_node_tree(shape)
                        : x->problem.pattern == HP_PATTERN_REDUCE_SCATTER ? &hp_generator_circulant
                                                                          : &hp_generator_bruck;
    x->problem.inside_parameter = is_rooted ? 1 : radixes[shape] < size ? radixes[shape] : size;
}

/* The positions are the ranks in the order of their nodes, where that tells anything, and keeps the order of operands. */
static void describe_nodes(exchange_t *x, const hp_setting_t *setting)
{
    const hp_hierarchy_t *h = x->comm->hierarchy;
    const uint32_t depth = hp_hierarchy_node_depth(h), nodes = hp_hierarchy_node_count(h);
    uint32_t members;

    if (depth == 0 || nodes == x->comm->size || hp_collective_is(x->call.collective, HP_OWN_SIZES) ||
        ((x->problem.ordered || is_scan(x->problem.pattern)) && !hp_hierarchy_is_contiguous(h)))
        return;
    x->ranks = hp_hierarchy_members(h, 0, 0, &members);
    x->position = hp_hierarchy_place(h, x->comm->rank);
    x->problem.root = hp_hierarchy_place(h, x->call.root);
    x->problem.node_first = hp_hierarchy_starts(h, depth);
    x->problem.node_count = nodes;
    x->problem.leaders = setting->leaders > 1 ? HP_LEADERS_ALL : 1;
    describe_inside(x, (hp_shape_t)setting->shapes.shape[HP_LEVEL_CORE]);
}

/* NULL: no memory. */
static exchange_t *describe(const hp_start_t *start, const hp_call_t *call)
{
    hp_arena_reset(start->arena);
    exchange_t **plan = hp_request_plan(start->request, sizeof *plan);
    exchange_t *x = plan ? hp_arena_get(start->arena, sizeof *x) : NULL;
    if (!x)
        return NULL;
    *plan = x;
    *x = (exchange_t){.comm = start->comm, .call = *call};
    describe_ranks(x);
    return x;
}

static hp_status_t run(const hp_start_t *start, exchange_t *x, const hp_setting_t *setting)
{
    hp_status_t status = make_program(x, start->arena, setting);

    if (status != HP_OK)
        return status;
    x->tasks = hp_arena_get(start->arena, (x->program.operation_count + 1) * sizeof *x->tasks);
    if (!x->tasks || !make_lanes(x, start->request, setting))
        return HP_ERR_NO_MEM;
    x->pipeline = pipeline_of(x);
    x->pipeline.tag = hp_start_tag(start);
    if (start->again && !x->call.blocks)
        *start->again = (hp_again_t){.start = start_again, .plan = x};
    return hp_request_start(start->request, &x->pipeline);
}

hp_status_t hp_exchange_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    exchange_t *x = describe(start, call);
    return x ? run(start, x, setting) : HP_ERR_NO_MEM;
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
