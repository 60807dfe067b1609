#include "sim/network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/elements.h"

enum { RUBBISH = 0xa5 }; /* in a buffer that waits for a message */

void network_report(sim_t *sim, const char *format, ...)
{
    va_list args;
    if (sim->problem[0])
        return;
    va_start(args, format);
    vsnprintf(sim->problem, sizeof sim->problem, format, args);
    va_end(args);
}

static void fifo_push(fifo_t *fifo, queue_t queue, operation_t *operation)
{
    operation->next[queue] = NULL;
    if (fifo->last)
        fifo->last->next[queue] = operation;
    else
        fifo->first = operation;
    fifo->last = operation;
}

static void fifo_remove(fifo_t *fifo, queue_t queue, operation_t *operation)
{
    operation_t *before = NULL;
    for (operation_t *o = fifo->first; o != operation; o = o->next[queue])
        before = o;
    if (before)
        before->next[queue] = operation->next[queue];
    else
        fifo->first = operation->next[queue];
    if (fifo->last == operation)
        fifo->last = before;
}

static void schedule(sim_t *sim, uint64_t time_ns, uint32_t kind, uint32_t rank, void *subject)
{
    const uint64_t tie = sim->config.shuffle ? sim_random_next(&sim->random) : sim->ties++;
    event_heap_push(&sim->events, (event_t){time_ns, tie, kind, rank, subject});
}

uint64_t network_jitter(sim_t *sim)
{
    return sim->config.jitter_ns ? sim_random_below(&sim->random, sim->config.jitter_ns + 1) : 0;
}

uint64_t network_awake_at(const rank_t *rank, uint64_t time_ns)
{
    return time_ns >= rank->delay_from_ns && time_ns < rank->delay_to_ns ? rank->delay_to_ns : time_ns;
}

void network_wake(rank_t *rank, uint64_t time_ns)
{
    if (rank->wake_pending || rank->outcome.finished)
        return;
    rank->wake_pending = true;
    schedule(rank->sim, network_awake_at(rank, time_ns), WAKE, rank->rank, NULL);
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

static flow_t **bucket_of(sim_t *sim, uint32_t source, uint32_t destination, uint32_t tag)
{
    const uint64_t key = ((uint64_t)source << 40) ^ ((uint64_t)destination << 16) ^ tag;
    return &sim->buckets[sim_random_mix(key) & (sim->bucket_count - 1)];
}

/* A flow stays for the life of the job, and each collective has a tag of its own. */
static void more_buckets(sim_t *sim)
{
    flow_t **old = sim->buckets;
    const uint32_t count = sim->bucket_count;

    sim->bucket_count = 4 * count;
    sim->buckets = sim_alloc(sim->bucket_count, sizeof *sim->buckets);
    for (uint32_t b = 0; b < count; b++)
        for (flow_t *flow = old[b], *next; flow; flow = next) {
            flow_t **bucket = bucket_of(sim, flow->source, flow->destination, flow->tag);
            next = flow->next;
            flow->next = *bucket;
            *bucket = flow;
        }
    free(old);
}

static flow_t *flow_of(sim_t *sim, uint32_t source, uint32_t destination, uint32_t tag)
{
    for (flow_t *flow = *bucket_of(sim, source, destination, tag); flow; flow = flow->next)
        if (flow->source == source && flow->destination == destination && flow->tag == tag)
            return flow;
    if (sim->flow_count++ == sim->bucket_count)
        more_buckets(sim);
    flow_t *flow = sim_alloc_unset(1, sizeof *flow), **bucket = bucket_of(sim, source, destination, tag);
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
    operation_t *operation = sim_alloc_unset(1, sizeof *operation);
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

void network_disown(rank_t *rank, operation_t *operation)
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
        network_wake(rank, sim->now_ns + network_jitter(sim));
}

static void send_complete(sim_t *sim, operation_t *send)
{
    if (!send->owned)
        return;
    if (!elements_equal(send->buffer, send->data, send->count, &send->type))
        network_report(sim, "rank %u wrote a buffer that it was sending to rank %u", send->rank,
                       send->flow->destination);
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
    for (operation_t *o = next; o; o = o->next[IN_PORT])
        if (o->turn < next->turn)
            next = o;
    fifo_remove(&port->queue, IN_PORT, next);
    port->busy = true;
    port->turn = next->turn;
    schedule(sim, sim->now_ns + transfer_ns(sim, next), INJECTED, next->rank, next);
}

static void port_enter(sim_t *sim, operation_t *send)
{
    port_t *port = port_of(sim, sim->send_ports, send->flow->level, send->flow->source);
    send->turn = send->flow->last_turn + 1 > port->turn ? send->flow->last_turn + 1 : port->turn;
    send->flow->last_turn = send->turn;
    fifo_push(&port->queue, IN_PORT, send);
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
    if (send->count * send->type.bytes != recv->count * recv->type.bytes) {
        network_report(sim, "rank %u sends %zu bytes to rank %u, which expects %zu (tag %u)", send->rank,
                       send->count * send->type.bytes, recv->rank, recv->count * recv->type.bytes,
                       send->flow->tag);
        recv->count = 0; /* nothing is read or written past an end; the run has failed */
    }
    if (!send->eager) {
        uint64_t asked_ns = send->posted_ns + latency(sim, send->flow);
        if (asked_ns < sim->now_ns)
            asked_ns = sim->now_ns;
        if (sim->config.software_matching)
            asked_ns = network_awake_at(&sim->ranks[recv->rank], asked_ns);
        schedule(sim, asked_ns + latency(sim, send->flow) + network_jitter(sim), READY, send->rank, send);
    } else if (send->delivered) {
        receive(sim, send);
        arrive(send);
    }
}

/* ---- posting ---- */

void network_send(rank_t *rank, const void *buffer, size_t count, const hp_type_t *type, uint32_t peer,
                  uint32_t tag, void *cookie)
{
    sim_t *sim = rank->sim;
    flow_t *flow = flow_of(sim, rank->rank, peer, tag);
    operation_t *send = operation_create(rank, flow, buffer, count, type, cookie);
    const size_t bytes = count * type->bytes;

    send->data = sim_alloc_unset(1, bytes);
    elements_pack(send->data, buffer, count, type);
    send->eager = bytes <= sim->config.eager_bytes;
    send->travelling = true;
    if (++flow->sends_in_flight > sim->counters.peak_sends)
        sim->counters.peak_sends = flow->sends_in_flight;
    if (sim->config.send_limit && flow->sends_in_flight > sim->config.send_limit)
        network_report(sim, "rank %u has %u sends to %u in flight", rank->rank, flow->sends_in_flight, peer);
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
        fifo_remove(&flow->recvs, IN_FLOW, recv);
        join(sim, send, recv);
    } else {
        fifo_push(&flow->sends, IN_FLOW, send);
    }
}

void network_recv(rank_t *rank, void *buffer, size_t count, const hp_type_t *type, uint32_t peer,
                  uint32_t tag, void *cookie)
{
    sim_t *sim = rank->sim;
    flow_t *flow = flow_of(sim, peer, rank->rank, tag);
    operation_t *recv = operation_create(rank, flow, buffer, count, type, cookie);

    recv->is_recv = true;
    elements_fill(recv->buffer, RUBBISH, recv->count, &recv->type);
    if (++flow->recvs_in_flight > sim->counters.peak_recvs)
        sim->counters.peak_recvs = flow->recvs_in_flight;
    if (sim->config.recv_limit && flow->recvs_in_flight > sim->config.recv_limit)
        network_report(sim, "rank %u has %u receives from %u in flight", rank->rank, flow->recvs_in_flight,
                       peer);
    operation_t *send = flow->sends.first;
    if (send) {
        fifo_remove(&flow->sends, IN_FLOW, send);
        join(sim, send, recv);
    } else {
        fifo_push(&flow->recvs, IN_FLOW, recv);
    }
}

void network_cancel(rank_t *rank)
{
    while (rank->live) {
        operation_t *operation = rank->live;
        if (operation->is_recv && !operation->joined)
            fifo_remove(&operation->flow->recvs, IN_FLOW, operation);
        else if (operation->is_recv && operation->peer)
            operation->peer->peer = NULL;
        network_disown(rank, operation);
    }
    rank->completed_count = 0;
}

/* ---- on the way ---- */

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

static void injected(sim_t *sim, operation_t *send)
{
    port_t *port = port_of(sim, sim->send_ports, send->flow->level, send->flow->source);
    port->busy = false;
    schedule(sim, sim->now_ns + latency(sim, send->flow) + network_jitter(sim), ARRIVED, send->rank, send);
    if (send->eager)
        send_complete(sim, send);
    port_start_next(sim, port);
}

void network_happen(sim_t *sim, const event_t *event)
{
    operation_t *send = event->subject;

    switch (event->kind) {
    case READY:
        port_enter(sim, send);
        break;
    case INJECTED:
        injected(sim, send);
        break;
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
    default:
        break;
    }
}

void network_fini(sim_t *sim)
{
    for (uint32_t b = 0; b < sim->bucket_count; b++)
        for (flow_t *flow = sim->buckets[b], *next; flow; flow = next) {
            next = flow->next;
            for (operation_t *send = flow->sends.first, *after; send; send = after) {
                after = send->next[IN_FLOW];
                arrive(send);
            }
            free(flow);
        }
}
