/* test_rounds: the rounds of algorithms whose number the theory knows, what holds of every generator's, and pictures of
 * them. */
#include "check.h"
#include "schedule/picture/draw.h"
#include "schedule/generators/generators.h"
#include "schedule/picture/rounds.h"
#include "trees.h"

static void counts_are_those_of_the_theory(void **state)
{
    static const struct {
        const char *name;
        hp_problem_t problem;
        uint32_t rounds, messages;
    } cases[] = {
        {"binomial", {HP_PATTERN_BCAST, 12, 5, false, .parameter = {1}}, 4, 11},
        {"linear", {HP_PATTERN_GATHER, 9, 0, false, .parameter = {1}}, 8, 8},
        {"chain", {HP_PATTERN_BCAST, 6, 2, false, .parameter = {4}}, 5 + 3, 5 * 4}, /* a pipeline */
        {"chain", {HP_PATTERN_REDUCE, 6, 0, false, .parameter = {4}}, 5 + 3, 5 * 4},
        {"ring", {HP_PATTERN_ALLREDUCE, 8, 0, false, .parameter = {0}}, 14, 14 * 8},
        {"ring", {HP_PATTERN_ALLGATHER, 5, 0, false, .parameter = {0}}, 4, 20},
        {"recursive_doubling",
         {HP_PATTERN_ALLREDUCE, 32, 0, false, .parameter = {0}},
         5,
         160}, /* both ways at once */
        {"dissemination", {HP_PATTERN_BARRIER, 9, 0, false, .parameter = {0}}, 4, 36},
        {"binomial", {HP_PATTERN_BARRIER, 8, 0, false, .parameter = {1}}, 6, 14},
        {"pairwise", {HP_PATTERN_ALLTOALL, 7, 0, false, .parameter = {0}}, 6, 42},
        {"circulant_bcast", {HP_PATTERN_BCAST, 9, 2, false, .parameter = {8}}, 7 + 4, 64},
        {"ring", {HP_PATTERN_ALLREDUCE, 1, 0, false, .parameter = {0}}, 0, 0},
    };
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        const hp_generator_t *generator = hp_generator_find(cases[i].name);
        hp_problem_t problem = cases[i].problem;
        hp_rounds_t rounds;
        assert_non_null(generator);
        if (problem.parameter[0] == 0)
            hp_generator_usual(generator, &problem);
        hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
        assert_non_null(schedules);
        assert_int_equal(hp_rounds_init(&rounds, schedules, &problem), HP_OK);
        if (rounds.rounds != cases[i].rounds)
            fail_msg("%s %s: %u rounds, not %u", hp_pattern_name(problem.pattern), cases[i].name,
                     rounds.rounds, cases[i].rounds);
        assert_int_equal(rounds.message_count - rounds.local_count, cases[i].messages);
        hp_rounds_fini(&rounds);
        hp_schedules_free(schedules, problem.count);
    }
}

/* A rank sends one message and receives one in a round, and the messages of a pair in a stream stay in order. */
static void check_rounds(const hp_rounds_t *rounds, const hp_schedule_t *schedules)
{
    for (uint32_t i = 0; i < rounds->message_count; i++) {
        const hp_message_t *a = &rounds->messages[i];
        const uint8_t stream = schedules[a->from].steps[a->from_step].stream;
        assert_true(a->round <= rounds->rounds);
        for (uint32_t j = i + 1; j < rounds->message_count && a->from != a->to; j++) {
            const hp_message_t *b = &rounds->messages[j];
            if (b->from == b->to)
                continue;
            assert_false(a->round == b->round && (a->from == b->from || a->to == b->to));
            if (a->from == b->from && a->to == b->to &&
                schedules[b->from].steps[b->from_step].stream == stream)
                assert_true((a->from_step < b->from_step) == (a->round < b->round));
        }
    }
}

static char *draw(const hp_schedule_t *schedules, const hp_problem_t *problem, char why[256], size_t *length)
{
    char *text;
    FILE *out = open_memstream(&text, length);

    assert_non_null(out);
    const hp_status_t status = hp_draw_schedules(out, schedules, problem, "a <b> & c", why, 256);
    assert_int_equal(fclose(out), 0);
    if (status == HP_OK)
        return text;
    assert_int_equal(status, HP_ERR_ARG);
    assert_int_equal(*length, 0);
    free(text);
    return NULL;
}

static unsigned occurrences(const char *text, const char *what)
{
    unsigned found = 0;
    while ((text = strstr(text, what))) {
        text++;
        found++;
    }
    return found;
}

/* Every problem that is served: its rounds hold, and its picture has an arrow for each message. */
static void each_can_be_drawn(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 8, 12};
    enum { LEGEND_ARROWS = 3 };
    const hp_generator_t *generator;
    char why[256];
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)); g++)
        for (unsigned i = 0; i < HP_PATTERN_COUNT * ARRAY_LENGTH(counts); i++) {
            hp_problem_t problem = {.pattern = (hp_pattern_t)(i % HP_PATTERN_COUNT),
                                    .count = counts[i / HP_PATTERN_COUNT],
                                    .placement = trees_kept(counts[i / HP_PATTERN_COUNT])};
            hp_generator_usual(generator, &problem);
            if (!hp_generator_serves(generator, &problem, NULL, 0))
                continue;
            hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
            hp_rounds_t rounds;
            size_t length;
            assert_non_null(schedules);
            assert_int_equal(hp_rounds_init(&rounds, schedules, &problem), HP_OK);
            check_rounds(&rounds, schedules);
            char *text = draw(schedules, &problem, why, &length);
            assert_non_null(text);
            assert_non_null(strstr(text, "a &lt;b> &amp; c"));
            assert_int_equal(occurrences(text, "marker-end"),
                             rounds.message_count - rounds.local_count + LEGEND_ARROWS);
            assert_string_equal(text + length - 7, "</svg>\n");
            free(text);
            hp_rounds_fini(&rounds);
            hp_schedules_free(schedules, problem.count);
        }
}

static void what_is_too_large_is_not_drawn(void **state)
{
    static const struct {
        hp_problem_t problem;
        const char *said;
    } cases[] = {
        {{HP_PATTERN_BCAST, 65, 0, false, .parameter = {1}},
         "65 ranks and 64 rounds are too many for a picture: at most 64 ranks and 256 rounds are drawn"},
        {{HP_PATTERN_BCAST, 3, 0, false, .parameter = {256}},
         "3 ranks and 257 rounds are too many for a picture: at most 64 ranks and 256 rounds are drawn"}};
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        const hp_generator_t *chain = hp_generator_find("chain");
        hp_schedule_t *schedules = hp_schedules_make(chain, &cases[i].problem);
        char why[256];
        size_t length;
        assert_non_null(schedules);
        assert_null(draw(schedules, &cases[i].problem, why, &length));
        assert_string_equal(why, cases[i].said);
        hp_schedules_free(schedules, cases[i].problem.count);
    }
}

static void what_does_not_get_through_has_no_rounds(void **state)
{
    const hp_problem_t problem = {.pattern = HP_PATTERN_BARRIER, .count = 2};
    hp_schedule_t schedules[2] = {0};
    hp_rounds_t rounds;
    (void)state;

    hp_schedule_sync(&schedules[0], HP_NO_POSITION, 1);
    hp_schedule_sync(&schedules[1], HP_NO_POSITION, 0);
    assert_int_equal(hp_rounds_init(&rounds, schedules, &problem), HP_ERR_ARG);
    hp_schedule_fini(&schedules[0]);
    hp_schedule_fini(&schedules[1]);
}

/* Rank 0 waits for rank 1, then sends a block to each of the others, in two streams: nothing overlaps. */
static void sends_take_turns_and_sync_comes_first(void **state)
{
    const hp_problem_t problem = {.pattern = HP_PATTERN_BCAST, .count = 3};
    const hp_range_t block = hp_range(HP_SPACE_RECV, 0, 1);
    hp_schedule_t schedules[3] = {{.cut = 1}, {.cut = 1}, {.cut = 1}};
    hp_rounds_t rounds;
    (void)state;

    hp_schedule_sync(&schedules[0], HP_NO_POSITION, 1);
    hp_schedule_sync(&schedules[1], 0, HP_NO_POSITION);
    for (uint8_t rank = 1; rank < 3; rank++) {
        schedules[0].stream = schedules[rank].stream = rank;
        hp_schedule_send(&schedules[0], rank, block);
        hp_schedule_receive(&schedules[rank], 0, block, HP_ACTION_STORE);
    }
    assert_int_equal(hp_rounds_init(&rounds, schedules, &problem), HP_OK);
    assert_int_equal(rounds.rounds, 3);
    assert_int_equal(rounds.message_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rounds.messages[i].round, i);
    hp_rounds_fini(&rounds);
    for (unsigned rank = 0; rank < 3; rank++)
        hp_schedule_fini(&schedules[rank]);
}

static void blocks_are_written_short(void **state)
{
    hp_schedule_t schedule = {0};
    char text[14];
    (void)state;

    hp_schedule_step(&schedule, 1, HP_NO_POSITION, HP_ACTION_STORE);
    const hp_list_t *list = &schedule.steps[0].send;
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "");
    hp_schedule_sends(&schedule, hp_range(HP_SPACE_RECV, 2, 3));
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "2-4");
    hp_schedule_sends(&schedule, hp_range(HP_SPACE_RECV, 5, 1));
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "2-5");
    hp_schedule_sends(&schedule, (hp_range_t){HP_SPACE_SEND, 0, 2, 1, 2});
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "2-5,s0,2");
    hp_schedule_sends(&schedule, hp_range(HP_SPACE_RECV, 3, 1));
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "2-5,s0,2,r3");
    hp_schedule_sends(&schedule, hp_range(HP_SPACE_SCRATCH, 0, 1));
    assert_string_equal(hp_draw_blocks(&schedule, list, text, sizeof text), "8 blocks");
    hp_schedule_fini(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_those_of_the_theory),
                                       cmocka_unit_test(each_can_be_drawn),
                                       cmocka_unit_test(what_is_too_large_is_not_drawn),
                                       cmocka_unit_test(what_does_not_get_through_has_no_rounds),
                                       cmocka_unit_test(sends_take_turns_and_sync_comes_first),
                                       cmocka_unit_test(blocks_are_written_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
