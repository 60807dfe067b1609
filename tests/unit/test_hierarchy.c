/* test_hierarchy: groups against a comparison of everybody with everybody; levels kept and dropped; the
 * parsers of machines and of lists of levels; this machine's locality. */
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "places.h"
#include "topo_tree/hierarchy.h"
#include "topo_tree/tree.h"

static const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 127};

static hp_hierarchy_t *create(uint32_t count, const hp_locality_t *table, uint32_t mask)
{
    hp_hierarchy_t *h = NULL;
    assert_int_equal(hp_hierarchy_create(count, table, mask, false, &h), HP_OK);
    assert_non_null(h);
    return h;
}

/* The levels that are kept, as "node package core". */
static void check_levels(const char *machine, uint32_t count, uint32_t mask, const char *expected)
{
    hp_locality_t *table = places_synthetic(machine, count);
    hp_hierarchy_t *h = create(count, table, mask);
    char levels[64] = "";
    for (uint32_t i = 0; i < hp_hierarchy_level_count(h); i++) {
        strcat(levels, i ? " " : "");
        strcat(levels, hp_level_name(hp_hierarchy_level(h, i)));
    }
    assert_string_equal(levels, expected);
    hp_hierarchy_destroy(h);
    free(table);
}

static void levels_kept(void **state)
{
    (void)state;
    const uint32_t all = PLACES_ALL_LEVELS, node = 1u << HP_LEVEL_NODE, l3 = 1u << HP_LEVEL_L3;
    check_levels("node:2 package:2 core:4", 16, all, "node package core");
    check_levels("node:2 package:2 core:4", 16, node, "node core");
    check_levels("node:2 package:2 core:4", 16, 0, "core");
    /* Unknown L3 caches: what is left of the level are the groups around it. */
    check_levels("node:2 package:2 core:4", 16, l3, "l3 core");
    check_levels("node:2 package:2 numa:2 l3:2 core:2", 32, all, "node package numa l3 core");
    check_levels("node:2 package:2 numa:2 l3:2 core:2", 32, node | l3, "node l3 core");
    /* One node: its packages come first. */
    check_levels("package:2 core:4", 8, all, "package core");
    check_levels("node:2 package:2 core:4", 8, all, "package core");
    /* One NUMA domain a package splits nothing further. */
    check_levels("node:2 package:2 numa:1 core:4", 16, all, "node package core");
    /* Single ranks need no group: the level is called by what tells them apart. */
    check_levels("node:4 core:1", 4, all, "node");
    check_levels("node:2 package:2 core:1", 4, all, "node package");
    check_levels("core:8", 8, all, "core");
    check_levels("node:2 package:2 core:4", 1, all, "core");
    /* More ranks than cores. */
    check_levels("node:2 core:1", 8, all, "node core");
}

/* A package number means something only within its node, whether or not nodes are a level. */
static void masked_levels_still_separate(void **state)
{
    (void)state;
    hp_locality_t *table = places_synthetic("node:2 package:2 core:2", 8);
    for (uint32_t rank = 0; rank < 8; rank++)
        table[rank].id[HP_LEVEL_PACKAGE] %= 2;
    hp_hierarchy_t *h = create(8, table, 1u << HP_LEVEL_PACKAGE);
    assert_int_equal(hp_hierarchy_level(h, 0), HP_LEVEL_PACKAGE);
    assert_int_equal(hp_hierarchy_group_count(h, 1), 4);
    hp_hierarchy_destroy(h);
    free(table);
}

/* Where no level tells nodes apart, all ranks count as one. */
static void ranks_of_a_node(void **state)
{
    (void)state;
    const struct {
        uint32_t mask, depth, count;
    } cases[] = {{PLACES_ALL_LEVELS, 1, 4}, {1u << HP_LEVEL_NODE, 1, 4}, {1u << HP_LEVEL_PACKAGE, 0, 8}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_locality_t *table = places_synthetic("node:2 package:2 core:2", 8);
        hp_hierarchy_t *h = create(8, table, cases[i].mask);
        uint32_t count;
        assert_int_equal(hp_hierarchy_node_depth(h), cases[i].depth);
        const uint32_t *ranks = hp_hierarchy_node_ranks(h, 6, &count);
        assert_int_equal(count, cases[i].count);
        for (uint32_t k = 0; k < count; k++)
            assert_int_equal(ranks[k], 8 - count + k);
        hp_hierarchy_destroy(h);
        free(table);
    }
}

static void check_groups(const hp_hierarchy_t *h, const hp_locality_t *table, uint32_t depth)
{
    uint32_t count = hp_hierarchy_rank_count(h), member_count, next_lead = 0, seen = 0;
    for (uint32_t group = 0; group < hp_hierarchy_group_count(h, depth); group++) {
        const uint32_t *members = hp_hierarchy_members(h, depth, group, &member_count);
        for (uint32_t i = 0; i < member_count; i++) {
            assert_int_equal(hp_hierarchy_group_of(h, depth, members[i]), group);
            assert_true(members[i] >= members[0]);
        }
        seen += member_count;
        if (depth == hp_hierarchy_level_count(h))
            continue;
        uint32_t sub_count, next = hp_hierarchy_subgroups(h, depth, group, &sub_count);
        for (uint32_t i = 0; i < sub_count; i++) {
            uint32_t sub_members;
            assert_ptr_equal(hp_hierarchy_members(h, depth + 1, next + i, &sub_members), members);
            assert_true(i == 0 || members[0] > next_lead);
            next_lead = members[0];
            members += sub_members;
            member_count -= sub_members;
        }
        assert_int_equal(member_count, 0);
    }
    assert_int_equal(seen, count);
    if (depth == 0 || depth == hp_hierarchy_level_count(h))
        return;
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t lead = places_lead(table, hp_hierarchy_level(h, depth - 1), rank);
        uint32_t group = hp_hierarchy_group_of(h, depth, rank);
        assert_int_equal(hp_hierarchy_members(h, depth, group, &member_count)[0], lead);
    }
}

static void check_nodes(const hp_hierarchy_t *h, const hp_locality_t *table)
{
    uint32_t count = hp_hierarchy_rank_count(h), nodes = 0, low = UINT32_MAX, high = 0, min_ranks, max_ranks;
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t lead = places_lead(table, HP_LEVEL_NODE, rank);
        uint32_t node = hp_hierarchy_node_of(h, rank);
        assert_int_equal(hp_hierarchy_node_leader(h, node), lead);
        if (lead != rank)
            continue;
        assert_int_equal(node, nodes++);
        uint32_t size = 0;
        for (uint32_t other = rank; other < count; other++)
            size += table[other].id[HP_LEVEL_NODE] == table[rank].id[HP_LEVEL_NODE];
        low = size < low ? size : low;
        high = size > high ? size : high;
    }
    assert_int_equal(hp_hierarchy_node_count(h), nodes);
    hp_hierarchy_node_sizes(h, &min_ranks, &max_ranks);
    assert_int_equal(min_ranks, low);
    assert_int_equal(max_ranks, high);
    const uint32_t fullest = hp_hierarchy_fullest_node(h);
    for (uint32_t node = 0; node <= fullest; node++)
        assert_int_equal(hp_hierarchy_node_size(h, node) == high, node == fullest);
}

static bool ranges_only(const hp_hierarchy_t *h)
{
    for (uint32_t depth = 1; depth <= hp_hierarchy_level_count(h); depth++) {
        for (uint32_t group = 0; group < hp_hierarchy_group_count(h, depth); group++) {
            uint32_t count, highest = 0;
            const uint32_t *members = hp_hierarchy_members(h, depth, group, &count);
            for (uint32_t i = 0; i < count; i++)
                highest = members[i] > highest ? members[i] : highest;
            if (highest - members[0] + 1 != count)
                return false;
        }
    }
    return true;
}

static void random_tables(void **state)
{
    (void)state;
    check_random_t random = check_random_start(__func__);
    for (unsigned trial = 0; trial < 200; trial++) {
        uint32_t count = counts[trial % ARRAY_LENGTH(counts)];
        hp_locality_t *table = places_random(&random, count);
        hp_hierarchy_t *h = create(count, table, check_random_below(&random, PLACES_ALL_LEVELS + 1));
        assert_int_equal(hp_hierarchy_rank_count(h), count);
        assert_int_equal(hp_hierarchy_group_count(h, hp_hierarchy_level_count(h)), count);
        for (uint32_t depth = 0; depth <= hp_hierarchy_level_count(h); depth++)
            check_groups(h, table, depth);
        for (uint32_t depth = 1; depth <= hp_hierarchy_level_count(h); depth++)
            assert_true(count == 1 ||
                        hp_hierarchy_group_count(h, depth) > hp_hierarchy_group_count(h, depth - 1));
        check_nodes(h, table);
        assert_int_equal(hp_hierarchy_is_contiguous(h), ranges_only(h));
        hp_hierarchy_destroy(h);
        free(table);
    }
}

static void flat_keeps_rank_order(void **state)
{
    (void)state;
    hp_locality_t *table = places_synthetic("node:2 core:4", 8);
    hp_hierarchy_t *h;
    for (uint32_t rank = 0; rank < 8; rank++)
        table[rank].id[HP_LEVEL_NODE] = rank % 2;
    assert_int_equal(hp_hierarchy_create(8, table, PLACES_ALL_LEVELS, true, &h), HP_OK);
    assert_int_equal(hp_hierarchy_level_count(h), 1);
    assert_int_equal(hp_hierarchy_node_count(h), 2);
    assert_true(hp_hierarchy_is_contiguous(h));
    hp_hierarchy_destroy(h);

    h = create(8, table, PLACES_ALL_LEVELS);
    assert_int_equal(hp_hierarchy_level_count(h), 2);
    assert_false(hp_hierarchy_is_contiguous(h));
    hp_hierarchy_destroy(h);
    free(table);
}

static void bad_arguments(void **state)
{
    (void)state;
    hp_hierarchy_t *h = NULL;
    hp_locality_t place = {.id = {0}};
    assert_int_equal(hp_hierarchy_create(0, &place, 0, false, &h), HP_ERR_ARG);
    assert_int_equal(hp_hierarchy_create(UINT32_C(1) << 31, &place, 0, false, &h), HP_ERR_ARG);
    assert_int_equal(hp_hierarchy_create(1, NULL, 0, false, &h), HP_ERR_ARG);
    assert_null(h);
    hp_hierarchy_destroy(NULL);
}

/* The bound is far above what building takes (tens of milliseconds) and far below what a quadratic one would.
 */
static void large_tables_are_built_quickly(void **state)
{
    (void)state;
    enum { COUNT = 100000, CPU_SECONDS = 10 };
    check_random_t random = check_random_start(__func__);
    hp_locality_t *tables[] = {
        places_synthetic("node:1000 package:2 numa:2 l3:5 core:5", COUNT),
        places_synthetic("node:100000 core:1", COUNT),
        places_synthetic("core:100000", COUNT),
        places_random(&random, COUNT),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(tables); i++) {
        clock_t start = clock();
        hp_hierarchy_t *h = create(COUNT, tables[i], PLACES_ALL_LEVELS);
        clock_t spent = clock() - start;
        printf("100000 ranks, %u levels: %.3f s\n", hp_hierarchy_level_count(h),
               (double)spent / CLOCKS_PER_SEC);
        assert_true(spent < (clock_t)CPU_SECONDS * CLOCKS_PER_SEC);
        hp_hierarchy_destroy(h);
        free(tables[i]);
    }
}

static void synthetic_machines(void **state)
{
    (void)state;
    char error[256];
    hp_synthetic_t machine;
    hp_locality_t place;
    assert_int_equal(hp_synthetic_parse("  node:2,package:3\tcore:4 ", &machine, error, sizeof error), HP_OK);
    assert_int_equal(machine.count[HP_LEVEL_NODE], 2);
    assert_int_equal(machine.count[HP_LEVEL_PACKAGE], 3);
    assert_int_equal(machine.count[HP_LEVEL_NUMA], 0);
    assert_int_equal(machine.count[HP_LEVEL_CORE], 4);
    hp_synthetic_locate(&machine, 24 + 12 + 4 + 3, &place); /* second time around, second node */
    assert_int_equal(place.id[HP_LEVEL_NODE], 1);
    assert_int_equal(place.id[HP_LEVEL_PACKAGE], 1);
    assert_true(place.id[HP_LEVEL_NUMA] == HP_ID_UNKNOWN);
    assert_int_equal(place.id[HP_LEVEL_CORE], 7);

    assert_int_equal(hp_synthetic_parse("core:1048576", &machine, error, sizeof error), HP_OK);
    hp_synthetic_locate(&machine, 5, &place);
    assert_int_equal(place.id[HP_LEVEL_NODE], 0);
    assert_int_equal(place.id[HP_LEVEL_CORE], 5);
    assert_int_equal(hp_synthetic_parse("node:2 package:2", &machine, NULL, 0), HP_OK);
    hp_synthetic_locate(&machine, UINT32_MAX, &place);
    assert_int_equal(place.id[HP_LEVEL_NODE], 1);
    assert_int_equal(place.id[HP_LEVEL_PACKAGE], 1);
    assert_true(place.id[HP_LEVEL_CORE] == HP_ID_UNKNOWN);
}

static void synthetic_machines_refused(void **state)
{
    (void)state;
    /* Each text, and what its message must mention. */
    static const char *const refused[][2] = {
        {"", "node:2 package:2 core:4"},
        {" , ", "node:2 package:2 core:4"},
        {"rack:2 core:4", "accepted are node, package, numa, l3, core"},
        {"Node:2", "accepted are node, package, numa, l3, core"},
        {":2", "accepted are node, package, numa, l3, core"},
        {"averyveryverylongname:2", "accepted are node, package, numa, l3, core"},
        {"node:0", "from 1 to 1048576"},
        {"node:1048577", "from 1 to 1048576"},
        {"node:99999999999999999999999", "from 1 to 1048576"},
        {"node:-1", "from 1 to 1048576"},
        {"node:+1", "from 1 to 1048576"},
        {"node:0x10", "from 1 to 1048576"},
        {"node:2x", "from 1 to 1048576"},
        {"node:2:3", "from 1 to 1048576"},
        {"node:", "from 1 to 1048576"},
        {"node", "from 1 to 1048576"},
        {"node:2 node:2", "named twice"},
        {"package:2 node:2", "the order is node, package, numa, l3, core"},
        {"core:4 l3:2", "the order is node, package, numa, l3, core"},
        {"node:2 core:4 junk", "accepted are node, package, numa, l3, core"},
        {"node:2 core:4;", "from 1 to 1048576"},
        {"node:1048576 package:1048576", "at most 2147483647"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        char error[256] = "";
        hp_synthetic_t machine = {{42, 42, 42, 42, 42}}, before = machine;
        if (hp_synthetic_parse(refused[i][0], &machine, error, sizeof error) != HP_ERR_ARG)
            fail_msg("'%s' was accepted", refused[i][0]);
        if (strstr(error, refused[i][1]) == NULL)
            fail_msg("'%s' was refused with '%s'", refused[i][0], error);
        assert_memory_equal(&machine, &before, sizeof before);
        assert_int_equal(hp_synthetic_parse(refused[i][0], &machine, NULL, 0), HP_ERR_ARG);
    }
}

static void lists_of_levels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t mask;
    } accepted[] = {
        {"", 0},
        {" ,", 0},
        {"node", 1u << HP_LEVEL_NODE},
        {"node,package,l3", 1u << HP_LEVEL_NODE | 1u << HP_LEVEL_PACKAGE | 1u << HP_LEVEL_L3},
        {"l3 node", 1u << HP_LEVEL_NODE | 1u << HP_LEVEL_L3},
        {"core", 1u << HP_LEVEL_CORE},
    };
    static const char *const refused[][2] = {
        {"socket", "accepted are node, package, numa, l3, core"},
        {"node:2", "accepted are node, package, numa, l3, core"},
        {"node,nodes", "accepted are node, package, numa, l3, core"},
        {"node;package", "accepted are node, package, numa, l3, core"},
        {"node,node", "named twice"},
    };
    char error[256];
    for (size_t i = 0; i < ARRAY_LENGTH(accepted); i++) {
        uint32_t mask = 4711;
        assert_int_equal(hp_levels_parse(accepted[i].text, &mask, error, sizeof error), HP_OK);
        assert_int_equal(mask, accepted[i].mask);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        uint32_t mask = 4711;
        assert_int_equal(hp_levels_parse(refused[i][0], &mask, error, sizeof error), HP_ERR_ARG);
        assert_non_null(strstr(error, refused[i][1]));
        assert_int_equal(mask, 4711);
    }
}

static void names(void **state)
{
    (void)state;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        assert_int_equal(hp_level_find(hp_level_name((hp_level_t)level)), level);
    assert_int_equal(hp_level_find("socket"), HP_LEVEL_COUNT);
    assert_null(hp_level_name(HP_LEVEL_COUNT));
}

static void this_machine(void **state)
{
    (void)state;
    hp_locality_t place;
    assert_int_equal(hp_locality_read(NULL, NULL, &place), HP_OK);
    assert_true(place.id[HP_LEVEL_NODE] == hp_locality_node_id());
    assert_true(place.id[HP_LEVEL_NODE] != HP_ID_UNKNOWN);

    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) > 1 && CPU_COUNT(&before) == sysconf(_SC_NPROCESSORS_ONLN))
        for (unsigned level = HP_LEVEL_PACKAGE; level < HP_LEVEL_COUNT; level++)
            assert_true(place.id[level] == HP_ID_UNKNOWN); /* bound nowhere: no place on the node */
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &before))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(hp_locality_read(NULL, NULL, &place), HP_OK);
        assert_int_equal(place.id[HP_LEVEL_CORE], cpu);
        break;
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void unreadable_machines(void **state)
{
    (void)state;
    hp_locality_t place;
    memset(&place, 0, sizeof place);
    assert_int_equal(hp_locality_read("/nonexistent/machine.xml", NULL, &place), HP_ERR_TOPOLOGY);
    assert_true(place.id[HP_LEVEL_NODE] == hp_locality_node_id());
    for (unsigned level = HP_LEVEL_PACKAGE; level < HP_LEVEL_COUNT; level++)
        assert_true(place.id[level] == HP_ID_UNKNOWN);
    assert_int_equal(hp_locality_read(NULL, "1000000", &place), HP_ERR_TOPOLOGY);
    assert_int_equal(hp_locality_read(NULL, "", &place), HP_ERR_TOPOLOGY);
    assert_int_equal(hp_locality_read(NULL, "zero", &place), HP_ERR_TOPOLOGY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_kept),
        cmocka_unit_test(masked_levels_still_separate),
        cmocka_unit_test(ranks_of_a_node),
        cmocka_unit_test(random_tables),
        cmocka_unit_test(flat_keeps_rank_order),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(large_tables_are_built_quickly),
        cmocka_unit_test(synthetic_machines),
        cmocka_unit_test(synthetic_machines_refused),
        cmocka_unit_test(lists_of_levels),
        cmocka_unit_test(names),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(unreadable_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
