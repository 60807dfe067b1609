/* composition: what a collective does within the nodes, before and behind what its algorithm does among them: a row for
 * each pattern. For two_level.c.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_SCHEDULE_COMPOSITION_H
#define HP_SCHEDULE_COMPOSITION_H

#include "schedule/schedule.h"

/* A position in its node. */
typedef struct {
    hp_schedule_t *schedule; /* that is being written */
    const hp_problem_t *problem;
    uint32_t me, node;
    uint32_t first, size; /* positions of the node */
    uint32_t leader;      /* of the node; where all lead: me */
} hp_member_t;

static inline bool hp_member_leads(const hp_member_t *member)
{
    return member->me == member->leader;
}

/* The algorithm's block i is its node i's part of the problem (where nodes exchange: what goes to, or comes from, node
 * i); of a vector it is block i. */
typedef struct {
    hp_pattern_t pattern;
    uint32_t leaders;
    /* Blocks of scratch that the position needs here, in front of those of the algorithm. */
    uint32_t (*scratch)(const hp_member_t *member);
    /* Steps before those of the algorithm. NULL: none. */
    void (*before)(const hp_member_t *member);
    /* Where a block of the algorithm's send or recv lies on a leader, added to a list of the last step. */
    void (*place)(const hp_member_t *member, hp_space_t space, uint32_t block, bool receives);
    /* What position `to` of the node gets when its leader `from` has the algorithm's block of recv for good, added to a
     * list of the last step. NULL: nothing is passed on. */
    void (*pass)(const hp_member_t *member, uint32_t block, uint32_t from, uint32_t to, bool receives);
} hp_composition_t;

/* NULL: there is none of that pattern with so many leaders. */
const hp_composition_t *hp_composition_of(const hp_problem_t *problem);
/* The one that leads a node, where one does. */
uint32_t hp_composition_leader(const hp_problem_t *problem, uint32_t node);
/* What becomes of what is passed on to a position; and does the leader pass it to itself, too? */
hp_action_t hp_composition_action(const hp_member_t *member, uint32_t to);
bool hp_composition_keeps(const hp_member_t *member);
/* Steps behind those of the algorithm. */
void hp_composition_end(const hp_member_t *member);
/* Adds blocks to a list of the last step; those that follow its last ones are joined with them. */
void hp_member_add(const hp_member_t *member, hp_range_t range, bool receives);

#endif
