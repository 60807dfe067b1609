/* tree: a tree over the positions in preorder, the root at its top: one generator for each shape of topo_tree/shape.h
 * (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, 2005; the
 * pipelines: X. Luo et al., ADAPT: An Event-Based Adaptive Collective Communication Framework, HPDC 2018).
 *
 * Down: what comes from the parent goes on to the children, the largest subtree first. Up: a position reduces, or
 * gathers, what its children have, in the order of the positions, then sends it to its parent. An allreduce or a
 * barrier goes up and down again; an allgather is a gather and a bcast, a reduce-scatter a reduce of all blocks and a
 * scatter. The vector is cut into blocks that follow each other through the tree.
 * Rounds: the depth, and blocks - 1 more.  Bytes: each link carries the message once; a position sends it to each of its
 * children. Gather and scatter: of each subtree its blocks.
 * Constraints: none. */
#include <stdlib.h>
#include "schedule/generator.h"
#include "schedule/generators/parts/tree_links.h"
#include "topo_tree/shape.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };

/* The positions of a subtree are its root to one before this. numbers: room for count positions. */
static uint32_t end_of_subtree(hp_shape_t shape, uint32_t count, uint32_t root, uint32_t *numbers)
{
    uint32_t last = root, found;
    while ((found = hp_shape_children(shape, count, last, numbers, count)) > 0)
        last = numbers[found - 1];
    return last + 1;
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, hp_shape_t shape)
{
    uint32_t *numbers = malloc(problem->count * sizeof *numbers);
    hp_subtree_t *children = malloc(problem->count * sizeof *children);

    if (numbers && children) {
        uint32_t end = end_of_subtree(shape, problem->count, me, numbers);
        hp_tree_links_t links = {.parent = hp_shape_parent(shape, problem->count, me),
                                 .own = {.root = me, .first = me, .count = end - me},
                                 .children = children,
                                 .first_is_largest = shape == HP_SHAPE_BINARY};
        links.child_count = hp_shape_children(shape, problem->count, me, numbers, problem->count);
        for (uint32_t i = links.child_count; i-- > 0; end = numbers[i])
            children[i] = (hp_subtree_t){.root = numbers[i], .first = numbers[i], .count = end - numbers[i]};
        if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
            schedule->cut = problem->parameter[BLOCKS];
        hp_schedule_tree(schedule, problem, &links);
    } else {
        schedule->status = HP_ERR_NO_MEM;
    }
    free(children);
    free(numbers);
}

#define X(id, shape, description)                                                                            \
    static void generate_##shape(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)          \
    {                                                                                                        \
        generate(schedule, problem, me, HP_SHAPE_##id);                                                      \
    }                                                                                                        \
    const hp_generator_t hp_generator_##shape = {                                                            \
        .name = #shape,                                                                                      \
        .text = description,                                                                                 \
        .patterns = HP_TREE_PATTERNS,                                                                        \
        .ordered = HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE) | HP_SERVES(REDUCE_SCATTER),                     \
        .direct = HP_SHAPE_##id == HP_SHAPE_LINEAR ? HP_SERVES(GATHER) | HP_SERVES(SCATTER) : 0,             \
        .parameters = {{"blocks", 1, BLOCKS_MAX, 1, "into so many the vector is cut"}},                      \
        .generate = generate_##shape};
HP_SHAPE_TABLE(X)
#undef X
