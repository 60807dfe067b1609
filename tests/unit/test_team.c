/* test_team: every member of a team has the same picture of it, whoever leads: random tables, every root,
 * several leaders. */
#include <stdbool.h>
#include "places.h"
#include "topo_tree/team.h"

enum { RANKS_MAX = 24, LEADERS = 5 };

/* Is rank in a team of that depth: does it lead its group one further in? */
static bool is_member(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t rank)
{
    return hp_leader_of(h, leaders, depth + 1, hp_hierarchy_group_of(h, depth + 1, rank)) == rank;
}

static void check_leaders(const hp_hierarchy_t *h, const hp_leaders_t *leaders)
{
    const uint32_t levels = hp_hierarchy_level_count(h);

    for (uint32_t depth = 0; depth <= levels; depth++)
        for (uint32_t group = 0; group < hp_hierarchy_group_count(h, depth); group++) {
            const uint32_t leader = hp_leader_of(h, leaders, depth, group);
            assert_int_equal(hp_hierarchy_group_of(h, depth, leader), group); /* it is in the group */
            for (uint32_t inner = depth; inner <= levels; inner++) /* and leads all of its own within */
                assert_int_equal(hp_leader_of(h, leaders, inner, hp_hierarchy_group_of(h, inner, leader)),
                                 leader);
        }
    assert_int_equal(hp_leader_of(h, leaders, 0, 0), leaders->root);
}

static void check_team(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth, uint32_t rank)
{
    const hp_team_t team = hp_team_of(h, leaders, depth, rank);
    bool seen[RANKS_MAX] = {false};
    uint32_t subgroups;

    assert_int_equal(team.level, hp_hierarchy_level(h, depth));
    hp_hierarchy_subgroups(h, depth, hp_hierarchy_group_of(h, depth, rank), &subgroups);
    assert_int_equal(team.count, subgroups);
    assert_true(team.position < team.count);
    assert_int_equal(hp_team_rank(&team, team.position), rank);
    assert_int_equal(hp_team_rank(&team, 0),
                     hp_leader_of(h, leaders, depth, hp_hierarchy_group_of(h, depth, rank)));
    for (uint32_t position = 0; position < team.count; position++) {
        const uint32_t member = hp_team_rank(&team, position);
        const hp_team_t theirs = hp_team_of(h, leaders, depth, member);
        assert_false(seen[member]);
        seen[member] = true;
        assert_true(is_member(h, leaders, depth, member));
        assert_int_equal(theirs.position, position);
        assert_int_equal(theirs.count, team.count);
        for (uint32_t other = 0; other < team.count; other++)
            assert_int_equal(hp_team_rank(&theirs, other), hp_team_rank(&team, other));
    }
}

/* Parents and children agree; children are in descending order of position. */
static void check_neighbors(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t depth,
                            uint32_t rank, hp_shape_t shape)
{
    const hp_team_t team = hp_team_of(h, leaders, depth, rank);
    uint32_t children[RANKS_MAX];
    const uint32_t count = hp_team_children(&team, shape, children, RANKS_MAX);

    assert_int_equal(hp_team_children(&team, shape, NULL, 0), count);
    assert_int_equal(hp_team_parent(&team, shape) == -1, team.position == 0);
    for (uint32_t i = 0, before = team.count; i < count; i++) {
        const hp_team_t theirs = hp_team_of(h, leaders, depth, children[i]);
        assert_int_equal(hp_team_parent(&theirs, shape), rank);
        assert_true(theirs.position > team.position && theirs.position < before);
        before = theirs.position;
    }
}

static void check_rank(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank)
{
    const uint32_t levels = hp_hierarchy_level_count(h), top = hp_leader_top(h, leaders, rank);

    assert_int_equal(top == 0, rank == leaders->root);
    for (uint32_t depth = 0; depth < levels; depth++) {
        const bool member = depth + 1 >= top; /* what team.h says of the top */
        assert_int_equal(is_member(h, leaders, depth, rank), member);
        if (!member)
            continue;
        check_team(h, leaders, depth, rank);
        check_neighbors(h, leaders, depth, rank, HP_SHAPE_BINOMIAL);
        check_neighbors(h, leaders, depth, rank, HP_SHAPE_BINARY);
    }
}

/* A message goes up from every rank to the root, by the teams' leaders, once through each level. */
static void check_reaches_root(const hp_hierarchy_t *h, const hp_leaders_t *leaders, uint32_t rank)
{
    uint32_t depth = hp_hierarchy_level_count(h);

    for (; depth-- > 0;) {
        const hp_team_t team = hp_team_of(h, leaders, depth, rank);
        rank = hp_team_rank(&team, 0);
    }
    assert_int_equal(rank, leaders->root);
}

static void check_hierarchy(const hp_hierarchy_t *h)
{
    const uint32_t count = hp_hierarchy_rank_count(h);

    for (uint32_t root = 0; root < count; root++)
        for (uint32_t leader = 0; leader < LEADERS && !hp_hierarchy_is_absent(h, root); leader++) {
            const hp_leaders_t leaders = {.root = root, .leader = leader};
            check_leaders(h, &leaders);
            for (uint32_t rank = 0; rank < count; rank++) {
                if (hp_hierarchy_is_absent(h, rank))
                    continue;
                check_rank(h, &leaders, rank);
                check_reaches_root(h, &leaders, rank);
            }
        }
}

static void check_table(check_random_t *random, uint32_t count, const hp_locality_t *table, uint32_t mask)
{
    hp_hierarchy_t *h = NULL;

    assert_int_equal(hp_hierarchy_create(count, table, mask, check_random_below(random, 8) == 0, &h), HP_OK);
    check_hierarchy(h);
    hp_hierarchy_destroy(h);
}

static void teams_agree_on_random_tables(void **state)
{
    (void)state;
    check_random_t random = check_random_start("teams_agree_on_random_tables");
    for (unsigned run = 0; run < 150; run++) {
        const uint32_t count = 1 + check_random_below(&random, RANKS_MAX);
        hp_locality_t *table = places_random(&random, count);
        check_table(&random, count, table, check_random_below(&random, PLACES_ALL_LEVELS + 1));
        free(table);
    }
}

static bool is_in(const uint32_t *ranks, uint32_t count, uint32_t rank)
{
    while (count > 0 && ranks[count - 1] != rank)
        count--;
    return count > 0;
}

/* Nodes that lack a rank come last, in front of the others only where the root is there. */
static void check_without(const hp_hierarchy_t *all, const hp_hierarchy_t *h, const uint32_t *absent,
                          uint32_t absent_count)
{
    const uint32_t count = hp_hierarchy_rank_count(h);
    uint32_t members, nodes = 0, lacking = 0;

    hp_hierarchy_members(h, 0, 0, &members);
    assert_int_equal(members, count - absent_count);
    for (uint32_t rank = 0; rank < count; rank++) {
        bool is_first = !is_in(absent, absent_count, rank), lacks = false;
        assert_int_equal(hp_hierarchy_is_absent(h, rank), !is_first);
        for (uint32_t other = 0; other < count && is_first; other++) {
            if (hp_hierarchy_node_of(all, other) != hp_hierarchy_node_of(all, rank))
                continue;
            lacks |= is_in(absent, absent_count, other);
            is_first &= other >= rank || is_in(absent, absent_count, other);
        }
        nodes += is_first;
        lacking += is_first && lacks;
    }
    assert_int_equal(hp_hierarchy_node_count(h), nodes);
    assert_int_equal(hp_hierarchy_trailing_nodes(h), lacking == nodes ? 0 : lacking);
    for (uint32_t root = 0; root < count; root++) {
        const hp_leaders_t leaders = {.root = root};
        const hp_team_t team = hp_team_of(h, &leaders, 0, root);
        for (uint32_t position = 1; position < team.count && !hp_hierarchy_is_absent(h, root); position++) {
            const uint32_t rank = hp_team_rank(&team, position);
            bool lacks = false;
            for (uint32_t i = 0; i < absent_count; i++)
                lacks |= hp_hierarchy_node_of(all, absent[i]) == hp_hierarchy_node_of(all, rank);
            const bool is_behind =
                position >= team.count - team.trailing + (team.start >= team.count - team.trailing);
            assert_int_equal(lacks && lacking < nodes, is_behind && team.trailing > 0);
        }
    }
}

static void teams_agree_without_some_ranks(void **state)
{
    (void)state;
    check_random_t random = check_random_start("teams_agree_without_some_ranks");
    for (unsigned run = 0; run < 150; run++) {
        const uint32_t count = 2 + check_random_below(&random, RANKS_MAX - 1);
        const uint32_t levels =
            PLACES_ALL_LEVELS & (check_random_below(&random, PLACES_ALL_LEVELS + 1) | 1u << HP_LEVEL_NODE);
        hp_locality_t *table = places_random(&random, count);
        uint32_t absent[RANKS_MAX], absent_count = 0;
        hp_hierarchy_t *all = NULL, *h = NULL;
        for (uint32_t rank = 0; rank < count && absent_count + 1 < count; rank++)
            if (check_random_below(&random, 5) == 0 || (rank + 1 == count && absent_count == 0))
                absent[absent_count++] = rank;
        assert_int_equal(hp_hierarchy_create(count, table, levels, false, &all), HP_OK);
        assert_int_equal(hp_hierarchy_create_without(all, absent, absent_count, &h), HP_OK);
        check_without(all, h, absent, absent_count);
        check_hierarchy(h);
        assert_int_equal(hp_hierarchy_create_without(all, absent, 0, &all), HP_ERR_ARG);
        hp_hierarchy_destroy(h);
        hp_hierarchy_destroy(all);
        free(table);
    }
}

static void teams_agree_on_machines(void **state)
{
    (void)state;
    static const char *const machines[] = {"node:1 core:8", "node:4 core:1", "node:2 package:2 core:3",
                                           "node:3 package:2 numa:2 l3:1 core:2", "node:2 package:1 core:12"};
    check_random_t random = check_random_start("teams_agree_on_machines");
    for (size_t i = 0; i < ARRAY_LENGTH(machines); i++)
        for (uint32_t count = 1; count <= RANKS_MAX; count += 1 + count / 3) {
            hp_locality_t *table = places_synthetic(machines[i], count);
            check_table(&random, count, table, PLACES_ALL_LEVELS);
            free(table);
        }
}

/* Which ranks leader a node that does not hold the root: one after the other, and around. */
static void leaders_take_turns(void **state)
{
    (void)state;
    enum { COUNT = 12, PER_NODE = 4 };
    hp_locality_t *table = places_synthetic("node:3 package:2 core:2", COUNT);
    hp_hierarchy_t *h = NULL;

    assert_int_equal(hp_hierarchy_create(COUNT, table, PLACES_ALL_LEVELS, false, &h), HP_OK);
    for (uint32_t leader = 0; leader < 2 * PER_NODE; leader++) {
        const hp_leaders_t leaders = {.root = 5, .leader = leader};
        assert_int_equal(hp_leader_of(h, &leaders, 1, 0), leader % PER_NODE);
        assert_int_equal(hp_leader_of(h, &leaders, 1, 1), 5); /* the root's own node */
        assert_int_equal(hp_leader_of(h, &leaders, 1, 2), 2 * PER_NODE + leader % PER_NODE);
    }
    hp_hierarchy_destroy(h);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_agree_on_random_tables),
        cmocka_unit_test(teams_agree_without_some_ranks),
        cmocka_unit_test(teams_agree_on_machines),
        cmocka_unit_test(leaders_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
