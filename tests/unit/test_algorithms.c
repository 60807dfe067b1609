/* test_algorithms: the table of algorithms, the words of the knobs that come from it, and tags. */
#include "check.h"
#include "hier/collectives/algorithm.h"

static const struct {
    hp_knob_id_t knob;
    const char *variable;
} knobs_of[HP_COLLECTIVE_COUNT] = {
#define X(id, name, ...) [HP_##id] = {HP_KNOB_ID_##name, "HANPMPI_" #id},
    HP_COLLECTIVE_TABLE(X)
#undef X
};

static void names_are_unique_and_found(void **state)
{
    (void)state;
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        const hp_collective_t collective = (hp_collective_t)c;
        const hp_algorithm_t *algorithm;
        unsigned count = 0;
        for (; (algorithm = hp_algorithm(collective, count)); count++) {
            assert_int_equal(algorithm->collective, collective);
            assert_non_null(algorithm->start);
            assert_true(strlen(algorithm->description) > 10);
            assert_ptr_equal(hp_algorithm_find(collective, algorithm->name), algorithm);
            assert_string_not_equal(algorithm->name, "auto");
            assert_string_not_equal(algorithm->name, "native");
        }
        assert_true(count > 0);
        assert_null(hp_algorithm(collective, count));
        assert_null(hp_algorithm(collective, UINT32_MAX));
        assert_null(hp_algorithm_find(collective, "none"));
        assert_null(hp_algorithm_find(collective, ""));
    }
}

static void knob_words_follow_the_table(void **state)
{
    (void)state;
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
        const hp_word_fn_t word = hp_knob_info(knobs_of[c].knob)->word;
        unsigned i = 0;
        assert_string_equal(hp_knob_info(knobs_of[c].knob)->variable, knobs_of[c].variable);
        assert_string_equal(word(HP_WORD_AUTO), "auto");
        assert_string_equal(word(HP_WORD_NATIVE), "native");
        for (; hp_algorithm((hp_collective_t)c, i); i++)
            assert_string_equal(word(HP_FIRST_ALGORITHM_WORD + i), hp_algorithm((hp_collective_t)c, i)->name);
        assert_null(word(HP_FIRST_ALGORITHM_WORD + i));
    }
}

/* Tags stay below what MPI guarantees, and neighbours in time do not share one. */
static void tags_fit_and_differ(void **state)
{
    (void)state;
    enum { STREAMS = HP_START_STREAMS, TAG_MAX = 32767 };
    static const uint32_t starts[] = {0, 4094, 4095, 4096, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
        for (uint32_t stream = 0; stream < STREAMS; stream++) {
            const hp_start_t start = {.number = starts[i]}, next = {.number = starts[i] + 1};
            const uint32_t tag = hp_start_tag(&start) + stream;
            assert_true(tag <= TAG_MAX);
            for (uint32_t other = 0; other < STREAMS; other++)
                assert_int_not_equal(hp_start_tag(&next) + other, tag);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(knob_words_follow_the_table),
        cmocka_unit_test(tags_fit_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
