/* between_nodes: writes the header between_nodes.h: a row for each way to join the nodes that has schedules
 * (hier/call/inter_node.h), for programs that know MPI and not the library: hanpmpi_tune and the tests. Run when the
 * library is built. */
#include <stdio.h>
#include "hier/call/inter_node.h"

enum { NODES_MAX = 16 };

static bool same_step(const hp_schedule_t *a, const hp_step_t *x, const hp_schedule_t *b, const hp_step_t *y)
{
    return x->to == y->to && x->from == y->from &&
           hp_schedule_blocks(a, &x->send) == hp_schedule_blocks(b, &y->send) &&
           hp_schedule_blocks(a, &x->recv) == hp_schedule_blocks(b, &y->recv);
}

/* The next step that has a message. */
static uint32_t next_message(const hp_schedule_t *schedule, uint32_t me, uint32_t step)
{
    while (step < schedule->step_count && schedule->steps[step].to == (int32_t)me)
        step++;
    return step;
}

/* Do the position's messages go the same ways in both? */
static bool same_messages(const hp_schedule_t *a, const hp_schedule_t *b, uint32_t me)
{
    uint32_t i = next_message(a, me, 0), k = next_message(b, me, 0);

    while (i < a->step_count && k < b->step_count && same_step(a, &a->steps[i], b, &b->steps[k])) {
        i = next_message(a, me, i + 1);
        k = next_message(b, me, k + 1);
    }
    return a->cut == b->cut && i == a->step_count && k == b->step_count;
}

/* What tells it from others. */
static hp_collective_t collective_of(hp_inter_node_t inter_node)
{
    return hp_inter_node_serves(inter_node, HP_ALLREDUCE) ? HP_ALLREDUCE : HP_BCAST;
}

/* Among so many nodes. */
static bool are_same(hp_inter_node_t one, hp_inter_node_t other, uint32_t nodes)
{
    hp_problem_t a, b;

    if (!hp_inter_node_problem(one, collective_of(one), nodes, false, &a) ||
        !hp_inter_node_problem(other, collective_of(one), nodes, false, &b))
        return false;
    hp_schedule_t *mine = hp_schedules_make(hp_inter_node_generator(one), &a);
    hp_schedule_t *theirs = hp_schedules_make(hp_inter_node_generator(other), &b);
    bool same = mine && theirs;
    for (uint32_t me = 0; same && me < nodes; me++)
        same = same_messages(&mine[me], &theirs[me], me);
    hp_schedules_free(mine, nodes);
    hp_schedules_free(theirs, nodes);
    return same;
}

/* The least number of nodes on which it differs from those before it, and from trees, which are all one chain on two. */
static uint32_t least_nodes(unsigned word)
{
    const hp_inter_node_t self = hp_inter_node(word);

    for (uint32_t nodes = hp_inter_node_is_tree(self) ? 3 : 2; nodes <= NODES_MAX; nodes++) {
        bool same = false;
        for (unsigned other = hp_inter_node_word(HP_INTER_NODE_tree) + 1; other < word && !same; other++)
            same = are_same(self, hp_inter_node(other), nodes);
        if (!same)
            return nodes;
    }
    return NODES_MAX;
}

/* 0: it does not do the collective; 1: it does; 2: and cuts a segment into parts, so that none of its messages is the
 * whole of it. */
static int does(hp_inter_node_t inter_node, hp_collective_t collective)
{
    hp_problem_t problem;
    hp_schedule_t schedule;
    bool cut = false;

    hp_schedule_init(&schedule);
    if (!hp_inter_node_is_tree(inter_node) && /* which take turns among the segments */
        hp_inter_node_problem(inter_node, collective, NODES_MAX, false, &problem))
        cut = hp_schedule_make(&schedule, hp_inter_node_generator(inter_node), &problem, 0) == HP_OK &&
              schedule.cut > 1;
    hp_schedule_fini(&schedule);
    return hp_inter_node_serves(inter_node, collective) + cut;
}

int main(void)
{
    printf("/* Made by tuning/info/between_nodes.c: the ways to join the nodes, beside trees of a shape:\n"
           " * X(name, bcast, reduce, allreduce, tree, nodes): which collectives it does (0: not, 1: whole "
           "segments, 2:\n"
           " * it splits them), whether segments go along trees, and the least number of nodes on which it "
           "is no "
           "other\n"
           " * of them. */\n"
           "#define BETWEEN_NODES_TABLE(X)");
    for (unsigned word = hp_inter_node_word(HP_INTER_NODE_tree) + 1;
         hp_inter_node(word) != HP_INTER_NODE_NONE; word++) {
        const hp_inter_node_t way = hp_inter_node(word);
        printf(" \\\n    X(%s, %d, %d, %d, %d, %u)", hp_inter_node_name(way), does(way, HP_BCAST),
               does(way, HP_REDUCE), does(way, HP_ALLREDUCE), hp_inter_node_is_tree(way), least_nodes(word));
    }
    printf("\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
