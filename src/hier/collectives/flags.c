#include "hier/collectives/flags.h"

#include <string.h>
#include "hier/collectives/cells.h"
#include "hier/collectives/pipeline.h"

/* Up to so many ranks, and bytes in all their cells, one round is faster than two. */
enum { EXCHANGE_RANKS = 8, EXCHANGE_BYTES = 16384 };

bool hp_flags_exchange(uint32_t ranks, size_t bytes)
{
    return ranks <= EXCHANGE_RANKS && bytes * ranks <= EXCHANGE_BYTES;
}

typedef enum {
    CLEAR,
    FAN_IN,
    FAN_IN_DONE,
    FAN_OUT,
    FAN_OUT_WRITE,
    EXCHANGE_WRITE,
    EXCHANGE_READ,
    FINISH
} phase_t;

/* Lies in the arena: equal calls start it again. */
typedef struct {
    hp_direct_t direct;
    hp_node_memory_t *node;
    hp_call_t call;
    size_t bytes;
    /* By numbers in the node's memory. Without a tree everybody talks to everybody. */
    bool has_tree;
    int32_t parent; /* -1: the root */
    uint32_t child_count;
    uint32_t *children; /* in rank order where the tree is (tree.h) */
    bool is_warm;
    /* Of the call that runs: */
    uint64_t step;
    phase_t phase;
    uint32_t next; /* whose cell comes next */
} plan_t;

static bool is_reduction(const plan_t *p)
{
    return p->call.collective == HP_REDUCE || p->call.collective == HP_ALLREDUCE;
}

static hp_cell_t *cell_of(const plan_t *p, uint32_t member, hp_fan_t fan)
{
    return hp_node_cell(p->node, member, fan, p->step);
}

/* The end of a bcast: it only reads. */
static bool writes_nothing(const plan_t *p)
{
    return p->call.collective == HP_BCAST && p->child_count == 0;
}

static void publish(const plan_t *p, hp_fan_t fan, const void *payload)
{
    hp_cell_publish(p->node, fan, p->step, payload, p->bytes);
}

/* The bytes in a cell that are taken; more than this rank has room for are an error, reported at the end. */
static size_t taken_bytes(const plan_t *p, hp_request_t *request, const hp_cell_t *cell)
{
    if (__builtin_expect(cell->bytes <= p->bytes, 1))
        return cell->bytes;
    hp_request_set_longer(request, cell->bytes);
    return p->bytes;
}

/* Reduces everybody's value in the order of members: the same bits everywhere. false: some are not there yet. */
static bool reduce_all(plan_t *p, hp_request_t *request)
{
    const uint32_t members = p->node->shape.members;

    for (; p->next < members; p->next++) {
        hp_cell_t *cell = cell_of(p, p->next, HP_FAN_IN);
        if (!hp_cell_is_there(cell, p->step, &p->direct))
            return false;
        taken_bytes(p, request, cell);
        if (!is_reduction(p) || p->next == 0)
            continue;
        const void *left = p->next == 1 ? cell_of(p, 0, HP_FAN_IN)->payload : p->call.recv;
        hp_request_reduce(request, left, cell->payload, p->call.recv, p->call.count);
    }
    return true;
}

/* Reduces the children's values into the own one. */
static bool reduce_children(plan_t *p, hp_request_t *request)
{
    const bool root = p->parent < 0;
    char *into = root ? p->call.recv : cell_of(p, p->node->own, HP_FAN_IN)->payload;

    for (; p->next < p->child_count; p->next++) {
        hp_cell_t *cell = cell_of(p, p->children[p->next], HP_FAN_IN);
        if (!hp_cell_is_there(cell, p->step, &p->direct))
            return false;
        taken_bytes(p, request, cell);
        if (is_reduction(p))
            hp_request_reduce(request, p->next == 0 ? p->call.send : into, cell->payload, into,
                              p->call.count);
    }
    return true;
}

static bool step(hp_request_t *request, hp_direct_t *direct)
{
    plan_t *p = (plan_t *)direct;

    for (;;) {
        switch (p->phase) {
        case CLEAR:
            if (!writes_nothing(p) && !hp_cells_are_clear(p->node, p->step, &p->direct))
                return false;
            p->phase = !p->has_tree ? EXCHANGE_WRITE : p->call.collective == HP_BCAST ? FAN_OUT : FAN_IN;
            break;
        case FAN_IN:
            if (!reduce_children(p, request))
                return false;
            p->phase = FAN_IN_DONE;
            break;
        case FAN_IN_DONE:
            if (p->parent >= 0) /* what the children sent has been reduced into the cell already */
                publish(p, HP_FAN_IN, p->child_count || !is_reduction(p) ? NULL : p->call.send);
            p->phase = p->call.collective == HP_REDUCE ? FINISH : FAN_OUT;
            break;
        case FAN_OUT:
            if (p->parent >= 0) {
                const hp_cell_t *cell = cell_of(p, (uint32_t)p->parent, HP_FAN_OUT);
                if (!hp_cell_is_there(cell, p->step, &p->direct))
                    return false;
                const size_t bytes = taken_bytes(p, request, cell);
                if (bytes)
                    memcpy(p->call.recv, cell->payload, bytes);
            }
            p->phase = FAN_OUT_WRITE;
            break;
        case FAN_OUT_WRITE:
            if (p->child_count)
                publish(p, HP_FAN_OUT, p->call.recv);
            p->phase = FINISH;
            break;
        case EXCHANGE_WRITE:
            publish(p, HP_FAN_IN, is_reduction(p) ? p->call.send : NULL);
            p->phase = EXCHANGE_READ;
            break;
        case EXCHANGE_READ:
            if (!reduce_all(p, request))
                return false;
            p->phase = FINISH;
            break;
        case FINISH:
            if (p->call.source && p->parent >= 0)
                p->call.source->advance(p->call.source, p->bytes);
            hp_node_set(p->node, hp_node_done(p->node, p->node->own), p->step + 1);
            return true;
        }
    }
}

static bool serves(const hp_comm_t *comm, const hp_call_t *call)
{
    return hp_cells_serve(comm, call) && call->count * call->type.bytes <= HP_FLAGS_BYTES_MAX &&
           !(comm->knobs.reproducible && call->count > 0 && call->collective != HP_BCAST) &&
           (call->commutative || call->collective == HP_BCAST ||
            (!comm->rank_order && (call->collective == HP_ALLREDUCE || call->root == 0)));
}

bool hp_flags_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    return serves(comm, call) || hp_pipeline_runs_alone(comm, call, setting);
}

static void warm(plan_t *p)
{
    const bool goes_up = !p->has_tree || p->call.collective != HP_BCAST,
               goes_down = p->has_tree && p->call.collective != HP_REDUCE, has_parent = p->parent >= 0;
    const uint32_t parent = (uint32_t)p->parent;

    p->is_warm = true;
    if (goes_up)
        p->is_warm = hp_cells_warm(p->node, HP_FAN_IN, p->bytes, !p->has_tree || has_parent, p->children,
                                   p->has_tree ? p->child_count : p->node->shape.members);
    if (goes_down && !hp_cells_warm(p->node, HP_FAN_OUT, p->bytes, p->child_count > 0, &parent, has_parent))
        p->is_warm = false;
}

/* From here on the call runs, unless there is an error. */
static hp_status_t begin(plan_t *p, const hp_call_t *call)
{
    p->call.send = call->send;
    p->call.recv = call->recv;
    p->call.source = call->source;
    const bool fills = call->source && p->parent < 0;
    const hp_status_t status = fills ? call->source->advance(call->source, p->bytes) : HP_OK;
    if (status != HP_OK)
        return status;
    if (__builtin_expect(!p->is_warm, 0))
        warm(p);
    p->step = p->node->step++;
    p->phase = CLEAR;
    p->next = 0;
    return HP_OK;
}

/* Once more, for a call that differs in its buffers alone. */
static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    const hp_status_t status = begin(plan, call);
    return status == HP_OK ? hp_request_start_direct_again(start->request) : status;
}

/* Parent and children, in the tree of the node's levels. */
static hp_status_t find_tree(plan_t *p, const hp_start_t *start, uint32_t root)
{
    static const hp_shapes_t linear = {{HP_SHAPE_LINEAR}};
    const hp_neighbors_t *tree = hp_comm_tree(start->comm, &linear, root);

    p->children = tree ? hp_arena_get(start->arena, (tree->child_count + 1) * sizeof *p->children) : NULL;
    if (!p->children)
        return HP_ERR_NO_MEM;
    p->has_tree = true;
    if (tree->parent >= 0)
        p->parent = (int32_t)hp_comm_node_member(start->comm, (uint32_t)tree->parent);
    p->child_count = tree->child_count;
    for (uint32_t i = 0; i < tree->child_count; i++)
        p->children[i] = hp_comm_node_member(start->comm, tree->children[tree->child_count - 1 - i]);
    return HP_OK;
}

static plan_t *prepare(const hp_start_t *start, const hp_call_t *call)
{
    hp_node_memory_t *node = &start->comm->node_memory;
    const bool all = call->collective == HP_ALLREDUCE || call->collective == HP_BARRIER;

    hp_arena_reset(start->arena);
    plan_t *p = hp_arena_get(start->arena, sizeof *p);
    if (!p)
        return NULL;
    *p = (plan_t){.node = node, .call = *call, .bytes = call->count * call->type.bytes, .parent = -1};
    if (all && hp_flags_exchange(node->shape.members, p->bytes))
        return p;
    return find_tree(p, start, all ? 0 : call->root) == HP_OK ? p : NULL;
}

hp_status_t hp_flags_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    if (!serves(start->comm, call))
        return hp_pipeline_start(start, call, setting);
    plan_t *p = prepare(start, call);
    if (!p)
        return HP_ERR_NO_MEM;
    if (start->again)
        *start->again = (hp_again_t){.start = start_again, .plan = p};
    const hp_status_t status = begin(p, call);
    return status == HP_OK ? hp_cells_start(start, call, p->node, p->bytes + 1, step, &p->direct) : status;
}
