#include "sim/network.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "sim/elements.h"

void *sim_alloc_unset(size_t count, size_t bytes)
{
    if (count == 0 || bytes == 0)
        count = bytes = 1;
    void *memory = reallocarray(NULL, count, bytes);
    if (!memory)
        abort();
    return memory;
}

void *sim_alloc(size_t count, size_t bytes)
{
    return memset(sim_alloc_unset(count, bytes), 0, count * bytes);
}

/* ---- the operations of transport.h ---- */

static bool call_fails(rank_t *rank, sim_call_t call)
{
    return rank->calls[call]++ == rank->fails_at[call];
}

static void check_message(const rank_t *rank, const char *call, size_t count, uint32_t peer, uint32_t tag)
{
    enum { TAG_MAX = 32767 }; /* what MPI guarantees */
    if (peer >= rank->sim->config.rank_count || peer == rank->rank || tag > TAG_MAX ||
        (rank->carried != SIM_EITHER && (count == 0) != (rank->carried == SIM_NOTHING)))
        network_report(rank->sim, "rank %u: %s of %zu elements, peer %u, tag %u", rank->rank, call, count,
                       peer, tag);
}

static hp_status_t sim_isend(hp_transport_t *transport, const void *buffer, size_t count,
                             const hp_type_t *type, uint32_t peer, uint32_t tag, void *cookie)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_ISEND))
        return HP_ERR_TRANSPORT;
    check_message(rank, "isend", count, peer, tag);
    network_send(rank, buffer, count, type, peer, tag, cookie);
    return HP_OK;
}

static hp_status_t sim_irecv(hp_transport_t *transport, void *buffer, size_t count, const hp_type_t *type,
                             uint32_t peer, uint32_t tag, void *cookie)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_IRECV))
        return HP_ERR_TRANSPORT;
    check_message(rank, "irecv", count, peer, tag);
    network_recv(rank, buffer, count, type, peer, tag, cookie);
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
        network_disown(rank, operation);
    }
    rank->completed_count -= take;
    if (take)
        memmove(rank->completed, rank->completed + take, rank->completed_count * sizeof *rank->completed);
    return HP_OK;
}

static void sim_cancel(hp_transport_t *transport)
{
    network_cancel((rank_t *)transport);
}

static hp_status_t sim_reduce(hp_transport_t *transport, const void *in, void *inout, size_t count,
                              const hp_type_t *type, hp_handle_t op)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_REDUCE))
        return HP_ERR_TRANSPORT;
    rank->sim->counters.reductions++;
    rank->sim->counters.reduced_bytes += count * type->bytes;
    if (!elements_reduce(in, inout, count, type, op))
        network_report(rank->sim, "rank %u: reduction of a type the operation does not take", rank->rank);
    return HP_OK;
}

static hp_status_t sim_copy(hp_transport_t *transport, void *to, const void *from, size_t count,
                            const hp_type_t *type)
{
    rank_t *rank = (rank_t *)transport;
    if (call_fails(rank, SIM_COPY))
        return HP_ERR_TRANSPORT;
    rank->sim->counters.copies++;
    rank->sim->counters.copied_bytes += count * type->bytes;
    if (count > 0 && hp_type_is_dense(type)) {
        memmove(to, from, count * type->bytes);
        return HP_OK;
    }
    char *packed = sim_alloc_unset(count, type->bytes);
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

bool sim_run(sim_t *sim, const sim_program_t *program, void *context, sim_outcome_t *outcomes)
{
    bool all_finished = true;
    event_t event;

    sim->start_ns = sim->now_ns;
    for (uint32_t r = 0; r < sim->config.rank_count; r++) {
        rank_t *rank = &sim->ranks[r];
        rank->started = false;
        rank->outcome = (sim_outcome_t){.status = HP_OK};
        network_wake(rank, sim->now_ns + network_jitter(sim));
    }
    while (event_heap_pop(&sim->events, &event)) {
        rank_t *rank = &sim->ranks[event.rank];
        sim->now_ns = event.time_ns;
        if (event.kind != WAKE)
            network_happen(sim, &event);
        else if (network_awake_at(rank, sim->now_ns) == sim->now_ns)
            run_rank(sim, rank, program, context);
        else { /* the delay was set after the event */
            rank->wake_pending = false;
            network_wake(rank, sim->now_ns);
        }
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
    static bool keeps_memory;
    const uint32_t count = config->rank_count;
    if (!keeps_memory) { /* a page that the kernel hands out costs more than what is done with it */
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 1 << 20);
        keeps_memory = true;
    }
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
        network_cancel(&sim->ranks[r]);
    network_fini(sim);
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

void sim_wake_node(sim_t *sim, uint32_t rank)
{
    const uint64_t seen_ns = sim->now_ns + sim->config.links[HP_LEVEL_CORE].latency_ns;
    for (uint32_t r = 0; r < sim->config.rank_count; r++)
        if (r != rank && sim->ranks[r].node == sim->ranks[rank].node && sim->ranks[r].started)
            network_wake(&sim->ranks[r], seen_ns + network_jitter(sim));
}

void sim_expect(sim_t *sim, uint32_t rank, sim_carried_t carried)
{
    sim->ranks[rank].carried = carried;
}

void sim_compute(sim_t *sim, uint32_t rank, uint64_t ns)
{
    network_wake(&sim->ranks[rank], sim->now_ns + ns);
}

uint64_t sim_now(const sim_t *sim)
{
    return sim->now_ns;
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

uint64_t sim_left_over_of(const sim_t *sim, uint32_t rank)
{
    uint64_t count = 0;
    for (const operation_t *operation = sim->ranks[rank].live; operation; operation = operation->live_next)
        count++;
    return count;
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
