#include "schedule/inside.h"

#include <stddef.h>

static uint32_t index_of(const hp_member_t *m, uint32_t position)
{
    return position - m->first;
}

static void add(const hp_member_t *m, bool receives, hp_space_t space, uint32_t first)
{
    hp_member_add(m, hp_range(space, first, 1), receives);
}

/* A block of each of so many nodes, in a space that has `size` of each. */
static void add_of_nodes(const hp_member_t *m, bool receives, hp_space_t space, uint32_t first,
                         uint32_t nodes)
{
    hp_member_add(m, (hp_range_t){space, first, nodes, 1, m->size}, receives);
}

/* ---- where blocks lie: the composition of the pattern has what is among the nodes ---- */

static void allgather_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    add_of_nodes(m, receives, HP_SPACE_RECV, space == HP_SPACE_SEND ? index_of(m, m->me) : block,
                 m->problem->node_count);
}

/* What comes for other nodes is scratch: so many blocks of each. */
static void alltoall_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND) {
        add_of_nodes(m, receives, HP_SPACE_SEND, block, m->problem->node_count);
        return;
    }
    add_of_nodes(m, receives, HP_SPACE_SCRATCH, block, m->node);
    add(m, receives, HP_SPACE_RECV, m->first + block);
    add_of_nodes(m, receives, HP_SPACE_SCRATCH, block + m->node * m->size,
                 m->problem->node_count - 1 - m->node);
}

static void reduce_scatter_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add_of_nodes(m, receives, HP_SPACE_SEND, block, m->problem->node_count);
    else
        hp_member_add(m, hp_range(m->size > 1 ? HP_SPACE_SCRATCH : HP_SPACE_SEND, 0, m->problem->node_count),
                      receives);
}

/* On a leader: a member's block, of all that the root has or of the leader's scratch. */
static void add_member(const hp_member_t *m, bool receives, hp_space_t whole, hp_space_t own, uint32_t member)
{
    if (m->leader == m->problem->root)
        add(m, receives, whole, m->first + member);
    else if (m->first + member == m->leader)
        add(m, receives, own, 0);
    else
        add(m, receives, HP_SPACE_SCRATCH, member - 1);
}

static void gather_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_SEND)
        add(m, receives, HP_SPACE_SEND, 0);
    else
        add_member(m, receives, HP_SPACE_RECV, HP_SPACE_SEND, block);
}

static void scatter_place(const hp_member_t *m, hp_space_t space, uint32_t block, bool receives)
{
    if (space == HP_SPACE_RECV)
        add(m, receives, HP_SPACE_RECV, 0);
    else
        add_member(m, receives, HP_SPACE_SEND, HP_SPACE_RECV, block);
}

/* ---- the table ---- */

static const hp_inside_t table[] = {
    {HP_PATTERN_ALLGATHER, HP_LEADERS_ALL, false, allgather_place},
    {HP_PATTERN_ALLTOALL, HP_LEADERS_ALL, true, alltoall_place},
    {HP_PATTERN_REDUCE_SCATTER, HP_LEADERS_ALL, true, reduce_scatter_place},
    {HP_PATTERN_GATHER, 1, true, gather_place},
    {HP_PATTERN_SCATTER, 1, false, scatter_place},
};

const hp_inside_t *hp_inside_of(const hp_problem_t *problem)
{
    for (unsigned i = 0; i < sizeof table / sizeof *table && problem->inside; i++)
        if (table[i].pattern == problem->pattern && table[i].leaders == problem->leaders)
            return &table[i];
    return NULL;
}

/* ---- the schedule ---- */

hp_problem_t hp_inside_problem(const hp_problem_t *problem, uint32_t node)
{
    const bool is_rooted = hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED);

    return (hp_problem_t){.pattern = problem->pattern,
                          .count = hp_problem_node_size(problem, node),
                          .root = is_rooted ? hp_composition_leader(problem, node) - problem->node_first[node]
                                            : 0,
                          .ordered = problem->ordered,
                          .parameter = {problem->inside_parameter}};
}

hp_status_t hp_inside_make(hp_schedule_t *schedule, const hp_member_t *member)
{
    const hp_problem_t problem = hp_inside_problem(member->problem, member->node);
    return hp_schedule_make_flat(schedule, member->problem->inside, &problem, index_of(member, member->me));
}

uint32_t hp_inside_slot(const hp_problem_t *problem)
{
    return hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED) ? 1 : problem->node_count;
}
