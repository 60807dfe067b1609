/* tree: a tree over the positions in preorder, the root at its top: one generator for each shape of topo_tree/shape.h
 * (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, 2005; the
 * pipelines: X. Luo et al., ADAPT: An Event-Based Adaptive Collective Communication Framework, HPDC 2018).
 *
 * Down: what comes from the parent goes on to the children, the largest subtree first. Up: a position reduces, or
 * gathers, what its children have, in the order of the positions, then sends it to its parent. An allreduce or a
 * barrier goes up and down again; an allgather is a gather and a bcast. The vector is cut into blocks that follow each
 * other through the tree. Rounds: the depth, and blocks - 1 more.  Bytes: each link carries the message once; a
 * position sends it to each of its children. Gather and scatter: of each subtree its blocks.
 * Constraints: none. */
#include <stdlib.h>
#include "schedule/generator.h"
#include "topo_tree/shape.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { STREAM_UP, STREAM_DOWN };

typedef struct {
    hp_shape_t shape;
    const hp_problem_t *problem;
    uint32_t me;
    int32_t parent;
    uint32_t *children, child_count; /* ascending */
    uint32_t end;                    /* positions of the subtree: me to end - 1 */
} tree_t;

static uint32_t end_of_subtree(hp_shape_t shape, uint32_t count, uint32_t position, uint32_t *children)
{
    uint32_t last = position, found;
    while ((found = hp_shape_children(shape, count, last, children, count)) > 0)
        last = children[found - 1];
    return last + 1;
}

static bool tree_init(tree_t *tree, hp_shape_t shape, const hp_problem_t *problem, uint32_t me)
{
    *tree = (tree_t){.shape = shape, .problem = problem, .me = me};
    tree->children = malloc(problem->count * sizeof *tree->children);
    if (!tree->children)
        return false;
    tree->parent = hp_shape_parent(shape, problem->count, me);
    tree->end = end_of_subtree(shape, problem->count, me, tree->children);
    tree->child_count = hp_shape_children(shape, problem->count, me, tree->children, problem->count);
    return true;
}

/* ---- one block of a vector ---- */

static void reduce_up(hp_schedule_t *schedule, const tree_t *tree, uint32_t block)
{
    const bool keeps = tree->parent < 0 || tree->problem->pattern == HP_PATTERN_ALLREDUCE;
    const hp_range_t own = hp_range(HP_SPACE_SEND, block, 1);
    const hp_range_t sum = hp_range(keeps ? HP_SPACE_RECV : HP_SPACE_SCRATCH, block, 1);

    schedule->stream = STREAM_UP;
    if (tree->child_count > 0) {
        hp_schedule_local(schedule, tree->me, own, sum, HP_ACTION_STORE);
        if (!keeps)
            schedule->scratch_blocks = schedule->cut;
    }
    for (uint32_t i = 0; i < tree->child_count; i++)
        hp_schedule_receive(schedule, tree->children[i], sum, HP_ACTION_REDUCE_RIGHT);
    if (tree->parent >= 0)
        hp_schedule_send(schedule, (uint32_t)tree->parent, tree->child_count > 0 ? sum : own);
}

static void send_down(hp_schedule_t *schedule, const tree_t *tree, hp_range_t range)
{
    schedule->stream = STREAM_DOWN;
    if (tree->parent >= 0)
        hp_schedule_receive(schedule, (uint32_t)tree->parent, range, HP_ACTION_STORE);
    for (uint32_t i = tree->child_count; i-- > 0;)
        hp_schedule_send(schedule, tree->children[i], range);
}

/* ---- a block of each position ---- */

/* Where an inner position has the blocks of its subtree; block b - start of position b. */
static hp_range_t subtree(const tree_t *tree, hp_space_t whole, uint32_t first, uint32_t end)
{
    const bool has_all = tree->parent < 0 || tree->problem->pattern == HP_PATTERN_ALLGATHER;
    return has_all ? hp_range(whole, first, end - first)
                   : hp_range(HP_SPACE_SCRATCH, first - tree->me, end - first);
}

static uint32_t end_of_child(const tree_t *tree, uint32_t i)
{
    return i + 1 < tree->child_count ? tree->children[i + 1] : tree->end;
}

static void gather_up(hp_schedule_t *schedule, const tree_t *tree)
{
    const bool keeps = tree->parent < 0 || tree->problem->pattern == HP_PATTERN_ALLGATHER;
    const hp_range_t own = hp_range(HP_SPACE_SEND, 0, 1);

    schedule->stream = STREAM_UP;
    if (keeps || tree->child_count > 0) {
        hp_schedule_local(schedule, tree->me, own, subtree(tree, HP_SPACE_RECV, tree->me, tree->me + 1),
                          HP_ACTION_STORE);
        if (!keeps)
            schedule->scratch_blocks = tree->end - tree->me;
    }
    for (uint32_t i = 0; i < tree->child_count; i++)
        hp_schedule_receive(schedule, tree->children[i],
                            subtree(tree, HP_SPACE_RECV, tree->children[i], end_of_child(tree, i)),
                            HP_ACTION_STORE);
    if (tree->parent >= 0)
        hp_schedule_send(schedule, (uint32_t)tree->parent,
                         keeps || tree->child_count > 0 ? subtree(tree, HP_SPACE_RECV, tree->me, tree->end)
                                                        : own);
}

static void scatter_down(hp_schedule_t *schedule, const tree_t *tree)
{
    const hp_range_t own = hp_range(HP_SPACE_RECV, 0, 1);

    schedule->stream = STREAM_DOWN;
    if (tree->child_count == 0) {
        hp_schedule_receive(schedule, (uint32_t)tree->parent, own, HP_ACTION_STORE);
        return;
    }
    if (tree->parent >= 0) {
        schedule->scratch_blocks = tree->end - tree->me;
        hp_schedule_receive(schedule, (uint32_t)tree->parent,
                            subtree(tree, HP_SPACE_SEND, tree->me, tree->end), HP_ACTION_STORE);
    }
    for (uint32_t i = tree->child_count; i-- > 0;)
        hp_schedule_send(schedule, tree->children[i],
                         subtree(tree, HP_SPACE_SEND, tree->children[i], end_of_child(tree, i)));
    hp_schedule_local(schedule, tree->me, subtree(tree, HP_SPACE_SEND, tree->me, tree->me + 1), own,
                      HP_ACTION_STORE);
}

/* ---- the patterns ---- */

static void meet(hp_schedule_t *schedule, const tree_t *tree)
{
    for (uint32_t i = 0; i < tree->child_count; i++)
        hp_schedule_sync(schedule, HP_NO_POSITION, (int32_t)tree->children[i]);
    if (tree->parent >= 0) {
        hp_schedule_sync(schedule, tree->parent, HP_NO_POSITION);
        hp_schedule_sync(schedule, HP_NO_POSITION, tree->parent);
    }
    for (uint32_t i = tree->child_count; i-- > 0;)
        hp_schedule_sync(schedule, (int32_t)tree->children[i], HP_NO_POSITION);
}

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me, hp_shape_t shape)
{
    const hp_pattern_t pattern = problem->pattern;
    tree_t tree;

    if (!tree_init(&tree, shape, problem, me)) {
        schedule->status = HP_ERR_NO_MEM;
        return;
    }
    if (hp_pattern_is(pattern, HP_PATTERN_CUT))
        schedule->cut = problem->parameter[BLOCKS];
    if (pattern == HP_PATTERN_REDUCE || pattern == HP_PATTERN_ALLREDUCE)
        for (uint32_t block = 0; block < schedule->cut; block++)
            reduce_up(schedule, &tree, block);
    if (pattern == HP_PATTERN_BCAST || pattern == HP_PATTERN_ALLREDUCE)
        for (uint32_t block = 0; block < schedule->cut; block++)
            send_down(schedule, &tree, hp_range(HP_SPACE_RECV, block, 1));
    if (pattern == HP_PATTERN_GATHER || pattern == HP_PATTERN_ALLGATHER)
        gather_up(schedule, &tree);
    if (pattern == HP_PATTERN_ALLGATHER)
        send_down(schedule, &tree, hp_range(HP_SPACE_RECV, 0, problem->count));
    if (pattern == HP_PATTERN_SCATTER)
        scatter_down(schedule, &tree);
    if (pattern == HP_PATTERN_BARRIER)
        meet(schedule, &tree);
    free(tree.children);
}

#define X(id, shape, description)                                                                            \
    static void generate_##shape(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)          \
    {                                                                                                        \
        generate(schedule, problem, me, HP_SHAPE_##id);                                                      \
    }                                                                                                        \
    const hp_generator_t hp_generator_##shape = {                                                            \
        .name = #shape,                                                                                      \
        .text = description,                                                                                 \
        .patterns = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE) | HP_SERVES(ALLGATHER) |     \
                    HP_SERVES(GATHER) | HP_SERVES(SCATTER) | HP_SERVES(BARRIER),                             \
        .ordered = HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE),                                                 \
        .parameters = {{"blocks", 1, BLOCKS_MAX, 1, "into so many the vector is cut"}},                      \
        .generate = generate_##shape};
HP_SHAPE_TABLE(X)
#undef X
