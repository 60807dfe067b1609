#include "counters/task_graph.h"

#include <stdlib.h>
#include <string.h>

typedef enum { LOCAL, SEND, RECV, WAIT, SET } kind_t;

typedef struct {
    const hp_task_t *task;
    kind_t kind;
    uint32_t source, destination, tag; /* of a message */
    uint64_t bytes;
    const hp_counter_t *counter; /* WAIT, SET */
    uint64_t value;
    uint32_t waits;      /* edges that end here */
    uint32_t first_edge; /* list of edges that begin here: index + 1, 0 = none */
    uint64_t chain, chain_bytes, rounds;
} node_t;

typedef struct {
    uint32_t to, next;
    bool stream_only; /* counts for rounds only */
} edge_t;

typedef struct {
    hp_direction_t direction;
    uint32_t peer, tag;
    const hp_counter_t *counter;
} lane_t;

typedef struct {
    const hp_request_t *request;
    const hp_counter_t *done; /* of its node's memory; NULL: there is none */
    uint32_t rank;
    size_t element_bytes, scratch_bytes;
    lane_t *lanes;
    uint32_t lane_count;
} member_t;

static struct {
    member_t *members; /* by request */
    uint32_t member_count;
    member_t *current; /* whose engine is running */
    node_t *nodes;     /* per rank in the order of emission */
    uint32_t node_count, node_capacity;
    edge_t *edges;
    uint32_t edge_count, edge_capacity;
    task_graph_t figures;
} graph;

static void *grown(void *array, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? 2 * *capacity : 1024;
    array = reallocarray(array, *capacity, bytes);
    if (!array)
        abort();
    return array;
}

static void at_least(uint64_t *value, uint64_t other)
{
    if (*value < other)
        *value = other;
}

/* ---- records ---- */

static int by_request(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const member_t *)a)->request;
    const uintptr_t y = (uintptr_t)((const member_t *)b)->request;
    return (x > y) - (x < y);
}

static member_t *member_of(const hp_request_t *request)
{
    const member_t key = {.request = request};
    return bsearch(&key, graph.members, graph.member_count, sizeof key, by_request);
}

static void record_lane(const hp_request_t *request, int32_t index, lane_t lane)
{
    member_t *member = member_of(request);
    if (index < 0)
        return;
    if ((uint32_t)index >= member->lane_count) {
        member->lanes = reallocarray(member->lanes, (size_t)index + 1, sizeof lane);
        if (!member->lanes)
            abort();
        member->lane_count = (uint32_t)index + 1;
    }
    member->lanes[index] = lane;
}

static hp_task_t *record_task(hp_task_t *task, kind_t kind, int32_t lane, size_t count)
{
    graph.nodes = grown(graph.nodes, graph.node_count, &graph.node_capacity, sizeof(node_t));
    node_t *node = &graph.nodes[graph.node_count++];
    *node = (node_t){.task = task, .kind = kind, .bytes = count * graph.current->element_bytes};
    if (kind == SEND || kind == RECV) {
        const lane_t *l = &graph.current->lanes[lane];
        node->source = kind == SEND ? graph.current->rank : l->peer;
        node->destination = kind == SEND ? l->peer : graph.current->rank;
        node->tag = l->tag;
    }
    return task;
}

static void add_edge(uint32_t from, uint32_t to, bool stream_only)
{
    graph.edges = grown(graph.edges, graph.edge_count, &graph.edge_capacity, sizeof(edge_t));
    graph.edges[graph.edge_count++] =
        (edge_t){.to = to, .next = graph.nodes[from].first_edge, .stream_only = stream_only};
    graph.nodes[from].first_edge = graph.edge_count;
    graph.nodes[to].waits++;
}

/* The engine uses a task's memory again: the last one at an address is meant, and it is not far back, since
 * dependencies stay inside a segment. */
static uint32_t node_of(const hp_task_t *task)
{
    uint32_t i = graph.node_count;
    do
        i--;
    while (graph.nodes[i].task != task);
    return i;
}

/* ---- between the algorithms and the engine ---- */

#define WRAP(result, name, ...)                                                                              \
    result __real_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__)

WRAP(int32_t, hp_request_lane, hp_request_t *request, hp_direction_t direction, uint32_t peer, uint32_t tag,
     uint32_t limit)
{
    const int32_t index = __real_hp_request_lane(request, direction, peer, tag, limit);
    record_lane(request, index, (lane_t){direction, peer, tag, NULL});
    return index;
}

WRAP(int32_t, hp_request_wait_lane, hp_request_t *request, const hp_counter_t *counter, bool compares)
{
    const int32_t index = __real_hp_request_wait_lane(request, counter, compares);
    record_lane(request, index, (lane_t){.counter = counter});
    return index;
}

WRAP(int32_t, hp_request_set_lane, hp_request_t *request, hp_counter_t *counter, bool notes)
{
    const int32_t index = __real_hp_request_set_lane(request, counter, notes);
    record_lane(request, index, (lane_t){.counter = counter});
    return index;
}

WRAP(int32_t, hp_request_native_lane, hp_request_t *request, hp_handle_t comm)
{
    const int32_t index = __real_hp_request_native_lane(request, comm);
    record_lane(request, index, (lane_t){.counter = NULL});
    return index;
}

WRAP(int32_t, hp_request_advance_lane, hp_request_t *request, bool is_awaited)
{
    const int32_t index = __real_hp_request_advance_lane(request, is_awaited);
    record_lane(request, index, (lane_t){.counter = NULL});
    return index;
}

WRAP(int32_t, hp_request_new_lane, hp_request_t *request, hp_direction_t direction, uint32_t peer,
     uint32_t tag, uint32_t limit)
{
    const int32_t index = __real_hp_request_new_lane(request, direction, peer, tag, limit);
    record_lane(request, index, (lane_t){direction, peer, tag, NULL});
    return index;
}

WRAP(hp_status_t, hp_request_start, hp_request_t *request, const hp_pipeline_t *pipeline)
{
    member_t *member = graph.current = member_of(request);
    member->element_bytes = pipeline->type.bytes;
    member->scratch_bytes = pipeline->scratch_bytes;
    const hp_status_t status = __real_hp_request_start(request, pipeline);
    const uint64_t window = hp_request_counters(request)->window_segments;
    at_least(&graph.figures.segments, pipeline->segment_count);
    at_least(&graph.figures.window, window);
    at_least(&graph.figures.tasks, window * pipeline->tasks_per_segment);
    at_least(&graph.figures.scratch, window * pipeline->scratch_per_segment * pipeline->scratch_bytes);
    return status;
}

WRAP(hp_status_t, hp_request_progress, hp_request_t *request, bool *moved)
{
    graph.current = member_of(request);
    return __real_hp_request_progress(request, moved);
}

WRAP(hp_task_t *, hp_emit_send, hp_segment_t *segment, int32_t lane, hp_operand_t from, size_t count)
{
    return record_task(__real_hp_emit_send(segment, lane, from, count), SEND, lane, count);
}

WRAP(hp_task_t *, hp_emit_recv, hp_segment_t *segment, int32_t lane, hp_operand_t to, size_t count)
{
    return record_task(__real_hp_emit_recv(segment, lane, to, count), RECV, lane, count);
}

WRAP(hp_task_t *, hp_emit_recv_scratch, hp_segment_t *segment, int32_t lane, size_t count)
{
    return record_task(__real_hp_emit_recv_scratch(segment, lane, count), RECV, lane, count);
}

WRAP(hp_task_t *, hp_emit_reduce, hp_segment_t *segment, hp_operand_t in, hp_operand_t inout, size_t count)
{
    return record_task(__real_hp_emit_reduce(segment, in, inout, count), LOCAL, -1, count);
}

WRAP(hp_task_t *, hp_emit_reduce_to, hp_segment_t *segment, hp_operand_t left, hp_operand_t right,
     hp_operand_t result, size_t count)
{
    return record_task(__real_hp_emit_reduce_to(segment, left, right, result, count), LOCAL, -1, count);
}

WRAP(hp_task_t *, hp_emit_pull, hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer,
     size_t offset, hp_operand_t to, size_t count)
{
    graph.figures.pulls++;
    return record_task(__real_hp_emit_pull(segment, member, buffer, offset, to, count), LOCAL, -1, count);
}

WRAP(hp_task_t *, hp_emit_push, hp_segment_t *segment, uint32_t member, const hp_node_buffer_t *buffer,
     size_t offset, hp_operand_t from, size_t count)
{
    graph.figures.pushes++;
    return record_task(__real_hp_emit_push(segment, member, buffer, offset, from, count), LOCAL, -1, count);
}

WRAP(hp_task_t *, hp_emit_advance, hp_segment_t *segment, int32_t lane, uint64_t bytes, size_t count)
{
    return record_task(__real_hp_emit_advance(segment, lane, bytes, count), LOCAL, lane, count);
}

WRAP(hp_task_t *, hp_emit_native, hp_segment_t *segment, int32_t lane, hp_native_t what, hp_operand_t from,
     hp_operand_t to, size_t count, uint32_t root)
{
    return record_task(__real_hp_emit_native(segment, lane, what, from, to, count, root), LOCAL, lane, count);
}

static hp_task_t *record_counter(hp_task_t *task, kind_t kind, int32_t lane, uint64_t value)
{
    record_task(task, kind, lane, 0);
    graph.nodes[graph.node_count - 1].counter = graph.current->lanes[lane].counter;
    graph.nodes[graph.node_count - 1].value = value;
    return task;
}

WRAP(hp_task_t *, hp_emit_wait, hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return record_counter(__real_hp_emit_wait(segment, lane, value), WAIT, lane, value);
}

WRAP(hp_task_t *, hp_emit_wait_slot, hp_segment_t *segment, int32_t lane, uint64_t step)
{
    return record_counter(__real_hp_emit_wait_slot(segment, lane, step), WAIT, lane, step + 1);
}

WRAP(hp_task_t *, hp_emit_set, hp_segment_t *segment, int32_t lane, uint64_t value)
{
    return record_counter(__real_hp_emit_set(segment, lane, value), SET, lane, value);
}

WRAP(hp_task_t *, hp_emit_join, hp_segment_t *segment)
{
    return record_task(__real_hp_emit_join(segment), LOCAL, -1, 0);
}

WRAP(hp_task_t *, hp_emit_copy, hp_segment_t *segment, hp_operand_t to, hp_operand_t from, size_t count)
{
    graph.figures.copies++;
    graph.figures.copied_bytes += count * graph.current->element_bytes;
    return record_task(__real_hp_emit_copy(segment, to, from, count), LOCAL, -1, count);
}

WRAP(void, hp_emit_after, hp_task_t *task, hp_task_t *before)
{
    __real_hp_emit_after(task, before);
    if (before)
        add_edge(node_of(before), node_of(task), false);
}

/* ---- the longest ways ---- */

/* By stream, sends in front of receives, each in the order of emission. */
static int by_stream(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const node_t *x = &graph.nodes[i], *y = &graph.nodes[j];
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->destination != y->destination)
        return x->destination < y->destination ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind == SEND ? -1 : 1;
    return (i > j) - (i < j);
}

static bool same_stream(uint32_t a, uint32_t b)
{
    const node_t *x = &graph.nodes[a], *y = &graph.nodes[b];
    return x->source == y->source && x->destination == y->destination && x->tag == y->tag;
}

static void join_messages(void)
{
    uint32_t *ends = sim_alloc(graph.node_count, sizeof *ends), count = 0;
    for (uint32_t i = 0; i < graph.node_count; i++)
        if (graph.nodes[i].kind == SEND || graph.nodes[i].kind == RECV)
            ends[count++] = i;
    qsort(ends, count, sizeof *ends, by_stream);
    for (uint32_t first = 0, last; first < count; first = last) {
        uint32_t sends = 0;
        for (last = first; last < count && same_stream(ends[first], ends[last]); last++)
            sends += graph.nodes[ends[last]].kind == SEND;
        const uint32_t recvs = last - first - sends, joined = sends < recvs ? sends : recvs;
        for (uint32_t i = 0; i < joined; i++)
            add_edge(ends[first + i], ends[first + sends + i], false);
        for (uint32_t i = 0; i + 1 < sends; i++)
            add_edge(ends[first + i], ends[first + i + 1], true);
        graph.figures.unmatched += sends + recvs - 2 * joined;
    }
    free(ends);
}

/* By counter and value, settings in front of waits. */
static int by_counter(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const node_t *x = &graph.nodes[i], *y = &graph.nodes[j];
    if (x->counter != y->counter)
        return (uintptr_t)x->counter < (uintptr_t)y->counter ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind == SET ? -1 : 1;
    return (i > j) - (i < j);
}

static bool is_done_counter(const hp_counter_t *counter)
{
    for (uint32_t i = 0; i < graph.member_count; i++)
        if (graph.members[i].done == counter)
            return true;
    return false;
}

/* A wait ends with the first setting of its counter to its value or beyond. */
static void join_counters(void)
{
    uint32_t *ends = sim_alloc(graph.node_count, sizeof *ends), count = 0;
    for (uint32_t i = 0; i < graph.node_count; i++)
        if (graph.nodes[i].kind == WAIT || graph.nodes[i].kind == SET)
            ends[count++] = i;
    qsort(ends, count, sizeof *ends, by_counter);
    for (uint32_t first = 0, last; first < count; first = last) {
        const hp_counter_t *counter = graph.nodes[ends[first]].counter;
        for (last = first; last < count && graph.nodes[ends[last]].counter == counter; last++)
            ;
        if (is_done_counter(counter))
            continue;
        uint32_t setting = UINT32_MAX; /* the first one of a value is met last, going down */
        for (uint32_t i = last; i-- > first;) {
            uint32_t same = i;
            if (graph.nodes[ends[i]].kind == SET) {
                setting = ends[i];
                continue;
            }
            while (same > first && graph.nodes[ends[same - 1]].value == graph.nodes[ends[i]].value)
                same--; /* settings of this very value are in front of it */
            const bool own = graph.nodes[ends[same]].kind == SET;
            if (own || setting != UINT32_MAX)
                add_edge(own ? ends[same] : setting, ends[i], false);
        }
    }
    free(ends);
}

static void leave(node_t *node)
{
    if (node->kind == SEND) {
        node->chain++;
        node->chain_bytes += node->bytes;
        node->rounds++;
        graph.figures.messages++;
        graph.figures.bytes += node->bytes;
    }
    at_least(&graph.figures.chain, node->chain);
    at_least(&graph.figures.chain_bytes, node->chain_bytes);
    at_least(&graph.figures.rounds, node->rounds);
}

/* Visits every task after all it waits for. */
static void measure(void)
{
    uint32_t *ready = sim_alloc(graph.node_count, sizeof *ready), count = 0;
    for (uint32_t i = 0; i < graph.node_count; i++)
        if (graph.nodes[i].waits == 0)
            ready[count++] = i;
    while (count) {
        node_t *node = &graph.nodes[ready[--count]];
        leave(node);
        for (uint32_t e = node->first_edge; e; e = graph.edges[e - 1].next) {
            const edge_t *edge = &graph.edges[e - 1];
            node_t *to = &graph.nodes[edge->to];
            at_least(&to->rounds, node->rounds);
            if (!edge->stream_only) {
                at_least(&to->chain, node->chain);
                at_least(&to->chain_bytes, node->chain_bytes);
            }
            if (--to->waits == 0)
                ready[count++] = edge->to;
        }
    }
    free(ready);
}

void task_graph_begin(job_t *job, uint32_t rank_count)
{
    graph.members = sim_alloc(rank_count, sizeof(member_t));
    graph.member_count = rank_count;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const hp_comm_t *comm = job_comm(job, rank);
        graph.members[rank] = (member_t){.request = job_request(job, rank), .rank = rank};
        if (comm->has_node_memory)
            graph.members[rank].done = hp_node_done(&comm->node_memory, hp_comm_node_member(comm, rank));
    }
    qsort(graph.members, rank_count, sizeof(member_t), by_request);
    graph.node_count = graph.edge_count = 0;
    graph.figures = (task_graph_t){0};
}

task_graph_t task_graph_end(void)
{
    join_messages();
    join_counters();
    measure();
    for (uint32_t i = 0; i < graph.member_count; i++) {
        const member_t *member = &graph.members[i];
        at_least(&graph.figures.scratch_peak,
                 hp_request_counters(member->request)->scratch_peak * (uint64_t)member->scratch_bytes);
        free(member->lanes);
    }
    graph.member_count = 0;
    free(graph.members);
    free(graph.nodes);
    free(graph.edges);
    graph.nodes = NULL;
    graph.edges = NULL;
    graph.node_capacity = graph.edge_capacity = 0;
    return graph.figures;
}
