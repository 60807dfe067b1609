#include "counters/cases.h"

#include <string.h>
#include "sim/random_case.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { SMALL_BYTES = 128 << 10, KIB = 1 << 10, MIB = 1 << 20 };

static const layout_t layouts[] = {
    {"1x1", 1, {1}, 1, 0, false, 16 * MIB},
    {"1x4", 1, {4}, 1, 3, false, 16 * MIB},
    {"1x8", 1, {8}, 2, 7, false, 16 * MIB},
    {"4x4", 4, {4}, 2, 7, false, 1 * MIB},
    {"4x4cyclic", 4, {4}, 2, 7, true, SMALL_BYTES},
    {"8x1", 8, {1}, 1, 3, false, 16 * MIB},
    {"5+3+1", 3, {5, 3, 1}, 1, 6, false, SMALL_BYTES},
    {"32x32", 32, {32}, 2, 77, false, SMALL_BYTES},
};

/* Several ranks of each node lead: two rounds, nodes of several sizes, one of a single rank. */
static const layout_t led_by_all[] = {
    {"7x3", 7, {3}, 1, 0, false, 0},         {"4+3+2", 3, {4, 3, 2}, 1, 0, false, 0},
    {"4x4", 4, {4}, 2, 0, false, 0},         {"4x4cyclic", 4, {4}, 2, 0, true, 0},
    {"5+3+1", 3, {5, 3, 1}, 1, 0, false, 0},
};

static uint32_t node_ranks(const layout_t *layout, uint32_t node)
{
    const bool given = node < LAYOUT_NODES_MAX && layout->ranks[node];
    return layout->ranks[given ? node : 0];
}

uint32_t layout_rank_count(const layout_t *layout)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < layout->nodes; node++)
        count += node_ranks(layout, node);
    return count;
}

hp_locality_t *layout_table(const layout_t *layout)
{
    const uint32_t rank_count = layout_rank_count(layout);
    hp_locality_t *table = sim_alloc(rank_count, sizeof *table);
    uint32_t node = 0, place = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const uint64_t package = place * layout->packages / node_ranks(layout, node);
        table[rank] = (hp_locality_t){.id = {node, package, 0, 0, place}};
        if (layout->cyclic) {
            node = (node + 1) % layout->nodes;
            place += node == 0;
        } else if (++place == node_ranks(layout, node)) {
            node++;
            place = 0;
        }
    }
    return table;
}

/* Setting the ranks up takes longer than the collective: there are fewer cases. */
static bool is_large(const layout_t *layout)
{
    return layout->nodes > 16;
}

static const layout_t *layout_named(const char *name)
{
    size_t i = 0;
    while (strcmp(layouts[i].name, name) != 0)
        i++;
    return &layouts[i];
}

/* What a collective is asked for: rooted ones from two roots, reductions with two operations. */
static void visit_variants(case_t c, void (*visit)(const case_t *))
{
    const bool reduces = c.collective == HP_REDUCE || c.collective == HP_ALLREDUCE;
    const bool rooted = c.collective == HP_BCAST || c.collective == HP_REDUCE;
    const uint32_t roots[] = {0, c.layout->other_root};
    for (unsigned commutative = 2; commutative-- > (reduces ? 0 : 1);)
        for (unsigned r = 0; r < (rooted && roots[1] ? 2 : 1); r++) {
            c.commutative = commutative;
            c.root = roots[r];
            visit(&c);
        }
}

/* Every tree shape that somebody would set, a message of four segments the last of which is short. */
static void visit_shapes(void (*visit)(const case_t *))
{
    static const char *const pairs[][2] = {
        {"linear", "linear"},     {"chain", "chain"},       {"binary", "binary"},
        {"binomial", "binomial"}, {"knomial4", "knomial4"}, {"knomial8", "knomial8"},
        {"binary", "linear"},     {"knomial8", "binomial"}, /* chain, linear: visit_modules */
        {"postal", "postal"},
    };
    static const char *const used[] = {"4x4", "8x1", "5+3+1"};
    enum { FOUR_SEGMENTS = 100000 };
    for (unsigned collective = 0; collective < HP_BARRIER; collective++)
        for (size_t p = 0; p < LENGTH(pairs); p++)
            for (size_t u = 0; u < LENGTH(used); u++)
                visit_variants((case_t){.layout = layout_named(used[u]),
                                        .collective = (hp_collective_t)collective,
                                        .wanted = "han:p2p",
                                        .between_nodes = pairs[p][0],
                                        .inside_node = pairs[p][1],
                                        .bytes = FOUR_SEGMENTS},
                               visit);
}

/* Every way to join the nodes other than by a tree's shape. */
static void visit_joins(void (*visit)(const case_t *))
{
    static const char *const used[] = {"4x4", "8x1", "5+3+1"};
    enum { FOUR_SEGMENTS = 100000 };
    for (unsigned collective = 0; collective < HP_PIPELINED_COUNT; collective++)
        for (unsigned word = hp_inter_node_word(HP_INTER_NODE_tree) + 1;
             hp_inter_node(word) != HP_INTER_NODE_NONE; word++)
            for (size_t u = 0; u < LENGTH(used); u++)
                if (collective != HP_BARRIER &&
                    hp_inter_node_serves(hp_inter_node(word), (hp_collective_t)collective))
                    visit_variants((case_t){.layout = layout_named(used[u]),
                                            .collective = (hp_collective_t)collective,
                                            .wanted = "han",
                                            .joined = hp_inter_node_name(hp_inter_node(word)),
                                            .between_nodes = "binary",
                                            .inside_node = "linear",
                                            .bytes = FOUR_SEGMENTS},
                                   visit);
}

/* Large segments inside the nodes, in pieces between them: the last piece of a segment is short. */
static void visit_pieces(void (*visit)(const case_t *))
{
    static const char *const joins[] = {"tree", "double_tree"};
    static const char *const used[] = {"4x4", "8x1", "5+3+1"};
    enum { FOUR_SEGMENTS = 100000 };
    for (unsigned collective = 0; collective < HP_BARRIER; collective++)
        for (size_t j = 0; j < LENGTH(joins); j++)
            for (size_t u = 0; u < LENGTH(used); u++)
                visit_variants((case_t){.layout = layout_named(used[u]),
                                        .collective = (hp_collective_t)collective,
                                        .wanted = "han:shm",
                                        .joined = joins[j],
                                        .pieces = "10000",
                                        .between_nodes = "binary",
                                        .inside_node = "linear",
                                        .bytes = FOUR_SEGMENTS},
                               visit);
}

/* What runs when nobody says otherwise. */
static void visit_rules(void (*visit)(const case_t *))
{
    static const size_t sizes[] = {0, 8, 4 * KIB, SMALL_BYTES, MIB, 16 * MIB};
    for (unsigned collective = 0; collective < HP_PIPELINED_COUNT; collective++)
        for (size_t i = 0; i < LENGTH(layouts); i++)
            for (size_t s = 0; s < LENGTH(sizes) && sizes[s] <= layouts[i].bytes_max; s++)
                if (collective == HP_BARRIER ? sizes[s] == 0 : !is_large(&layouts[i]) || sizes[s] >= 4 * KIB)
                    visit(&(case_t){.layout = &layouts[i],
                                    .collective = (hp_collective_t)collective,
                                    .wanted = "auto",
                                    .bytes = sizes[s],
                                    .commutative = true});
}

/* Every algorithm asked for by name, with small messages. */
static void visit_algorithms(void (*visit)(const case_t *))
{
    static const size_t sizes[] = {16, 4 * KIB};
    for (unsigned a = 0; any_algorithm(a); a++)
        for (size_t i = 0; i < LENGTH(layouts); i++)
            for (size_t s = is_large(&layouts[i]); s < LENGTH(sizes); s++) {
                const case_t c = {.layout = &layouts[i],
                                  .collective = any_algorithm(a)->collective,
                                  .wanted = any_algorithm(a)->name,
                                  .bytes = sizes[s],
                                  .commutative = true};
                if (c.collective == HP_BARRIER)
                    continue;
                if ((layouts[i].ranks[1] || layouts[i].cyclic) && s)
                    visit_variants(c, visit);
                else
                    visit(&c);
            }
}

/* The hierarchical pipeline on every module that the simulation has: small, four segments, and more segments
 * than a rank has slots. The barrier too. */
static void visit_modules(void (*visit)(const case_t *))
{
    static const char *const wanted[] = {"han:p2p", "han:shm", "han:single_copy"};
    static const char *const used[] = {"1x4", "1x8", "4x4", "4x4cyclic", "8x1", "5+3+1"};
    static const size_t sizes[] = {16, 100000, 400000};
    for (unsigned collective = 0; collective < HP_PIPELINED_COUNT; collective++)
        for (size_t w = 0; w < LENGTH(wanted); w++)
            for (size_t u = 0; u < LENGTH(used); u++)
                for (size_t s = 0; s < (collective == HP_BARRIER ? 1 : LENGTH(sizes)); s++)
                    visit_variants((case_t){.layout = layout_named(used[u]),
                                            .collective = (hp_collective_t)collective,
                                            .wanted = wanted[w],
                                            .between_nodes = "chain",
                                            .inside_node = "linear",
                                            .bytes = collective == HP_BARRIER ? 0 : sizes[s]},
                                   visit);
}

/* Reductions along a tree in shared memory. */
static void visit_trees_inside(void (*visit)(const case_t *))
{
    static const char *const shapes[] = {"chain", "binary", "binomial", "postal"};
    static const char *const used[] = {"1x4", "5+3+1"};
    enum { FOUR_SEGMENTS = 100000 };
    for (unsigned collective = HP_REDUCE; collective <= HP_ALLREDUCE; collective++)
        for (size_t s = 0; s < LENGTH(shapes); s++)
            for (size_t u = 0; u < LENGTH(used); u++)
                visit_variants((case_t){.layout = layout_named(used[u]),
                                        .collective = (hp_collective_t)collective,
                                        .wanted = "han:shm",
                                        .between_nodes = "chain",
                                        .inside_node = shapes[s],
                                        .bytes = FOUR_SEGMENTS},
                               visit);
}

static void visit_leaders(void (*visit)(const case_t *))
{
    static const char *const wanted[] = {"han:p2p", "han:shm", "han:single_copy"};
    for (size_t w = 0; w < LENGTH(wanted); w++)
        for (size_t i = 0; i < LENGTH(led_by_all); i++)
            visit(&(case_t){.layout = &led_by_all[i],
                            .collective = HP_BARRIER,
                            .wanted = wanted[w],
                            .between_nodes = "linear",
                            .inside_node = "linear",
                            .leaders = "16",
                            .commutative = true});
}

void cases_visit(void (*visit)(const case_t *c))
{
    visit_rules(visit);
    visit_algorithms(visit);
    visit_shapes(visit);
    visit_joins(visit);
    visit_pieces(visit);
    visit_modules(visit);
    visit_trees_inside(visit);
    visit_leaders(visit);
}
