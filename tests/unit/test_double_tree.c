/* test_double_tree: both trees are trees, every position but the root is inner in at most one, the depth is
 * what the head of double_tree.h promises. */
#include "check.h"
#include "topo_tree/double_tree.h"

enum { COUNT_MAX = 300 };

static uint32_t depth_of(uint32_t count, uint32_t position, unsigned tree)
{
    uint32_t depth = 0;
    for (int32_t above = hp_double_tree_links(count, position, tree).parent; above >= 0; depth++) {
        assert_true(depth < count); /* no circle */
        above = hp_double_tree_links(count, (uint32_t)above, tree).parent;
    }
    return depth;
}

static uint32_t floor_log2(uint32_t number)
{
    uint32_t log = 0;
    for (; number >= 2; number /= 2)
        log++;
    return log;
}

/* Parents and children agree, so the links are a tree; counts how often each position is a child. */
static void check_tree(uint32_t count, unsigned tree)
{
    uint32_t links = 0;

    for (uint32_t position = 0; position < count; position++) {
        const hp_double_links_t here = hp_double_tree_links(count, position, tree);
        assert_int_equal(here.parent < 0, position == 0);
        assert_true(here.child_count <= (position == 0 ? 1 : 2));
        for (uint32_t i = 0; i < here.child_count; i++) {
            assert_true(here.children[i] < count);
            assert_int_equal(hp_double_tree_links(count, here.children[i], tree).parent, position);
        }
        links += here.child_count;
        if (count > 1)
            assert_true(depth_of(count, position, tree) <= floor_log2(count - 1) + 2);
    }
    assert_int_equal(links, count - 1);
}

static void trees(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= COUNT_MAX; count++)
        for (unsigned tree = 0; tree < 2; tree++)
            check_tree(count, tree);
}

static void inner_in_one(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= COUNT_MAX; count++)
        for (uint32_t position = 1; position < count; position++)
            assert_true(hp_double_tree_links(count, position, 0).child_count == 0 ||
                        hp_double_tree_links(count, position, 1).child_count == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),
        cmocka_unit_test(inner_in_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
