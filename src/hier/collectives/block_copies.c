#include "hier/collectives/block_copies.h"

#include <string.h>
#include "hier/collectives/block_roles.h"
#include "hier/collectives/cells.h"
#include "hier/collectives/exchange.h"

/* What a cell holds: entries, one for each reader or one for all, and behind them blocks, if all fit. */
typedef struct {
    uint64_t at; /* an address in the writer's memory; blocks_here: bytes from the head */
    uint64_t bytes;
} entry_t;
typedef struct {
    uint64_t blocks_here;
    entry_t entries[];
} head_t;
enum { ROOM = sizeof((hp_cell_t *)0)->payload };

/* Reductions: of so many bytes at a time. They and the result's piece stay in the nearest caches. */
enum { PIECE_BYTES = 32768 };

typedef enum { CLEAR, WRITE, READ, LEAVE } phase_t;

/* Lies in the arena: equal calls start it again. */
typedef struct {
    hp_direct_t direct;
    hp_node_memory_t *node;
    hp_call_t call;
    hp_block_roles_t roles;
    char *piece;  /* of a reduction */
    bool *unread; /* [rank] its block has yet to be read */
    /* Of the call that runs: */
    uint64_t step;
    phase_t phase;
    bool blocks_here; /* they are in the own cell */
    bool failed;      /* memory of a peer could not be read */
    uint32_t left;    /* ranks whose block has yet to be read; phase LEAVE: rank that is waited for */
} plan_t;

static bool reduces(const plan_t *p)
{
    return hp_pattern_is(p->roles.pattern, HP_PATTERN_REDUCES);
}

/* In a gather members write to the root's memory, all at a time, else ranks read. */
static bool pushes(const plan_t *p)
{
    return p->roles.pattern == HP_PATTERN_GATHER;
}

/* ---- where blocks are ---- */

typedef struct {
    char *address;
    size_t bytes;
} block_t;

/* Block i of a buffer. */
static block_t block_of(const plan_t *p, const void *buffer, const hp_block_list_t *list, uint32_t i)
{
    const size_t each = p->call.type.bytes;

    if (!p->call.blocks)
        return (block_t){(char *)buffer + i * p->call.count * each, p->call.count * each};
    return (block_t){(char *)buffer + list->offsets[i], list->counts[i] * each};
}

/* Does a cell have an entry for each rank, and not one for all? */
static bool has_each(const plan_t *p)
{
    return hp_block_each_reader(p->roles.pattern) || pushes(p);
}

/* What this rank has for another, or in a gather has room for; it is valid where it writes a cell. */
static block_t offered(const plan_t *p, uint32_t rank)
{
    const hp_call_t *call = &p->call;
    const hp_block_list_t *send = call->blocks ? &call->blocks->send : NULL,
                          *recv = call->blocks ? &call->blocks->recv : NULL;

    if (pushes(p))
        return block_of(p, call->recv, recv, rank);
    if (has_each(p))
        return block_of(p, call->send, send, rank);
    return hp_call_is_in_place(call) ? block_of(p, call->recv, recv, p->roles.me)
                                     : block_of(p, call->send, send, 0);
}

/* The other end of what another rank offers this one. */
static block_t own_end(const plan_t *p, uint32_t rank)
{
    const hp_call_t *call = &p->call;
    const hp_block_list_t *send = call->blocks ? &call->blocks->send : NULL,
                          *recv = call->blocks ? &call->blocks->recv : NULL;
    const bool has_one =
        p->roles.pattern == HP_PATTERN_SCATTER || p->roles.pattern == HP_PATTERN_REDUCE_SCATTER;

    return pushes(p) ? block_of(p, call->send, send, 0) : block_of(p, call->recv, recv, has_one ? 0 : rank);
}

/* How many a cell has. */
static uint32_t entries_of(const plan_t *p)
{
    return has_each(p) ? p->roles.ranks : 1;
}

static size_t head_bytes(uint32_t entries)
{
    return sizeof(head_t) + entries * sizeof(entry_t);
}

static bool serves(const hp_comm_t *comm, const hp_call_t *call)
{
    const hp_pattern_t pattern = hp_collective_pattern(call->collective);
    return comm->reads_peers && hp_cells_serve(comm, call) && pattern != HP_PATTERN_SCAN &&
           pattern != HP_PATTERN_EXSCAN && head_bytes(comm->size) <= ROOM;
}

/* ---- writing ---- */

/* Do all blocks for others fit the cell? */
static bool fit(const plan_t *p)
{
    const uint32_t entries = entries_of(p);
    size_t bytes = pushes(p) ? ROOM + 1 : head_bytes(entries);

    for (uint32_t i = 0; i < entries && bytes <= ROOM; i++)
        bytes += i == p->roles.me && entries > 1 ? 0 : offered(p, i).bytes;
    return bytes <= ROOM;
}

static void write_cell(plan_t *p)
{
    const uint32_t entries = entries_of(p);
    head_t *head = (head_t *)hp_node_cell(p->node, p->node->own, HP_FAN_IN, p->step)->payload;
    size_t end = head_bytes(entries);

    head->blocks_here = p->blocks_here = fit(p);
    for (uint32_t i = 0; i < entries; i++) {
        const block_t block = offered(p, i);
        head->entries[i] = (entry_t){p->blocks_here ? end : (uintptr_t)block.address, block.bytes};
        if (!p->blocks_here || (i == p->roles.me && entries > 1))
            continue;
        if (block.bytes > 0)
            memcpy((char *)head + end, block.address, block.bytes);
        end += block.bytes;
    }
    hp_cell_publish(p->node, HP_FAN_IN, p->step, NULL, end);
}

/* ---- reading ---- */

static const head_t *head_of(const plan_t *p, uint32_t rank)
{
    return (const head_t *)hp_node_cell(p->node, p->roles.members[rank], HP_FAN_IN, p->step)->payload;
}

static bool has_come(plan_t *p, uint32_t rank)
{
    return hp_cell_is_there(hp_node_cell(p->node, p->roles.members[rank], HP_FAN_IN, p->step), p->step,
                            &p->direct);
}

/* The bytes from `skipped` on of what is moved with another rank: to `here`, or in a gather from there. One that has more
 * than the other has room for is an error, reported at the end; what is missing is left as it is. */
static void move(plan_t *p, hp_request_t *request, uint32_t rank, size_t skipped, char *here, size_t bytes)
{
    const head_t *head = head_of(p, rank);
    const entry_t *entry = &head->entries[has_each(p) ? p->roles.me : 0];
    const uint32_t member = p->roles.members[rank];
    char *there = (char *)(uintptr_t)entry->at + skipped;
    const size_t own_bytes = own_end(p, rank).bytes;

    if (pushes(p) ? entry->bytes < own_bytes : entry->bytes > own_bytes)
        hp_request_set_longer(request, pushes(p) ? own_bytes : entry->bytes);
    if (entry->bytes < skipped + bytes)
        bytes = entry->bytes > skipped ? entry->bytes - skipped : 0;
    if (bytes == 0)
        return;
    if (head->blocks_here)
        memcpy(here, (const char *)head + entry->at + skipped, bytes);
    else if (!(pushes(p) ? hp_request_push(request, member, here, there, bytes)
                         : hp_request_pull(request, member, there, here, bytes)))
        p->failed = true;
}

static void copy_own(const plan_t *p)
{
    const uint32_t me = p->roles.me;

    if (me < p->roles.first || me >= p->roles.end)
        return;
    const block_t from = pushes(p) ? own_end(p, me) : offered(p, me),
                  to = pushes(p) ? offered(p, me) : own_end(p, me);
    const size_t bytes = from.bytes < to.bytes ? from.bytes : to.bytes;

    if (bytes > 0 && from.address != to.address)
        memcpy(to.address, from.address, bytes);
}

/* Moves those that have come, the neighbour behind this rank first, so that not all read the same one. false: some are missing. */
static bool move_all(plan_t *p, hp_request_t *request)
{
    const uint32_t sources = p->roles.end - p->roles.first;

    for (uint32_t i = 0; i < sources && p->left > 0; i++) {
        const uint32_t rank = p->roles.first + (p->roles.me + 1 + i) % sources;
        if (!p->unread[rank] || !has_come(p, rank))
            continue;
        const block_t here = own_end(p, rank);
        move(p, request, rank, 0, here.address, here.bytes);
        p->unread[rank] = false;
        p->left--;
    }
    return p->left == 0;
}

/* The direct wait is for one that is missing. */
static void await_unread(plan_t *p)
{
    for (uint32_t rank = p->roles.first; rank < p->roles.end; rank++)
        if (p->unread[rank] && !has_come(p, rank))
            return;
}

static void reduce_piece(plan_t *p, hp_request_t *request, size_t skipped, size_t bytes)
{
    const block_t own = offered(p, p->roles.me);
    char *result = (char *)p->call.recv + skipped;

    for (uint32_t rank = 0; rank < p->roles.ranks; rank++) {
        char *value = rank == 0 ? result : p->piece;
        if (rank != p->roles.me)
            move(p, request, rank, skipped, value, bytes);
        else if (rank == 0)
            memcpy(result, own.address + skipped, bytes);
        else
            value = own.address + skipped;
        if (rank > 0)
            hp_request_reduce(request, result, value, result, bytes / p->call.type.bytes);
    }
}

static size_t piece_bytes(const hp_type_t *type)
{
    return type->bytes < PIECE_BYTES ? PIECE_BYTES / type->bytes * type->bytes : type->bytes;
}

/* When all have come. */
static bool reduce_all(plan_t *p, hp_request_t *request)
{
    const size_t total = own_end(p, p->roles.me).bytes, piece = piece_bytes(&p->call.type);

    for (uint32_t rank = 0; rank < p->roles.ranks; rank++)
        if (p->unread[rank] && !has_come(p, rank))
            return false;
    for (size_t done = 0; done < total; done += piece)
        reduce_piece(p, request, done, total - done < piece ? total - done : piece);
    return true;
}

static bool read_blocks(plan_t *p, hp_request_t *request)
{
    if (reduces(p))
        return reduce_all(p, request);
    if (move_all(p, request))
        return true;
    await_unread(p);
    return false;
}

/* ---- the steps ---- */

/* Does that rank read or write this one's memory? */
static bool is_read_by(const plan_t *p, uint32_t rank)
{
    if (!p->roles.writes || p->blocks_here || rank == p->roles.me)
        return false;
    return offered(p, rank).bytes > 0;
}

/* Nobody needs this rank's memory any more. */
static bool may_leave(plan_t *p)
{
    for (; p->left < p->roles.ranks; p->left++) {
        hp_counter_t *done = hp_node_done(p->node, p->roles.members[p->left]);
        if (!is_read_by(p, p->left) || atomic_load_explicit(done, memory_order_acquire) > p->step)
            continue;
        p->direct.counter = done;
        p->direct.value = p->step + 1;
        return false;
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
        if (!reduces(p))
            copy_own(p);
        p->phase = READ; /* fall through */
    case READ:
        if (!read_blocks(p, request) && !p->failed)
            return false; /* nobody waits for a rank that ends with an error */
        hp_node_set(p->node, hp_node_done(p->node, p->node->own), p->step + 1);
        p->left = 0;
        p->phase = LEAVE; /* fall through */
    case LEAVE:
        return may_leave(p);
    }
    return true;
}

/* ---- preparing ---- */

/* From here on the call runs. */
static void begin(plan_t *p, const hp_call_t *call)
{
    p->call.send = call->send;
    p->call.recv = call->recv;
    p->step = p->node->step++;
    p->phase = CLEAR;
    p->failed = p->blocks_here = false;
    p->left = 0;
    for (uint32_t rank = p->roles.first; rank < p->roles.end; rank++) {
        p->unread[rank] = rank != p->roles.me && own_end(p, rank).bytes > 0;
        p->left += p->unread[rank];
    }
}

/* Once more, for a call that differs in its buffers alone. */
static hp_status_t start_again(void *plan, const hp_start_t *start, const hp_call_t *call)
{
    begin(plan, call);
    return hp_request_start_direct_again(start->request);
}

/* In a gather the root says where blocks go. */
static void turn_gather(plan_t *p)
{
    hp_block_roles_t *roles = &p->roles;
    const uint32_t root = p->call.root;

    roles->writes = roles->me == root;
    roles->first = root;
    roles->end = roles->writes && hp_call_is_in_place(&p->call) ? root : root + 1;
}

/* NULL: no memory. */
static plan_t *prepare(const hp_start_t *start, const hp_call_t *call)
{
    hp_arena_reset(start->arena);
    plan_t *p = hp_arena_get(start->arena, sizeof *p);
    if (!p)
        return NULL;
    *p = (plan_t){.node = &start->comm->node_memory, .call = *call, .roles = hp_block_roles(start, call)};
    if (pushes(p))
        turn_gather(p);
    p->unread = hp_arena_get(start->arena, p->roles.ranks * sizeof *p->unread);
    p->piece = hp_arena_get(start->arena, reduces(p) ? piece_bytes(&call->type) : 1);
    return p->roles.members && p->unread && p->piece ? p : NULL;
}

bool hp_block_copies_runs_alone(hp_comm_t *comm, const hp_call_t *call, const hp_setting_t *setting)
{
    return serves(comm, call) || hp_exchange_runs_alone(comm, call, setting);
}

hp_status_t hp_block_copies_start(const hp_start_t *start, const hp_call_t *call, const hp_setting_t *setting)
{
    if (!serves(start->comm, call))
        return hp_exchange_start(start, call, setting);
    plan_t *p = prepare(start, call);
    if (!p)
        return HP_ERR_NO_MEM;
    if (start->again && !call->blocks)
        *start->again = (hp_again_t){.start = start_again, .plan = p};
    begin(p, call);
    return hp_cells_start(start, call, p->node, piece_bytes(&call->type) + 1, step, &p->direct);
}
