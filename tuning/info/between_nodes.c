/* between_nodes: writes the header between_nodes.h: a row for each way to join the nodes that has schedules
 * (hier/call/inter_node.h), and a row for each of them that a collective of blocks has, for programs that know MPI and not
 * the library: hanpmpi_tune and the tests. Run when the library is built. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/knobs.h"
#include "hier/call/inter_node.h"
#include "hier/blocks/generator.h"
#include "topo_tree/network/placement.h"

enum { NODES_MAX = 16 };

/* For the ways that are made for a network. */
static hp_network_t network;
static uint32_t machines[NODES_MAX];
static const hp_placement_t placement = {&network, machines, NODES_MAX};

static bool make_network(void)
{
    for (uint32_t i = 0; i < NODES_MAX; i++)
        machines[i] = i;
    hp_network_init(&network);
    return hp_generator_sample_network(&network, NODES_MAX);
}

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

/* Of one problem, with the parameters of each. */
static bool have_same_messages(const hp_generator_t *one, const hp_problem_t *a, const hp_generator_t *other,
                               const hp_problem_t *b)
{
    hp_schedule_t *mine = hp_schedules_make(one, a);
    hp_schedule_t *theirs = hp_schedules_make(other, b);
    bool same = mine && theirs;

    for (uint32_t me = 0; same && me < a->count; me++)
        same = same_messages(&mine[me], &theirs[me], me);
    hp_schedules_free(mine, a->count);
    hp_schedules_free(theirs, b->count);
    return same;
}

/* Among so many nodes. */
static bool are_same(hp_inter_node_t one, hp_inter_node_t other, uint32_t nodes)
{
    hp_problem_t a, b;

    return hp_inter_node_problem(one, collective_of(one), nodes, false, NULL, &a) &&
           hp_inter_node_problem(other, collective_of(one), nodes, false, NULL, &b) &&
           have_same_messages(hp_inter_node_generator(one), &a, hp_inter_node_generator(other), &b);
}

/* The least number of nodes on which it differs from those before it, and from trees, which are all one chain on two. */
static uint32_t least_nodes(unsigned word)
{
    const hp_inter_node_t self = hp_inter_node(word);

    if (hp_inter_node_generator(self)->placed) /* two have one way, of others the network decides */
        return 3;
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
        hp_inter_node_problem(inter_node, collective, NODES_MAX, false, &placement, &problem))
        cut = hp_schedule_make(&schedule, hp_inter_node_generator(inter_node), &problem, 0) == HP_OK &&
              schedule.cut > 1;
    hp_schedule_fini(&schedule);
    return hp_inter_node_serves(inter_node, collective) + cut;
}

static void write_ways(void)
{
    printf(
        "/* Made by tuning/info/between_nodes.c: the ways to join the nodes, beside trees of a shape:\n"
        " * X(name, bcast, reduce, allreduce, tree, nodes, network): which collectives it does (0: not, 1: "
        "whole\n"
        " * segments, 2: it splits them), whether segments go along trees, the least number of nodes on "
        "which it is no\n"
        " * other of them, and whether it is made for a network. */\n"
        "#define BETWEEN_NODES_TABLE(X)");
    for (unsigned word = hp_inter_node_word(HP_INTER_NODE_tree) + 1;
         hp_inter_node(word) != HP_INTER_NODE_NONE; word++) {
        const hp_inter_node_t way = hp_inter_node(word);
        printf(" \\\n    X(%s, %d, %d, %d, %d, %u, %d)", hp_inter_node_name(way), does(way, HP_BCAST),
               does(way, HP_REDUCE), does(way, HP_ALLREDUCE), hp_inter_node_is_tree(way), least_nodes(word),
               hp_inter_node_generator(way)->placed != 0);
    }
}

/* ---- collectives of blocks ---- */

/* Among so many positions, nodes not told apart. */
static bool serves_flat(hp_inter_node_t way, hp_collective_t collective, uint32_t count,
                        hp_problem_t *problem)
{
    *problem =
        (hp_problem_t){.pattern = hp_collective_pattern(collective), .count = count, .placement = &placement};
    return hp_block_serves(hp_inter_node_generator(way), collective, problem);
}

/* Among nodes of two positions each, whose leaders are so many. */
static bool serves_nodes(hp_inter_node_t way, hp_collective_t collective, uint32_t leaders)
{
    static const uint32_t starts[] = {0, 2, 4, 6, 8};
    hp_problem_t problem = {.pattern = hp_collective_pattern(collective),
                            .count = 8,
                            .node_first = starts,
                            .node_count = 4,
                            .leaders = leaders,
                            .placement = &placement};
    return hp_block_serves(hp_inter_node_generator(way), collective, &problem);
}

/* Does a tree of a shape, where blocks go along trees, have the same messages? */
static bool is_tree_of_shape(hp_inter_node_t way, hp_collective_t collective, const hp_problem_t *problem)
{
    bool same = false;

    for (unsigned shape = 0; shape < HP_SHAPE_COUNT && !same; shape++) {
        const hp_generator_t *tree = hp_inter_node_tree((hp_shape_t)shape);
        hp_problem_t theirs = {.pattern = problem->pattern, .count = problem->count};
        same = hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED) &&
               hp_block_serves(tree, collective, &theirs) &&
               have_same_messages(hp_inter_node_generator(way), problem, tree, &theirs);
    }
    return same;
}

/* The least number of positions on which its messages are no other way's before it. */
static uint32_t least_positions(unsigned word, hp_collective_t collective)
{
    const hp_inter_node_t self = hp_inter_node(word);
    hp_problem_t mine, theirs;

    if (hp_inter_node_is_placed(self, collective))
        return 3;
    for (uint32_t count = 2; count <= NODES_MAX; count++) {
        bool same = !serves_flat(self, collective, count, &mine) || is_tree_of_shape(self, collective, &mine);
        for (unsigned other = hp_inter_node_word(HP_INTER_NODE_tree) + 1; other < word && !same; other++)
            same = serves_flat(hp_inter_node(other), collective, count, &theirs) &&
                   have_same_messages(hp_inter_node_generator(self), &mine,
                                      hp_inter_node_generator(hp_inter_node(other)), &theirs);
        if (!same)
            return count;
    }
    return NODES_MAX;
}

/* The beginning of a row: X(COLLECTIVE, way */
static void begin_row(hp_inter_node_t way, hp_collective_t collective)
{
    printf(" \\\n    X(");
    for (const char *c = hp_collective_name(collective); *c; c++)
        putchar(toupper((unsigned char)*c));
    printf(", %s", hp_inter_node_name(way));
}

static void write_way_of(unsigned word, hp_collective_t collective)
{
    const hp_inter_node_t way = hp_inter_node(word);
    const hp_generator_t *generator = hp_inter_node_generator(way);
    const unsigned bit = 1u << hp_collective_pattern(collective);
    hp_problem_t problem;

    if (!serves_flat(way, collective, 4, &problem))
        return;
    begin_row(way, collective);
    printf(", %u, %d, %u, %d, %d, %d, %d)",
           generator->power_of_two & bit ? 0u
           : generator->even & bit       ? 2u
                                         : 1u,
           (generator->direct & bit) != 0, least_positions(word, collective),
           serves_nodes(way, collective, 1), serves_nodes(way, collective, HP_LEADERS_ALL),
           hp_inter_node_is_placed(way, collective),
           hp_inter_node_runs(generator, hp_collective_pattern(collective)));
}

static void write_parameter(hp_inter_node_t way, hp_collective_t collective, const hp_parameter_t *parameter)
{
    begin_row(way, collective);
    printf(", %s, %u, %u, %u)", parameter->name, parameter->least, parameter->most, parameter->usual);
}

/* What one may choose of it, where a schedule from a file can do the collective. How often a vector is cut is left to
 * segments. Where each block goes straight to its place, and the algorithm does not say how many messages are under way,
 * that is a parameter, too. */
static void write_parameters_of(unsigned word, hp_collective_t collective)
{
    const hp_inter_node_t way = hp_inter_node(word);
    const hp_generator_t *generator = hp_inter_node_generator(way);
    const uint32_t usual = (uint32_t)hp_knob_info(HP_KNOB_ID_messages)->default_value;
    const hp_parameter_t window = {.name = "window", .least = 1, .most = usual, .usual = usual};
    const bool is_direct = generator->direct & 1u << hp_collective_pattern(collective);
    hp_problem_t problem;

    if (!serves_flat(way, collective, 4, &problem) ||
        (hp_collective_is(collective, HP_BLOCKS_DIFFER) && !is_direct))
        return;
    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++)
        if (strcmp(generator->parameters[i].name, "blocks") != 0)
            write_parameter(way, collective, &generator->parameters[i]);
    if (is_direct && !generator->in_flight)
        write_parameter(way, collective, &window);
}

/* A row, or none, for each way of each collective of blocks. */
static void write_rows(void (*write)(unsigned word, hp_collective_t collective))
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++)
        if (hp_collective_is((hp_collective_t)c, HP_OF_BLOCKS))
            for (unsigned word = hp_inter_node_word(HP_INTER_NODE_tree) + 1;
                 hp_inter_node(word) != HP_INTER_NODE_NONE; word++)
                write(word, (hp_collective_t)c);
}

static void write_ways_of_blocks(void)
{
    printf(
        "\n/* Of collectives of blocks: X(COLLECTIVE, way, counts, direct, positions, leader, leaders, "
        "network, "
        "plain):\n"
        " * the number of positions has to be a multiple of counts (0: a power of two), whether no block is\n"
        " * carried by another rank, the least number of positions on which it is no other way of the "
        "collective,\n"
        " * whether it joins nodes of one leader, and of leaders alone, whether it is made for a network, "
        "and "
        "whether it\n"
        " * needs neither scratch nor messages without data. */\n"
        "#define BLOCK_WAYS_TABLE(X)");
    write_rows(write_way_of);
    printf(
        "\n\n/* What one may choose of them: X(COLLECTIVE, way, parameter, least, most, usual). most 0: the "
        "number of\n"
        " * positions. */\n"
        "#define BLOCK_PARAMETERS_TABLE(X)");
    write_rows(write_parameters_of);
    printf("\n");
}

int main(void)
{
    if (!make_network())
        return 1;
    write_ways();
    printf("\n");
    write_ways_of_blocks();
    hp_network_fini(&network);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
