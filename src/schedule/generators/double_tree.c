/* double_tree: two binary trees over the positions, each of which is a leaf in at least one (P. Sanders, J. Speck,
 * J. L. Traeff, Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan, 2009; topo_tree/double_tree.h).
 *
 * The even blocks of the vector go along one tree, the odd ones along the other: a bcast down, a reduce up, an
 * allreduce up and down again. Each position takes the blocks in their order, so no two wait for each other.
 * Rounds: in the paper's order of messages one a block, after 2 floor(log2 p) + 2 at most for the first; as the blocks
 * come here up to half as many more. An allreduce has both.  Bytes: a position sends and receives the message once (the
 * root of a bcast, too, as it has one child in each tree); allreduce twice.
 * Constraints: a position stands amid its subtree, so the operation must commute. */
#include "topo_tree/double_tree.h"
#include "schedule/generator.h"
#include "schedule/generators/parts/tree_links.h"

enum { BLOCKS, BLOCKS_MAX = 4096 };
enum { TREES = 2 };

static void generate(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me)
{
    hp_tree_links_t links[TREES];
    hp_subtree_t children[TREES][2];

    schedule->cut = problem->parameter[BLOCKS];
    for (unsigned tree = 0; tree < TREES; tree++) {
        const hp_double_links_t found = hp_double_tree_links(problem->count, me, tree);
        for (uint32_t i = 0; i < found.child_count; i++)
            children[tree][i] = (hp_subtree_t){.root = found.children[found.child_count - 1 - i]};
        links[tree] = (hp_tree_links_t){.parent = found.parent,
                                        .own = {.root = me},
                                        .children = children[tree],
                                        .child_count = found.child_count};
    }
    for (uint32_t block = 0; block < schedule->cut && problem->pattern != HP_PATTERN_BCAST; block++)
        hp_schedule_reduce_up(schedule, problem, &links[block % TREES], block);
    for (uint32_t block = 0; block < schedule->cut && problem->pattern != HP_PATTERN_REDUCE; block++)
        hp_schedule_send_down(schedule, &links[block % TREES], hp_range(HP_SPACE_RECV, block, 1));
}

const hp_generator_t hp_generator_double_tree = {
    .name = "double_tree",
    .text = "two binary trees, each for every other block: all links busy in both directions",
    .patterns = HP_SERVES(BCAST) | HP_SERVES(REDUCE) | HP_SERVES(ALLREDUCE),
    .parameters = {{"blocks", 2, BLOCKS_MAX, 2, "into so many the vector is cut"}},
    .generate = generate};
