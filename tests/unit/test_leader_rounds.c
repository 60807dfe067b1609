/* test_leader_rounds: the rounds of a barrier that all ranks of the nodes lead. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "hier/modules/leader_rounds.h"

enum { NODES_MAX = 130, RANKS_MAX = 40 };

/* heard[n][m]: node n has heard of node m. A round's messages say what the nodes knew before it. */
static bool heard[NODES_MAX][NODES_MAX], before[NODES_MAX][NODES_MAX];

static void run_round(const hp_leader_rounds_t *rounds, uint32_t nodes, uint32_t round)
{
    memcpy(before, heard, sizeof before);
    for (uint32_t leader = 0; leader < rounds->leaders; leader++) {
        const uint32_t distance = hp_leader_rounds_distance(rounds, nodes, round, leader);
        assert_true(distance < nodes);
        for (uint32_t node = 0; node < nodes && distance > 0; node++)
            for (uint32_t of = 0; of < nodes; of++)
                heard[(node + distance) % nodes][of] |= before[node][of];
    }
}

static bool all_heard_of_all(uint32_t nodes)
{
    bool all = true;

    for (uint32_t node = 0; node < nodes; node++)
        for (uint32_t of = 0; of < nodes; of++)
            all &= heard[node][of];
    return all;
}

static uint32_t rounds_of(uint32_t nodes, uint32_t leaders)
{
    uint32_t count = 0;

    for (uint64_t reached = 1; reached < nodes; reached *= leaders + 1)
        count++;
    return count;
}

static void every_node_hears_of_every_node(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= NODES_MAX; nodes++)
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
            const hp_leader_rounds_t rounds = hp_leader_rounds(nodes, ranks);
            assert_true(rounds.leaders <= ranks);
            if (rounds.count == 0) { /* more leaders would save none */
                assert_int_equal(rounds_of(nodes, ranks), rounds_of(nodes, 1));
                continue;
            }
            assert_int_equal(rounds.count, rounds_of(nodes, ranks));
            assert_true(rounds_of(nodes, rounds.leaders - 1) > rounds.count); /* the fewest */
            memset(heard, 0, sizeof heard);
            for (uint32_t node = 0; node < nodes; node++)
                heard[node][node] = true;
            for (uint32_t round = 0; round < rounds.count; round++) {
                assert_false(all_heard_of_all(nodes));
                run_round(&rounds, nodes, round);
            }
            assert_true(all_heard_of_all(nodes));
        }
}

static void who_is_not_among_the_leaders_sends_nothing(void **state)
{
    (void)state;
    const hp_leader_rounds_t rounds = hp_leader_rounds(9, 32);

    assert_int_equal(rounds.count, 1);
    assert_int_equal(rounds.leaders, 8);
    assert_int_equal(hp_leader_rounds_distance(&rounds, 9, 0, 7), 8);
    assert_int_equal(hp_leader_rounds_distance(&rounds, 9, 0, 8), 0);
}

/* Numbers of nodes whose squares are no 32-bit numbers. */
static void many_nodes(void **state)
{
    (void)state;
    const uint32_t nodes = 1000000007;
    const hp_leader_rounds_t rounds = hp_leader_rounds(nodes, 99999);

    assert_int_equal(rounds.count, 2);
    assert_int_equal(rounds.leaders, 31622);
    assert_int_equal(hp_leader_rounds_distance(&rounds, nodes, 1, 31620), 31621u * 31623);
    assert_int_equal(hp_leader_rounds_distance(&rounds, nodes, 1, 31621), 31622u * 31623);
}

static void the_setting_asks_for_them(void **state)
{
    (void)state;
    hp_setting_t setting;

    hp_setting_default(&setting);
    assert_int_equal(hp_leader_rounds_of(16, 16, &setting).count, 0);
    setting.leaders = 2;
    assert_int_equal(hp_leader_rounds_of(16, 16, &setting).count, 1);
    assert_int_equal(hp_leader_rounds_of(16, 16, &setting).leaders, 15);
    assert_int_equal(hp_leader_rounds_of(1, 16, &setting).count, 0);
    assert_int_equal(hp_leader_rounds_of(16, 1, &setting).count, 0);
    setting.modules.module[HP_LEVEL_NODE] = HP_MODULE_NATIVE;
    assert_int_equal(hp_leader_rounds_of(16, 16, &setting).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_hears_of_every_node),
        cmocka_unit_test(who_is_not_among_the_leaders_sends_nothing),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(the_setting_asks_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
