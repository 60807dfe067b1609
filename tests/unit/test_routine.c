/* test_routine: what hanpmpi_tune tries beside the algorithms as they usually are: parameters, and allreduces of two
 * algorithms, of any number of positions. */
#include "check.h"
#include "schedule/file.h"
#include "tune/tasks/routine.h"
#include "trees.h"

/* The generator that is in the text, which hp_schedule_file_parse has verified. NULL: there is no text. */
static hp_generator_t *made(const char *words, hp_pattern_t pattern, uint32_t count)
{
    const hp_problem_t problem = {.pattern = pattern, .count = count, .placement = trees_kept(count)};
    char *text, why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    size_t length;

    const hp_status_t status = hp_routine_write(words, &problem, &text, &length);
    if (status != HP_OK) {
        assert_int_equal(status, HP_ERR_ARG);
        assert_null(text);
        return NULL;
    }
    if (hp_schedule_file_parse("routine.json", text, length, &generator, why, sizeof why) != HP_OK)
        fail_msg("%s of %u: %s", words, count, why);
    assert_int_equal(generator->problem->pattern, pattern);
    assert_int_equal(generator->problem->count, count);
    free(text);
    return generator;
}

static bool is_made(const char *words, hp_pattern_t pattern, uint32_t count)
{
    hp_generator_t *generator = made(words, pattern, count);
    hp_schedule_file_free(generator);
    return generator;
}

/* Messages of a position. */
static uint32_t messages(const char *words, hp_pattern_t pattern, uint32_t count, uint32_t me)
{
    hp_generator_t *generator = made(words, pattern, count);
    uint32_t sent = 0;

    assert_non_null(generator);
    for (uint32_t i = 0; i < generator->schedules[me].step_count; i++) {
        const int32_t to = generator->schedules[me].steps[i].to;
        sent += to >= 0 && to != (int32_t)me;
    }
    hp_schedule_file_free(generator);
    return sent;
}

/* 16 positions: digits of 2, 4 and 16. */
static void parameters(void **state)
{
    (void)state;
    assert_int_equal(messages("bruck", HP_PATTERN_ALLTOALL, 16, 3), 4);
    assert_int_equal(messages("bruck radix=4", HP_PATTERN_ALLTOALL, 16, 3), 6);
    assert_int_equal(messages("bruck radix=16", HP_PATTERN_ALLTOALL, 16, 3), 15);
    assert_true(messages("contention_free_barriers barriers=1", HP_PATTERN_ALLTOALL, 16, 3) <
                messages("contention_free_barriers barriers=4", HP_PATTERN_ALLTOALL, 16, 3));
}

/* How many steps may be under way goes with the schedule, whatever the algorithm says. */
static void windows(void **state)
{
    hp_generator_t *generator;
    (void)state;

    generator = made("pairwise", HP_PATTERN_ALLTOALL, 6);
    assert_int_equal(generator->in_flight, 0);
    hp_schedule_file_free(generator);
    generator = made("pairwise window=4", HP_PATTERN_ALLTOALL, 6);
    assert_int_equal(generator->in_flight, 4);
    hp_schedule_file_free(generator);
    generator = made("contention_free", HP_PATTERN_ALLTOALL, 6);
    assert_int_equal(generator->in_flight, 1);
    hp_schedule_file_free(generator);
    assert_false(is_made("bruck window=4", HP_PATTERN_ALLTOALL, 6)); /* ranks carry others' blocks */
    assert_false(is_made("pairwise window=0", HP_PATTERN_ALLTOALL, 6));
}

static void what_is_none(void **state)
{
    static const char *const words[] = {"",
                                        "brick",
                                        "bruck radix",
                                        "bruck radix=1",
                                        "bruck radix=17",
                                        "bruck aggregate=2",
                                        "bruck + ring",
                                        "+ ring",
                                        "pairwise +",
                                        "depth_first_chain"};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(words); i++)
        if (is_made(words[i], HP_PATTERN_ALLTOALL, 16))
            fail_msg("\"%s\" is made", words[i]);
}

/* The reductions go straight to the position of each block, or half way as an allreduce's; then an allgather. */
static void two_algorithms(void **state)
{
    static const char *const reduces[] = {"pairwise", "contention_free", "circulant"};
    static const char *const gathers[] = {"ring", "circulant", "depth_first_ring", "pairwise", "mesh2d"};
    (void)state;

    for (uint32_t count = 2; count <= 17; count++)
        for (unsigned r = 0; r < ARRAY_LENGTH(reduces); r++)
            for (unsigned g = 0; g < ARRAY_LENGTH(gathers); g++) {
                char words[64];
                snprintf(words, sizeof words, "%s + %s", reduces[r], gathers[g]);
                if (!is_made(words, HP_PATTERN_ALLREDUCE, count))
                    fail_msg("%s of %u", words, count);
            }
    /* Halves that leave other blocks than its own with a position. */
    assert_true(is_made("rabenseifner + depth_first_ring", HP_PATTERN_ALLREDUCE, 8));
    assert_true(is_made("ring + circulant", HP_PATTERN_ALLREDUCE, 6));
    assert_true(is_made("pairwise_xor + recursive_doubling", HP_PATTERN_ALLREDUCE, 16));
    assert_int_equal(messages("pairwise + recursive_doubling", HP_PATTERN_ALLREDUCE, 16, 5), 15 + 4);
    assert_int_equal(messages("rabenseifner + ring", HP_PATTERN_ALLREDUCE, 16, 5), 4 + 15);
}

/* Messages without data, and scratch, cannot be joined. */
static void what_does_not_go_together(void **state)
{
    static const char *const words[] = {"contention_free_pairwise + ring", "contention_free_barriers + ring",
                                        "pairwise + contention_free", "binomial + ring"};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(words); i++)
        if (is_made(words[i], HP_PATTERN_ALLREDUCE, 6))
            fail_msg("\"%s\" is made", words[i]);
    assert_false(is_made("rabenseifner + ring", HP_PATTERN_ALLREDUCE, 6)); /* blocks for a power of two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters), cmocka_unit_test(windows),
                                       cmocka_unit_test(what_is_none), cmocka_unit_test(two_algorithms),
                                       cmocka_unit_test(what_does_not_go_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
