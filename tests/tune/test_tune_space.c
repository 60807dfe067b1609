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
 * twice in an allreduce, and what differs on 4 nodes and is no tree; what does not cut an allreduce also among the ranks;
 * and the host MPI's. */
static void test_counts(void **state)
{
#define BCASTS(name, bcast, reduce, allreduce, tree, nodes, network)                                         \
    +(nodes <= most && !(tree) && bcast && !(network))
#define DIFFERS(name, bcast, reduce, allreduce, tree, nodes, network)                                        \
    +(nodes <= most && !(tree) && allreduce && !(network))
    int most = 4;
    const int bcasts = 0 BETWEEN_NODES_TABLE(BCASTS), exchanges = 0 BETWEEN_NODES_TABLE(DIFFERS);
    most = 2;
    const int bcasts_of_two = 0 BETWEEN_NODES_TABLE(BCASTS);
#define WHOLE(name, bcast, reduce, allreduce, tree, nodes, network)                                          \
    +(nodes <= 4 && !(tree) && allreduce == 1 && !(network))
    const int among_ranks = 0 BETWEEN_NODES_TABLE(WHOLE);
#undef WHOLE
#undef BCASTS
#undef DIFFERS
    fixture_t fixture;
    (void)state;

    assert_true(exchanges > 3 && bcasts > 0);
    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_int_equal(fixture.lists[TUNE_BCAST].count, 1 + (5 + bcasts) * 2 * 5);
    assert_int_equal(fixture.lists[TUNE_REDUCE].count, 1 + 5 * 2 * 5);
    assert_int_equal(fixture.lists[TUNE_ALLREDUCE].count, 1 + among_ranks + (5 + 2 + exchanges) * 2 * 5);
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

/* The value of a setting; NULL: it has none. */
static const char *setting(const fixture_t *fixture, tune_collective_t collective, const char *id,
                           const char *key)
{
    static tune_setting_t settings[TUNE_SETTINGS_MAX];
    const int config = fixture_config(fixture, collective, id);
    const int count = tune_config_settings(&fixture->lists[collective].configs[config], settings);

    for (int i = 0; i < count; i++)
        if (strcmp(settings[i].key, key) == 0)
            return settings[i].text;
    return NULL;
}

static void test_texts(void **state)
{
    const char *const id = "han-double_tree-single_copy-64K";
    fixture_t fixture;
    char text[TUNE_TEXT_BYTES];
    (void)state;

    fixture_init(&fixture, 8, WORDS("--steps=0"), no_clock);
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, id, "shapes"),
                        "node:binary package:linear numa:linear l3:linear core:linear");
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, id, "modules"),
                        "node:p2p package:single_copy numa:single_copy l3:single_copy core:single_copy");
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, id, "between_nodes"), "double_tree");
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, id, "segment_bytes"), "65536");
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, id, "trees"), "1");
    assert_null(setting(&fixture, TUNE_ALLREDUCE, "native", "leaders"));
    tune_bytes_text(96 * KIB, text);
    assert_string_equal(text, "96 KiB");
    tune_bytes_word(1 << 30, text);
    assert_string_equal(text, "1G");
    fixture_fini(&fixture);
}

/* ---- blocks ---- */

static bool has(const fixture_t *fixture, tune_collective_t collective, const char *id)
{
    return tune_space_find(&fixture->lists[collective], id) >= 0;
}

static void test_blocks_on_nodes(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    for (int collective = TUNE_ALLGATHER; collective < TUNE_COLLECTIVES; collective++) {
        assert_true(has(&fixture, (tune_collective_t)collective, "native"));
        assert_false(has(&fixture, (tune_collective_t)collective, "flags")); /* one node's */
        const bool own_sizes = tune_collective_family((tune_collective_t)collective) == TUNE_OF_OWN_SIZES;
        assert_true(fixture.lists[collective].count >= (own_sizes ? 2 : 5));
    }
    /* Direct messages alone, where a rank knows no other's sizes. */
    assert_true(has(&fixture, TUNE_ALLTOALLV, "flat-pairwise"));
    assert_false(has(&fixture, TUNE_ALLTOALLV, "flat-bruck"));
    assert_true(has(&fixture, TUNE_GATHERV, "flat-linear"));
    assert_false(has(&fixture, TUNE_SCATTERV, "flat-binomial"));
    assert_false(has(&fixture, TUNE_SCATTERV, "han-linear"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "flat-ring"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "han-ring"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "han-bruck-l16"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "han-bruck-l16-knomial4"));
    assert_false(has(&fixture, TUNE_ALLGATHER, "han-bruck-knomial4")); /* where all lead */
    assert_true(has(&fixture, TUNE_ALLGATHER, "flat-pat"));
    assert_false(has(&fixture, TUNE_ALLGATHER, "han-pat")); /* among four it is another one */
    assert_true(has(&fixture, TUNE_ALLTOALL, "han-pairwise-l16-knomial4"));
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-ring"));
    assert_true(has(&fixture, TUNE_REDUCE_SCATTER_BLOCK, "han-pairwise-l16-binomial"));
    assert_true(has(&fixture, TUNE_REDUCE_SCATTER_BLOCK, "han-recursive_halving"));
    assert_false(has(&fixture, TUNE_REDUCE_SCATTER, "han-recursive_halving")); /* no rank knows the sizes */
    assert_true(has(&fixture, TUNE_GATHER, "han-linear-postal"));
    assert_true(has(&fixture, TUNE_GATHER, "flat-postal"));
    assert_false(has(&fixture, TUNE_GATHER, "han-linear-l16"));
    assert_true(has(&fixture, TUNE_SCAN, "han-scan_chain"));
    assert_false(has(&fixture, TUNE_SCAN, "han-scan_chain-l16"));
    assert_int_equal(fixture.lists[TUNE_BARRIER].count, 3);
    assert_true(has(&fixture, TUNE_BARRIER, "han-shm"));
    assert_true(has(&fixture, TUNE_BARRIER, "han-shm-l16"));
    fixture_fini(&fixture);

    fixture_init(&fixture, 3, WORDS("--leaders=1"), no_clock); /* 12 ranks */
    assert_false(has(&fixture, TUNE_ALLGATHER, "flat-recursive_doubling"));
    assert_false(has(&fixture, TUNE_ALLGATHER, "han-recursive_doubling"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "flat-neighbour_exchange"));
    assert_false(has(&fixture, TUNE_ALLGATHER, "han-neighbour_exchange"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "han-ring"));
    assert_false(has(&fixture, TUNE_ALLGATHER, "han-ring-l16"));
    assert_false(has(&fixture, TUNE_BARRIER, "han-shm-l16"));
    fixture_fini(&fixture);

    fixture_init(&fixture, 2, WORDS("--between=bruck,ring"), no_clock); /* two nodes: a ring, too */
    assert_int_equal(fixture.lists[TUNE_ALLGATHER].count,
                     6); /* native, flat twice, han-ring with three sorts of leaders */
    assert_int_equal(fixture.lists[TUNE_ALLTOALL].count, 2);
    assert_false(has(&fixture, TUNE_BARRIER, "han-shm-l16")); /* one round, whoever leads */
    fixture_fini(&fixture);
}

static void test_blocks_on_one_node(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 1, WORDS("--steps=0"), no_clock);
    assert_true(has(&fixture, TUNE_ALLTOALL, "flags") && has(&fixture, TUNE_ALLTOALL, "single_copy"));
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-pairwise"));
    assert_false(has(&fixture, TUNE_ALLTOALL, "han-pairwise"));
    assert_true(has(&fixture, TUNE_SCAN, "flags"));
    assert_false(has(&fixture, TUNE_SCAN, "single_copy"));
    assert_int_equal(fixture.lists[TUNE_BARRIER].count, 2);
    assert_true(has(&fixture, TUNE_BARRIER, "flags"));
    fixture_fini(&fixture);
}

static void test_settings_of_blocks(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    const char *const bruck = "han-bruck-l16-knomial4";
    assert_string_equal(setting(&fixture, TUNE_ALLGATHER, bruck, "between_nodes"), "bruck");
    assert_string_equal(setting(&fixture, TUNE_ALLGATHER, bruck, "shapes"), "core:knomial4");
    assert_string_equal(setting(&fixture, TUNE_ALLGATHER, bruck, "leaders"), "16");
    assert_null(setting(&fixture, TUNE_ALLGATHER, bruck, "segment_bytes"));
    assert_null(setting(&fixture, TUNE_ALLGATHER, bruck, "modules"));
    assert_null(setting(&fixture, TUNE_ALLGATHER, "flat-ring", "shapes"));
    assert_null(setting(&fixture, TUNE_ALLGATHER, "flat-ring", "leaders"));
    assert_string_equal(setting(&fixture, TUNE_GATHER, "flat-binomial", "shapes"), "node:binomial");
    assert_string_equal(setting(&fixture, TUNE_GATHER, "flat-binomial", "between_nodes"), "tree");
    assert_string_equal(setting(&fixture, TUNE_SCATTER, "han-linear-postal", "shapes"),
                        "node:linear core:postal");
    assert_null(setting(&fixture, TUNE_BARRIER, "han-shm", "between_nodes"));
    assert_string_equal(setting(&fixture, TUNE_BARRIER, "han-shm", "modules"),
                        "node:p2p package:shm numa:shm l3:shm core:shm");
    assert_string_equal(setting(&fixture, TUNE_BARRIER, "han-shm", "leaders"), "1");
    assert_string_equal(setting(&fixture, TUNE_BARRIER, "han-shm-l16", "leaders"), "16");
    fixture_fini(&fixture);
}

/* Blocks of 16 ranks: up to 16 MiB together, unless they are asked for. */
static void test_sizes(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--bytes=4,1M,2M,16M"), no_clock);
    assert_int_equal(tune_size_count(&fixture.options, TUNE_BCAST), 4);
    assert_int_equal(tune_size_count(&fixture.options, TUNE_SCAN), 4); /* one block */
    assert_int_equal(tune_size_count(&fixture.options, TUNE_ALLGATHER), 2);
    assert_int_equal(tune_size(&fixture.options, TUNE_ALLGATHER, 1), MIB);
    assert_int_equal(tune_size_count(&fixture.options, TUNE_BARRIER), 1);
    assert_int_equal(tune_size(&fixture.options, TUNE_BARRIER, 0), 0);
    const tune_layout_t large = {.ranks = 4096, .nodes = 1024, .least_ranks = 4, .most_ranks = 4};
    assert_false(tune_options_fit(&fixture.options, &large, false)); /* 4 GiB */
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

static bool keeps_of(const fixture_t *fixture, tune_collective_t collective, const char *id, size_t bytes)
{
    const int config = fixture_config(fixture, collective, id);
    return tune_heuristics_keep(&fixture->lab.knowledge, collective,
                                &fixture->lists[collective].configs[config], bytes);
}

static void test_heuristics_of_blocks(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_true(keeps_of(&fixture, TUNE_ALLTOALL, "flat-bruck", 32 * KIB));
    assert_false(keeps_of(&fixture, TUNE_ALLTOALL, "flat-bruck", 64 * KIB));
    assert_true(keeps_of(&fixture, TUNE_ALLTOALL, "flat-pairwise", MIB));
    assert_true(keeps_of(&fixture, TUNE_ALLGATHER, "flat-bruck", MIB));
    assert_true(keeps_of(&fixture, TUNE_ALLGATHER, "han-bruck-l16-knomial4", 8 * KIB));
    assert_false(keeps_of(&fixture, TUNE_ALLGATHER, "han-bruck-l16-knomial4", 16 * KIB));
    assert_true(keeps_of(&fixture, TUNE_ALLGATHER, "han-bruck-l16", 16 * KIB));
    assert_false(keeps_of(&fixture, TUNE_GATHER, "han-chain", 4));
    assert_true(keeps_of(&fixture, TUNE_BARRIER, "han-shm", 0));
    fixture_fini(&fixture);
    fixture_init(&fixture, 1, WORDS("--steps=0"), no_clock); /* 4 ranks */
    assert_true(keeps_of(&fixture, TUNE_ALLTOALL, "flags", 4 * KIB));
    assert_false(keeps_of(&fixture, TUNE_ALLTOALL, "flags", 8 * KIB));
    assert_true(keeps_of(&fixture, TUNE_ALLGATHER, "flags", 16 * KIB));
    assert_false(keeps_of(&fixture, TUNE_ALLGATHER, "single_copy", KIB));
    fixture_fini(&fixture);
}

static void test_made_for_a_network(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-contention_free"));
    const int bcasts = fixture.lists[TUNE_BCAST].count;
    tune_space_fini(fixture.lists);
    fixture.options.choices.network = true;
    tune_space_init(fixture.lists, &fixture.options.choices, &fixture.layout);
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-contention_free"));
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-contention_free_pairwise"));
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-contention_free_barriers"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "han-depth_first_ring"));
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-depth_first_ring-shm-4K"));
    assert_int_equal(fixture.lists[TUNE_BCAST].count, bcasts + 2 * 2 * 5); /* two: insides, segments */
    fixture_fini(&fixture);
}

/* Of 4 nodes of 4 ranks: parameters of the algorithms among 16 ranks, and allreduces of two of them among the nodes. */
static void test_routines(void **state)
{
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--steps=0"), no_clock);
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-bruck-radix4"));
    assert_false(has(&fixture, TUNE_ALLREDUCE, "han-circulant+ring-shm-64K"));
    fixture_fini(&fixture);
    fixture_init(&fixture, 4, WORDS("--routines", "--collectives=alltoall,allgather,allreduce"), no_clock);
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-bruck"));
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-bruck-radix2")); /* which is usual */
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-bruck-radix16"));
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-bruck-radix32")); /* more than there are ranks */
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-pairwise-window1"));
    assert_true(has(&fixture, TUNE_ALLTOALLV, "flat-pairwise-window8"));
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-pairwise-window16")); /* usual of short blocks alone */
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-bruck-window4"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "flat-pat-aggregate1"));
    assert_true(has(&fixture, TUNE_ALLGATHER, "flat-bine"));
    assert_false(
        has(&fixture, TUNE_ALLGATHER, "flat-bine-blocks2")); /* it has a block for each rank anyway */
    assert_false(has(&fixture, TUNE_ALLREDUCE, "han-circulant+circulant-shm-64K"));
    assert_string_equal(setting(&fixture, TUNE_ALLTOALL, "flat-bruck-radix4", "between_nodes"),
                        "alltoall_bruck_radix4_16");
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-contention_free_barriers-barriers4"));
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-circulant+ring-shm-64K"));
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-rabenseifner+ring-shm-64K"));
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-pairwise+ring-shm-64K"));
    assert_false(has(&fixture, TUNE_ALLREDUCE, "han-bruck+ring-shm-64K")); /* ranks carry others' blocks */
    assert_string_equal(setting(&fixture, TUNE_ALLREDUCE, "han-pairwise+ring-shm-64K", "between_nodes"),
                        "allreduce_pairwise_ring_4");
    tune_space_fini(fixture.lists);
    fixture.options.choices.network = true;
    tune_space_init(fixture.lists, &fixture.options.choices, &fixture.layout);
    assert_true(has(&fixture, TUNE_ALLTOALL, "flat-contention_free_barriers-barriers4"));
    assert_false(has(&fixture, TUNE_ALLTOALL, "flat-contention_free-window4")); /* it has one of its own */
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-contention_free+depth_first_ring-shm-64K"));
    assert_false(has(&fixture, TUNE_ALLREDUCE, "han-contention_free_pairwise+ring-shm-64K"));
    fixture_fini(&fixture);
    fixture_init(&fixture, 3, WORDS("--routines"), no_clock); /* halving needs a power of two */
    assert_true(has(&fixture, TUNE_ALLREDUCE, "han-circulant+ring-shm-64K"));
    assert_false(has(&fixture, TUNE_ALLREDUCE, "han-rabenseifner+ring-shm-64K"));
    fixture_fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_ids_are_unique_and_found),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_representatives),
        cmocka_unit_test(test_heuristics),
        cmocka_unit_test(test_blocks_on_nodes),
        cmocka_unit_test(test_blocks_on_one_node),
        cmocka_unit_test(test_settings_of_blocks),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_heuristics_of_blocks),
        cmocka_unit_test(test_made_for_a_network),
        cmocka_unit_test(test_routines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
