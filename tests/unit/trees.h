/* trees: networks for tests, and positions on them.
 *
 * Threads: tests are single-threaded. Ownership: trees_t owns its network and machines; fini frees them. */
#ifndef HP_TESTS_UNIT_TREES_H
#define HP_TESTS_UNIT_TREES_H

#include "check.h"
#include "topo_tree/network/placement.h"

typedef struct {
    hp_network_t network;
    uint32_t *machines;
    hp_placement_t placement; /* of both */
} trees_t;

static inline uint32_t trees_add(trees_t *tree, const char *kind, uint32_t number, uint32_t ranks)
{
    char name[24];
    snprintf(name, sizeof name, "%s%u", kind, number);
    const int32_t node = hp_network_add(&tree->network, name, ranks);
    assert_true(node >= 0);
    return (uint32_t)node;
}

static inline void trees_connect(trees_t *tree, uint32_t a, uint32_t b, double rate, double back)
{
    assert_int_equal(hp_network_connect(&tree->network, a, b, (hp_network_speed_t){rate, 1},
                                        (hp_network_speed_t){back, 1}),
                     HP_OK);
}

/* Count positions on machines that are all there. */
static inline void trees_place(trees_t *tree, uint32_t count, hp_placement_order_t order)
{
    uint32_t node;
    assert_int_equal(hp_network_finish(&tree->network, &node), HP_NETWORK_WHOLE);
    tree->machines = calloc(count, sizeof *tree->machines);
    assert_non_null(tree->machines);
    assert_int_equal(hp_placement_lay(&tree->network, count, order, tree->machines), HP_OK);
    tree->placement = (hp_placement_t){&tree->network, tree->machines, count};
}

static inline void trees_fini(trees_t *tree)
{
    hp_network_fini(&tree->network);
    free(tree->machines);
}

/* So many switches of so many hosts each, one behind the other or all around the first. */
typedef enum { TREES_STAR, TREES_CHAIN } trees_shape_t;

static inline void trees_even(trees_t *tree, trees_shape_t shape, uint32_t switches, uint32_t hosts,
                              hp_placement_order_t order)
{
    hp_network_init(&tree->network);
    for (uint32_t s = 0, before = 0; s < switches; s++) {
        const uint32_t node = trees_add(tree, "s", s, 0);
        for (uint32_t h = 0; h < hosts; h++)
            trees_connect(tree, trees_add(tree, "h", s * hosts + h, 1), node, 125, 125);
        if (s > 0)
            trees_connect(tree, before, node, 125, 125);
        before = shape == TREES_STAR && s > 0 ? before : node;
    }
    trees_place(tree, switches * hosts, order);
}

/* A tree whose switches have any number of hosts, some several ranks. rates: of links, drawn from these. */
static inline void trees_random(trees_t *tree, check_random_t *random, uint32_t hosts_max,
                                const double *rates, uint32_t rate_count)
{
    const uint32_t switches = 1 + check_random_below(random, 8);
    const uint32_t hosts = switches + check_random_below(random, hosts_max + 1 - switches);
    uint32_t nodes[8], ranks = 0;

    hp_network_init(&tree->network);
    for (uint32_t s = 0; s < switches; s++) {
        nodes[s] = trees_add(tree, "s", s, 0);
        if (s > 0)
            trees_connect(tree, nodes[s], nodes[check_random_below(random, s)],
                          rates[check_random_below(random, rate_count)],
                          rates[check_random_below(random, rate_count)]);
    }
    for (uint32_t h = 0; h < hosts; h++) {
        const uint32_t on = h < switches ? h : check_random_below(random, switches);
        const uint32_t here = check_random_below(random, 4) ? 1 : 1 + check_random_below(random, 4);
        const double rate = rates[check_random_below(random, rate_count)];
        trees_connect(tree, trees_add(tree, "h", h, here), nodes[on], rate, rate);
        ranks += here;
    }
    trees_place(tree,
                ranks < 2           ? 2
                : ranks < hosts_max ? ranks
                                    : hosts_max,
                (hp_placement_order_t)check_random_below(random, HP_PLACEMENT_ORDERS));
}

/* One for any number of positions, the same for the same number: three uneven switches, some machines with two. */
static inline void trees_any(trees_t *tree, uint32_t count)
{
    hp_network_init(&tree->network);
    const uint32_t switches[3] = {trees_add(tree, "s", 0, 0), trees_add(tree, "s", 1, 0),
                                  trees_add(tree, "s", 2, 0)};
    trees_connect(tree, switches[0], switches[1], 125, 125);
    trees_connect(tree, switches[1], switches[2], 125, 125);
    for (uint32_t h = 0; h < count / 2 + 3; h++)
        trees_connect(tree, trees_add(tree, "h", h, h % 3 == 1 ? 2 : 1), switches[h < 3 ? h : h % 5 % 3], 125,
                      125);
    trees_place(tree, count, HP_PLACEMENT_ROUND_ROBIN);
}

/* That one, kept until the program ends: for tests that go through all algorithms. */
static inline const hp_placement_t *trees_kept(uint32_t count)
{
    enum { COUNT_MAX = 128 };
    static trees_t kept[COUNT_MAX + 1];

    assert_true(count <= COUNT_MAX);
    if (!kept[count].machines)
        trees_any(&kept[count], count);
    return &kept[count].placement;
}

#endif
