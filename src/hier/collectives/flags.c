#include "hier/collectives/flags.h"

#include <string.h>
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

typedef struct {
    hp_direct_t direct;
    hp_node_memory_t *node;
    hp_call_t call;
    const hp_neighbors_t *tree; /* NULL: everybody talks to everybody */
    uint64_t step;
    size_t bytes;
    phase_t phase;
    uint32_t next; /* whose cell comes next */
    hp_comm_t *comm;
} plan_t;

static bool is_reduction(const plan_t *p)
{
    return p->call.collective == HP_REDUCE || p->call.collective == HP_ALLREDUCE;
}

static hp_cell_t *cell_of(const plan_t *p, uint32_t member, hp_fan_t fan)
{
    return hp_node_cell(p->node, member, fan, p->step);
}

static hp_cell_t *cell_of_rank(const plan_t *p, uint32_t rank, hp_fan_t fan)
{
    return cell_of(p, hp_comm_node_member(p->comm, rank), fan);
}

/* Has the cell's flag come? Else that is what the step waits for. */
static bool there(plan_t *p, const hp_cell_t *cell)
{
    p->direct.counter = &cell->flag;
    p->direct.value = p->step + 1;
    return atomic_load_explicit(&cell->flag, memory_order_acquire) == p->step + 1;
}

/* May own cells of this step be written? */
static bool clear(plan_t *p)
{
    const uint64_t needed = p->step + 1 - HP_CELLS;

    if (p->step < HP_CELLS || hp_node_is_clear(p->node, needed))
        return true;
    for (uint32_t member = 0; member < p->node->shape.members; member++) {
        const hp_counter_t *done = hp_node_done(p->node, member);
        if (atomic_load_explicit(done, memory_order_acquire) < needed) {
            p->direct.counter = done;
            p->direct.value = needed;
            return false;
        }
    }
    return true;
}

/* The end of a bcast: it only reads. */
static bool writes_nothing(const plan_t *p)
{
    return p->call.collective == HP_BCAST && p->tree->child_count == 0;
}

static void publish(const plan_t *p, hp_fan_t fan, const void *payload)
{
    hp_cell_t *cell = cell_of(p, p->node->own, fan);
    if (payload && p->bytes)
        memcpy(cell->payload, payload, p->bytes);
    cell->bytes = p->bytes;
    hp_node_set(p->node, &cell->flag, p->step + 1);
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
        if (!there(p, cell))
            return false;
        taken_bytes(p, request, cell);
        if (!is_reduction(p) || p->next == 0)
            continue;
        const void *left = p->next == 1 ? cell_of(p, 0, HP_FAN_IN)->payload : p->call.recv;
        hp_request_reduce(request, left, cell->payload, p->call.recv, p->call.count);
    }
    return true;
}

/* Reduces the children's values into the own one, in rank order where the tree is (tree.h). */
static bool reduce_children(plan_t *p, hp_request_t *request)
{
    const bool root = p->tree->parent < 0;
    char *into = root ? p->call.recv : cell_of(p, p->node->own, HP_FAN_IN)->payload;

    for (; p->next < p->tree->child_count; p->next++) {
        hp_cell_t *cell = cell_of_rank(p, p->tree->children[p->tree->child_count - 1 - p->next], HP_FAN_IN);
        if (!there(p, cell))
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
            if (!writes_nothing(p) && !clear(p))
                return false;
            p->phase = !p->tree ? EXCHANGE_WRITE : p->call.collective == HP_BCAST ? FAN_OUT : FAN_IN;
            break;
        case FAN_IN:
            if (!reduce_children(p, request))
                return false;
            p->phase = FAN_IN_DONE;
            break;
        case FAN_IN_DONE:
            if (p->tree->parent >= 0) /* what the children sent has been reduced into the cell already */
                publish(p, HP_FAN_IN, p->tree->child_count || !is_reduction(p) ? NULL : p->call.send);
            p->phase = p->call.collective == HP_REDUCE ? FINISH : FAN_OUT;
            break;
        case FAN_OUT:
            if (p->tree->parent >= 0) {
                const hp_cell_t *cell = cell_of_rank(p, (uint32_t)p->tree->parent, HP_FAN_OUT);
                if (!there(p, cell))
                    return false;
                const size_t bytes = taken_bytes(p, request, cell);
                if (bytes)
                    memcpy(p->call.recv, cell->payload, bytes);
            }
            p->phase = FAN_OUT_WRITE;
            break;
        case FAN_OUT_WRITE:
            if (p->tree->child_count)
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
            if (p->call.source && p->tree->parent >= 0)
                p->call.source->advance(p->call.source, p->bytes);
            hp_node_set(p->node, hp_node_done(p->node, p->node->own), p->step + 1);
            return true;
        }
    }
}

static bool serves(const hp_comm_t *comm, const hp_call_t *call)
{
    return comm->has_node_memory && comm->shares_memory && hp_hierarchy_node_count(comm->hierarchy) == 1 &&
           call->count * call->type.bytes <= HP_FLAGS_BYTES_MAX && hp_type_is_dense(&call->type) &&
           !(comm->knobs.reproducible && call->count > 0 && call->collective != HP_BCAST) &&
           (call->commutative || call->collective == HP_BCAST ||
            (!comm->rank_order && (call->collective == HP_ALLREDUCE || call->root == 0)));
}

bool hp_flags_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    return serves(comm, call) || hp_pipeline_runs_alone(comm, call, setting);
}

hp_status_t hp_flags_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    static const hp_shapes_t linear = {{HP_SHAPE_LINEAR}};
    hp_comm_t *comm = start->comm;
    hp_node_memory_t *node = &comm->node_memory;

    if (!serves(comm, call))
        return hp_pipeline_start(start, call, setting);
    const size_t bytes = call->count * call->type.bytes;
    const bool all = call->collective == HP_ALLREDUCE || call->collective == HP_BARRIER;
    const bool exchange = all && hp_flags_exchange(node->shape.members, bytes);
    const hp_neighbors_t *tree = exchange ? NULL : hp_comm_tree(comm, &linear, all ? 0 : call->root);
    plan_t *plan = hp_request_plan(start->request, sizeof *plan);
    if (!plan || (!tree && !exchange))
        return HP_ERR_NO_MEM;
    if (call->source && tree->parent < 0)
        call->source->advance(call->source, bytes);
    *plan = (plan_t){.node = node,
                     .call = *call,
                     .tree = tree,
                     .step = node->step++,
                     .bytes = bytes,
                     .phase = CLEAR,
                     .comm = comm};
    const hp_pipeline_t pipeline = {.scratch_bytes = bytes + 1,
                                    .type = call->type,
                                    .op = call->op,
                                    .commutative = call->commutative,
                                    .kernel = call->kernel,
                                    .node = node};
    return hp_request_start_direct(start->request, &pipeline, step, &plan->direct);
}
