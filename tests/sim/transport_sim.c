/* transport_sim: see transport_sim.h for the model.
 *
 * A message on its way, one row an event (R: rendezvous only, E: eager only):
 *
 *     isend, irecv   joined in the order of posting; whoever comes second joins
 *     READY       R  request and answer are over: the message queues at the send port (E: at once)
 *     INJECTED       it has left the send port; E: the send is complete
 *     ARRIVED        its first byte is at the receive port, which takes as long as the send port did
 *     DELIVERED      the data is there; the receive is complete when there is one
 *     ACKNOWLEDGED R the send is complete
 *     WAKE           the rank is told of completions: its progress is called
 */
#include "sim/transport_sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/elements.h"
#include "sim/event_heap.h"
#include "sim/sim_random.h"

enum { READY, INJECTED, ARRIVED, DELIVERED, ACKNOWLEDGED, WAKE };

typedef struct operation operation_t;

typedef struct {
    operation_t *first, *last;
} fifo_t;

typedef struct flow flow_t;
struct flow {
    flow_t *next; /* in its hash bucket */
    uint32_t source, destination, tag;
    uint32_t level;
    fifo_t sends, recvs; /* not joined yet; one of the two is empty */
    uint32_t sends_in_flight, recvs_in_flight;
    uint64_t last_turn; /* at the send port */
};

/* A send or a receive. It lives until its rank has got it back from poll (or gave it up), and a send until
 * its message has been delivered and received as well. */
struct operation {
    operation_t *next;                    /* in the queue it waits in */
    operation_t *live_before, *live_next; /* of its rank */
    flow_t *flow;
    uint32_t rank;
    bool is_recv, owned, travelling; /* the rank, the network holds it */
    void *cookie;
    char *buffer;
    size_t count;
    hp_type_t type;
    operation_t *peer; /* the other side, from joining to delivery; NULL too when it was given up */
    char *data;        /* of a send: as it was when it was posted */
    uint64_t posted_ns;
    uint64_t turn;
    bool joined, eager, delivered;
};

typedef struct {
    fifo_t queue;
    uint64_t turn;    /* that of the message last taken */
    uint64_t free_ns; /* receive port: when it will have taken in all that arrived */
    bool busy;
} port_t;

typedef struct {
    hp_transport_t transport;
    sim_t *sim;
    uint32_t rank, node;
    operation_t *live;
    operation_t **completed; /* since the last poll */
    uint32_t completed_count, completed_capacity;
    bool started, wake_pending;
    uint64_t delay_from_ns, delay_to_ns;
    uint64_t calls[SIM_CALL_COUNT], fails_at[SIM_CALL_COUNT];
    sim_outcome_t outcome;
} rank_t;

struct sim {
    sim_config_t config;
    sim_random_t random;
    uint64_t now_ns, start_ns, ties;
    event_heap_t events;
    rank_t *ranks;
    port_t *send_ports[HP_LEVEL_COUNT], *recv_ports[HP_LEVEL_COUNT]; /* [node] at the node level, else [rank] */
    flow_t **buckets;
    uint32_t bucket_count; /* a power of two */
    uint64_t operations;
    uint64_t *node_out, *node_in;
    sim_counters_t counters;
    char problem[256];
};

void *sim_alloc(size_t count, size_t bytes)
{
    if (count == 0 || bytes == 0)
        count = bytes = 1;
    void *memory = reallocarray(NULL, count, bytes);
    if (!memory)
        abort();
    return memset(memory, 0, count * bytes);
}

__attribute__((format(printf, 2, 3))) static void report(sim_t *sim, const char *format, ...)
{
    va_list args;
    if (sim->problem[0])
        return;
    va_start(args, format);
    vsnprintf(sim->problem, sizeof sim->problem, format, args);
    va_end(args);
}

static void fifo_push(fifo_t *fifo, operation_t *operation)
{
    operation->next = NULL;
    if (fifo->last)
        fifo->last->next = operation;
    else
        fifo->first = operation;
    fifo->last = operation;
}

static void fifo_remove(fifo_t *fifo, operation_t *operation)
{
    operation_t *before = NULL;
    for (operation_t *o = fifo->first; o != operation; o = o->next)
        before = o;
    if (before)
        before->next = operation->next;
    else
        fifo->first = operation->next;
    if (fifo->last == operation)
        fifo->last = before;
}

static void schedule(sim_t *sim, uint64_t time_ns, uint32_t kind, uint32_t rank, void *subject)
{
    const uint64_t tie = sim->config.shuffle ? sim_random_next(&sim->random) : sim->ties++;
    event_heap_push(&sim->events, (event_t){time_ns, tie, kind, rank, subject});
}

static uint64_t jitter(sim_t *sim)
{
    return sim->config.jitter_ns ? sim_random_below(&sim->random, sim->config.jitter_ns + 1) : 0;
}

/* When rank can do something that it would do at time_ns. */
static uint64_t awake_at(const rank_t *rank, uint64_t time_ns)
{
    return time_ns >= rank->delay_from_ns && time_ns < rank->delay_to_ns ? rank->delay_to_ns : time_ns;
}

static void wake(rank_t *rank, uint64_t time_ns)
{
    if (rank->wake_pending || rank->outcome.finished)
        return;
    rank->wake_pending = true;
    schedule(rank->sim, awake_at(rank, time_ns), WAKE, rank->rank, NULL);
}

/* ---- flows and operations ---- */

static uint32_t level_between(const sim_t *sim, uint32_t a, uint32_t b)
{
    const hp_locality_t *table = sim->config.table;
    uint32_t level = 0;
    while (level < HP_LEVEL_CORE && table[a].id[level] == table[b].id[level])
        level++;
    return level;
}

static flow_t *flow_of(sim_t *sim, uint32_t source, uint32_t destination, uint32_t tag)
{
    const uint64_t key = ((uint64_t)source << 40) ^ ((uint64_t)destination << 16) ^ tag;
    flow_t **bucket = &sim->buckets[sim_random_mix(key) & (sim->bucket_count - 1)];
    for (flow_t *flow = *bucket; flow; flow = flow->next)
        if (flow->source == source && flow->destination == destination && flow->tag == tag)
            return flow;
    flow_t *flow = sim_alloc(1, sizeof *flow);
    *flow = (flow_t){.next = *bucket,
                     .source = source,
                     .destination = destination,
                     .tag = tag,
                     .level = level_between(sim, source, destination)};
    return *bucket = flow;
}

static operation_t *operation_create(rank_t *rank, flow_t *flow, const void *buffer, size_t count,
                                     const hp_type_t *type, void *cookie)
{
    operation_t *operation = sim_alloc(1, sizeof *operation);
    *operation = (operation_t){.flow = flow,
                               .rank = rank->rank,
                               .owned = true,
                               .cookie = cookie,
                               .buffer = (char *)buffer,
                               .count = count,
                               .type = *type,
                               .posted_ns = rank->sim->now_ns,
                               .live_next = rank->live};
    if (rank->live)
        rank->live->live_before = operation;
    rank->live = operation;
    rank->sim->operations++;
    return operation;
}

static void operation_free_if_unused(operation_t *operation)
{
    if (operation->owned || operation->travelling)
        return;
    free(operation->data);
    free(operation);
}

/* The rank has no more to do with it. */
static void operation_disown(rank_t *rank, operation_t *operation)
{
    if (operation->live_next)
        operation->live_next->live_before = operation->live_before;
    if (operation->live_before)
        operation->live_before->live_next = operation->live_next;
    else
        rank->live = operation->live_next;
    if (operation->is_recv)
        operation->flow->recvs_in_flight--;
    else
        operation->flow->sends_in_flight--;
    rank->sim->operations--;
    operation->owned = false;
    operation_free_if_unused(operation);
}

static void operation_complete(sim_t *sim, operation_t *operation)
{
    rank_t *rank = &sim->ranks[operation->rank];
    if (rank->completed_count == rank->completed_capacity) {
        uint32_t capacity = rank->completed_capacity ? 2 * rank->completed_capacity : 16;
        rank->completed = reallocarray(rank->completed, capacity, sizeof(operation_t *));
        if (!rank->completed)
            abort();
        rank->completed_capacity = capacity;
    }
    rank->completed[rank->completed_count++] = operation;
    if (rank->started)
        wake(rank, sim->now_ns + jitter(sim));
}

static void send_complete(sim_t *sim, operation_t *send)
{
    if (!send->owned)
        return;
    const size_t bytes = send->count * send->type.bytes;
    char *now = sim_alloc(1, bytes);
    elements_pack(now, send->buffer, send->count, &send->type);
    if (memcmp(now, send->data, bytes) != 0)
        report(sim, "rank %u wrote a buffer that it was sending to rank %u", send->rank,
               send->flow->destination);
    free(now);
    operation_complete(sim, send);
}

/* ---- ports ---- */

static port_t *port_of(sim_t *sim, port_t *ports[], uint32_t level, uint32_t rank)
{
    return &ports[level][level == HP_LEVEL_NODE ? sim->ranks[rank].node : rank];
}

static uint64_t transfer_ns(const sim_t *sim, const operation_t *send)
{
    return (uint64_t)((double)(send->count * send->type.bytes) *
                      sim->config.links[send->flow->level].ns_per_byte);
}

/* Each flow's messages in order, the flows in turns. */
static void port_start_next(sim_t *sim, port_t *port)
{
    operation_t *next = port->queue.first;
    if (port->busy || !next)
        return;
    for (operation_t *o = next; o; o = o->next)
        if (o->turn < next->turn)
            next = o;
    fifo_remove(&port->queue, next);
    port->busy = true;
    port->turn = next->turn;
    schedule(sim, sim->now_ns + transfer_ns(sim, next), INJECTED, next->rank, next);
}

static void port_enter(sim_t *sim, operation_t *send)
{
    port_t *port = port_of(sim, sim->send_ports, send->flow->level, send->flow->source);
    send->turn = send->flow->last_turn + 1 > port->turn ? send->flow->last_turn + 1 : port->turn;
    send->flow->last_turn = send->turn;
    fifo_push(&port->queue, send);
    port_start_next(sim, port);
}

/* ---- matching ---- */

static uint64_t latency(const sim_t *sim, const flow_t *flow)
{
    return sim->config.links[flow->level].latency_ns;
}

/* The data of a delivered message goes where it belongs, if anybody still wants it. */
static void receive(sim_t *sim, operation_t *send)
{
    operation_t *recv = send->peer;
    if (!recv)
        return;
    elements_unpack(recv->buffer, send->data, recv->count, &recv->type);
    operation_complete(sim, recv);
    send->peer = recv->peer = NULL;
}

/* The network is through with it. */
static void arrive(operation_t *send)
{
    send->travelling = false;
    operation_free_if_unused(send);
}

static void join(sim_t *sim, operation_t *send, operation_t *recv)
{
    send->peer = recv;
    recv->peer = send;
    send->joined = recv->joined = true;
    if (send->count * send->type.bytes != recv->count * recv->type.bytes)
        report(sim, "rank %u sends %zu bytes to rank %u, which expects %zu (tag %u)", send->rank,
               send->count * send->type.bytes, recv->rank, recv->count * recv->type.bytes, send->flow->tag);
    if (send->count * send->type.bytes > recv->count * recv->type.bytes)
        recv->count = 0; /* nothing is written past the end; the run has failed */
    if (!send->eager) {
        uint64_t asked_ns = send->posted_ns + latency(sim, send->flow);
        if (asked_ns < sim->now_ns)
            asked_ns = sim->now_ns;
        if (sim->config.software_matching)
            asked_ns = awake_at(&sim->ranks[recv->rank], asked_ns);
        schedule(sim, asked_ns + latency(sim, send->flow) + jitter(sim), READY, send->rank, send);
    } else if (send->delivered) {
        receive(sim, send);
        arrive(send);
    }
}

/* ---- the operations of transport.h ---- */

static bool call_fails(rank_t *rank, sim_call_t call)
{
    return rank->calls[call]++ == rank->fails_at[call];
}

static hp_status_t sim_isend(hp_transport_t *transport, const void *buffer, size_t count,
                             const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    rank_t *rank = (rank_t *)transport;
    sim_t *sim = rank->sim;
    if (call_fails(rank, SIM_ISEND))
        return HP_ERR_TRANSPORT;
    if (peer >= sim->config.rank_count || peer == rank->rank || count == 0 || tag > 32767)
        report(sim, "rank %u: isend of %zu elements to %u with tag %u", rank->rank, count, peer, tag);
    flow_t *flow = flow_of(sim, rank->rank, peer, tag);
    operation_t *send = operation_create(rank, flow, buffer, count, type, cookie);
    const size_t bytes = count * type->bytes;
    send->data = sim_alloc(1, bytes);
    elements_pack(send->data, buffer, count, type);
    send->eager = bytes <= sim->config.eager_bytes;
    send->travelling = true;
    if (++flow->sends_in_flight > sim->counters.peak_sends)
        sim->counters.peak_sends = flow->sends_in_flight;
    if (sim->config.send_limit && flow->sends_in_flight > sim->config.send_limit)
        report(sim, "rank %u has %u sends to %u in flight", rank->rank, flow->sends_in_flight, peer);
    sim->counters.messages[flow->level]++;
    sim->counters.bytes[flow->level] += bytes;
    if (flow->level == HP_LEVEL_NODE) {
        sim->node_out[rank->node] += bytes;
        sim->node_in[sim->ranks[peer].node] += bytes;
    }
    if (send->eager)
        port_enter(sim, send);
    operation_t *recv = flow->recvs.first;
    if (recv) {
        fifo_remove(&flow->recvs, recv);
        join(sim, send, recv);
    } else {
        fifo_push(&flow->sends, send);
    }
    return HP_OK;
}

static void fill_with_rubbish(operation_t *recv)
{
    const size_t bytes = recv->count * recv->type.bytes;
    char *rubbish = sim_alloc(1, bytes);
    memset(rubbish, 0xa5, bytes);
    elements_unpack(recv->buffer, rubbish, recv->count, &recv->type);
    free(rubbish);
}

static hp_status_t sim_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                             uint32_t peer, uint32_t tag, void *cookie)
{
    rank_t *rank = (rank_t *)transport;
    sim_t *sim = rank->sim;
    if (call_fails(rank, SIM_IRECV))
        return HP_ERR_TRANSPORT;
    if (peer >= sim->config.rank_count || peer == rank->rank || count == 0 || tag > 32767)
        report(sim, "rank %u: irecv of %zu elements from %u with tag %u", rank->rank, count, peer, tag);
    flow_t *flow = flow_of(sim, peer, rank->rank, tag);
    operation_t *recv = operation_create(rank, flow, buffer, count, type, cookie);
    recv->is_recv = true;
    fill_with_rubbish(recv);
    if (++flow->recvs_in_flight > sim->counters.peak_recvs)
        sim->counters.peak_recvs = flow->recvs_in_flight;
    if (sim->config.recv_limit && flow->recvs_in_flight > sim->config.recv_limit)
        report(sim, "rank %u has %u receives from %u in flight", rank->rank, flow->recvs_in_flight, peer);
    operation_t *send = flow->sends.first;
    if (send) {
        fifo_remove(&flow->sends, send);
        join(sim, send, recv);
    } else {
        fifo_push(&flow->recvs, recv);
    }
    return HP_OK;
}

static hp_status_t sim_poll(hp_transport_t *transport, void **done, uint32_t capacity, uint32_t *count)
{
    rank_t *rank = (rank_t *)transport;
    sim_t *sim = rank->sim;
    uint32_t take = rank->completed_count < capacity ? rank->completed_count : capacity;

    *count = 0;
    if (call_fails(rank, SIM_POLL))
        return HP_ERR_TRANSPORT;
    if (sim->config.shuffle && take)
        take = 1 + (uint32_t)sim_random_below(&sim->random, take);
    for (; *count < take; ++*count) {
        const uint64_t left = rank->completed_count - *count;
        const uint64_t pick = *count + (sim->config.shuffle ? sim_random_below(&sim->random, left) : 0);
        operation_t *operation = rank->completed[pick];
        rank->completed[pick] = rank->completed[*count];
        done[*count] = operation->cookie;
        operation_disown(rank, operation);
    }
    rank->completed_count -= take;
    memmove(rank->completed, rank->completed + take, rank->completed_count * sizeof *rank->completed);
    return HP_OK;
}

/* Sends go on without their buffers, as MPI's do; what was on its way to a receive is dropped on arrival. */
static void sim_cancel(hp_transport_t *transport)
{
    rank_t *rank = (rank_t *)transport;
    while (rank->live) {
        operation_t *operation = rank->live;
        if (operation->is_recv && !operation->joined)
            fifo_remove(&operation->flow->recvs, operation);
        else if (operation->is_recv && operation->peer)
            operation->peer->peer = NULL;
        operation_disown(rank, operation);
    }
    rank->completed_count = 0;
}

static hp_status_t sim_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                              const hp_type_t *type, hp_handle_t op)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_REDUCE))
        return HP_ERR_TRANSPORT;
    if (!elements_reduce(in, inout, count, type, op))
        report(rank->sim, "rank %u: reduction of a type the operation does not take", rank->rank);
    return HP_OK;
}

static hp_status_t sim_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                            const hp_type_t *type)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_COPY))
        return HP_ERR_TRANSPORT;
    char *packed = sim_alloc(count, type->bytes);
    elements_pack(packed, from, count, type);
    elements_unpack(to, packed, count, type);
    free(packed);
    return HP_OK;
}

static const hp_transport_ops_t ops = {
    .isend = sim_isend,
    .irecv = sim_irecv,
    .poll = sim_poll,
    .cancel = sim_cancel,
    .reduce = sim_reduce,
    .copy = sim_copy,
};

/* ---- the clock ---- */

static void arrived(sim_t *sim, operation_t *send)
{
    port_t *port = port_of(sim, sim->recv_ports, send->flow->level, send->flow->destination);
    const uint64_t earliest_ns = port->free_ns + transfer_ns(sim, send);
    port->free_ns = earliest_ns > sim->now_ns ? earliest_ns : sim->now_ns;
    schedule(sim, port->free_ns, DELIVERED, send->rank, send);
}

static void delivered(sim_t *sim, operation_t *send)
{
    send->delivered = true;
    receive(sim, send);
    if (!send->eager)
        schedule(sim, sim->now_ns + latency(sim, send->flow), ACKNOWLEDGED, send->rank, send);
    else if (send->joined)
        arrive(send);
}

static void run_rank(sim_t *sim, rank_t *rank, const sim_program_t *program, void *context)
{
    sim_outcome_t *outcome = &rank->outcome;
    bool moved = true;

    rank->wake_pending = false;
    if (outcome->finished)
        return;
    if (!rank->started) {
        rank->started = true;
        outcome->status = program->start(context, rank->rank);
    }
    while (outcome->status == HP_OK && moved && !program->done(context, rank->rank))
        outcome->status = program->progress(context, rank->rank, &moved);
    if (outcome->status != HP_OK || program->done(context, rank->rank)) {
        outcome->finished = true;
        outcome->finish_ns = sim->now_ns - sim->start_ns;
    }
}

static void happen(sim_t *sim, const event_t *event, const sim_program_t *program, void *context)
{
    operation_t *send = event->subject;
    rank_t *rank = &sim->ranks[event->rank];

    switch (event->kind) {
    case READY:
        port_enter(sim, send);
        break;
    case INJECTED: {
        port_t *port = port_of(sim, sim->send_ports, send->flow->level, send->flow->source);
        port->busy = false;
        schedule(sim, sim->now_ns + latency(sim, send->flow) + jitter(sim), ARRIVED, send->rank, send);
        if (send->eager)
            send_complete(sim, send);
        port_start_next(sim, port);
        break;
    }
    case ARRIVED:
        arrived(sim, send);
        break;
    case DELIVERED:
        delivered(sim, send);
        break;
    case ACKNOWLEDGED:
        send_complete(sim, send);
        arrive(send);
        break;
    default: /* WAKE; a delay may have been set meanwhile */
        if (awake_at(rank, sim->now_ns) == sim->now_ns)
            run_rank(sim, rank, program, context);
        else
            schedule(sim, awake_at(rank, sim->now_ns), WAKE, rank->rank, NULL);
        break;
    }
}

bool sim_run(sim_t *sim, const sim_program_t *program, void *context, sim_outcome_t *outcomes)
{
    bool all_finished = true;
    event_t event;

    sim->start_ns = sim->now_ns;
    for (uint32_t r = 0; r < sim->config.rank_count; r++) {
        rank_t *rank = &sim->ranks[r];
        rank->started = false;
        rank->outcome = (sim_outcome_t){.status = HP_OK};
        wake(rank, sim->now_ns + jitter(sim));
    }
    while (event_heap_pop(&sim->events, &event)) {
        sim->now_ns = event.time_ns;
        happen(sim, &event, program, context);
    }
    for (uint32_t r = 0; r < sim->config.rank_count; r++) {
        all_finished = all_finished && sim->ranks[r].outcome.finished;
        if (outcomes)
            outcomes[r] = sim->ranks[r].outcome;
    }
    return all_finished;
}

/* ---- life ---- */

sim_t *sim_create(const sim_config_t *config)
{
    const uint32_t count = config->rank_count;
    sim_t *sim = sim_alloc(1, sizeof *sim);
    sim->config = *config;
    sim->random.state = config->seed;
    sim->ranks = sim_alloc(count, sizeof *sim->ranks);
    sim->node_out = sim_alloc(count, sizeof *sim->node_out);
    sim->node_in = sim_alloc(count, sizeof *sim->node_in);
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        sim->send_ports[level] = sim_alloc(count, sizeof(port_t));
        sim->recv_ports[level] = sim_alloc(count, sizeof(port_t));
    }
    for (sim->bucket_count = 16; sim->bucket_count < 4 * count;)
        sim->bucket_count *= 2;
    sim->buckets = sim_alloc(sim->bucket_count, sizeof *sim->buckets);
    for (uint32_t r = 0; r < count; r++) {
        rank_t *rank = &sim->ranks[r];
        rank->transport.ops = &ops;
        rank->sim = sim;
        rank->rank = r;
        while (config->table[rank->node].id[HP_LEVEL_NODE] != config->table[r].id[HP_LEVEL_NODE])
            rank->node++; /* the lowest rank of a node names it */
        for (unsigned call = 0; call < SIM_CALL_COUNT; call++)
            rank->fails_at[call] = UINT64_MAX;
    }
    return sim;
}

void sim_destroy(sim_t *sim)
{
    for (uint32_t r = 0; r < sim->config.rank_count; r++)
        sim_cancel(&sim->ranks[r].transport);
    for (uint32_t b = 0; b < sim->bucket_count; b++)
        for (flow_t *flow = sim->buckets[b], *next; flow; flow = next) {
            next = flow->next;
            /* What nobody received; its sender is gone. */
            for (operation_t *send = flow->sends.first, *after; send; send = after) {
                after = send->next;
                arrive(send);
            }
            free(flow);
        }
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        free(sim->send_ports[level]);
        free(sim->recv_ports[level]);
    }
    for (uint32_t r = 0; r < sim->config.rank_count; r++)
        free(sim->ranks[r].completed);
    event_heap_fini(&sim->events);
    free(sim->buckets);
    free(sim->node_in);
    free(sim->node_out);
    free(sim->ranks);
    free(sim);
}

hp_transport_t *sim_transport(sim_t *sim, uint32_t rank)
{
    return &sim->ranks[rank].transport;
}

void sim_delay(sim_t *sim, uint32_t rank, uint64_t from_ns, uint64_t to_ns)
{
    sim->ranks[rank].delay_from_ns = from_ns;
    sim->ranks[rank].delay_to_ns = to_ns;
}

void sim_fail_call(sim_t *sim, uint32_t rank, sim_call_t call, uint64_t nth)
{
    sim->ranks[rank].fails_at[call] = sim->ranks[rank].calls[call] + nth;
}

uint64_t sim_calls(const sim_t *sim, uint32_t rank, sim_call_t call)
{
    return sim->ranks[rank].calls[call];
}

const char *sim_problem(const sim_t *sim)
{
    return sim->problem[0] ? sim->problem : NULL;
}

uint64_t sim_left_over(const sim_t *sim)
{
    return sim->operations;
}

const sim_counters_t *sim_counters(const sim_t *sim)
{
    return &sim->counters;
}

void sim_node_bytes(const sim_t *sim, uint32_t rank, uint64_t *out, uint64_t *in)
{
    *out = sim->node_out[sim->ranks[rank].node];
    *in = sim->node_in[sim->ranks[rank].node];
}
