#include "hier/modules/schedule_program.h"

#include <assert.h>
#include <string.h>

enum { NOTHING = INT32_MIN };

/* What a block of a space is at the moment. */
typedef struct {
    hp_spot_t spot;
    int32_t writer; /* operation, or HP_AFTER_READY */
} value_t;

/* The memory where the result of a block goes. */
typedef struct {
    int32_t writer;        /* the last operation that writes it, */
    uint32_t first_reader; /* and those that have read it since: index + 1 into readers */
    bool fresh;            /* nothing has been written there */
    bool pinned;           /* in place: what is there is wanted later */
    uint32_t last_sent;    /* step after which the contribution is not read any more */
    uint32_t last_reduced; /* step after which nothing more is reduced into the result; both counted from 1 */
} place_t;

typedef struct {
    int32_t operation;
    uint32_t next; /* index + 1 */
} reader_t;

/* A block of a message. */
typedef struct {
    hp_space_t space;
    uint32_t block; /* of the vector */
    value_t *value;
} item_t;

typedef struct {
    const hp_program_problem_t *problem;
    hp_arena_t memory;    /* of what follows, and of the program's lists */
    hp_program_t program; /* as far as it has come */
    uint32_t after_count, run_count;
    uint32_t *awaited_by;         /* [operation] the last one that waits for it, counted from 1 */
    bool after_ready, after_free; /* so does the last operation */
    value_t *values[HP_SPACE_COUNT];
    place_t *places;
    reader_t *readers;
    uint32_t reader_count;
    item_t *items, *sources; /* of the list at hand */
    uint32_t item_count;
    int32_t *value_readers; /* operations that read the contribution where it was brought */
    uint32_t value_reader_count;
    int32_t *writers; /* of the result's blocks, at the end */
    uint32_t step;    /* counted from 1 */
    int32_t synced;   /* the operation that ends the last step that synchronises */
} builder_t;

/* ---- operations ---- */

static int32_t newest(const builder_t *b)
{
    return (int32_t)b->program.operation_count - 1;
}

/* The newest operation waits for that one. */
static void wait_for(builder_t *b, int32_t before)
{
    const int32_t waiting = newest(b);

    if (before == NOTHING || before == waiting)
        return;
    if (before < 0) {
        bool *const known = before == HP_AFTER_READY ? &b->after_ready : &b->after_free;
        if (*known)
            return;
        *known = true;
    } else {
        if (b->awaited_by[before] == (uint32_t)waiting + 1)
            return;
        b->awaited_by[before] = (uint32_t)waiting + 1;
    }
    b->program.after[b->after_count++] = before;
    b->program.operations[waiting].after_count++;
}

static hp_operation_t *add(builder_t *b, hp_do_t what)
{
    hp_operation_t *operation = &b->program.operations[b->program.operation_count++];

    *operation = (hp_operation_t){.what = (uint8_t)what,
                                  .position = HP_NO_POSITION,
                                  .lane = -1,
                                  .in = {.base = HP_AT_VALUE},
                                  .first_after = b->after_count,
                                  .first_run = b->run_count,
                                  .holder = -1};
    b->after_ready = b->after_free = false;
    wait_for(b, b->synced);
    return operation;
}

static hp_operation_t *add_message(builder_t *b, hp_do_t what, int32_t position, const hp_step_t *step)
{
    hp_operation_t *operation = add(b, what);
    operation->position = position;
    operation->stream = step->stream;
    return operation;
}

/* The newest operation is about these items. */
static void add_runs(builder_t *b, uint32_t from, uint32_t end)
{
    hp_operation_t *operation = &b->program.operations[newest(b)];

    for (uint32_t i = from; i < end; i++) {
        hp_run_t *run = operation->run_count ? &b->program.runs[b->run_count - 1] : NULL;
        if (run && run->first + run->count == b->items[i].block) {
            run->count++;
            continue;
        }
        b->program.runs[b->run_count++] = (hp_run_t){.first = b->items[i].block, .count = 1};
        operation->run_count++;
    }
}

/* The newest operation reads what the items are now. */
static void read_items(builder_t *b, uint32_t from, uint32_t end)
{
    const int32_t reader = newest(b);

    for (uint32_t i = from; i < end; i++) {
        const value_t *value = b->items[i].value;
        wait_for(b, value->writer);
        if (value->spot.base == HP_AT_RESULT) {
            place_t *place = &b->places[value->spot.index];
            b->readers[b->reader_count] = (reader_t){.operation = reader, .next = place->first_reader};
            place->first_reader = ++b->reader_count;
        } else if (value->spot.base == HP_AT_VALUE &&
                   (b->value_reader_count == 0 || b->value_readers[b->value_reader_count - 1] != reader)) {
            b->value_readers[b->value_reader_count++] = reader;
        }
    }
}

/* The newest operation writes where the results of the items go. */
static void write_result(builder_t *b, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        place_t *place = &b->places[b->items[i].block];
        if (place->fresh)
            wait_for(b, HP_AFTER_FREE);
        wait_for(b, place->writer);
        for (uint32_t r = place->first_reader; r > 0; r = b->readers[r - 1].next)
            wait_for(b, b->readers[r - 1].operation);
        place->first_reader = 0;
        place->fresh = false;
        place->writer = newest(b);
    }
}

/* The items lie from there on, one behind the other, after the newest operation. */
static void put_items(builder_t *b, uint32_t from, uint32_t end, int32_t base, uint32_t index)
{
    for (uint32_t i = from; i < end; i++)
        *b->items[i].value =
            (value_t){.spot = {.base = base, .index = index + (i - from)}, .writer = newest(b)};
}

/* ---- lists of blocks ---- */

static bool concerns(const builder_t *b, uint32_t block)
{
    return b->problem->block < 0 || (uint32_t)b->problem->block == block;
}

static void take_items(builder_t *b, const hp_list_t *list)
{
    const hp_schedule_t *schedule = b->problem->schedule;

    b->item_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t *range = &schedule->ranges[list->first + i];
        for (uint32_t k = 0; k < range->count; k++) {
            const uint32_t number = hp_range_block(range, k), block = number % schedule->cut;
            assert(number == block || range->space == HP_SPACE_SCRATCH);
            if (concerns(b, block))
                b->items[b->item_count++] = (item_t){
                    .space = range->space, .block = block, .value = &b->values[range->space][number]};
        }
    }
}

/* One behind the last item that lies in memory as the message has it. */
static uint32_t end_of_piece(const builder_t *b, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < b->item_count) {
        const hp_spot_t *spot = &b->items[end].value->spot, *before = &b->items[end - 1].value->spot;
        if (spot->base != before->base || spot->index != before->index + 1)
            break;
        end++;
    }
    return end;
}

/* Are they one run of blocks of the result? */
static bool is_run_of_result(const builder_t *b)
{
    for (uint32_t i = 0; i < b->item_count; i++)
        if (b->items[i].space != HP_SPACE_RECV || b->items[i].block != b->items[0].block + i)
            return false;
    return b->item_count > 0;
}

/* In place what is in the way must have been read. */
static bool is_writable(const builder_t *b, uint32_t block)
{
    const place_t *place = &b->places[block];
    return !b->problem->in_place || (!place->pinned && place->last_sent <= b->step);
}

static bool all_writable(const builder_t *b)
{
    for (uint32_t i = 0; i < b->item_count; i++)
        if (!is_writable(b, b->items[i].block))
            return false;
    return true;
}

/* ---- steps ---- */

/* Items of the result that lie elsewhere go where it belongs, if that may be written. */
static void settle(builder_t *b)
{
    for (uint32_t from = 0, end; from < b->item_count; from = end) {
        const item_t *item = &b->items[from];
        end = from + 1;
        if (item->space != HP_SPACE_RECV || item->value->spot.base == HP_AT_RESULT ||
            !is_writable(b, item->block))
            continue;
        const uint32_t piece = end_of_piece(b, from);
        while (end < piece && b->items[end].space == HP_SPACE_RECV &&
               b->items[end].block == b->items[end - 1].block + 1 && is_writable(b, b->items[end].block))
            end++;
        hp_operation_t *copy = add(b, HP_DO_COPY);
        copy->in = item->value->spot;
        copy->out = (hp_spot_t){.base = HP_AT_RESULT, .index = item->block};
        add_runs(b, from, end);
        read_items(b, from, end);
        write_result(b, from, end);
        put_items(b, from, end, HP_AT_RESULT, item->block);
    }
}

/* What came and the items, into the place of one of the two. */
static void add_reduction(builder_t *b, uint32_t from, uint32_t end, value_t theirs, hp_action_t action,
                          bool into_items)
{
    const hp_spot_t mine = b->items[from].value->spot;
    const bool in_order = (action == HP_ACTION_REDUCE_LEFT) == into_items;

    hp_operation_t *reduce = add(b, in_order ? HP_DO_REDUCE : HP_DO_REDUCE_ONTO);
    reduce->in = into_items ? theirs.spot : mine;
    reduce->out = into_items ? mine : theirs.spot;
    add_runs(b, from, end);
    wait_for(b, theirs.writer);
    read_items(b, from, end);
}

/* Stored under another name, it stays where it is. What is reduced came aside. */
static void do_local(builder_t *b, const hp_step_t *step)
{
    take_items(b, &step->send);
    memcpy(b->sources, b->items, b->item_count * sizeof *b->items);
    take_items(b, &step->recv);
    for (uint32_t i = 0; i < b->item_count; i++) {
        value_t value = *b->sources[i].value;
        if (step->action != HP_ACTION_STORE) {
            add_reduction(b, i, i + 1, value, step->action, false);
            value.writer = newest(b);
        } else if (value.spot.base == HP_AT_RESULT && b->items[i].space != HP_SPACE_RECV) {
            b->places[value.spot.index].pinned = true;
        }
        *b->items[i].value = value;
    }
}

static void do_send(builder_t *b, const hp_step_t *step)
{
    take_items(b, &step->send);
    if (b->item_count == 0)
        return;
    const bool is_one = end_of_piece(b, 0) == b->item_count;
    for (uint32_t from = 0, end; from < b->item_count && !is_one; from = end) {
        end = end_of_piece(b, from);
        add(b, HP_DO_PACK)->in = b->items[from].value->spot;
        add_runs(b, from, end);
        read_items(b, from, end);
    }
    add_message(b, is_one ? HP_DO_SEND : HP_DO_SEND_PACKED, step->to, step)->in = b->items[0].value->spot;
    add_runs(b, 0, b->item_count);
    if (is_one)
        read_items(b, 0, b->item_count);
}

static void do_store(builder_t *b, const hp_step_t *step)
{
    const bool in_result = is_run_of_result(b) && all_writable(b);
    const uint32_t first = b->items[0].block;

    hp_operation_t *recv = add_message(b, in_result ? HP_DO_RECV_RESULT : HP_DO_RECV_ASIDE, step->from, step);
    recv->out = (hp_spot_t){.base = HP_AT_RESULT, .index = first};
    add_runs(b, 0, b->item_count);
    if (in_result)
        write_result(b, 0, b->item_count);
    put_items(b, 0, b->item_count, in_result ? HP_AT_RESULT : newest(b), in_result ? first : 0);
    if (!in_result)
        settle(b);
}

/* Is this the last that is reduced into the items, and may it come in where they belong? */
static bool ends_in_result(const builder_t *b)
{
    for (uint32_t i = 0; i < b->item_count; i++) {
        const place_t *place = &b->places[b->items[i].block];
        if (!place->fresh || place->first_reader || place->last_reduced != b->step)
            return false;
    }
    return !b->problem->in_place && is_run_of_result(b);
}

/* Do the items lie where they belong, and can what comes be reduced into them there? */
static bool lies_in_result(const builder_t *b, hp_action_t action)
{
    for (uint32_t i = 0; i < b->item_count; i++) {
        const item_t *item = &b->items[i];
        if (item->space != HP_SPACE_RECV || item->value->spot.base != HP_AT_RESULT ||
            item->value->spot.index != item->block)
            return false;
    }
    return (b->problem->commutative || action == HP_ACTION_REDUCE_LEFT) && all_writable(b);
}

static void do_reduce(builder_t *b, const hp_step_t *step)
{
    const bool ends = ends_in_result(b), into_result = !ends && lies_in_result(b, step->action);
    const uint32_t first = b->items[0].block;

    hp_operation_t *recv = add_message(b, ends ? HP_DO_RECV_RESULT : HP_DO_RECV_ASIDE, step->from, step);
    const int32_t received = newest(b);
    recv->out = (hp_spot_t){.base = HP_AT_RESULT, .index = first};
    add_runs(b, 0, b->item_count);
    if (ends)
        write_result(b, 0, b->item_count);
    for (uint32_t from = 0, end; from < b->item_count; from = end) {
        end = end_of_piece(b, from);
        const value_t theirs = {.spot = {.base = received, .index = from}, .writer = received};
        add_reduction(b, from, end, theirs, step->action, into_result);
        if (into_result)
            write_result(b, from, end);
        if (ends || into_result)
            put_items(b, from, end, HP_AT_RESULT, b->items[from].block);
        else
            put_items(b, from, end, received, from);
        for (uint32_t i = from; i < end && ends; i++)
            b->places[b->items[i].block].writer = newest(b);
    }
}

static bool is_send(const hp_operation_t *operation)
{
    return operation->what == HP_DO_SEND || operation->what == HP_DO_SEND_PACKED;
}

/* All that has come since the last step that synchronised ends in one operation. */
static void join_before_sync(builder_t *b)
{
    const uint32_t since = b->synced >= 0 ? (uint32_t)b->synced + 1 : 0, end = b->program.operation_count;
    uint32_t first = since;

    while (first < end && is_send(&b->program.operations[first]))
        first++;
    if (first == end)
        return;
    add(b, HP_DO_JOIN);
    for (uint32_t i = first; i < end; i++)
        if (!is_send(&b->program.operations[i]))
            wait_for(b, (int32_t)i);
    b->synced = newest(b);
}

static void do_sync(builder_t *b, const hp_step_t *step)
{
    join_before_sync(b);
    const int32_t before = b->synced == NOTHING ? HP_AFTER_READY : b->synced;
    if (step->to >= 0) {
        add_message(b, HP_DO_SEND, step->to, step);
        wait_for(b, before);
    }
    if (step->from >= 0) {
        add_message(b, HP_DO_RECV_RESULT, step->from, step)->out.base = HP_AT_RESULT;
        wait_for(b, before);
        b->synced = newest(b);
    }
}

static void do_step(builder_t *b, const hp_step_t *step)
{
    b->step++;
    if (step->sync) {
        do_sync(b, step);
    } else if (step->to == (int32_t)b->problem->position) {
        do_local(b, step);
    } else {
        if (step->to >= 0)
            do_send(b, step);
        take_items(b, &step->recv);
        if (step->from >= 0 && b->item_count > 0)
            (step->action == HP_ACTION_STORE ? do_store : do_reduce)(b, step);
    }
}

/* ---- the whole ---- */

static bool has_result(const hp_program_problem_t *problem)
{
    return problem->pattern != HP_PATTERN_BARRIER &&
           (problem->pattern != HP_PATTERN_REDUCE || problem->position == 0);
}

/* One operation after all of these; the same in a row counts once. */
static int32_t join(builder_t *b, const int32_t *operations, uint32_t count)
{
    uint32_t others = 0;
    for (uint32_t i = 1; i < count; i++)
        others += operations[i] != operations[0];
    if (others == 0)
        return count ? operations[0] : HP_AFTER_READY;
    add(b, HP_DO_JOIN);
    for (uint32_t i = 0; i < count; i++)
        wait_for(b, operations[i]);
    return newest(b);
}

/* Whoever gets a result has it where it belongs. */
static void finish(builder_t *b)
{
    hp_program_t *program = &b->program;

    b->step++; /* everything has been read, or a copy waits for it */
    b->item_count = 0;
    for (uint32_t block = 0; block < b->problem->schedule->cut && has_result(b->problem); block++)
        if (concerns(b, block)) {
            b->places[block].pinned = false;
            b->items[b->item_count++] =
                (item_t){.space = HP_SPACE_RECV, .block = block, .value = &b->values[HP_SPACE_RECV][block]};
        }
    settle(b);
    for (uint32_t i = 0; i < b->item_count; i++)
        b->writers[i] = b->items[i].value->writer;
    program->done = b->problem->pattern == HP_PATTERN_BARRIER && b->synced >= 0
                        ? b->synced
                        : join(b, b->writers, b->item_count);
    program->read = b->problem->pattern == HP_PATTERN_REDUCE
                        ? join(b, b->value_readers, b->value_reader_count)
                        : HP_AFTER_READY;
}

/* Steps after which contributions are not sent, and results not reduced, any more. */
static void find_last_steps(builder_t *b)
{
    const hp_schedule_t *schedule = b->problem->schedule;

    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const hp_step_t *step = &schedule->steps[s];
        take_items(b, &step->send);
        for (uint32_t i = 0; i < b->item_count; i++)
            if (b->items[i].space == HP_SPACE_SEND)
                b->places[b->items[i].block].last_sent = s + 1;
        take_items(b, &step->recv);
        for (uint32_t i = 0; i < b->item_count && step->action != HP_ACTION_STORE; i++)
            if (b->items[i].space == HP_SPACE_RECV)
                b->places[b->items[i].block].last_reduced = s + 1;
    }
}

/* Where everything lies at first; what has not come yet counts as lying where it belongs. */
static void begin(builder_t *b)
{
    const hp_program_problem_t *problem = b->problem;

    b->synced = NOTHING;
    b->program.block_count = problem->block < 0 ? problem->schedule->cut : 1;
    for (uint32_t block = 0; block < problem->schedule->cut; block++) {
        b->places[block] = (place_t){.writer = NOTHING, .fresh = true};
        for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
            b->values[space][block] =
                (value_t){.spot = {.base = HP_AT_RESULT, .index = block}, .writer = HP_AFTER_READY};
        if (!problem->in_place)
            b->values[HP_SPACE_SEND][block].spot.base = HP_AT_VALUE;
    }
    find_last_steps(b);
}

/* Room for whatever the schedule's steps can become: each block of a message is read once or twice, and waited for as
 * often. */
static bool make_room(builder_t *b)
{
    const hp_schedule_t *schedule = b->problem->schedule;
    const size_t cut = schedule->cut + 1, steps = schedule->step_count;
    size_t blocks = cut;

    for (uint32_t i = 0; i < schedule->range_count; i++)
        blocks += schedule->ranges[i].count;
    const size_t operations = 3 * steps + blocks + cut + 2, reads = 2 * blocks + cut,
                 values = cut + schedule->scratch_blocks;
    hp_program_t *program = &b->program;
    program->operations = hp_arena_get(&b->memory, operations * sizeof *program->operations);
    program->after = hp_arena_get(&b->memory, (6 * blocks + 5 * operations) * sizeof *program->after);
    program->runs = hp_arena_get(&b->memory, 4 * blocks * sizeof *program->runs);
    b->awaited_by = hp_arena_get(&b->memory, operations * sizeof *b->awaited_by);
    b->places = hp_arena_get(&b->memory, cut * sizeof *b->places);
    b->readers = hp_arena_get(&b->memory, reads * sizeof *b->readers);
    b->items = hp_arena_get(&b->memory, blocks * sizeof *b->items);
    b->sources = hp_arena_get(&b->memory, blocks * sizeof *b->sources);
    b->value_readers = hp_arena_get(&b->memory, operations * sizeof *b->value_readers);
    b->writers = hp_arena_get(&b->memory, blocks * sizeof *b->writers);
    bool has_values = true;
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        has_values &= (b->values[space] = hp_arena_get(&b->memory, values * sizeof(value_t))) != NULL;
    return has_values && program->operations && program->after && program->runs && b->awaited_by &&
           b->places && b->readers && b->items && b->sources && b->value_readers && b->writers;
}

/* Scratch buffers, and edges beyond those of the list: in a program of several blocks what comes aside shares buffers,
 * and waits for the one that takes them. */
static void add_up(builder_t *b)
{
    hp_program_t *program = &b->program;
    const bool shares = program->block_count > 1;
    uint32_t room = 0;

    program->edges = b->after_count;
    for (uint32_t i = 0; i < program->operation_count; i++) {
        const hp_operation_t *operation = &program->operations[i];
        const bool is_aside =
            operation->what == HP_DO_RECV_ASIDE ||
            (operation->what == HP_DO_RECV_RESULT && b->problem->pattern == HP_PATTERN_REDUCE && !shares);
        uint32_t blocks = 0;
        for (uint32_t r = 0; r < operation->run_count; r++)
            blocks += program->runs[operation->first_run + r].count;
        program->edges += operation->what == HP_DO_PACK || operation->what == HP_DO_SEND_PACKED;
        program->scratch += operation->what == HP_DO_SEND_PACKED;
        if (!is_aside)
            continue;
        program->edges += shares;
        const bool fits = shares && blocks <= room;
        program->scratch += !fits;
        room = (fits ? room : program->block_count) - blocks;
    }
}

static void *keep(hp_arena_t *arena, const void *list, size_t bytes)
{
    void *kept = hp_arena_get(arena, bytes + 1);
    return kept ? memcpy(kept, list, bytes) : NULL;
}

static hp_program_t *keep_program(hp_arena_t *arena, const builder_t *b)
{
    hp_program_t *program = keep(arena, &b->program, sizeof b->program);

    if (!program)
        return NULL;
    program->operations =
        keep(arena, program->operations, program->operation_count * sizeof *program->operations);
    program->after = keep(arena, program->after, b->after_count * sizeof *program->after);
    program->runs = keep(arena, program->runs, b->run_count * sizeof *program->runs);
    program->starts = hp_arena_get(arena, (program->block_count + 1) * sizeof *program->starts);
    return program->operations && program->after && program->runs && program->starts ? program : NULL;
}

hp_program_t *hp_program_make(hp_arena_t *arena, const hp_program_problem_t *problem)
{
    builder_t b = {.problem = problem};
    hp_program_t *program = NULL;

    hp_arena_init(&b.memory);
    if (make_room(&b)) {
        begin(&b);
        for (uint32_t i = 0; i < problem->schedule->step_count; i++)
            do_step(&b, &problem->schedule->steps[i]);
        finish(&b);
        add_up(&b);
        program = keep_program(arena, &b);
    }
    hp_arena_fini(&b.memory);
    return program;
}
