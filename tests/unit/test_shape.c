/* test_shape: every shape is a tree in preorder with the depth and degree that it promises. */
#include "check.h"
#include "topo_tree/shape.h"

static const uint32_t counts[] = {1,  2,  3,  4,  5,  7,  8,   9,   13,  15,  16,  17,  31,
                                  32, 33, 63, 64, 65, 67, 127, 128, 129, 511, 512, 513, 1000};

static uint32_t floor_log(uint32_t base, uint32_t number)
{
    uint32_t log = 0;
    for (; number >= base; number /= base)
        log++;
    return log;
}

static uint32_t ceil_log(uint32_t base, uint32_t number)
{
    return number > 1 ? floor_log(base, number - 1) + 1 : 0;
}

/* Parents and children agree; the subtree of a position is the range that starts with it. */
static void check_preorder(hp_shape_t shape, uint32_t count)
{
    uint32_t *children = malloc(count * sizeof *children);
    uint32_t *subtree = calloc(count, sizeof *subtree);
    assert_true(children && subtree);
    for (uint32_t position = count; position-- > 0;) {
        uint32_t child_count = hp_shape_children(shape, count, position, children, count);
        uint32_t next = position + 1;
        for (uint32_t i = 0; i < child_count; i++) {
            assert_int_equal(children[i], next);
            assert_int_equal(hp_shape_parent(shape, count, children[i]), position);
            next += subtree[children[i]];
        }
        subtree[position] = next - position;
    }
    assert_int_equal(subtree[0], count);
    assert_int_equal(hp_shape_parent(shape, count, 0), -1);
    free(subtree);
    free(children);
}

static void shapes_are_preorder_trees(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
        for (size_t i = 0; i < ARRAY_LENGTH(counts); i++)
            check_preorder((hp_shape_t)shape, counts[i]);
    }
}

static uint32_t depth_of(hp_shape_t shape, uint32_t count)
{
    uint32_t deepest = 0;
    for (uint32_t position = 0; position < count; position++) {
        uint32_t depth = 0;
        for (int32_t above = (int32_t)position; above > 0; depth++)
            above = hp_shape_parent(shape, count, (uint32_t)above);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void shapes_have_their_depth_and_degree(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        uint32_t count = counts[i];
        assert_int_equal(depth_of(HP_SHAPE_LINEAR, count), count > 1);
        assert_int_equal(depth_of(HP_SHAPE_CHAIN, count), count - 1);
        assert_int_equal(depth_of(HP_SHAPE_BINARY, count), floor_log(2, count));
        assert_in_range(depth_of(HP_SHAPE_BINOMIAL, count), 0, ceil_log(2, count));
        assert_in_range(depth_of(HP_SHAPE_KNOMIAL4, count), 0, ceil_log(4, count));
        assert_in_range(depth_of(HP_SHAPE_KNOMIAL8, count), 0, ceil_log(8, count));

        assert_int_equal(hp_shape_children(HP_SHAPE_LINEAR, count, 0, NULL, 0), count - 1);
        assert_int_equal(hp_shape_children(HP_SHAPE_CHAIN, count, 0, NULL, 0), count > 1);
        assert_int_equal(hp_shape_children(HP_SHAPE_BINOMIAL, count, 0, NULL, 0), ceil_log(2, count));
        assert_in_range(hp_shape_children(HP_SHAPE_KNOMIAL4, count, 0, NULL, 0), 0, 3 * ceil_log(4, count));
        assert_in_range(hp_shape_children(HP_SHAPE_KNOMIAL8, count, 0, NULL, 0), 0, 7 * ceil_log(8, count));
        for (uint32_t position = 0; position < count; position++)
            assert_in_range(hp_shape_children(HP_SHAPE_BINARY, count, position, NULL, 0), 0, 2);
    }
}

static void known_trees(void **state)
{
    (void)state;
    uint32_t children[16];
    static const uint32_t binomial[] = {1, 2, 4, 8}, binary[] = {1, 6}, knomial[] = {1, 2, 3, 4, 8};
    assert_int_equal(hp_shape_children(HP_SHAPE_BINOMIAL, 13, 0, children, 16), 4);
    assert_memory_equal(children, binomial, sizeof binomial);
    assert_int_equal(hp_shape_parent(HP_SHAPE_BINOMIAL, 13, 11), 10);
    assert_int_equal(hp_shape_parent(HP_SHAPE_BINOMIAL, 13, 12), 8);
    assert_int_equal(hp_shape_children(HP_SHAPE_BINARY, 10, 0, children, 16), 2);
    assert_memory_equal(children, binary, sizeof binary);
    assert_int_equal(hp_shape_children(HP_SHAPE_KNOMIAL4, 12, 0, children, 16), 5);
    assert_memory_equal(children, knomial, sizeof knomial);
    assert_int_equal(hp_shape_parent(HP_SHAPE_KNOMIAL4, 12, 11), 8);
    static const uint32_t postal[] = {1, 2, 3,
                                      4, 6, 9}; /* sent to from right to left; round 9 reaches 13 at most */
    assert_int_equal(hp_shape_children(HP_SHAPE_POSTAL, 13, 0, children, 16), 6);
    assert_memory_equal(children, postal, sizeof postal);
    assert_int_equal(hp_shape_parent(HP_SHAPE_POSTAL, 13, 12), 9);
}

/* No tree is done earlier where a message takes as long as four sends: everybody has it by the round that the recurrence says. */
static void postal_is_in_time(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 300; count++) {
        uint32_t arrived[300] = {0}, last = 0, rounds = 0;
        uint64_t reached[64] = {1};
        while (reached[rounds] < count) {
            rounds++;
            reached[rounds] = reached[rounds - 1] + (rounds >= 4 ? reached[rounds - 4] : 0);
        }
        for (uint32_t position = 0; position < count; position++) {
            uint32_t children[64];
            const uint32_t found = hp_shape_children(HP_SHAPE_POSTAL, count, position, children, 64);
            for (uint32_t i = 0; i < found; i++) { /* the last is sent to first */
                arrived[children[i]] = arrived[position] + (found - 1 - i) + 4;
                last = arrived[children[i]] > last ? arrived[children[i]] : last;
            }
        }
        assert_int_equal(last, rounds);
    }
}

static void children_keep_within_capacity(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
        uint32_t all[64], some[64];
        uint32_t count = hp_shape_children((hp_shape_t)shape, 64, 0, all, 64);
        for (uint32_t capacity = 0; capacity <= count; capacity++) {
            memset(some, 0xff, sizeof some);
            assert_int_equal(hp_shape_children((hp_shape_t)shape, 64, 0, some, capacity), count);
            assert_memory_equal(some, all, capacity * sizeof *some);
            assert_int_equal(some[capacity], UINT32_MAX);
        }
    }
}

/* Arithmetic near the largest communicator there can be must not wrap around. */
static void largest_count(void **state)
{
    (void)state;
    const uint32_t count = INT32_MAX;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
        for (uint32_t position = count - 1; position > count - 100; position--) {
            int32_t parent = hp_shape_parent((hp_shape_t)shape, count, position);
            uint32_t child_count = hp_shape_children((hp_shape_t)shape, count, position, NULL, 0);
            assert_in_range(parent, 0, position - 1);
            assert_in_range(child_count, 0, 100);
        }
    }
    assert_int_equal(hp_shape_children(HP_SHAPE_BINOMIAL, count, 0, NULL, 0), 31);
}

static void names(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
        const hp_shape_info_t *info = hp_shape_info((hp_shape_t)shape);
        assert_int_equal(hp_shape_find(info->name), shape);
        assert_true(strlen(info->description) > 0);
    }
    assert_int_equal(hp_shape_find("star"), HP_SHAPE_COUNT);
    assert_int_equal(hp_shape_find(""), HP_SHAPE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_preorder_trees),
        cmocka_unit_test(shapes_have_their_depth_and_degree),
        cmocka_unit_test(known_trees),
        cmocka_unit_test(postal_is_in_time),
        cmocka_unit_test(children_keep_within_capacity),
        cmocka_unit_test(largest_count),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
