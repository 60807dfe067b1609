#include "schedule/cost/cost_run.h"

#include <stdlib.h>

/* The part of a segment is an instance: segment x parts + part. Those of the first segments are run, and not more
 * instances than a few milliseconds allow. */
enum { SEGMENTS_RUN = 32, INSTANCES_MOST = 1 << 17 };

/* A time, and of what the longest way to it is made. */
enum { LATENCY, OVERHEAD, LINK, REDUCE, COPY, SHARES };
typedef struct {
    double us, share[SHARES];
} moment_t;

typedef struct {
    uint32_t needs;
    moment_t
        at; /* while it needs others: the latest of those that are there; then its end; its last byte's place */
    moment_t head; /* of a message: where its first byte is */
    moment_t left; /* its last byte has left the sender */
    double rate;   /* of the slowest link it has taken */
    bool waited;   /* for a link */
} instance_t;

/* Messages on their way to a position, and what its processor has to do for those that share links. */
typedef struct {
    uint32_t under_way;
    double shared_us;
} arrivals_t;

typedef enum {
    EVENT_DONE, /* the processor is done with it */
    EVENT_HOP,  /* the message's first byte is at its link `hop`; past the last: its last byte has arrived */
    EVENT_LEFT, /* its last byte has left the sender */
} event_kind_t;

typedef struct {
    double us;
    uint32_t order; /* of what happens at one time */
    uint32_t instance;
    uint32_t hop;
    event_kind_t kind;
} event_t;

typedef struct {
    const hp_cost_graph_t *graph;
    const hp_cost_setting_t *setting;
    double block_bytes;
    uint32_t positions, segments, window;
    instance_t *instances;
    moment_t *processors, *links; /* when they are free */
    moment_t *ends;               /* of each segment, on the last position */
    arrivals_t *arrivals;
    uint32_t *open; /* of each segment and position: parts that are not complete */
    uint64_t complete;
    event_t *events; /* a heap */
    uint32_t event_count, event_room, order;
    bool no_memory;
} run_t;

static moment_t later(const moment_t *moment, double us, unsigned share)
{
    moment_t result = *moment;
    result.us += us;
    result.share[share] += us;
    return result;
}

static const moment_t *latest(const moment_t *a, const moment_t *b)
{
    return b->us > a->us ? b : a;
}

/* ---- the heap ---- */

static bool is_before(const event_t *a, const event_t *b)
{
    return a->us < b->us || (a->us == b->us && a->order < b->order);
}

static void push(run_t *run, double us, event_kind_t kind, uint32_t instance, uint32_t hop)
{
    if (run->event_count == run->event_room) {
        event_t *more = realloc(run->events, 2 * (size_t)run->event_room * sizeof *more);
        if (!more) {
            run->no_memory = true;
            return;
        }
        run->events = more;
        run->event_room *= 2;
    }
    const event_t event = {us, run->order++, instance, hop, kind};
    uint32_t at = run->event_count++;
    for (; at > 0 && is_before(&event, &run->events[(at - 1) / 2]); at = (at - 1) / 2)
        run->events[at] = run->events[(at - 1) / 2];
    run->events[at] = event;
}

static event_t pop(run_t *run)
{
    event_t *events = run->events;
    const event_t first = events[0], last = events[--run->event_count];
    uint32_t at = 0;

    for (uint32_t child; (child = 2 * at + 1) < run->event_count; at = child) {
        if (child + 1 < run->event_count && is_before(&events[child + 1], &events[child]))
            child++;
        if (!is_before(&events[child], &last))
            break;
        events[at] = events[child];
    }
    events[at] = last;
    return first;
}

/* ---- what happens ---- */

static const hp_part_t *part_of(const run_t *run, uint32_t instance)
{
    return &run->graph->parts[instance % run->graph->part_count];
}

/* The processor takes what is ready in the order in which it became so. */
static void start(run_t *run, uint32_t instance)
{
    const hp_part_t *part = part_of(run, instance);
    instance_t *it = &run->instances[instance];
    moment_t *processor = &run->processors[part->position];
    const hp_cost_work_t work = hp_cost_work(part, &run->setting->processor, run->block_bytes);

    it->at = later(latest(&it->at, processor), work.overhead_us, OVERHEAD);
    it->at = later(&it->at, work.reduce_us, REDUCE);
    it->at = later(&it->at, work.copy_us, COPY);
    *processor = it->at;
    push(run, it->at.us, EVENT_DONE, instance, 0);
}

static void satisfy(run_t *run, uint32_t instance, const moment_t *moment)
{
    instance_t *it = &run->instances[instance];

    it->at = *latest(&it->at, moment);
    if (--it->needs == 0)
        start(run, instance);
}

static void complete(run_t *run, uint32_t instance, const moment_t *moment)
{
    const hp_cost_graph_t *graph = run->graph;
    const hp_part_t *part = part_of(run, instance);
    const uint32_t segment = instance / graph->part_count, first = segment * graph->part_count;
    const uint64_t later_segment = (uint64_t)segment + run->window;

    run->complete++;
    run->ends[segment] = *latest(&run->ends[segment], moment);
    for (uint32_t i = 0; i < part->after_count; i++)
        satisfy(run, first + graph->after[part->first_after + i], moment);
    if (--run->open[segment * run->positions + part->position] > 0 || later_segment >= run->segments)
        return;
    for (uint32_t i = graph->first_part[part->position]; i < graph->first_part[part->position + 1]; i++)
        satisfy(run, (uint32_t)later_segment * graph->part_count + i, moment);
}

static void arrive(run_t *run, const hp_part_t *send, const instance_t *it)
{
    const hp_part_t *part = &run->graph->parts[send->peer];
    arrivals_t *arrivals = &run->arrivals[part->position];

    if (it->waited && arrivals->under_way > 1)
        arrivals->shared_us += hp_cost_work(part, &run->setting->processor, run->block_bytes).overhead_us;
    arrivals->under_way--;
}

static void hop(run_t *run, uint32_t instance, uint32_t i)
{
    const hp_part_t *part = part_of(run, instance);
    instance_t *it = &run->instances[instance];

    if (i == part->link_count) {
        arrive(run, part, it);
        satisfy(run, instance - instance % run->graph->part_count + part->peer, &it->at);
        return;
    }
    const uint32_t link = run->graph->links[part->first_link + i];
    const hp_network_speed_t speed = hp_network_link(run->setting->network, link).speed;
    const double bytes = part->blocks * run->block_bytes, busy_us = bytes / speed.rate;
    /* What comes in more slowly than the link carries it may begin so much later and end no later: others fit in. */
    const double idle_us = i > 0 && it->rate < speed.rate ? bytes / it->rate - busy_us : 0;
    const moment_t turn = later(&run->links[link], -idle_us, LINK), first = *latest(&it->head, &turn);
    it->waited |= i > 0 && turn.us > it->head.us;
    run->links[link] = later(latest(&it->head, &run->links[link]), busy_us, LINK);
    const moment_t last = *latest(&run->links[link], &it->at);
    it->rate = i == 0 || speed.rate < it->rate ? speed.rate : it->rate;
    it->head = later(&first, speed.latency_us, LATENCY);
    it->at = later(&last, speed.latency_us, LATENCY);
    push(run, i + 1 < part->link_count ? it->head.us : it->at.us, EVENT_HOP, instance, i + 1);
    if (i == 0) {
        it->left = last;
        push(run, last.us, EVENT_LEFT, instance, 0);
    }
}

static void done(run_t *run, uint32_t instance)
{
    const hp_part_t *part = part_of(run, instance);
    instance_t *it = &run->instances[instance];
    const moment_t moment = it->at;

    if (part->kind != HP_PART_SEND) {
        complete(run, instance, &moment);
        return;
    }
    it->head = moment;
    run->arrivals[run->graph->parts[part->peer].position].under_way++;
    hop(run, instance, 0);
    if (part->next != HP_NO_PART)
        satisfy(run, instance - instance % run->graph->part_count + part->next, &moment);
}

static void run_events(run_t *run)
{
    const uint32_t parts = run->graph->part_count;

    for (uint32_t segment = 0; segment < run->segments; segment++)
        for (uint32_t i = 0; i < parts; i++) {
            const hp_part_t *part = &run->graph->parts[i];
            run->instances[segment * parts + i].needs = part->needs + (segment >= run->window);
            run->open[segment * run->positions + part->position]++;
        }
    for (uint32_t i = 0; i < run->segments * parts; i++)
        if (part_of(run, i)->needs + (i / parts >= run->window) == 0)
            start(run, i);
    while (run->event_count > 0 && !run->no_memory) {
        const event_t event = pop(run);
        if (event.kind == EVENT_DONE)
            done(run, event.instance);
        else if (event.kind == EVENT_HOP)
            hop(run, event.instance, event.hop);
        else
            complete(run, event.instance, &run->instances[event.instance].left);
    }
}

/* ---- all ---- */

static const moment_t *end_of(const run_t *run, uint32_t segments)
{
    const moment_t *end = &run->ends[0];
    for (uint32_t i = 1; i < segments; i++)
        end = latest(end, &run->ends[i]);
    return end;
}

static void report(const run_t *run, uint32_t segments, hp_cost_t *cost)
{
    const moment_t *end = end_of(run, run->segments);
    const uint32_t half = run->segments / 2;

    cost->us = end->us;
    if (segments > run->segments)
        cost->us += (segments - run->segments) * (end->us - end_of(run, half)->us) / (run->segments - half);
    for (uint32_t i = 0; i < run->positions; i++)
        if (run->arrivals[i].shared_us > cost->shared_us)
            cost->shared_us = run->arrivals[i].shared_us;
    cost->share_us.latency = end->share[LATENCY];
    cost->share_us.overhead = end->share[OVERHEAD];
    cost->share_us.link = end->share[LINK];
    cost->share_us.reduce = end->share[REDUCE];
    cost->share_us.copy = end->share[COPY];
}

/* At least two, so that the time between two is known. */
static uint32_t segments_to_run(const hp_cost_graph_t *graph, uint32_t segments, uint32_t window)
{
    const uint32_t parts = graph->part_count ? graph->part_count : 1;
    uint64_t most = SEGMENTS_RUN > 4 * (uint64_t)window ? SEGMENTS_RUN : 4 * (uint64_t)window;

    if (most > INSTANCES_MOST / parts)
        most = INSTANCES_MOST / parts;
    most = most < 2 ? 2 : most;
    return segments < most ? segments : (uint32_t)most;
}

hp_status_t hp_cost_run(const hp_cost_graph_t *graph, uint32_t positions, const hp_cost_setting_t *setting,
                        double block_bytes, hp_cost_t *cost)
{
    const uint32_t segments = setting->segments ? setting->segments : 1;
    const uint32_t run_segments = segments_to_run(graph, segments, setting->window);
    const uint64_t instances = (uint64_t)run_segments * graph->part_count;
    run_t run = {.graph = graph,
                 .setting = setting,
                 .block_bytes = block_bytes,
                 .positions = positions,
                 .segments = run_segments,
                 .window = setting->window ? setting->window : run_segments,
                 .event_room = 256};
    hp_status_t status = HP_ERR_NO_MEM;

    if (instances >= UINT32_MAX)
        return HP_ERR_NO_MEM;
    run.instances = calloc(instances + 1, sizeof *run.instances);
    run.processors = calloc(positions, sizeof *run.processors);
    run.links = calloc(hp_network_links(setting->network), sizeof *run.links);
    run.ends = calloc(run_segments, sizeof *run.ends);
    run.arrivals = calloc(positions, sizeof *run.arrivals);
    run.open = calloc((size_t)run_segments * positions, sizeof *run.open);
    run.events = malloc(run.event_room * sizeof *run.events);
    if (run.instances && run.processors && run.links && run.ends && run.arrivals && run.open && run.events) {
        run_events(&run);
        if (!run.no_memory)
            status = run.complete == instances ? HP_OK : HP_ERR_ARG;
    }
    if (status == HP_OK)
        report(&run, segments, cost);
    free(run.instances);
    free(run.processors);
    free(run.links);
    free(run.ends);
    free(run.arrivals);
    free(run.open);
    free(run.events);
    return status;
}
