/* test_network: trees of switches, the paths on them, and files that describe none. */
#include <math.h>
#include "check.h"
#include "topo_tree/network.h"

static const hp_network_speed_t slow = {1, 1}, fast = {10, 2};

static uint32_t add(hp_network_t *network, const char *name, uint32_t ranks)
{
    const int32_t node = hp_network_add(network, name, ranks);
    assert_true(node >= 0);
    return (uint32_t)node;
}

/* a, b on s0; c on s1; d on s2; s0 - s1 - s2, connected in an order that turns parts around. */
static void chain(hp_network_t *network)
{
    uint32_t node, s[3], machines[4];

    hp_network_init(network);
    for (unsigned i = 0; i < 3; i++)
        s[i] = add(network, (const char *[]){"s0", "s1", "s2"}[i], 0);
    for (unsigned i = 0; i < 4; i++)
        machines[i] = add(network, (const char *[]){"a", "b.cluster", "c", "d"}[i], i + 1);
    assert_int_equal(hp_network_connect(network, machines[3], s[2], slow, fast), HP_OK);
    assert_int_equal(hp_network_connect(network, machines[0], s[0], slow, slow), HP_OK);
    assert_int_equal(hp_network_connect(network, s[0], machines[1], fast, slow), HP_OK);
    assert_int_equal(hp_network_connect(network, s[0], s[1], fast, slow), HP_OK);
    assert_int_equal(hp_network_connect(network, s[2], s[1], slow, fast), HP_OK);
    assert_int_equal(hp_network_connect(network, s[1], machines[2], slow, slow), HP_OK);
    assert_int_equal(hp_network_finish(network, &node), HP_NETWORK_WHOLE);
}

static void assert_path(const hp_network_t *network, uint32_t from, uint32_t to, const char *const *names,
                        const double *rates, uint32_t count)
{
    uint32_t links[16];

    assert_true(hp_network_path_most(network) <= ARRAY_LENGTH(links));
    assert_int_equal(hp_network_path(network, from, to, links), count);
    for (uint32_t i = 0; i < count; i++) {
        const hp_network_link_t link = hp_network_link(network, links[i]);
        assert_true(links[i] < hp_network_links(network));
        assert_string_equal(link.from, names[i]);
        assert_string_equal(link.to, names[i + 1]);
        assert_true(link.speed.rate == rates[i]);
        assert_true(link.speed.latency_us == (rates[i] == fast.rate ? 2 : 1));
    }
}

static void paths(void **state)
{
    hp_network_t network;
    uint32_t link;
    (void)state;

    chain(&network);
    assert_path(&network, 0, 3, (const char *[]){"a", "s0", "s1", "s2", "d"}, (double[]){1, 10, 10, 10}, 4);
    assert_path(&network, 3, 0, (const char *[]){"d", "s2", "s1", "s0", "a"}, (double[]){1, 1, 1, 1}, 4);
    assert_path(&network, 0, 1, (const char *[]){"a", "s0", "b.cluster"}, (double[]){1, 10}, 2);
    assert_path(&network, 1, 2, (const char *[]){"b.cluster", "s0", "s1", "c"}, (double[]){1, 10, 1}, 3);
    assert_int_equal(hp_network_path(&network, 2, 2, &link), 1);
    assert_string_equal(hp_network_link(&network, link).from, "c");
    assert_string_equal(hp_network_link(&network, link).to, "c");
    assert_true(isinf(hp_network_link(&network, link).speed.rate));
    hp_network_fini(&network);
}

static void names(void **state)
{
    hp_network_t network;
    (void)state;

    chain(&network);
    assert_int_equal(hp_network_machine(&network, "c"), 2);
    assert_int_equal(hp_network_machine(&network, "c.cluster"), 2);
    assert_int_equal(hp_network_machine(&network, "b"), 1);
    assert_int_equal(hp_network_machine(&network, "b.elsewhere"), 1);
    assert_int_equal(hp_network_machine(&network, "cc"), -1);
    assert_int_equal(hp_network_machine(&network, "s0"), -1);
    assert_int_equal(hp_network_machine(&network, ""), -1);
    assert_int_equal(hp_network_node(&network, "s2"), 2);
    hp_network_fini(&network);
}

/* Room for 1, 2, 3 and 4 ranks; twice that. */
static void places(void **state)
{
    static const struct {
        uint32_t ranks;
        hp_network_order_t order;
        uint32_t machines[12];
    } cases[] = {{3, HP_NETWORK_BLOCK, {0, 1, 1}},
                 {10, HP_NETWORK_BLOCK, {0, 1, 1, 2, 2, 2, 3, 3, 3, 3}},
                 {10, HP_NETWORK_ROUND_ROBIN, {0, 1, 2, 3, 1, 2, 3, 2, 3, 3}},
                 {12, HP_NETWORK_BLOCK, {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}},
                 {12, HP_NETWORK_ROUND_ROBIN, {0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 1}}};
    hp_network_t network;
    uint32_t machines[12];
    (void)state;

    chain(&network);
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_network_place(&network, cases[i].ranks, cases[i].order, machines);
        assert_memory_equal(machines, cases[i].machines, cases[i].ranks * sizeof *machines);
    }
    hp_network_fini(&network);
}

static void what_is_no_tree(void **state)
{
    static const hp_network_speed_t none = {0, 1}, backwards = {1, -1}, nan = {NAN, 1};
    hp_network_t network;
    uint32_t node, machine, s;
    (void)state;

    chain(&network);
    assert_int_equal(hp_network_connect(&network, 0, 2, slow, slow), HP_ERR_ARG); /* a cycle */
    s = add(&network, "s3", 0);
    assert_int_equal(hp_network_finish(&network, &node), HP_NETWORK_PARTS);
    assert_int_equal(node, s);
    assert_int_equal(hp_network_connect(&network, s, 3, slow, slow), HP_ERR_ARG); /* a machine twice */
    assert_int_equal(hp_network_connect(&network, s, 0, none, slow), HP_ERR_ARG);
    assert_int_equal(hp_network_connect(&network, s, 0, slow, backwards), HP_ERR_ARG);
    assert_int_equal(hp_network_connect(&network, s, 0, nan, slow), HP_ERR_ARG);
    assert_int_equal(hp_network_connect(&network, s, s, slow, slow), HP_ERR_ARG);
    assert_int_equal(hp_network_connect(&network, s, 0, slow, slow), HP_OK);
    assert_int_equal(hp_network_finish(&network, &node), HP_NETWORK_DEAD_END);
    assert_int_equal(node, s);
    machine = add(&network, "e", 1);
    assert_int_equal(hp_network_connect(&network, machine, 3, slow, slow), HP_ERR_ARG); /* two machines */
    assert_int_equal(hp_network_connect(&network, machine, s, slow, slow), HP_OK);
    assert_int_equal(hp_network_finish(&network, &node), HP_NETWORK_WHOLE);
    assert_path(&network, 4, 1, (const char *[]){"e", "s3", "s0", "b.cluster"}, (double[]){1, 1, 10}, 3);
    hp_network_fini(&network);
    hp_network_init(&network);
    assert_int_equal(hp_network_finish(&network, &node), HP_NETWORK_EMPTY);
    hp_network_fini(&network);
}

/* Random trees: a path goes from machine to machine, link by link, never twice over one, and back the same way. */
static void random_trees(void **state)
{
    check_random_t random = check_random_start("random_trees");
    (void)state;

    for (unsigned round = 0; round < 200; round++) {
        const uint32_t switches = 1 + check_random_below(&random, 12), machine_count = switches + 3;
        uint32_t order[16], node, links[64], back[64];
        hp_network_t network;
        hp_network_init(&network);
        for (uint32_t i = 0; i < switches + machine_count; i++) {
            char name[16];
            snprintf(name, sizeof name, "%u", i);
            add(&network, name, i < switches ? 0 : 1);
        }
        for (uint32_t i = 0; i < switches; i++) { /* a link to an earlier one; in any order */
            const uint32_t at = check_random_below(&random, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (uint32_t i = 0; i < switches; i++)
            if (order[i] > 0)
                assert_int_equal(
                    hp_network_connect(&network, order[i], check_random_below(&random, order[i]), slow, slow),
                    HP_OK);
        for (uint32_t i = 0; i < machine_count; i++)
            assert_int_equal(hp_network_connect(&network, i % switches, switches + i, slow, slow), HP_OK);
        assert_int_equal(hp_network_finish(&network, &node), HP_NETWORK_WHOLE);
        for (uint32_t i = 0; i < machine_count * machine_count; i++) {
            const uint32_t from = i / machine_count, to = i % machine_count;
            const uint32_t count = hp_network_path(&network, from, to, links);
            assert_true(count <= hp_network_path_most(&network) && count <= ARRAY_LENGTH(links));
            assert_int_equal(hp_network_path(&network, to, from, back), count);
            const char *at = network.nodes[network.machines[from]].name;
            for (uint32_t k = 0; k < count; k++) {
                const hp_network_link_t link = hp_network_link(&network, links[k]);
                assert_string_equal(link.from, at);
                assert_string_equal(hp_network_link(&network, back[count - 1 - k]).to, at);
                for (uint32_t before = 0; before < k; before++)
                    assert_true(links[before] != links[k]);
                at = link.to;
            }
            assert_string_equal(at, network.nodes[network.machines[to]].name);
        }
        hp_network_fini(&network);
    }
}

/* The latency is that between two machines. */
static void flat(void **state)
{
    hp_network_t network;
    uint32_t links[2];
    (void)state;

    hp_network_init(&network);
    assert_int_equal(hp_network_flat(&network, 3, 2, fast), HP_OK);
    assert_int_equal(network.machine_count, 3);
    assert_int_equal(hp_network_path(&network, 2, 0, links), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(hp_network_link(&network, links[i]).speed.rate == fast.rate);
        assert_true(hp_network_link(&network, links[i]).speed.latency_us == fast.latency_us / 2);
    }
    assert_string_equal(hp_network_link(&network, links[0]).from, "n2");
    assert_string_equal(hp_network_link(&network, links[1]).to, "n0");
    assert_int_equal(network.nodes[network.machines[1]].ranks, 2);
    hp_network_fini(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths),        cmocka_unit_test(names),
                                       cmocka_unit_test(places),       cmocka_unit_test(what_is_no_tree),
                                       cmocka_unit_test(random_trees), cmocka_unit_test(flat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
