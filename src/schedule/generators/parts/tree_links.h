/* tree_links: what a position does in a tree, whatever its shape: data goes up to the root or down from it along the
 * position's links. For generators. Threads: pure. Ownership: the generator's. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_TREE_LINKS_H
#define HP_SCHEDULE_GENERATORS_PARTS_TREE_LINKS_H

#include "schedule/schedule.h"

/* A subtree is a range of positions around the circle of all. */
typedef struct {
    uint32_t root, first, count;
} hp_subtree_t;

typedef struct {
    int32_t parent; /* HP_NO_POSITION: the root */
    hp_subtree_t own;
    const hp_subtree_t
        *children; /* the one that is served last first: data goes up in this order, down in the other */
    uint32_t child_count;
    bool first_is_largest; /* the first child has the largest subtree: a message down goes to it first */
} hp_tree_links_t;

/* One block of the vector: reduced up to the root, in RECV there (everywhere in an allreduce); sent down in RECV. */
void hp_schedule_reduce_up(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links,
                           uint32_t block);
void hp_schedule_send_down(hp_schedule_t *schedule, const hp_tree_links_t *links, hp_range_t range);
/* The whole collective along one tree: any pattern of HP_TREE_PATTERNS. The blocks of a vector, schedule->cut of them,
 * follow each other. */
#define HP_TREE_PATTERNS                                                                                     \
    (HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE) | HP_SERVES(ALLGATHER) |                    \
     HP_SERVES(REDUCE_SCATTER) | HP_SERVES(GATHER) | HP_SERVES(SCATTER) | HP_SERVES(BARRIER))
void hp_schedule_tree(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links);

#endif
