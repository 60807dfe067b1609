/* inside: an intra-node algorithm, in place of direct messages, where messages are so short that their number counts.
 *
 * problem->inside does the same collective among the positions of a node: gather and scatter with one leader, allgather,
 * alltoall and reduce_scatter where all lead. The blocks of a member are then those of all nodes that have its place.
 *
 *      alltoall, reduce_scatter, gather     inside, then among the nodes
 *      allgather, scatter                   among the nodes, then inside
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_SCHEDULE_INSIDE_H
#define HP_SCHEDULE_INSIDE_H

#include "schedule/algorithm.h"
#include "schedule/composition.h"

typedef struct {
    hp_pattern_t pattern;
    uint32_t leaders;
    bool before; /* the algorithm among the nodes; or behind it */
    /* Where a block of the inner algorithm's send or recv lies, added to a list of the last step. */
    void (*place)(const hp_member_t *member, hp_space_t space, uint32_t block, bool receives);
} hp_inside_t;

/* NULL: intra-node messages are direct, or have to be. */
const hp_inside_t *hp_inside_of(const hp_problem_t *problem);
/* What it solves in that node. */
hp_problem_t hp_inside_problem(const hp_problem_t *problem, uint32_t node);
/* Its schedule of a member, of positions that count from the node's first. */
hp_status_t hp_inside_make(hp_schedule_t *schedule, const hp_member_t *member);
/* Blocks that one of the inner algorithm stands for. */
uint32_t hp_inside_slot(const hp_problem_t *problem);

#endif
