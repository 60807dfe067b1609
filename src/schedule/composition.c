#include "schedule/composition.h"

#include <stddef.h>

/* ---- ranges ---- */

static bool is_one_run(const hp_range_t *range)
{
    return range->count <= range->run || range->run == range->stride;
}

void hp_member_add(const hp_member_t *member, hp_range_t range, bool receives)
{
    hp_schedule_t *schedule = member->schedule;

    if (schedule->status != HP_OK || range.count == 0)
        return;
    if (is_one_run(&range))
        range = hp_range(range.space, range.first, range.count);
    const hp_step_t *step = &schedule->steps[schedule->step_count - 1];
    const hp_list_t *list = receives ? &step->recv : &step->send;
    hp_range_t *last = list->count > 0 ? &schedule->ranges[list->first + list->count - 1] : NULL;
    if (last && last->space == range.space && last->run == last->count && range.run == range.count &&
        last->first + last->count == range.first)
        *last = hp_range(range.space, last->first, last->count + range.count);
    else
        (receives ? hp_schedule_receives : hp_schedule_sends)(schedule, range);
}

static void add(const hp_member_t *m, bool receives, hp_space_t space, uint32_t first, uint32_t count)
{
    hp_member_add(m, hp_range(space, first, count), receives);
}

/* count blocks, each stride behind the one before. */
static void add_apart(const hp_member_t *m, bool receives, hp_space_t space, uint32_t first, uint32_t count,
                      uint32_t stride)
{
    hp_member_add(m, (hp_range_t){space, first, count, 1, stride}, receives);
}

/* The blocks of a node's positions, in a space that has one for each position. */
static void add_node(const hp_member_t *m, bool receives, hp_space_t space, uint32_t node)
{
    add(m, receives, space, m->problem->node_first[node], hp_problem_node_size(m->problem, node));
}

static void local(const hp_member_t *m, hp_range_t from, hp_range_t to, hp_action_t action)
{
    hp_schedule_local(m->schedule, m->me, from, to, action);
}

/* The position's place in its node, and the one of the node that is so many places on, around it. */
static uint32_t index_of(const hp_member_t *m, uint32_t position)
{
    return position - m->first;
}

static uint32_t mate(const hp_member_t *m, uint32_t distance)
{
    return m->first + (index_of(m, m->me) + distance) % m->size;
}

static uint32_t no_scratch(const hp_member_t *m)
{
    (void)m;
    return 0;
}

/* ---- allgather ---- */

static void allgather_before(const hp_member_t *m)
{
    const hp_range_t own = hp_range(HP_SPACE_SEND, 0, 1);

    if (!hp_member_leads(m))
        hp_schedule_send(m->schedule, m->leader, own);
    local(m, own, hp_range(HP_SPACE_RECV, m->me, 1), HP_ACTION_STORE);
    for (uint32_t p = m->first; p < m->first + m->size && hp_member_leads(m); p++)
        if (p != m->me)
            hp_schedule_receive(m->schedule, p, hp_range(HP_SPACE_RECV, p, 1), HP_ACTION_STORE);
}

static void allgather_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    add_node(m, receives, HP_SPACE_RECV, space == HP_SPACE_SEND ? m->node : block);
}

/* All but what it brought itself. */
static void allgather_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to, bool receives)
{
    (void)from;
    if (block != m->node) {
        add_node(m, receives, HP_SPACE_RECV, block);
        return;
    }
    add(m, receives, HP_SPACE_RECV, m->first, to - m->first);
    add(m, receives, HP_SPACE_RECV, to + 1, m->first + m->size - to - 1);
}

static void allgather_all_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add(m, receives, HP_SPACE_SEND, 0, 1);
    else
        add(m, receives, HP_SPACE_RECV, m->problem->node_first[block] + index_of(m, m->me), 1);
}

static void allgather_all_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to,
                               bool receives)
{
    (void)to;
    add(m, receives, HP_SPACE_RECV, m->problem->node_first[block] + index_of(m, from), 1);
}

/* ---- alltoall: by one leader ----
 * Its scratch: from each other member what goes off the node, in the order of the positions; from each position off the
 * node what it has for the other members. */

static uint32_t off_node(const hp_member_t *m)
{
    return m->problem->count - m->size;
}

/* Among those that are off the node. */
static uint32_t off_node_index(const hp_member_t *m, uint32_t node)
{
    return m->problem->node_first[node] - (node > m->node ? m->size : 0);
}

static uint32_t alltoall_scratch(const hp_member_t *m)
{
    return hp_member_leads(m) ? 2 * (m->size - 1) * off_node(m) : 0;
}

static void alltoall_before(const hp_member_t *m)
{
    const uint32_t end = m->first + m->size, others = m->problem->count - end;

    local(m, hp_range(HP_SPACE_SEND, m->me, 1), hp_range(HP_SPACE_RECV, m->me, 1), HP_ACTION_STORE);
    if (!hp_member_leads(m)) {
        hp_schedule_step(m->schedule, (int32_t)m->leader, HP_NO_POSITION, HP_ACTION_STORE);
        add(m, false, HP_SPACE_SEND, 0, m->first);
        add(m, false, HP_SPACE_SEND, end, others);
    }
    for (uint32_t i = 1; i < m->size && hp_member_leads(m); i++)
        hp_schedule_receive(m->schedule, m->first + i,
                            hp_range(HP_SPACE_SCRATCH, (i - 1) * off_node(m), off_node(m)), HP_ACTION_STORE);
    for (uint32_t i = 1; i < m->size; i++) {
        const uint32_t to = mate(m, i), from = mate(m, m->size - i);
        hp_schedule_step(m->schedule, (int32_t)to, (int32_t)from, HP_ACTION_STORE);
        add(m, false, HP_SPACE_SEND, to, 1);
        add(m, true, HP_SPACE_RECV, from, 1);
    }
}

/* Between two nodes blocks go in the order of those that send, then of those that receive. */
static void alltoall_place(const hp_member_t *m, hp_space_t space, uint32_t node, bool receives)
{
    const uint32_t at = off_node_index(m, node), others = m->size - 1;

    if (node == m->node)
        return;
    if (space == HP_SPACE_SEND) {
        add_node(m, receives, HP_SPACE_SEND, node);
        for (uint32_t i = 0; i < others; i++)
            add(m, receives, HP_SPACE_SCRATCH, i * off_node(m) + at, hp_problem_node_size(m->problem, node));
        return;
    }
    for (uint32_t i = 0; i < hp_problem_node_size(m->problem, node); i++) {
        add(m, receives, HP_SPACE_RECV, m->problem->node_first[node] + i, 1);
        add(m, receives, HP_SPACE_SCRATCH, (off_node(m) + at + i) * others, others);
    }
}

static void alltoall_pass(const hp_member_t *m, uint32_t node, uint32_t from, uint32_t to, bool receives)
{
    const uint32_t others = m->size - 1;

    (void)from;
    if (receives)
        add_node(m, receives, HP_SPACE_RECV, node);
    else
        add_apart(m, receives, HP_SPACE_SCRATCH,
                  (off_node(m) + off_node_index(m, node)) * others + index_of(m, to) - 1,
                  hp_problem_node_size(m->problem, node), others);
}

/* ---- alltoall: where all lead ----
 * Its scratch: for each other node, what the other members have for the position there that has its place; behind an
 * intra-node algorithm what it has itself, too. */

static uint32_t alltoall_row(const hp_member_t *m)
{
    return m->size - !m->problem->inside;
}

static uint32_t alltoall_all_scratch(const hp_member_t *m)
{
    return (m->problem->node_count - 1) * alltoall_row(m);
}

static void alltoall_all_before(const hp_member_t *m)
{
    const uint32_t nodes = m->problem->node_count, index = index_of(m, m->me), others = m->size - 1;

    local(m, hp_range(HP_SPACE_SEND, m->me, 1), hp_range(HP_SPACE_RECV, m->me, 1), HP_ACTION_STORE);
    for (uint32_t i = 1; i < m->size; i++) {
        const uint32_t to = mate(m, i), from = mate(m, m->size - i);
        const uint32_t at = index_of(m, from) - (index_of(m, from) > index);
        hp_schedule_step(m->schedule, (int32_t)to, (int32_t)from, HP_ACTION_STORE);
        add_apart(m, false, HP_SPACE_SEND, index_of(m, to), nodes, m->size);
        add_apart(m, true, HP_SPACE_SCRATCH, at, m->node, others);
        add(m, true, HP_SPACE_RECV, from, 1);
        add_apart(m, true, HP_SPACE_SCRATCH, at + m->node * others, nodes - 1 - m->node, others);
    }
}

/* In the order of the members that it is from. */
static void alltoall_all_place(const hp_member_t *m, hp_space_t space, uint32_t node, bool receives)
{
    const uint32_t index = index_of(m, m->me), others = m->size - 1;
    const uint32_t row = (node - (node > m->node)) * alltoall_row(m);

    if (node == m->node)
        return;
    if (space == HP_SPACE_RECV) {
        add_node(m, receives, HP_SPACE_RECV, node);
        return;
    }
    if (m->problem->inside) {
        add(m, receives, HP_SPACE_SCRATCH, row, m->size);
        return;
    }
    add(m, receives, HP_SPACE_SCRATCH, row, index);
    add(m, receives, HP_SPACE_SEND, m->problem->node_first[node] + index, 1);
    add(m, receives, HP_SPACE_SCRATCH, row + index, others - index);
}

/* ---- reduce_scatter: by one leader ----
 * Its scratch: what the node has reduced, of all positions; the results of the other members. */

static uint32_t reduce_scatter_scratch(const hp_member_t *m)
{
    return hp_member_leads(m) && m->size > 1 ? m->problem->count + m->size - 1 : 0;
}

/* Reduces what the members bring, in their order, into scratch blocks first, ... of the leader. */
static void reduce_node(const hp_member_t *m, uint32_t first, uint32_t count)
{
    const hp_range_t own = hp_range(HP_SPACE_SEND, first, count),
                     sum = hp_range(HP_SPACE_SCRATCH, first, count);

    if (!hp_member_leads(m)) {
        hp_schedule_send(m->schedule, m->leader, own);
        return;
    }
    if (m->size > 1)
        local(m, own, sum, HP_ACTION_STORE);
    for (uint32_t p = m->leader; p-- > m->first;)
        hp_schedule_receive(m->schedule, p, sum, HP_ACTION_REDUCE_LEFT);
    for (uint32_t p = m->leader + 1; p < m->first + m->size; p++)
        hp_schedule_receive(m->schedule, p, sum, HP_ACTION_REDUCE_RIGHT);
}

/* Where what the node has reduced is. */
static hp_space_t reduced(const hp_member_t *m)
{
    return m->size > 1 ? HP_SPACE_SCRATCH : HP_SPACE_SEND;
}

static void reduce_scatter_before(const hp_member_t *m)
{
    reduce_node(m, 0, m->problem->count);
}

static void reduce_scatter_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND) {
        add_node(m, receives, reduced(m), block);
        return;
    }
    add(m, receives, HP_SPACE_RECV, 0, 1);
    add(m, receives, HP_SPACE_SCRATCH, m->problem->count, m->size - 1);
}

static void reduce_scatter_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to,
                                bool receives)
{
    (void)block, (void)from;
    if (receives)
        add(m, receives, HP_SPACE_RECV, 0, 1);
    else
        add(m, receives, HP_SPACE_SCRATCH, m->problem->count + index_of(m, to) - 1, 1);
}

/* ---- reduce_scatter: where all lead ----
 * Its scratch: what the node has reduced, of the positions that have its place in their nodes; the same of the members
 * after it, where order matters. */

static bool joins_after(const hp_member_t *m)
{
    return m->problem->ordered && m->me + 1 < m->first + m->size;
}

static uint32_t reduce_scatter_all_scratch(const hp_member_t *m)
{
    return m->size > 1 ? m->problem->node_count * (1 + joins_after(m)) : 0;
}

static void reduce_scatter_all_before(const hp_member_t *m)
{
    const uint32_t nodes = m->problem->node_count, index = index_of(m, m->me);
    const hp_range_t sum = hp_range(HP_SPACE_SCRATCH, 0, nodes),
                     after = hp_range(HP_SPACE_SCRATCH, nodes, nodes);

    if (m->size == 1)
        return;
    local(m, (hp_range_t){HP_SPACE_SEND, index, nodes, 1, m->size}, sum, HP_ACTION_STORE);
    for (uint32_t i = 1; i < m->size; i++) {
        const uint32_t to = mate(m, i), from = mate(m, m->size - i);
        const bool is_after = m->problem->ordered && from > m->me;
        const bool is_first = is_after && from + 1 == m->first + m->size;
        hp_schedule_step(m->schedule, (int32_t)to, (int32_t)from,
                         is_first ? HP_ACTION_STORE : HP_ACTION_REDUCE_LEFT);
        add_apart(m, false, HP_SPACE_SEND, index_of(m, to), nodes, m->size);
        hp_member_add(m, is_after ? after : sum, true);
    }
    if (joins_after(m))
        local(m, after, sum, HP_ACTION_REDUCE_RIGHT);
}

static void reduce_scatter_all_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    add(m, receives, space == HP_SPACE_SEND ? reduced(m) : HP_SPACE_RECV, block, 1);
}

/* ---- gather, scatter ----
 * The scratch of a leader that is not the root: the blocks of the other members. */

static bool has_root(const hp_member_t *m)
{
    return m->leader == m->problem->root;
}

static uint32_t members_scratch(const hp_member_t *m)
{
    return hp_member_leads(m) && !has_root(m) ? m->size - 1 : 0;
}

/* The blocks of the node. */
static void add_members(const hp_member_t *m, bool receives, hp_space_t whole, hp_space_t own)
{
    if (has_root(m)) {
        add_node(m, receives, whole, m->node);
        return;
    }
    add(m, receives, own, 0, 1);
    add(m, receives, HP_SPACE_SCRATCH, 0, m->size - 1);
}

static void gather_before(const hp_member_t *m)
{
    const hp_range_t own = hp_range(HP_SPACE_SEND, 0, 1);

    if (!hp_member_leads(m))
        hp_schedule_send(m->schedule, m->leader, own);
    else if (has_root(m))
        local(m, own, hp_range(HP_SPACE_RECV, m->me, 1), HP_ACTION_STORE);
    for (uint32_t p = m->first; p < m->first + m->size && hp_member_leads(m); p++)
        if (p != m->me)
            hp_schedule_receive(m->schedule, p,
                                has_root(m) ? hp_range(HP_SPACE_RECV, p, 1)
                                            : hp_range(HP_SPACE_SCRATCH, index_of(m, p) - 1, 1),
                                HP_ACTION_STORE);
}

static void gather_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add_members(m, receives, HP_SPACE_RECV, HP_SPACE_SEND);
    else
        add_node(m, receives, HP_SPACE_RECV, block);
}

static void scatter_before(const hp_member_t *m)
{
    if (m->me == m->problem->root)
        local(m, hp_range(HP_SPACE_SEND, m->me, 1), hp_range(HP_SPACE_RECV, 0, 1), HP_ACTION_STORE);
}

static void scatter_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add_node(m, receives, HP_SPACE_SEND, block);
    else
        add_members(m, receives, HP_SPACE_SEND, HP_SPACE_RECV);
}

static void scatter_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to, bool receives)
{
    (void)block, (void)from;
    if (receives)
        add(m, receives, HP_SPACE_RECV, 0, 1);
    else if (has_root(m))
        add(m, receives, HP_SPACE_SEND, to, 1);
    else
        add(m, receives, HP_SPACE_SCRATCH, index_of(m, to) - 1, 1);
}

/* ---- bcast, reduce, allreduce ----
 * The scratch of a leader: what the node has reduced. */

static void vector_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    add(m, receives, space == HP_SPACE_SEND ? reduced(m) : HP_SPACE_RECV, block, 1);
}

static void vector_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to, bool receives)
{
    (void)from, (void)to;
    add(m, receives, HP_SPACE_RECV, block, 1);
}

static uint32_t vector_scratch(const hp_member_t *m)
{
    return hp_member_leads(m) && m->size > 1 ? m->schedule->cut : 0;
}

static void vector_before(const hp_member_t *m)
{
    for (uint32_t block = 0; block < m->schedule->cut; block++)
        reduce_node(m, block, 1);
}

/* ---- scan, exscan ----
 * The last position leads. Scratch: of an exscan, what goes to the next position; of a leader, what comes before its
 * node. */

static bool is_exclusive(const hp_member_t *m)
{
    return m->problem->pattern == HP_PATTERN_EXSCAN;
}

/* Does somebody after it need what it has? */
static bool hands_on(const hp_member_t *m)
{
    return m->me + 1 < m->problem->count;
}

static uint32_t scan_scratch(const hp_member_t *m)
{
    const uint32_t vectors = (is_exclusive(m) && hands_on(m)) + (hp_member_leads(m) && m->node > 0);
    return vectors * m->schedule->cut;
}

/* A chain through the node: with its own in the result, or beside it. */
static void scan_block(const hp_member_t *m, uint32_t block)
{
    const hp_range_t own = hp_range(HP_SPACE_SEND, block, 1), result = hp_range(HP_SPACE_RECV, block, 1);
    const hp_range_t sum = is_exclusive(m) ? hp_range(HP_SPACE_SCRATCH, block, 1) : result;
    const bool is_first = m->me == m->first;

    if (!is_exclusive(m))
        local(m, own, sum, HP_ACTION_STORE);
    if (!is_first)
        hp_schedule_receive(m->schedule, m->me - 1, result,
                            is_exclusive(m) ? HP_ACTION_STORE : HP_ACTION_REDUCE_LEFT);
    if (!hands_on(m))
        return;
    if (is_exclusive(m)) {
        local(m, is_first ? own : result, sum, HP_ACTION_STORE);
        if (!is_first)
            local(m, own, sum, HP_ACTION_REDUCE_RIGHT);
    }
    if (!hp_member_leads(m))
        hp_schedule_send(m->schedule, m->me + 1, sum);
}

static void scan_before(const hp_member_t *m)
{
    for (uint32_t block = 0; block < m->schedule->cut; block++)
        scan_block(m, block);
}

/* What comes before the node. */
static void add_before(const hp_member_t *m, uint32_t block, bool receives)
{
    const uint32_t cut = m->schedule->cut;
    add(m, receives, HP_SPACE_SCRATCH, (is_exclusive(m) && hands_on(m) ? cut : 0) + block, 1);
}

static void scan_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add(m, receives, is_exclusive(m) ? HP_SPACE_SCRATCH : HP_SPACE_RECV, block, 1);
    else
        add_before(m, block, receives);
}

static void scan_pass(const hp_member_t *m, uint32_t block, uint32_t from, uint32_t to, bool receives)
{
    (void)from, (void)to;
    if (receives)
        add(m, receives, HP_SPACE_RECV, block, 1);
    else
        add_before(m, block, receives);
}

/* ---- barrier ---- */

static void barrier_before(const hp_member_t *m)
{
    if (!hp_member_leads(m))
        hp_schedule_sync(m->schedule, (int32_t)m->leader, HP_NO_POSITION);
    for (uint32_t p = m->first + 1; p < m->first + m->size && hp_member_leads(m); p++)
        hp_schedule_sync(m->schedule, HP_NO_POSITION, (int32_t)p);
}

void hp_composition_end(const hp_member_t *m)
{
    if (m->problem->pattern != HP_PATTERN_BARRIER)
        return;
    if (!hp_member_leads(m))
        hp_schedule_sync(m->schedule, HP_NO_POSITION, (int32_t)m->leader);
    for (uint32_t p = m->first + 1; p < m->first + m->size && hp_member_leads(m); p++)
        hp_schedule_sync(m->schedule, (int32_t)p, HP_NO_POSITION);
}

/* ---- the table ---- */

/* pattern, leaders, scratch, before, place, pass */
#define COMPOSITIONS(X)                                                                                      \
    X(BCAST, 1, no_scratch, NULL, vector_place, vector_pass)                                                 \
    X(REDUCE, 1, vector_scratch, vector_before, vector_place, NULL)                                          \
    X(ALLREDUCE, 1, vector_scratch, vector_before, vector_place, vector_pass)                                \
    X(ALLGATHER, 1, no_scratch, allgather_before, allgather_place, allgather_pass)                           \
    X(ALLGATHER, HP_LEADERS_ALL, no_scratch, NULL, allgather_all_place, allgather_all_pass)                  \
    X(ALLTOALL, 1, alltoall_scratch, alltoall_before, alltoall_place, alltoall_pass)                         \
    X(ALLTOALL, HP_LEADERS_ALL, alltoall_all_scratch, alltoall_all_before, alltoall_all_place, NULL)         \
    X(REDUCE_SCATTER, 1, reduce_scatter_scratch, reduce_scatter_before, reduce_scatter_place,                \
      reduce_scatter_pass)                                                                                   \
    X(REDUCE_SCATTER, HP_LEADERS_ALL, reduce_scatter_all_scratch, reduce_scatter_all_before,                 \
      reduce_scatter_all_place, NULL)                                                                        \
    X(GATHER, 1, members_scratch, gather_before, gather_place, NULL)                                         \
    X(SCATTER, 1, members_scratch, scatter_before, scatter_place, scatter_pass)                              \
    X(SCAN, 1, scan_scratch, scan_before, scan_place, scan_pass)                                             \
    X(EXSCAN, 1, scan_scratch, scan_before, scan_place, scan_pass)                                           \
    X(BARRIER, 1, no_scratch, barrier_before, NULL, NULL)

static const hp_composition_t compositions[] = {
#define X(id, leaders, scratch, before, place, pass) {HP_PATTERN_##id, leaders, scratch, before, place, pass},
    COMPOSITIONS(X)
#undef X
};

const hp_composition_t *hp_composition_of(const hp_problem_t *problem)
{
    for (unsigned i = 0; i < sizeof compositions / sizeof *compositions; i++)
        if (compositions[i].pattern == problem->pattern && compositions[i].leaders == problem->leaders)
            return &compositions[i];
    return NULL;
}

static bool is_scan(const hp_problem_t *problem)
{
    return problem->pattern == HP_PATTERN_SCAN || problem->pattern == HP_PATTERN_EXSCAN;
}

uint32_t hp_composition_leader(const hp_problem_t *problem, uint32_t node)
{
    const uint32_t first = problem->node_first[node], end = problem->node_first[node + 1];

    if (hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED) && problem->root >= first && problem->root < end)
        return problem->root;
    return is_scan(problem) ? end - 1 : first;
}

hp_action_t hp_composition_action(const hp_member_t *m, uint32_t to)
{
    return !is_scan(m->problem) || (is_exclusive(m) && to == m->first) ? HP_ACTION_STORE
                                                                       : HP_ACTION_REDUCE_LEFT;
}

bool hp_composition_keeps(const hp_member_t *m)
{
    return is_scan(m->problem);
}
