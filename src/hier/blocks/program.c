#include "hier/blocks/program.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING = HP_GRAPH_NOTHING };
/* Longer messages go in several: the host MPI counts in int, and so may its datatypes. */
enum { MESSAGE_BYTES = 1 << 30 };
/* The size of a scratch block in which what came is not known here. */
static const size_t not_known = SIZE_MAX;

/* A block of a list. */
typedef struct {
    hp_block_spot_t spot;
    size_t count;
    hp_block_state_t *state;
} item_t;

/* The last operations that send and receive of a step, or NOTHING. */
typedef struct {
    int32_t send, recv;
} through_t;

typedef struct {
    const hp_block_problem_t *problem;
    hp_block_program_t program; /* but for its lists */
    hp_block_graph_t graph;
    hp_growing_t items, sources;
    uint32_t blocks[HP_SPACE_COUNT];
    hp_block_state_t *states[HP_SPACE_COUNT];
    size_t *scratch_counts;       /* elements in each scratch block */
    size_t scratch_elements;      /* from one scratch block to the next */
    through_t *messages, through; /* of each of the steps in flight; what this step's messages wait for */
    uint32_t message_steps;
    int32_t synced; /* the operation that ends the last step that synchronizes, or NOTHING */
} builder_t;

/* ---- where blocks are ---- */

static bool is_equal(const builder_t *b)
{
    return !b->problem->call->blocks;
}

static size_t extent(const builder_t *b)
{
    return b->problem->call->type.extent;
}

static bool is_cut(const builder_t *b)
{
    return hp_pattern_is(b->problem->problem->pattern, HP_PATTERN_CUT);
}

/* The first element of block i of a vector. */
static size_t start_of(const builder_t *b, uint32_t i)
{
    const size_t cut = b->problem->schedule->cut, count = b->problem->call->count;
    return count / cut * i + (i < count % cut ? i : count % cut);
}

/* Of a block of a buffer, in its list, and in a row of equal ones. */
static uint32_t number_of(const builder_t *b, hp_space_t space, uint32_t block)
{
    const bool has_one = !is_cut(b) && b->blocks[space] == 1 && b->problem->problem->count > 1;
    return has_one ? 0 : b->problem->ranks ? b->problem->ranks[block] : block;
}

static item_t buffer_item(builder_t *b, hp_space_t space, uint32_t block)
{
    const hp_call_t *call = b->problem->call;
    const hp_memory_t memory = space == HP_SPACE_SEND ? HP_IN_SEND : HP_IN_RECV;
    item_t item = {.spot.memory = memory, .state = &b->states[space][block]};

    if (is_cut(b)) {
        item.count = start_of(b, block + 1) - start_of(b, block);
        item.spot.offset = start_of(b, block) * extent(b);
    } else if (is_equal(b)) {
        item.count = call->count;
        item.spot.offset = number_of(b, space, block) * b->problem->stride * extent(b);
    } else {
        const hp_block_list_t *list = space == HP_SPACE_SEND ? &call->blocks->send : &call->blocks->recv;
        item.count = list->counts[number_of(b, space, block)];
        item.spot.offset = (size_t)list->offsets[number_of(b, space, block)];
    }
    return item;
}

static item_t scratch_item(builder_t *b, uint32_t block)
{
    return (item_t){.spot = {HP_IN_WORK, block * b->scratch_elements * extent(b)},
                    .count = b->scratch_counts[block],
                    .state = &b->states[HP_SPACE_SCRATCH][block]};
}

/* In place the own block is in the buffer that has all. */
static item_t item_of(builder_t *b, hp_space_t space, uint32_t block)
{
    const hp_space_t whole =
        b->problem->problem->pattern == HP_PATTERN_SCATTER ? HP_SPACE_SEND : HP_SPACE_RECV;

    if (space == HP_SPACE_SCRATCH)
        return scratch_item(b, block);
    return b->problem->in_place && space != whole ? buffer_item(b, whole, b->problem->position)
                                                  : buffer_item(b, space, block);
}

/* ---- lists of blocks ---- */

static const item_t *item(const hp_growing_t *list, uint32_t i)
{
    return (const item_t *)list->entries + i;
}

/* The blocks of a step's list. */
static void take_items(builder_t *b, hp_growing_t *into, const hp_list_t *list)
{
    into->count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t *range = &b->problem->schedule->ranges[list->first + i];
        for (uint32_t k = 0; k < range->count; k++) {
            item_t *taken = hp_block_graph_append(&b->graph, into, sizeof *taken);
            *taken = item_of(b, range->space, hp_range_block(range, k));
            if (taken->count == not_known)
                b->graph.status = HP_ERR_ARG;
        }
    }
}

/* Blocks that are scratch get the sizes of the sources, in their order; without sources that of all, where it is one. */
static void set_scratch_counts(builder_t *b, const hp_list_t *list, const hp_growing_t *sources)
{
    const uint32_t cut = b->problem->schedule->cut;

    for (uint32_t i = 0, number = 0; i < list->count; i++) {
        const hp_range_t *range = &b->problem->schedule->ranges[list->first + i];
        for (uint32_t k = 0; k < range->count; k++, number++) {
            const uint32_t block = hp_range_block(range, k);
            if (range->space != HP_SPACE_SCRATCH)
                continue;
            b->scratch_counts[block] = sources       ? item(sources, number)->count
                                       : is_cut(b)   ? start_of(b, block % cut + 1) - start_of(b, block % cut)
                                       : is_equal(b) ? b->problem->call->count
                                                     : not_known;
        }
    }
}

static size_t elements_of(const builder_t *b, const hp_growing_t *list)
{
    size_t elements = 0;
    for (uint32_t i = 0; i < list->count && b->graph.status == HP_OK; i++)
        elements += item(list, i)->count;
    return elements;
}

/* Does item i lie behind the one before? */
static bool follows(const builder_t *b, const hp_growing_t *list, uint32_t i)
{
    const item_t *one = item(list, i - 1), *next = item(list, i);
    return one->spot.memory == next->spot.memory &&
           one->spot.offset + one->count * extent(b) == next->spot.offset;
}

/* Some items of a list. */
typedef struct {
    const hp_growing_t *list;
    uint32_t from, end;
} span_t;

static const span_t no_span;

/* Of the first items from `from` on that lie one behind the other those that are not empty; *count: their elements. */
static span_t next_piece(const builder_t *b, const hp_growing_t *list, uint32_t from, size_t *count)
{
    while (from < list->count && item(list, from)->count == 0)
        from++;
    span_t piece = {list, from, from};
    for (*count = 0; piece.end < list->count; piece.end++) {
        if (item(list, piece.end)->count == 0 || (piece.end > from && !follows(b, list, piece.end)))
            break;
        *count += item(list, piece.end)->count;
    }
    return piece;
}

/* A place of its own for so many elements. */
static hp_block_spot_t aside(builder_t *b, size_t count)
{
    const hp_block_spot_t spot = {HP_IN_WORK, b->program.work_elements * extent(b)};
    b->program.work_elements += count;
    return spot;
}

static hp_block_spot_t behind(const builder_t *b, hp_block_spot_t spot, size_t elements)
{
    spot.offset += elements * extent(b);
    return spot;
}

/* ---- pieces of operations ---- */

/* Operations from to end - 1. */
typedef struct {
    uint32_t from, end;
} operations_t;

static const operations_t none;

/* As many operations as the model needs. Each reads and writes these items, and waits for those before. */
static operations_t add_all(builder_t *b, const hp_block_operation_t *model, span_t reads, span_t writes,
                            operations_t before)
{
    const size_t fit = MESSAGE_BYTES / b->problem->call->type.bytes, most = fit ? fit : 1;
    operations_t added = {b->graph.operations.count, b->graph.operations.count};

    for (size_t done = 0; done < model->count && b->graph.status == HP_OK; done += most) {
        hp_block_operation_t *operation = hp_block_graph_add(
            &b->graph, (hp_block_do_t)model->what, model->count - done < most ? model->count - done : most);
        operation->stream = model->stream;
        operation->peer = model->peer;
        operation->in = behind(b, model->in, done);
        operation->out = behind(b, model->out, done);
        hp_block_graph_wait(&b->graph, b->synced);
        if (model->what <= HP_BLOCK_RECV) {
            hp_block_graph_wait(&b->graph, b->through.send);
            hp_block_graph_wait(&b->graph, b->through.recv);
        }
        for (uint32_t i = before.from; i < before.end; i++)
            hp_block_graph_wait(&b->graph, (int32_t)i);
        for (uint32_t i = reads.from; i < reads.end; i++)
            hp_block_graph_read(&b->graph, item(reads.list, i)->state);
        for (uint32_t i = writes.from; i < writes.end; i++)
            hp_block_graph_write(&b->graph, item(writes.list, i)->state);
    }
    added.end = b->graph.operations.count;
    return added;
}

/* The items' pieces, as they lie one behind the other in row, are that for an operation each: what says which, and which
 * side the items are. */
static operations_t add_pieces(builder_t *b, hp_block_do_t what, const hp_growing_t *list, bool reads,
                               hp_block_spot_t row, operations_t before)
{
    operations_t added = {b->graph.operations.count, b->graph.operations.count};
    hp_block_operation_t model = {.what = (uint8_t)what};

    for (span_t piece = next_piece(b, list, 0, &model.count); model.count > 0 && b->graph.status == HP_OK;
         piece = next_piece(b, list, piece.end, &model.count)) {
        model.in = reads ? item(list, piece.from)->spot : row;
        model.out = reads ? row : item(list, piece.from)->spot;
        add_all(b, &model, reads ? piece : no_span, reads ? no_span : piece, before);
        row = behind(b, row, model.count);
    }
    added.end = b->graph.operations.count;
    return added;
}

static uint32_t rank_of(const builder_t *b, int32_t position)
{
    return b->problem->ranks ? b->problem->ranks[position] : (uint32_t)position;
}

static hp_block_do_t reduction(const builder_t *b, hp_action_t action)
{
    return action == HP_ACTION_REDUCE_LEFT || b->problem->call->commutative ? HP_BLOCK_REDUCE
                                                                            : HP_BLOCK_REDUCE_ONTO;
}

/* ---- steps ---- */

static operations_t do_send(builder_t *b, const hp_step_t *step)
{
    hp_block_operation_t send = {.what = HP_BLOCK_SEND, .stream = step->stream, .peer = rank_of(b, step->to)};
    operations_t packed = none;

    take_items(b, &b->items, &step->send);
    const size_t elements = elements_of(b, &b->items);
    span_t piece = next_piece(b, &b->items, 0, &send.count);
    if (send.count == elements && elements > 0) {
        send.in = item(&b->items, piece.from)->spot;
    } else {
        send.count = elements;
        send.in = aside(b, elements);
        packed = add_pieces(b, HP_BLOCK_COPY, &b->items, true, send.in, none);
        piece = no_span;
    }
    return add_all(b, &send, piece, no_span, packed);
}

/* Does one of these operations send an item from where it lies? Of those that read it it would be the last. */
static bool is_sent_by(const builder_t *b, span_t span, operations_t sends)
{
    for (uint32_t i = span.from; i < span.end; i++) {
        const uint32_t r = item(span.list, i)->state->first_reader;
        const hp_block_reader_t *reader =
            (const hp_block_reader_t *)b->graph.readers.entries + (r ? r - 1 : 0);
        if (r && reader->operation >= sends.from && reader->operation < sends.end)
            return true;
    }
    return false;
}

static operations_t do_receive(builder_t *b, const hp_step_t *step, operations_t sends)
{
    const bool stores = step->action == HP_ACTION_STORE;
    hp_block_operation_t recv = {
        .what = HP_BLOCK_RECV, .stream = step->stream, .peer = rank_of(b, step->from)};

    if (stores)
        set_scratch_counts(b, &step->recv, NULL);
    take_items(b, &b->items, &step->recv);
    const size_t elements = elements_of(b, &b->items);
    const span_t piece = next_piece(b, &b->items, 0, &recv.count);
    if (stores && recv.count == elements && elements > 0 && !is_sent_by(b, piece, sends)) {
        recv.out = item(&b->items, piece.from)->spot;
        return add_all(b, &recv, no_span, piece, none);
    }
    recv.count = elements;
    recv.out = aside(b, elements);
    const operations_t received = add_all(b, &recv, no_span, no_span, none);
    add_pieces(b, stores ? HP_BLOCK_COPY : reduction(b, step->action), &b->items, false, recv.out, received);
    return received;
}

static bool is_same_spot(hp_block_spot_t a, hp_block_spot_t b)
{
    return a.memory == b.memory && a.offset == b.offset;
}

static void do_local(builder_t *b, const hp_step_t *step)
{
    const bool stores = step->action == HP_ACTION_STORE;
    const hp_growing_t *from = &b->sources, *to = &b->items;

    take_items(b, &b->sources, &step->send);
    if (stores)
        set_scratch_counts(b, &step->recv, from);
    take_items(b, &b->items, &step->recv);
    for (uint32_t i = 0, end; i < to->count && b->graph.status == HP_OK; i = end) {
        hp_block_operation_t local = {.what = (uint8_t)(stores ? HP_BLOCK_COPY : reduction(b, step->action)),
                                      .in = item(from, i)->spot,
                                      .out = item(to, i)->spot,
                                      .count = item(to, i)->count};
        for (end = i + 1; end < to->count && follows(b, from, end) && follows(b, to, end); end++)
            local.count += item(to, end)->count;
        if (!is_same_spot(local.in, local.out))
            add_all(b, &local, (span_t){from, i, end}, (span_t){to, i, end}, none);
    }
}

static int32_t last_of(operations_t operations)
{
    return operations.end > operations.from ? (int32_t)operations.end - 1 : NOTHING;
}

/* Its messages wait until those of the step so many before are through. */
static void do_messages(builder_t *b, const hp_step_t *step)
{
    const uint32_t slot = b->message_steps % b->problem->steps_in_flight;
    operations_t sends = none, receives = none;

    b->through = b->messages[slot];
    if (step->to >= 0)
        sends = do_send(b, step);
    if (step->from >= 0)
        receives = do_receive(b, step, sends);
    if (last_of(sends) == NOTHING && last_of(receives) == NOTHING)
        return;
    b->messages[slot] = (through_t){last_of(sends), last_of(receives)};
    b->message_steps++;
}

/* ---- steps that synchronize ---- */

/* An operation of no elements, behind the last step that synchronized. */
static int32_t add_empty(builder_t *b, hp_block_do_t what, const hp_step_t *step, int32_t partner)
{
    hp_block_operation_t *operation = hp_block_graph_add(&b->graph, what, 0);

    operation->stream = step->stream;
    operation->peer = partner >= 0 ? rank_of(b, partner) : 0;
    operation->in.memory = HP_IN_SEND;
    operation->out.memory = HP_IN_RECV;
    hp_block_graph_wait(&b->graph, b->synced);
    return (int32_t)b->graph.operations.count - 1;
}

/* All before it ends in one operation, its messages go behind that, and all that comes later behind what it receives. */
static void do_sync(builder_t *b, const hp_step_t *step)
{
    const uint32_t since = b->synced == NOTHING ? 0 : (uint32_t)b->synced + 1,
                   end = b->graph.operations.count;
    const bool local = step->to == (int32_t)b->problem->position;

    const int32_t join = add_empty(b, HP_BLOCK_COPY, step, NOTHING);
    for (uint32_t i = since; i < end; i++)
        hp_block_graph_wait(&b->graph, (int32_t)i);
    b->synced = join;
    if (step->to >= 0 && !local)
        add_empty(b, HP_BLOCK_SEND, step, step->to);
    if (step->from >= 0 && !local)
        b->synced = add_empty(b, HP_BLOCK_RECV, step, step->from);
}

/* ---- blocks that are not carried ---- */

typedef struct {
    size_t count;
    hp_block_spot_t spot;
} longer_t;

/* Block i of a list; count 0: the schedule has it. */
static longer_t longer_of(const builder_t *b, const hp_block_list_t *list, hp_memory_t memory, uint32_t i)
{
    const bool is_longer = list->counts[i] > b->problem->call->count;
    return (longer_t){is_longer ? list->counts[i] : 0, {memory, is_longer ? (size_t)list->offsets[i] : 0}};
}

/* What the rank at a position has for this one, and the other way round. */
static longer_t longer_to(const builder_t *b, uint32_t position)
{
    const uint32_t blocks = b->blocks[HP_SPACE_SEND];

    return blocks == 0 || (blocks == 1 && position != b->problem->problem->root)
               ? (longer_t){0}
               : longer_of(b, &b->problem->longer->send, HP_IN_SEND, number_of(b, HP_SPACE_SEND, position));
}

static longer_t longer_from(const builder_t *b, uint32_t position)
{
    const uint32_t blocks = b->blocks[HP_SPACE_RECV];

    return blocks == 0 || (blocks == 1 && position != b->problem->problem->root)
               ? (longer_t){0}
               : longer_of(b, &b->problem->longer->recv, HP_IN_RECV, number_of(b, HP_SPACE_RECV, position));
}

/* As pairwise exchanges them: to the rank so many behind, from the one so many before. */
static void do_longer(builder_t *b, uint32_t shift)
{
    const uint32_t count = b->problem->problem->count, me = b->problem->position;
    const uint32_t to = (me + shift) % count, from = (me + count - shift) % count,
                   slot = b->message_steps % b->problem->steps_in_flight;
    const longer_t sent = longer_to(b, to), received = longer_from(b, from);
    const hp_block_operation_t send = {.what = HP_BLOCK_SEND,
                                       .peer = rank_of(b, (int32_t)to),
                                       .in = sent.spot,
                                       .count = sent.count},
                               recv = {.what = HP_BLOCK_RECV,
                                       .peer = rank_of(b, (int32_t)from),
                                       .out = received.spot,
                                       .count = received.count};

    if (!sent.count && !received.count)
        return;
    b->through = b->messages[slot];
    const operations_t sends = add_all(b, &send, no_span, no_span, none),
                       receives = add_all(b, &recv, no_span, no_span, none);
    b->messages[slot] = (through_t){last_of(sends), last_of(receives)};
    b->message_steps++;
}

static void do_own_longer(builder_t *b)
{
    const longer_t from = longer_to(b, b->problem->position), to = longer_from(b, b->problem->position);
    const hp_block_operation_t copy = {.what = HP_BLOCK_COPY,
                                       .in = from.spot,
                                       .out = to.spot,
                                       .count = from.count < to.count ? from.count : to.count};

    add_all(b, &copy, no_span, no_span, none);
}

static void add_longer(builder_t *b)
{
    if (!b->problem->in_place) /* there the own block is where it belongs */
        do_own_longer(b);
    for (uint32_t shift = 1; shift < b->problem->problem->count && b->graph.status == HP_OK; shift++)
        do_longer(b, shift);
}

/* ---- the whole ---- */

static bool make_states(builder_t *b)
{
    const hp_schedule_t *schedule = b->problem->schedule;
    const uint32_t slots = b->problem->steps_in_flight;
    bool made = (b->scratch_counts = calloc(schedule->scratch_blocks + 1, sizeof *b->scratch_counts)) &&
                (b->messages = malloc(slots * sizeof *b->messages));

    for (unsigned space = 0; space < HP_SPACE_COUNT && made; space++) {
        const uint32_t count = b->blocks[space] =
            space == HP_SPACE_SCRATCH ? schedule->scratch_blocks
                                      : hp_problem_blocks(b->problem->problem, schedule->cut,
                                                          (hp_space_t)space, b->problem->position);
        made = (b->states[space] = malloc((count + 1) * sizeof *b->states[space])) != NULL;
        for (uint32_t i = 0; i < count && made; i++)
            b->states[space][i] = (hp_block_state_t){.writer = NOTHING};
    }
    for (uint32_t i = 0; i < slots && made; i++)
        b->messages[i] = (through_t){NOTHING, NOTHING};
    return made;
}

/* The largest block. */
static size_t largest(const builder_t *b)
{
    const hp_call_t *call = b->problem->call;
    const bool sends = b->problem->problem->pattern == HP_PATTERN_REDUCE_SCATTER;
    size_t most = is_cut(b) ? start_of(b, 1) : call->count;

    for (uint32_t i = 0; i < b->problem->problem->count && !is_equal(b); i++) {
        const hp_block_list_t *list = sends ? &call->blocks->send : &call->blocks->recv;
        most = i == 0 || list->counts[i] > most ? list->counts[i] : most;
    }
    return most;
}

static void build(builder_t *b)
{
    const hp_schedule_t *schedule = b->problem->schedule;

    if (schedule->scratch_blocks > 0) {
        b->scratch_elements = largest(b);
        b->program.work_elements = schedule->scratch_blocks * b->scratch_elements;
    }
    for (uint32_t i = 0; i < schedule->step_count && b->graph.status == HP_OK; i++) {
        const hp_step_t *step = &schedule->steps[i];
        (step->sync ? do_sync : step->to == (int32_t)b->problem->position ? do_local : do_messages)(b, step);
    }
    if (b->problem->longer)
        add_longer(b);
}

static void *keep(hp_arena_t *arena, const hp_growing_t *list, size_t bytes)
{
    void *kept = hp_arena_get(arena, (list->count + 1) * bytes);
    return kept && list->count ? memcpy(kept, list->entries, list->count * bytes) : kept;
}

static void fini(builder_t *b)
{
    hp_block_graph_fini(&b->graph);
    free(b->items.entries);
    free(b->sources.entries);
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        free(b->states[space]);
    free(b->scratch_counts);
    free(b->messages);
}

hp_status_t hp_block_program_make(hp_arena_t *arena, const hp_block_problem_t *problem,
                                  hp_block_program_t *program)
{
    builder_t b = {.problem = problem, .synced = NOTHING};

    if (make_states(&b))
        build(&b);
    else
        b.graph.status = HP_ERR_NO_MEM;
    if (b.graph.status == HP_OK) {
        *program = b.program;
        program->operation_count = b.graph.operations.count;
        program->after_count = b.graph.after.count;
        program->operations = keep(arena, &b.graph.operations, sizeof *program->operations);
        program->after = keep(arena, &b.graph.after, sizeof *program->after);
        if (!program->operations || !program->after)
            b.graph.status = HP_ERR_NO_MEM;
    }
    fini(&b);
    return b.graph.status;
}

/* ---- what others ask ---- */

bool hp_schedule_knows_sizes(const hp_schedule_t *schedule, uint32_t position)
{
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hp_step_t *step = &schedule->steps[i];
        for (uint32_t k = 0; k < step->recv.count && step->action == HP_ACTION_STORE; k++)
            if (step->to != (int32_t)position &&
                schedule->ranges[step->recv.first + k].space == HP_SPACE_SCRATCH)
                return false;
    }
    return true;
}
