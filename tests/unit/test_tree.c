/* test_tree: the neighbours of all ranks, put together, are the tree that tree.h promises. */
#include <stdbool.h>
#include "places.h"
#include "topo_tree/tree.h"

static const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 127};

static hp_shapes_t same_shape(hp_shape_t shape)
{
    hp_shapes_t shapes;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        shapes.shape[level] = shape;
    return shapes;
}

static hp_shapes_t random_shapes(check_random_t *random)
{
    hp_shapes_t shapes;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        shapes.shape[level] = (hp_shape_t)check_random_below(random, HP_SHAPE_COUNT);
    return shapes;
}

static hp_hierarchy_t *create(uint32_t count, const hp_locality_t *table, bool flat)
{
    hp_hierarchy_t *h = NULL;
    assert_int_equal(hp_hierarchy_create(count, table, PLACES_ALL_LEVELS, flat, &h), HP_OK);
    return h;
}

static hp_neighbors_t *tree_init(const hp_hierarchy_t *h, const hp_shapes_t *shapes, uint32_t root)
{
    uint32_t count = hp_hierarchy_rank_count(h);
    hp_neighbors_t *tree = malloc(count * sizeof *tree);
    assert_non_null(tree);
    for (uint32_t rank = 0; rank < count; rank++)
        assert_int_equal(hp_neighbors_init(&tree[rank], h, shapes, root, rank), HP_OK);
    return tree;
}

static void tree_fini(hp_neighbors_t *tree, uint32_t count)
{
    for (uint32_t rank = 0; rank < count; rank++)
        hp_neighbors_fini(&tree[rank]);
    free(tree);
}

/* Fills order with the ranks from root down, parents first: all of them once, with both ends of a link
 * agreeing. */
static void check_is_tree(const hp_neighbors_t *tree, uint32_t count, uint32_t root, uint32_t *order)
{
    uint32_t reached = 0;
    assert_int_equal(tree[root].parent, -1);
    assert_int_equal(tree[root].parent_level, HP_LEVEL_COUNT);
    order[reached++] = root;
    for (uint32_t i = 0; i < reached; i++) {
        const hp_neighbors_t *links = &tree[order[i]];
        for (uint32_t c = 0; c < links->child_count; c++) {
            uint32_t child = links->children[c];
            assert_true(child < count && reached < count);
            assert_int_equal(tree[child].parent, order[i]);
            assert_int_equal(tree[child].parent_level, links->child_level[c]);
            assert_true(c == 0 || links->child_level[c] >= links->child_level[c - 1]);
            order[reached++] = child;
        }
    }
    /* Each child names the one parent that listed it, so nobody was reached twice unless listed twice by it.
     */
    assert_int_equal(reached, count);
    bool *seen = calloc(count, sizeof *seen);
    assert_non_null(seen);
    for (uint32_t i = 0; i < count; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
}

/* lead[level][rank]: from places_lead. A link from outside enters each group once, and the root's never: so
 * the links that cross between groups of a level are one fewer than the groups, and the root leads its group
 * at every level. */
static void check_enters_groups_once(const hp_neighbors_t *tree, uint32_t count, uint32_t root,
                                     uint32_t *const lead[HP_LEVEL_CORE])
{
    uint32_t *entered = malloc(count * sizeof *entered);
    assert_non_null(entered);
    for (unsigned level = 0; level < HP_LEVEL_CORE; level++) {
        memset(entered, 0, count * sizeof *entered);
        for (uint32_t rank = 0; rank < count; rank++) {
            if (rank != root && lead[level][rank] != lead[level][tree[rank].parent])
                entered[lead[level][rank]]++;
        }
        for (uint32_t rank = 0; rank < count; rank++) {
            if (lead[level][rank] == rank)
                assert_int_equal(entered[rank], rank != lead[level][root]);
        }
    }
    free(entered);
}

/* Every subtree is a range that starts with its top; children cover it from the last to the first. order:
 * parents first. */
static void check_in_rank_order(const hp_neighbors_t *tree, uint32_t count, const uint32_t *order)
{
    uint32_t *size = malloc(count * sizeof *size);
    assert_non_null(size);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t rank = order[i], next = rank + 1;
        for (uint32_t c = tree[rank].child_count; c-- > 0;) {
            assert_int_equal(tree[rank].children[c], next);
            next += size[next];
        }
        size[rank] = next - rank;
    }
    free(size);
}

static void check_machine(uint32_t count, const hp_locality_t *table, const hp_shapes_t *shapes)
{
    hp_hierarchy_t *h = create(count, table, false);
    uint32_t *order = malloc(count * sizeof *order);
    uint32_t *lead[HP_LEVEL_CORE];
    for (unsigned level = 0; level < HP_LEVEL_CORE; level++) {
        lead[level] = malloc(count * sizeof *lead[level]);
        for (uint32_t rank = 0; rank < count; rank++)
            lead[level][rank] = places_lead(table, (hp_level_t)level, rank);
    }
    for (uint32_t root = 0; root < count; root++) {
        hp_neighbors_t *tree = tree_init(h, shapes, root);
        check_is_tree(tree, count, root, order);
        check_enters_groups_once(tree, count, root, lead);
        if (root == 0 && hp_hierarchy_is_contiguous(h))
            check_in_rank_order(tree, count, order);
        tree_fini(tree, count);
    }
    for (unsigned level = 0; level < HP_LEVEL_CORE; level++)
        free(lead[level]);
    free(order);
    hp_hierarchy_destroy(h);
}

static void random_machines(void **state)
{
    (void)state;
    check_random_t random = check_random_start(__func__);
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
            hp_locality_t *table = places_random(&random, counts[i]);
            hp_shapes_t same = same_shape((hp_shape_t)shape), mixed = random_shapes(&random);
            check_machine(counts[i], table, &same);
            check_machine(counts[i], table, &mixed);
            free(table);
        }
    }
}

/* Contiguous ranks, uneven at the end of the machine: here root 0 must keep rank order. */
static void regular_machines(void **state)
{
    (void)state;
    static const char *const machines[] = {"core:128", "node:128 core:1", "node:3 core:43",
                                           "node:4 package:2 core:16", "node:2 package:2 numa:3 l3:2 core:6"};
    check_random_t random = check_random_start(__func__);
    for (size_t m = 0; m < ARRAY_LENGTH(machines); m++) {
        for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
            hp_locality_t *table = places_synthetic(machines[m], counts[i]);
            hp_hierarchy_t *h = create(counts[i], table, false);
            assert_true(hp_hierarchy_is_contiguous(h));
            hp_hierarchy_destroy(h);
            hp_shapes_t shapes = random_shapes(&random);
            check_machine(counts[i], table, &shapes);
            free(table);
        }
    }
}

static uint32_t count_links(const hp_neighbors_t *tree, uint32_t count, hp_level_t level)
{
    uint32_t links = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        links += tree[rank].parent_level == level;
    return links;
}

/* Luo 2020, figure 4.3 (links by kind) and, with three nodes, figures 4.4 and 4.5 (root 14). */
static void the_papers_example(void **state)
{
    (void)state;
    hp_shapes_t linear = same_shape(HP_SHAPE_LINEAR);
    hp_locality_t *table = places_synthetic("node:2 package:2 core:4", 16);
    hp_hierarchy_t *h = create(16, table, false);
    hp_neighbors_t *tree = tree_init(h, &linear, 0);
    assert_int_equal(count_links(tree, 16, HP_LEVEL_NODE), 1);
    assert_int_equal(count_links(tree, 16, HP_LEVEL_PACKAGE), 2);
    assert_int_equal(count_links(tree, 16, HP_LEVEL_CORE), 12);
    tree_fini(tree, 16);
    hp_hierarchy_destroy(h);
    free(table);

    table = places_synthetic("node:3 package:2 core:4", 24);
    h = create(24, table, false);
    tree = tree_init(h, &linear, 14);
    /* Nodes 0 and 2, package 2 of this node, then the ranks of its package: 12, 13, 15 in the ring after 14.
     */
    static const uint32_t children[] = {0, 16, 8, 13, 12, 15};
    assert_int_equal(tree[14].child_count, ARRAY_LENGTH(children));
    assert_memory_equal(tree[14].children, children, sizeof children);
    assert_int_equal(tree[12].child_count, 0);
    assert_int_equal(tree[8].parent, 14);
    assert_int_equal(tree[8].parent_level, HP_LEVEL_PACKAGE);
    assert_int_equal(tree[4].parent, 0);
    tree_fini(tree, 24);
    hp_hierarchy_destroy(h);
    free(table);
}

/* A chain closes to a ring: whoever is the root, the parent is the rank before. */
static void a_chain_is_rotated(void **state)
{
    (void)state;
    enum { COUNT = 13 };
    hp_shapes_t chain = same_shape(HP_SHAPE_CHAIN);
    hp_locality_t *table = places_synthetic("node:4 core:4", COUNT);
    hp_hierarchy_t *h = create(COUNT, table, true);
    for (uint32_t root = 0; root < COUNT; root++) {
        hp_neighbors_t *tree = tree_init(h, &chain, root);
        for (uint32_t rank = 0; rank < COUNT; rank++)
            assert_int_equal(tree[rank].parent, rank == root ? -1 : (int)((rank + COUNT - 1) % COUNT));
        tree_fini(tree, COUNT);
    }
    hp_hierarchy_destroy(h);
    free(table);
}

/* If a rank's neighbours took a look at every rank, the loops over ranks here would run past the test's time
 * limit. */
static void large_trees(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    static const char *const machines[] = {"node:1000 package:2 core:50", "core:100000"};
    uint32_t *order = malloc(COUNT * sizeof *order);
    assert_non_null(order);
    for (size_t m = 0; m < ARRAY_LENGTH(machines); m++) {
        hp_locality_t *table = places_synthetic(machines[m], COUNT);
        hp_hierarchy_t *h = create(COUNT, table, false);
        for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
            hp_shapes_t shapes = same_shape((hp_shape_t)shape);
            hp_neighbors_t *tree = tree_init(h, &shapes, COUNT / 3);
            check_is_tree(tree, COUNT, COUNT / 3, order);
            tree_fini(tree, COUNT);
        }
        hp_hierarchy_destroy(h);
        free(table);
    }
    free(order);
}

static void bad_arguments(void **state)
{
    (void)state;
    hp_neighbors_t neighbors;
    hp_shapes_t shapes = same_shape(HP_SHAPE_CHAIN);
    hp_locality_t *table = places_synthetic("core:4", 4);
    hp_hierarchy_t *h = create(4, table, false);
    assert_int_equal(hp_neighbors_init(&neighbors, h, &shapes, 4, 0), HP_ERR_ARG);
    assert_int_equal(hp_neighbors_init(&neighbors, h, &shapes, 0, 4), HP_ERR_ARG);
    shapes.shape[HP_LEVEL_CORE] = HP_SHAPE_COUNT;
    assert_int_equal(hp_neighbors_init(&neighbors, h, &shapes, 0, 0), HP_ERR_ARG);
    assert_null(neighbors.children);
    hp_neighbors_fini(&neighbors);
    hp_hierarchy_destroy(h);
    free(table);
}

static void shapes_parsed(void **state)
{
    (void)state;
    char error[256];
    hp_shapes_t shapes = same_shape(HP_SHAPE_LINEAR);
    assert_int_equal(hp_shapes_parse("", &shapes, error, sizeof error), HP_OK);
    assert_int_equal(shapes.shape[HP_LEVEL_NODE], HP_SHAPE_LINEAR);
    assert_int_equal(hp_shapes_parse("core:binary, node:knomial8", &shapes, error, sizeof error), HP_OK);
    assert_int_equal(shapes.shape[HP_LEVEL_NODE], HP_SHAPE_KNOMIAL8);
    assert_int_equal(shapes.shape[HP_LEVEL_PACKAGE], HP_SHAPE_LINEAR);
    assert_int_equal(shapes.shape[HP_LEVEL_CORE], HP_SHAPE_BINARY);
}

static void shapes_refused(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"node", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"node:", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"node:star", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"node:chain4", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"node:chain:chain", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"node:averyveryverylongname", "linear, chain, binary, binomial, knomial4, knomial8, postal"},
        {"rack:chain", "accepted are node, package, numa, l3, core"},
        {"core:chain rack", "accepted are node, package, numa, l3, core"},
        {"node:chain node:linear", "named twice"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        char error[256] = "";
        hp_shapes_t shapes = same_shape(HP_SHAPE_KNOMIAL4), before = shapes;
        if (hp_shapes_parse(refused[i][0], &shapes, error, sizeof error) != HP_ERR_ARG)
            fail_msg("'%s' was accepted", refused[i][0]);
        if (strstr(error, refused[i][1]) == NULL)
            fail_msg("'%s' was refused with '%s'", refused[i][0], error);
        assert_memory_equal(&shapes, &before, sizeof before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_machines),    cmocka_unit_test(regular_machines),
        cmocka_unit_test(the_papers_example), cmocka_unit_test(a_chain_is_rotated),
        cmocka_unit_test(large_trees),        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(shapes_parsed),      cmocka_unit_test(shapes_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
