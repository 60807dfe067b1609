#include "schedule/cost/cost_graph.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = HP_NO_PART };

/* A list of numbers, of one position or of all. */
typedef struct {
    uint32_t *entries, count, room;
} numbers_t;

/* What the steps of a position so far have done to a block. */
typedef struct {
    uint32_t writer;  /* the last part that wrote to it */
    uint32_t readers; /* since then: the last entry of a list */
} block_t;

typedef struct {
    hp_cost_graph_t *graph;
    const hp_schedule_t *schedules;
    const hp_problem_t *problem;
    const hp_network_t *network;
    const uint32_t *machines;
    uint32_t *path;
    numbers_t after, links;
    /* of the position at work */
    uint32_t position;
    block_t *blocks[HP_SPACE_COUNT];
    uint32_t block_count[HP_SPACE_COUNT];
    numbers_t readers;       /* pairs: a part, and the entry before it in the list of a block */
    numbers_t edges;         /* pairs: a part, and one that needs it */
    uint32_t sync, sync_end; /* the parts of the last sync step */
    uint32_t in_flight;      /* steps with messages that may be under way; 0: any number */
    numbers_t steps;         /* of those so far: their first part, then the one behind the last */
    uint32_t *last_send,
        *seen; /* of each position and stream; of each part the last that was made to need it */
    hp_status_t status;
} builder_t;

static void push(builder_t *builder, numbers_t *numbers, uint32_t number)
{
    if (numbers->count == numbers->room) {
        const uint32_t room = numbers->room ? 2 * numbers->room : 256;
        uint32_t *more = room > numbers->room ? realloc(numbers->entries, room * sizeof *more) : NULL;
        if (!more) {
            builder->status = HP_ERR_NO_MEM;
            return;
        }
        numbers->entries = more;
        numbers->room = room;
    }
    numbers->entries[numbers->count++] = number;
}

/* ---- what needs what on one position ---- */

static void need(builder_t *builder, uint32_t part, uint32_t before)
{
    if (before == NONE || before == part || builder->seen[before] == part)
        return;
    builder->seen[before] = part;
    push(builder, &builder->edges, before);
    push(builder, &builder->edges, part);
    builder->graph->parts[part].needs++;
}

static void read_block(builder_t *builder, uint32_t part, block_t *block)
{
    need(builder, part, block->writer);
    push(builder, &builder->readers, part);
    push(builder, &builder->readers, block->readers);
    block->readers = builder->readers.count - 2;
}

static void write_block(builder_t *builder, uint32_t part, block_t *block)
{
    need(builder, part, block->writer);
    for (uint32_t at = block->readers; at != NONE && builder->status == HP_OK;
         at = builder->readers.entries[at + 1])
        need(builder, part, builder->readers.entries[at]);
    block->writer = part;
    block->readers = NONE;
}

static uint32_t touch(builder_t *builder, uint32_t part, const hp_list_t *list, bool writes)
{
    const hp_schedule_t *schedule = &builder->schedules[builder->position];
    uint32_t count = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const hp_range_t *range = &schedule->ranges[list->first + i];
        for (uint32_t b = 0; b < range->count && builder->status == HP_OK; b++) {
            const uint32_t block = hp_range_block(range, b);
            if (block >= builder->block_count[range->space])
                builder->status = HP_ERR_ARG;
            else if (writes)
                write_block(builder, part, &builder->blocks[range->space][block]);
            else
                read_block(builder, part, &builder->blocks[range->space][block]);
        }
        count += range->count;
    }
    return count;
}

static void add_path(builder_t *builder, hp_part_t *part, uint32_t to)
{
    part->first_link = builder->links.count;
    part->link_count = hp_network_path(builder->network, builder->machines[builder->position],
                                       builder->machines[to], builder->path);
    for (uint32_t i = 0; i < part->link_count; i++)
        push(builder, &builder->links, builder->path[i]);
}

/* peer: the position at the other end, until the messages are matched. */
static uint32_t add_part(builder_t *builder, hp_part_kind_t kind, int32_t peer, uint8_t stream)
{
    const uint32_t part = builder->graph->part_count++;
    builder->graph->parts[part] = (hp_part_t){.position = builder->position,
                                              .peer = (uint32_t)peer,
                                              .next = NONE,
                                              .kind = (uint8_t)kind,
                                              .stream = stream};
    builder->seen[part] = NONE;
    return part;
}

static void add_send(builder_t *builder, const hp_step_t *step)
{
    const uint32_t part = add_part(builder, HP_PART_SEND, step->to, step->stream);
    uint32_t *last = &builder->last_send[(uint32_t)step->to * HP_STREAMS_MAX + step->stream];
    hp_part_t *parts = builder->graph->parts;

    parts[part].blocks = touch(builder, part, &step->send, false);
    if (*last != NONE) {
        parts[*last].next = part;
        parts[part].needs++;
    }
    *last = part;
    add_path(builder, &parts[part], (uint32_t)step->to);
}

/* The step that has been under way longest comes first. */
static void wait_for_turn(builder_t *builder, uint32_t first)
{
    const numbers_t *steps = &builder->steps;
    const uint32_t end = builder->graph->part_count;

    if (builder->in_flight == 0)
        return;
    if (steps->count >= 2 * builder->in_flight) {
        const uint32_t *before = &steps->entries[steps->count - 2 * builder->in_flight];
        for (uint32_t mine = first; mine < end; mine++)
            for (uint32_t part = before[0]; part < before[1]; part++)
                need(builder, mine, part);
    }
    push(builder, &builder->steps, first);
    push(builder, &builder->steps, end);
}

static void add_step(builder_t *builder, const hp_step_t *step)
{
    hp_cost_graph_t *graph = builder->graph;
    const bool local = step->to == (int32_t)builder->position;
    const uint32_t first = graph->part_count;
    uint32_t part = NONE;

    if (step->to >= (int32_t)builder->problem->count || step->from >= (int32_t)builder->problem->count ||
        step->stream >= HP_STREAMS_MAX) {
        builder->status = HP_ERR_ARG;
        return;
    }
    if (step->to >= 0 && !local)
        add_send(builder, step);
    if (step->from >= 0) {
        part = add_part(builder, local ? HP_PART_LOCAL : HP_PART_RECEIVE, step->from, step->stream);
        if (local)
            touch(builder, part, &step->send, false);
        graph->parts[part].blocks = touch(builder, part, &step->recv, true);
        graph->parts[part].reduces = step->action != HP_ACTION_STORE;
        graph->parts[part].needs += !local;
    }
    for (uint32_t mine = first; mine < graph->part_count; mine++)
        for (uint32_t before = builder->sync; before < (step->sync ? first : builder->sync_end); before++)
            need(builder, mine, before);
    if (!local)
        wait_for_turn(builder, first);
    if (step->sync) {
        builder->sync = first;
        builder->sync_end = graph->part_count;
    }
}

static bool start_blocks(builder_t *builder, uint32_t position)
{
    const hp_schedule_t *schedule = &builder->schedules[position];

    for (unsigned space = 0; space < HP_SPACE_COUNT; space++) {
        const uint32_t count = space == HP_SPACE_SCRATCH ? schedule->scratch_blocks
                                                         : hp_problem_blocks(builder->problem, schedule->cut,
                                                                             (hp_space_t)space, position);
        block_t *blocks = realloc(builder->blocks[space], (count + (size_t)1) * sizeof *blocks);
        if (!blocks)
            return false;
        builder->blocks[space] = blocks;
        builder->block_count[space] = count;
        for (uint32_t i = 0; i < count; i++)
            blocks[i] = (block_t){NONE, NONE};
    }
    return true;
}

/* The edges of the position into the lists of what comes after a part. */
static void keep_edges(builder_t *builder)
{
    hp_part_t *parts = builder->graph->parts;
    const uint32_t first = builder->graph->first_part[builder->position], end = builder->graph->part_count;
    const numbers_t *edges = &builder->edges;
    uint32_t at = builder->after.count;

    for (uint32_t i = 0; i < edges->count; i += 2) {
        parts[edges->entries[i]].after_count++;
        push(builder, &builder->after, 0);
    }
    for (uint32_t part = first; part < end; part++) {
        parts[part].first_after = at;
        at += parts[part].after_count;
        parts[part].after_count = 0;
    }
    for (uint32_t i = 0; i < edges->count && builder->status == HP_OK; i += 2) {
        hp_part_t *before = &parts[edges->entries[i]];
        builder->after.entries[before->first_after + before->after_count++] = edges->entries[i + 1];
    }
}

static void add_position(builder_t *builder, uint32_t position)
{
    const hp_schedule_t *schedule = &builder->schedules[position];
    const uint32_t streams = builder->problem->count * HP_STREAMS_MAX;

    builder->position = position;
    builder->graph->first_part[position] = builder->graph->part_count;
    builder->sync = builder->sync_end = builder->graph->part_count;
    builder->readers.count = builder->edges.count = builder->steps.count = 0;
    memset(builder->last_send, 0xff, streams * sizeof *builder->last_send);
    if (!start_blocks(builder, position))
        builder->status = HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < schedule->step_count && builder->status == HP_OK; i++)
        add_step(builder, &schedule->steps[i]);
    if (builder->status == HP_OK)
        keep_edges(builder);
    builder->graph->first_part[position + 1] = builder->graph->part_count;
}

/* ---- messages ---- */

static uint32_t *head_of(builder_t *builder, uint32_t position, const hp_part_t *part)
{
    return &builder->last_send[position * HP_STREAMS_MAX + part->stream];
}

/* Sends to one position hang on its list, the first one of each stream: in seen, which has done its duty. */
static bool match_position(builder_t *builder, uint32_t position, uint32_t first_send)
{
    hp_part_t *parts = builder->graph->parts;

    for (uint32_t send = first_send; send != NONE; send = builder->seen[send])
        *head_of(builder, parts[send].position, &parts[send]) = send;
    for (uint32_t part = builder->graph->first_part[position];
         part < builder->graph->first_part[position + 1]; part++) {
        if (parts[part].kind != HP_PART_RECEIVE)
            continue;
        uint32_t *head = head_of(builder, parts[part].peer, &parts[part]);
        const uint32_t send = *head;
        if (send == NONE || parts[send].blocks != parts[part].blocks)
            return false;
        *head = parts[send].next;
        parts[send].peer = part;
        parts[part].peer = send;
    }
    for (uint32_t send = first_send; send != NONE; send = builder->seen[send])
        if (*head_of(builder, parts[send].position, &parts[send]) != NONE)
            return false;
    return true;
}

static hp_status_t match(builder_t *builder)
{
    const hp_part_t *parts = builder->graph->parts;
    const uint32_t count = builder->problem->count;
    uint32_t *first_send = malloc(count * sizeof *first_send);
    bool *follows = calloc(builder->graph->part_count + 1, sizeof *follows), meet = true;
    hp_status_t status = HP_ERR_NO_MEM;

    if (first_send && follows) {
        memset(first_send, 0xff, count * sizeof *first_send);
        memset(builder->last_send, 0xff, count * HP_STREAMS_MAX * sizeof *builder->last_send);
        for (uint32_t part = 0; part < builder->graph->part_count; part++) {
            if (parts[part].kind != HP_PART_SEND)
                continue;
            if (parts[part].next != NONE)
                follows[parts[part].next] = true;
            if (follows[part])
                continue;
            builder->seen[part] = first_send[parts[part].peer];
            first_send[parts[part].peer] = part;
        }
        for (uint32_t position = 0; position < count && meet; position++)
            meet = match_position(builder, position, first_send[position]);
        status = meet ? HP_OK : HP_ERR_ARG;
    }
    free(first_send);
    free(follows);
    return status;
}

/* ---- all ---- */

static hp_status_t build(builder_t *builder)
{
    hp_cost_graph_t *graph = builder->graph;
    const uint32_t count = builder->problem->count;
    uint64_t steps = 0;

    for (uint32_t i = 0; i < count; i++)
        steps += builder->schedules[i].step_count;
    if (steps >= UINT32_MAX / 2)
        return HP_ERR_NO_MEM;
    graph->parts = malloc((2 * steps + 1) * sizeof *graph->parts);
    graph->first_part = malloc((count + (size_t)1) * sizeof *graph->first_part);
    builder->seen = malloc((2 * steps + 1) * sizeof *builder->seen);
    builder->last_send = malloc((size_t)count * HP_STREAMS_MAX * sizeof *builder->last_send);
    builder->path = malloc(hp_network_path_most(builder->network) * sizeof *builder->path);
    if (!graph->parts || !graph->first_part || !builder->seen || !builder->last_send || !builder->path)
        return HP_ERR_NO_MEM;
    for (uint32_t i = 0; i < count && builder->status == HP_OK; i++)
        add_position(builder, i);
    return builder->status == HP_OK ? match(builder) : builder->status;
}

hp_status_t hp_cost_graph_init(hp_cost_graph_t *graph, const hp_schedule_t *schedules,
                               const hp_problem_t *problem, const hp_network_t *network,
                               const uint32_t *machines, uint32_t in_flight)
{
    builder_t builder = {.graph = graph,
                         .schedules = schedules,
                         .problem = problem,
                         .network = network,
                         .machines = machines,
                         .in_flight = in_flight,
                         .status = HP_OK};

    *graph = (hp_cost_graph_t){.parts = NULL};
    const hp_status_t status = build(&builder);
    graph->after = builder.after.entries;
    graph->links = builder.links.entries;
    for (unsigned space = 0; space < HP_SPACE_COUNT; space++)
        free(builder.blocks[space]);
    free(builder.readers.entries);
    free(builder.edges.entries);
    free(builder.steps.entries);
    free(builder.seen);
    free(builder.last_send);
    free(builder.path);
    if (status != HP_OK)
        hp_cost_graph_fini(graph);
    return status;
}

void hp_cost_graph_fini(hp_cost_graph_t *graph)
{
    free(graph->parts);
    free(graph->first_part);
    free(graph->after);
    free(graph->links);
    *graph = (hp_cost_graph_t){.parts = NULL};
}

/* What it takes at that rate; 0: nothing. */
static double time_of(double bytes, double rate)
{
    return rate > 0 ? bytes / rate : 0;
}

hp_cost_work_t hp_cost_work(const hp_part_t *part, const hp_cost_processor_t *processor, double block_bytes)
{
    const double bytes = part->blocks * block_bytes;
    hp_cost_work_t work = {0};

    if (part->kind == HP_PART_SEND)
        work.overhead_us = processor->send_us + time_of(bytes, processor->message_rate);
    if (part->kind == HP_PART_RECEIVE)
        work.overhead_us = processor->recv_us + time_of(bytes, processor->message_rate);
    if (part->reduces)
        work.reduce_us = time_of(bytes, processor->reduce_rate);
    else if (part->kind == HP_PART_LOCAL)
        work.copy_us = time_of(bytes, processor->copy_rate);
    return work;
}
