#include "hier/collectives/block_flags.h"

#include <string.h>
#include "hier/collectives/block_roles.h"
#include "hier/collectives/cells.h"
#include "hier/collectives/exchange.h"
#include "hier/collectives/flags.h"

typedef enum { CLEAR, WRITE, READ, FINISH } phase_t;

/* Lies in the arena: equal calls start it again. */
typedef struct {
    hp_direct_t direct;
    hp_node_memory_t *node;
    hp_call_t call;
    hp_block_roles_t roles;
    size_t bytes;     /* that are written, */
    ptrdiff_t offset; /* from there on in the send buffer; in place: in the receive buffer */
    size_t read_offset, read_bytes;
    bool is_warm;
    /* Of the call that runs: */
    uint64_t step;
    phase_t phase;
    uint32_t next;
} plan_t;

/* ---- what is written and read ---- */

static bool reduces(hp_pattern_t pattern)
{
    return hp_pattern_is(pattern, HP_PATTERN_REDUCES);
}

/* The elements of a rank's block, and those before it. */
static size_t block_elements(const hp_call_t *call, hp_pattern_t pattern, uint32_t rank)
{
    if (!call->blocks)
        return call->count;
    return (pattern == HP_PATTERN_REDUCE_SCATTER ? call->blocks->send : call->blocks->recv).counts[rank];
}

static size_t elements_before(const hp_call_t *call, hp_pattern_t pattern, uint32_t rank)
{
    size_t elements = 0;

    if (!call->blocks)
        return call->count * rank;
    for (uint32_t i = 0; i < rank; i++)
        elements += block_elements(call, pattern, i);
    return elements;
}

/* The most that a rank writes: the same on all ranks. */
static size_t most_written(const hp_call_t *call, hp_pattern_t pattern, uint32_t ranks)
{
    size_t most = 0;

    if (hp_block_each_reader(pattern))
        return elements_before(call, pattern, ranks);
    for (uint32_t i = 0; i < (call->blocks ? ranks : 1); i++)
        most = block_elements(call, pattern, i) > most ? block_elements(call, pattern, i) : most;
    return most;
}

static bool serves(const hp_comm_t *comm, const hp_call_t *call)
{
    return hp_cells_serve(comm, call) && !hp_collective_is(call->collective, HP_OWN_SIZES) &&
           most_written(call, hp_collective_pattern(call->collective), comm->size) <=
               HP_FLAGS_BYTES_MAX / call->type.bytes;
}

/* ---- the steps ---- */

static void write_cell(const plan_t *p)
{
    const char *from =
        hp_call_is_in_place(&p->call) && p->roles.pattern != HP_PATTERN_SCATTER ? p->call.recv : p->call.send;
    hp_cell_publish(p->node, HP_FAN_IN, p->step, from + p->offset, p->bytes);
}

/* The first operand is taken as it is. */
static void reduce(const plan_t *p, hp_request_t *request, const void *value)
{
    if (p->next == p->roles.first)
        memcpy(p->call.recv, value, p->read_bytes);
    else
        hp_request_reduce(request, p->call.recv, (void *)value, p->call.recv,
                          p->read_bytes / p->call.type.bytes);
}

static size_t bytes_from(const plan_t *p, uint32_t rank)
{
    return p->call.blocks && p->roles.pattern == HP_PATTERN_ALLGATHER ? p->call.blocks->recv.counts[rank]
                                                                      : p->read_bytes;
}

/* false: some have not written yet. */
static bool read_cells(plan_t *p, hp_request_t *request)
{
    for (; p->next < p->roles.end; p->next++) {
        const hp_cell_t *cell = hp_node_cell(p->node, p->roles.members[p->next], HP_FAN_IN, p->step);
        if (!hp_cell_is_there(cell, p->step, &p->direct))
            return false;
        const void *value = cell->payload + p->read_offset;
        if (reduces(p->roles.pattern))
            reduce(p, request, value);
        else if (bytes_from(p, p->next) > 0)
            memcpy(hp_block_result(&p->call, p->next), value, bytes_from(p, p->next));
    }
    return true;
}

static bool step(hp_request_t *request, hp_direct_t *direct)
{
    plan_t *p = (plan_t *)direct;

    switch (p->phase) {
    case CLEAR:
        if (p->roles.writes && !hp_cells_are_clear(p->node, p->step, &p->direct))
            return false;
        p->phase = WRITE; /* fall through */
    case WRITE:
        if (p->roles.writes)
            write_cell(p);
        p->phase = READ; /* fall through */
    case READ:
        if (!read_cells(p, request))
            return false;
        p->phase = FINISH; /* fall through */
    case FINISH:
        hp_node_set(p->node, hp_node_done(p->node, p->node->own), p->step + 1);
    }
    return true;
}

/* ---- preparing ---- */

static void find_bytes(plan_t *p)
{
    const size_t each = p->call.type.bytes;
    const bool all = hp_block_each_reader(p->roles.pattern);

    p->read_bytes = block_elements(&p->call, p->roles.pattern, p->roles.me) * each;
    p->read_offset = all ? elements_before(&p->call, p->roles.pattern, p->roles.me) * each : 0;
    p->bytes = all ? elements_before(&p->call, p->roles.pattern, p->roles.ranks) * each : p->read_bytes;
    p->offset = 0;
    if (!all && hp_call_is_in_place(&p->call) && !reduces(p->roles.pattern))
        p->offset = hp_block_result(&p->call, p->roles.me) - (char *)p->call.recv;
    else if (!all && p->call.blocks)
        p->offset = p->call.blocks->send.offsets[0];
}

/* From here on the call runs. */
static void begin(plan_t *p, const hp_call_t *call)
{
    p->call.send = call->send;
    p->call.recv = call->recv;
    if (__builtin_expect(!p->is_warm, 0))
        p->is_warm = hp_cells_warm(p->node, HP_FAN_IN, p->bytes, p->roles.writes,
                                   p->roles.members + p->roles.first, p->roles.end - p->roles.first);
    p->step = p->node->step++;
    p->phase = CLEAR;
    p->next = p->roles.first;
}

/* Once more, for a call that differs in its buffers alone. */
static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    begin(plan, call);
    return hp_request_start_direct_again(start->request);
}

static plan_t *prepare(const hp_start_t *start, const hp_call_t *call)
{
    hp_arena_reset(start->arena);
    plan_t *p = hp_arena_get(start->arena, sizeof *p);
    if (!p)
        return NULL;
    *p = (plan_t){.node = &start->comm->node_memory, .call = *call, .roles = hp_block_roles(start, call)};
    find_bytes(p);
    return p->roles.members ? p : NULL;
}

bool hp_block_flags_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    return serves(comm, call) || hp_exchange_runs_alone(comm, call, setting);
}

hp_status_t hp_block_flags_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    if (!serves(start->comm, call))
        return hp_exchange_start(start, call, setting);
    plan_t *p = prepare(start, call);
    if (!p)
        return HP_ERR_NO_MEM;
    if (start->again && !call->blocks)
        *start->again = (hp_again_t){.start = start_again, .plan = p};
    begin(p, call);
    return hp_cells_start(start, call, p->node, p->read_bytes + 1, step, &p->direct);
}
