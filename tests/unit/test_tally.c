/* test_tally: how many ranks of a job there are of each kind, counted in a tree as the handshake does. */
#include "pmpi_wrappers/backend/start/tally.h"
#include "check.h"

/* Rank r is of kind r % kinds. Joins the tallies of all ranks up a binomial tree; returns rank 0's. */
static hp_tally_t of_all(uint32_t ranks, uint32_t kinds)
{
    static hp_tally_t tallies[1024];

    for (uint32_t r = 0; r < ranks; r++) {
        tallies[r] = (hp_tally_t){0};
        hp_tally_add(&tallies[r], 1000 + r % kinds, 1);
    }
    for (uint32_t bit = 1; bit < ranks; bit *= 2)
        for (uint32_t r = 0; r + bit < ranks; r += 2 * bit)
            hp_tally_join(&tallies[r], &tallies[r + bit]);
    return tallies[0];
}

static void all_are_counted(void **state)
{
    (void)state;
    for (uint32_t kinds = 1; kinds <= HP_TALLY_KINDS; kinds += 7) {
        const hp_tally_t all = of_all(1000, kinds);
        assert_int_equal(all.kinds, kinds);
        for (uint32_t k = 0; k < kinds; k++)
            assert_int_equal(hp_tally_ranks(&all, 1000 + k), 1000 / kinds + (k < 1000 % kinds));
        assert_int_equal(hp_tally_ranks(&all, 1), 0);
    }
}

static void too_many_kinds_are_not_known(void **state)
{
    (void)state;
    const hp_tally_t full = of_all(1000, HP_TALLY_KINDS), more = of_all(1000, HP_TALLY_KINDS + 1);
    assert_true(hp_tally_ranks(&full, 1000) > 0);
    assert_int_equal(more.kinds, HP_TALLY_MANY);
    assert_int_equal(hp_tally_ranks(&more, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_counted),
        cmocka_unit_test(too_many_kinds_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
