#include "schedule/generators/parts/tree_links.h"

enum { STREAM_UP, STREAM_DOWN };

/* What the position brings is reduced with what comes from below, and goes on to the parent. */
static void reduce_range(hp_schedule_t *schedule, const hp_tree_links_t *links, hp_range_t own,
                         hp_range_t sum)
{
    schedule->stream = STREAM_UP;
    if (links->child_count > 0)
        hp_schedule_local(schedule, links->own.root, own, sum, HP_ACTION_STORE);
    for (uint32_t i = 0; i < links->child_count; i++)
        hp_schedule_receive(schedule, links->children[i].root, sum, HP_ACTION_REDUCE_RIGHT);
    if (links->parent >= 0)
        hp_schedule_send(schedule, (uint32_t)links->parent, links->child_count > 0 ? sum : own);
}

/* ---- one block of a vector ---- */

void hp_schedule_reduce_up(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links,
                           uint32_t block)
{
    const bool keeps = links->parent < 0 || problem->pattern == HP_PATTERN_ALLREDUCE;

    reduce_range(schedule, links, hp_range(HP_SPACE_SEND, block, 1),
                 hp_range(keeps ? HP_SPACE_RECV : HP_SPACE_SCRATCH, block, 1));
    if (links->child_count > 0 && !keeps)
        schedule->scratch_blocks = schedule->cut;
}

void hp_schedule_send_down(hp_schedule_t *schedule, const hp_tree_links_t *links, hp_range_t range)
{
    schedule->stream = STREAM_DOWN;
    if (links->parent >= 0)
        hp_schedule_receive(schedule, (uint32_t)links->parent, range, HP_ACTION_STORE);
    for (uint32_t i = 0; i < links->child_count; i++) {
        const uint32_t child = links->first_is_largest ? i : links->child_count - 1 - i;
        hp_schedule_send(schedule, links->children[child].root, range);
    }
}

/* ---- a block of each position ---- */

/* Adds the blocks of a subtree to a list of the last step. Who has the blocks of all positions (or room for them) has them
 * in whole, the others those of their own subtree in scratch, in its order. */
static void add_subtree(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links,
                        hp_space_t whole, const hp_subtree_t *subtree, bool receives)
{
    const bool has_all = links->parent < 0 || problem->pattern == HP_PATTERN_ALLGATHER ||
                         problem->pattern == HP_PATTERN_REDUCE_SCATTER;
    const uint64_t from_own = (uint64_t)subtree->first + problem->count - links->own.first;
    const hp_space_t space = has_all ? whole : HP_SPACE_SCRATCH;
    const uint64_t first = has_all ? subtree->first : from_own;

    if (receives)
        hp_schedule_receives_around(schedule, space, first, subtree->count, problem->count);
    else
        hp_schedule_sends_around(schedule, space, first, subtree->count, problem->count);
}

static void gather_up(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links)
{
    const bool keeps = links->parent < 0 || problem->pattern == HP_PATTERN_ALLGATHER;
    const uint32_t me = links->own.root;
    const hp_subtree_t alone = {.root = me, .first = me, .count = 1};

    schedule->stream = STREAM_UP;
    if (!keeps && links->child_count == 0) {
        hp_schedule_send(schedule, (uint32_t)links->parent, hp_range(HP_SPACE_SEND, 0, 1));
        return;
    }
    if (!keeps)
        schedule->scratch_blocks = links->own.count;
    hp_schedule_step(schedule, (int32_t)me, (int32_t)me, HP_ACTION_STORE);
    hp_schedule_sends(schedule, hp_range(HP_SPACE_SEND, 0, 1));
    add_subtree(schedule, problem, links, HP_SPACE_RECV, &alone, true);
    for (uint32_t i = 0; i < links->child_count; i++) {
        hp_schedule_step(schedule, HP_NO_POSITION, (int32_t)links->children[i].root, HP_ACTION_STORE);
        add_subtree(schedule, problem, links, HP_SPACE_RECV, &links->children[i], true);
    }
    if (links->parent >= 0) {
        hp_schedule_step(schedule, links->parent, HP_NO_POSITION, HP_ACTION_STORE);
        add_subtree(schedule, problem, links, HP_SPACE_RECV, &links->own, false);
    }
}

static void scatter_down(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links,
                         hp_space_t whole)
{
    const uint32_t me = links->own.root;
    const hp_subtree_t alone = {.root = me, .first = me, .count = 1};

    schedule->stream = STREAM_DOWN;
    if (links->child_count == 0) {
        hp_schedule_receive(schedule, (uint32_t)links->parent, hp_range(HP_SPACE_RECV, 0, 1),
                            HP_ACTION_STORE);
        return;
    }
    if (links->parent >= 0) {
        if (whole == HP_SPACE_SEND)
            schedule->scratch_blocks = links->own.count;
        hp_schedule_step(schedule, HP_NO_POSITION, links->parent, HP_ACTION_STORE);
        add_subtree(schedule, problem, links, whole, &links->own, true);
    }
    for (uint32_t i = links->child_count; i-- > 0;) {
        hp_schedule_step(schedule, (int32_t)links->children[i].root, HP_NO_POSITION, HP_ACTION_STORE);
        add_subtree(schedule, problem, links, whole, &links->children[i], false);
    }
    hp_schedule_step(schedule, (int32_t)me, (int32_t)me, HP_ACTION_STORE);
    add_subtree(schedule, problem, links, whole, &alone, false);
    hp_schedule_receives(schedule, hp_range(HP_SPACE_RECV, 0, 1));
}

/* The root reduces the blocks of all positions. */
static void reduce_scatter(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links)
{
    schedule->scratch_blocks = links->child_count > 0 ? problem->count : 0;
    reduce_range(schedule, links, hp_range(HP_SPACE_SEND, 0, problem->count),
                 hp_range(HP_SPACE_SCRATCH, 0, problem->count));
    scatter_down(schedule, problem, links, HP_SPACE_SCRATCH);
}

/* ---- the patterns ---- */

static void meet(hp_schedule_t *schedule, const hp_tree_links_t *links)
{
    for (uint32_t i = 0; i < links->child_count; i++)
        hp_schedule_sync(schedule, HP_NO_POSITION, (int32_t)links->children[i].root);
    if (links->parent >= 0) {
        hp_schedule_sync(schedule, links->parent, HP_NO_POSITION);
        hp_schedule_sync(schedule, HP_NO_POSITION, links->parent);
    }
    for (uint32_t i = links->child_count; i-- > 0;)
        hp_schedule_sync(schedule, (int32_t)links->children[i].root, HP_NO_POSITION);
}

void hp_schedule_tree(hp_schedule_t *schedule, const hp_problem_t *problem, const hp_tree_links_t *links)
{
    const hp_pattern_t pattern = problem->pattern;

    if (pattern == HP_PATTERN_REDUCE || pattern == HP_PATTERN_ALLREDUCE)
        for (uint32_t block = 0; block < schedule->cut; block++)
            hp_schedule_reduce_up(schedule, problem, links, block);
    if (pattern == HP_PATTERN_BCAST || pattern == HP_PATTERN_ALLREDUCE)
        for (uint32_t block = 0; block < schedule->cut; block++)
            hp_schedule_send_down(schedule, links, hp_range(HP_SPACE_RECV, block, 1));
    if (pattern == HP_PATTERN_GATHER || pattern == HP_PATTERN_ALLGATHER)
        gather_up(schedule, problem, links);
    if (pattern == HP_PATTERN_ALLGATHER)
        hp_schedule_send_down(schedule, links, hp_range(HP_SPACE_RECV, 0, problem->count));
    if (pattern == HP_PATTERN_SCATTER)
        scatter_down(schedule, problem, links, HP_SPACE_SEND);
    if (pattern == HP_PATTERN_REDUCE_SCATTER)
        reduce_scatter(schedule, problem, links);
    if (pattern == HP_PATTERN_BARRIER)
        meet(schedule, links);
}
