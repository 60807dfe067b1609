/* test_tune_space: which configurations there are, which are the same, and what the heuristics leave of
 * them. */
#include <math.h>

#include "fixture.h"

static double no_clock(const tune_key_t *key, const tune_config_t *config)
{
    (void)key;
    (void)config;
    return 1;
}

static void test_layouts(void **state)
{
    int node_of[8];
    tune_layout_t layout;
    (void)state;

    assert_true(tune_layout_synthetic("node:2 core:2", node_of, 4));
    assert_int_equal(node_of[1], 0);
    assert_int_equal(node_of[2], 1);
    assert_true(tune_layout_synthetic("node:3 package:2 core:1", node_of, 8)); /* the first node's again */
    assert_int_equal(node_of[5], 2);
    assert_int_equal(node_of[7], 0);
    tune_layout_init(&layout, node_of, 8);
    assert_int_equal(layout.nodes, 3);
    assert_int_equal(layout.least_ranks, 2);
    assert_int_equal(layout.most_ranks, 4);
    assert_false(tune_layout_synthetic("", node_of, 4));
    assert_false(tune_layout_synthetic("node:2 core:x", node_of, 4));
}

static void test_ids_are_unique_and_found(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--leaders=2,4"), no_clock);
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int i = 0; i < fixture.lists[collective].count; i++)
            assert_int_equal(
                tune_space_find(&fixture.lists[collective], fixture.lists[collective].configs[i].id), i);
    assert_int_equal(tune_space_find(&fixture.lists[TUNE_BCAST], "han-ring-shm-4K"), -1); /* allreduce only */
    fixture_fini(&fixture);
}

/* chain, linear, binary, binomial, double_tree: 5 ways, 2 insides, 5 segments; chains and binary trees
 * twice in an allreduce, and what differs on 4 nodes and is no tree; and the MPI's own. */
static void test_counts(void **state)
{
#define BCASTS(name, bcast, reduce, allreduce, tree, nodes)  +(nodes <= most && !(tree) && bcast)
#define DIFFERS(name, bcast, reduce, allreduce, tree, nodes) +(nodes <= most && !(tree) && allreduce)
    int most = 4;
    const int bcasts = 0 BETWEEN_NODES_TABLE(BCASTS), exchanges = 0 BETWEEN_NODES_TABLE(DIFFERS);
    most = 2;
    const int bcasts_of_two = 0 BETWEEN_NODES_TABLE(BCASTS);
#undef BCASTS
#undef DIFFERS
    fixture_t fixture;
    (void)state;

    assert_true(exchanges > 3 && bcasts > 0);
    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_int_equal(fixture.lists[TUNE_BCAST].count, 1 + (5 + bcasts) * 2 * 5);
    assert_int_equal(fixture.lists[TUNE_REDUCE].count, 1 + 5 * 2 * 5);
    assert_int_equal(fixture.lists[TUNE_ALLREDUCE].count, 1 + (5 + 2 + exchanges) * 2 * 5);
    fixture_fini(&fixture);
    fixture_init(&fixture, 2, WORDS("--steps=0"), no_clock); /* all trees of two nodes are a chain */
    assert_int_equal(fixture.lists[TUNE_BCAST].count, 1 + (1 + bcasts_of_two) * 2 * 5);
    fixture_fini(&fixture);
    fixture_init(&fixture, 1, WORDS("--modules=shm", "--segments=4K"), no_clock);
    assert_int_equal(fixture.lists[TUNE_BCAST].count, 3);
    assert_string_equal(fixture.lists[TUNE_BCAST].configs[1].id, "flags");
    assert_string_equal(fixture.lists[TUNE_BCAST].configs[2].id, "han-shm-4K");
    fixture_fini(&fixture);
}

static void test_texts(void **state)
{
    fixture_t fixture;
    char text[TUNE_TEXT_BYTES];
    (void)state;

    fixture_init(&fixture, 8, WORDS("--steps=0"), no_clock);
    const tune_list_t *list = &fixture.lists[TUNE_ALLREDUCE];
    const tune_config_t *config =
        &list->configs[fixture_config(&fixture, TUNE_ALLREDUCE, "han-double_tree-single_copy-64K")];
    tune_config_shapes(config, text);
    assert_string_equal(text, "node:binary package:linear numa:linear l3:linear core:linear");
    tune_config_modules(config, text);
    assert_string_equal(text,
                        "node:p2p package:single_copy numa:single_copy l3:single_copy core:single_copy");
    assert_string_equal(tune_config_between(config), "double_tree");
    tune_bytes_text(96 * KIB, text);
    assert_string_equal(text, "96 KiB");
    tune_bytes_word(1 << 30, text);
    assert_string_equal(text, "1G");
    fixture_fini(&fixture);
}

/* A message of one segment: the shortest segment that holds it, and one root. */
static void test_representatives(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    const tune_list_t *list = &fixture.lists[TUNE_ALLREDUCE];
    const int turns = fixture_config(&fixture, TUNE_ALLREDUCE, "han-chain-t16-shm-64K");
    assert_string_equal(list->configs[tune_space_representative(list, turns, 10000)].id, "han-chain-shm-16K");
    assert_string_equal(list->configs[tune_space_representative(list, turns, 65536)].id, "han-chain-shm-64K");
    assert_int_equal(tune_space_representative(list, turns, 65540), turns);
    assert_int_equal(tune_space_representative(list, 0, 4), 0);
    fixture_fini(&fixture);
}

static bool keeps(const fixture_t *fixture, const char *id, size_t bytes)
{
    const int config = fixture_config(fixture, TUNE_ALLREDUCE, id);
    return tune_heuristics_keep(&fixture->lab.knowledge, TUNE_ALLREDUCE,
                                &fixture->lists[TUNE_ALLREDUCE].configs[config], bytes);
}

static void test_heuristics(void **state)
{
    fixture_t fixture;
    (void)state;

    /* sqrt(1 MiB * 30 us * 119.5 B/us / 3 hops) = 35398 */
    assert_true(fabs(tune_best_segment(MIB, 30, 119.5, 3) - 35398) < 1);
    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_true(keeps(&fixture, "han-chain-t16-shm-16K", MIB));
    assert_true(keeps(&fixture, "han-chain-t16-shm-64K", MIB));
    assert_false(keeps(&fixture, "han-chain-t16-shm-4K", MIB)); /* too short a segment, too long a one */
    assert_false(keeps(&fixture, "han-chain-t16-shm-256K", MIB));
    assert_false(keeps(&fixture, "han-chain-shm-16K", 48 * KIB)); /* three segments for four nodes */
    assert_true(keeps(&fixture, "han-chain-shm-16K", 64 * KIB));
    assert_true(keeps(&fixture, "han-linear-shm-64K", 64 * KIB)); /* whole */
    assert_false(keeps(&fixture, "han-linear-shm-16K", 128 * KIB));
    assert_false(keeps(&fixture, "han-chain-single_copy-16K", MIB));
    assert_true(keeps(&fixture, "han-chain-single_copy-64K", MIB));
    assert_false(keeps(&fixture, "han-recursive_doubling-shm-64K", 128 * KIB));
    assert_false(keeps(&fixture, "han-ring-shm-4K", 4 * KIB));
    assert_true(keeps(&fixture, "han-ring-shm-64K", MIB));
    assert_false(keeps(&fixture, "han-double_tree-shm-16K", MIB)); /* four nodes */
    assert_true(keeps(&fixture, "native", 16 * MIB));
    assert_false(
        keeps(&fixture, "han-chain-shm-64K", 16 * MIB)); /* there are roots in turn; not in a bcast: */
    const int chain = fixture_config(&fixture, TUNE_BCAST, "han-chain-shm-64K");
    assert_true(tune_heuristics_keep(&fixture.lab.knowledge, TUNE_BCAST,
                                     &fixture.lists[TUNE_BCAST].configs[chain], 16 * MIB));
    fixture_fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),         cmocka_unit_test(test_ids_are_unique_and_found),
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_texts),
        cmocka_unit_test(test_representatives), cmocka_unit_test(test_heuristics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
