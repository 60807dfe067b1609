/* Patterns of blocks that differ: which are alike, and what is chosen for those that share a rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "tune/call_sites.h"

enum { RANKS = 16 };

/* So many calls come from there. */
static tune_pattern_t from(tune_pattern_t pattern, const char *place, double calls)
{
    tune_place_t *added = &pattern.places[pattern.place_count++];

    snprintf(added->text, sizeof added->text, "%s", place);
    added->calls = calls;
    return pattern;
}

static tune_pattern_t make(tune_collective_t collective, int count, int first, int others, double calls)
{
    tune_pattern_t pattern = {
        .collective = collective, .count = count, .calls = calls, .recorded_s = calls / 100};

    pattern.elements = calloc((size_t)count, sizeof *pattern.elements);
    assert_non_null(pattern.elements);
    for (int i = 0; i < count; i++)
        pattern.elements[i] = i == 0 ? first : others;
    return pattern;
}

static void test_distance(void **state)
{
    tune_pattern_t a = make(TUNE_GATHERV, 4, 10, 10, 1), b = make(TUNE_GATHERV, 4, 50, 10, 1),
                   none = make(TUNE_GATHERV, 4, 0, 0, 1);
    (void)state;

    assert_true(tune_pattern_distance(&a, &a) < 1e-12);
    assert_true(tune_pattern_distance(&none, &none) < 1e-12);
    assert_float_equal(tune_pattern_distance(&a, &b), 0.5, 1e-6); /* 40 of 80 */
    assert_float_equal(tune_pattern_distance(&b, &a), 0.5, 1e-6);
    assert_float_equal(tune_pattern_distance(&a, &none), 1, 1e-6);
    assert_int_equal(tune_pattern_bytes(&b), 20 * TUNE_ELEMENT_BYTES);
    assert_int_equal(tune_pattern_bytes(&none), TUNE_ELEMENT_BYTES);
    free(a.elements);
    free(b.elements);
    free(none.elements);
}

static void test_buffers(void **state)
{
    tune_pattern_t list = make(TUNE_GATHERV, 4, 7, 1, 1), pairs = make(TUNE_ALLTOALLV, 9, 2, 1, 1);
    (void)state;

    assert_int_equal(tune_pattern_buffer_bytes(&list, 4), 10 * TUNE_ELEMENT_BYTES);
    assert_int_equal(tune_pattern_buffer_bytes(&pairs, 3), 4 * TUNE_ELEMENT_BYTES);
    pairs.elements[3 + 2] = 8; /* to rank 2 come 1, 8, 1 */
    assert_int_equal(tune_pattern_buffer_bytes(&pairs, 3), 10 * TUNE_ELEMENT_BYTES);
    free(list.elements);
    free(pairs.elements);
}

static void test_alike(void **state)
{
    tune_patterns_t patterns = {0}, same = {0};
    const int firsts[] = {100, 104, 300, 99};
    (void)state;

    for (int i = 0; i < 4; i++) {
        const tune_pattern_t pattern = make(TUNE_ALLTOALLV, 4, firsts[i], 100, 1 + i);
        tune_patterns_add(&patterns, &pattern, 0.02);
    }
    const tune_pattern_t other = make(TUNE_GATHERV, 4, 100, 100, 9); /* another collective's is no other's */
    tune_patterns_add(&patterns, &other, 2);
    assert_int_equal(patterns.count, 3);
    assert_true(patterns.list[0].alike == 3 && patterns.list[1].alike == 1);
    assert_float_equal(patterns.list[0].calls, 1 + 2 + 4, 1e-6);
    assert_float_equal(patterns.list[0].recorded_s, 0.07, 1e-6);
    for (int i = 0; i < 3; i++) {
        const tune_pattern_t pattern =
            make(patterns.list[i].collective, 4, patterns.list[i].elements[0], 100, 5);
        tune_patterns_add(&same, &pattern, 0);
    }
    assert_true(tune_patterns_hash(&patterns) == tune_patterns_hash(&same));
    same.list[2].elements[3]++;
    assert_true(tune_patterns_hash(&patterns) != tune_patterns_hash(&same));
    tune_patterns_fini(&patterns);
    tune_patterns_fini(&same);
}

/* ---- what is chosen ---- */

static double native_in_turns_us = 100;

/* Patterns 0 and 1 of alltoallv want different algorithms; of allgatherv the first one wants bruck. */
static double made_up_us(const tune_key_t *key, const tune_config_t *config)
{
    if (!tune_kind_has_pattern(key->kind))
        return 50;
    if (config->algorithm == TUNE_NATIVE)
        return key->kind == TUNE_KIND_PATTERN_PAIR ? native_in_turns_us : 100;
    if (strcmp(config->id, "flat-pairwise") == 0)
        return key->bytes == 0 ? 10 : 300;
    if (strcmp(config->id, "flat-pairwise_xor") == 0 && key->bytes < 2)
        return key->bytes == 0 ? 90 : 60;
    return strcmp(config->id, "flat-bruck") == 0 && key->bytes == 2 ? 20 : 99;
}

static void choose(double calls_0, double calls_1, int most, tune_search_t *decided,
                   double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX], fixture_t *fixture)
{
    char word[] = "--search=exhaustive", pattern[] = "--pattern=made_up", *words[] = {word, pattern};
    bool on_patterns[TUNE_COLLECTIVES] = {[TUNE_ALLTOALLV] = true, [TUNE_ALLGATHERV] = true};
    static tune_sizes_t sizes[TUNE_COLLECTIVES];
    static tune_patterns_t patterns;

    tune_patterns_fini(&patterns);
    const tune_pattern_t made[] = {
        from(make(TUNE_ALLTOALLV, RANKS * RANKS, 1, 1, calls_0), "a+0x1", calls_0),
        from(from(make(TUNE_ALLTOALLV, RANKS * RANKS, 900, 100, calls_1), "a+0x2", calls_1 / 2), "a+0x1",
             calls_1 / 2),
        make(TUNE_ALLGATHERV, RANKS, 1, 1, 1), make(TUNE_ALLGATHERV, RANKS, 100, 100, 1)};
    for (int i = 0; i < 4; i++)
        tune_patterns_add(&patterns, &made[i], 0);
    sizes[TUNE_ALLTOALLV] = (tune_sizes_t){.bytes = {0}, .count = 1};
    sizes[TUNE_ALLGATHERV] = (tune_sizes_t){.bytes = {4, 400}, .count = 2};
    fixture_init(fixture, 4, words, 2, made_up_us);
    tune_options_fini(&fixture->options);
    const tune_options_t all = {.rules = "r", .results = "t", .journal = "j", .searches = {true}};
    tune_options_narrow(&fixture->options, &all, 1, on_patterns, on_patterns, sizes, &patterns);
    assert_string_equal(fixture->options.rules, "r");
    assert_string_equal(fixture->options.results, "t.2");
    fixture->most = most;
    memset(decided, -1, sizeof *decided);
    decided->complete = true;
    decided->cost = (tune_cost_t){0};
    tune_search_patterns(&fixture->lab, false, decided, host_us);
}

static const char *id_of(const fixture_t *fixture, const tune_search_t *decided, tune_collective_t collective,
                         int size)
{
    return fixture->lists[collective].configs[decided->choices[collective][size].config].id;
}

static void test_shared_rule(void **state)
{
    static tune_search_t decided;
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    fixture_t fixture;
    (void)state;

    /* Many short calls: (20 x 10 + 300) / 21 us. */
    choose(20, 1, 1000000, &decided, host_us, &fixture);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLTOALLV, 0), "flat-pairwise");
    assert_float_equal(decided.choices[TUNE_ALLTOALLV][0].us, 500.0 / 21, 1e-3);
    assert_float_equal(host_us[TUNE_ALLTOALLV][0], 100, 1e-6);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLGATHERV, 0), "flat-bruck");
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLGATHERV, 1), "native"); /* 99 us are no gain */
    assert_true(decided.complete && decided.cost.measurements > 0);
    const int all = fixture.measured;
    assert_int_equal(tune_pattern_best(&fixture.lab, 1),
                     tune_space_find(&fixture.lists[TUNE_ALLTOALLV], "flat-pairwise_xor"));
    fixture_fini(&fixture);
    /* As many long ones: (90 + 60) / 2 us, not (10 + 300) / 2. */
    choose(1, 1, 1000000, &decided, host_us, &fixture);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLTOALLV, 0), "flat-pairwise_xor");
    fixture_fini(&fixture);
    /* Near to the host MPI's 100 us, which in turns are 70: (10 x 90 + 3.5 x 60) / 13.5 = 82. */
    native_in_turns_us = 70;
    choose(10, 3.5, 1000000, &decided, host_us, &fixture);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLTOALLV, 0), "native");
    assert_float_equal(host_us[TUNE_ALLTOALLV][0], 70, 1e-6);
    fixture_fini(&fixture);
    native_in_turns_us = 100;
    /* The time ends in alltoallv: nothing is said of it. */
    choose(1, 1, 3, &decided, host_us, &fixture);
    assert_true(decided.choices[TUNE_ALLTOALLV][0].config == -1 && !decided.complete);
    fixture_fini(&fixture);
    /* It ends before the last measurement: what is four times as fast as the host MPI's is known. */
    choose(20, 1, all - 1, &decided, host_us, &fixture);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLTOALLV, 0), "flat-pairwise");
    assert_false(decided.complete);
    fixture_fini(&fixture);
    /* 82 us are near to the host MPI's 100: they were to be measured in turns. */
    choose(10, 3.5, all, &decided, host_us, &fixture);
    assert_int_equal(decided.choices[TUNE_ALLTOALLV][0].config, -1);
    fixture_fini(&fixture);
}

/* Where all calls of a place want the same, which is not what the rule says. */
static void test_call_sites(void **state)
{
    static tune_search_t decided;
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    tune_call_site_t site;
    fixture_t fixture;
    char hints[TUNE_HINTS_BYTES];
    (void)state;

    choose(20, 2, 1000000, &decided, host_us, &fixture);
    assert_string_equal(id_of(&fixture, &decided, TUNE_ALLTOALLV, 0), "flat-pairwise");
    assert_true(tune_call_site(&fixture.lab, &decided, 0, &site));
    assert_string_equal(site.place, "a+0x1"); /* 20 short calls and a long one */
    assert_float_equal(site.calls, 21, 1e-9);
    assert_string_equal(fixture.lists[TUNE_ALLTOALLV].configs[site.config].id, "flat-pairwise");
    assert_float_equal(site.us, (20 * 10 + 300) / 21.0, 1e-3);
    assert_float_equal(site.rule_us, site.us, 1e-9);
    assert_true(tune_call_site(&fixture.lab, &decided, 1, &site));
    assert_string_equal(site.place, "a+0x2");
    assert_float_equal(site.calls, 1, 1e-9);
    assert_string_equal(fixture.lists[TUNE_ALLTOALLV].configs[site.config].id, "flat-pairwise_xor");
    assert_float_equal(site.us, 60, 1e-9);
    assert_float_equal(site.rule_us, 300, 1e-9);
    assert_float_equal(site.host_us, 100, 1e-9);
    assert_string_equal(
        tune_config_hints(TUNE_ALLTOALLV, &fixture.lists[TUNE_ALLTOALLV].configs[site.config], hints),
        "hanpmpi_alltoallv=flat hanpmpi_between_nodes=pairwise_xor");
    assert_false(
        tune_call_site(&fixture.lab, &decided, 2, &site)); /* nobody knows where allgatherv is called */
    fixture_fini(&fixture);
}

/* Patterns that are near share one, and keep where their calls come from. */
static void test_places(void **state)
{
    tune_patterns_t patterns = {0};
    (void)state;

    for (int i = 0; i < 2 * TUNE_PLACES_MAX; i++) {
        char place[16];
        snprintf(place, sizeof place, "b+%d", i % (TUNE_PLACES_MAX + 2));
        const tune_pattern_t pattern = from(make(TUNE_ALLTOALLV, 4, 100 + i % 2, 100, 3), place, 3);
        tune_patterns_add(&patterns, &pattern, 0.1);
    }
    assert_int_equal(patterns.count, 1);
    assert_int_equal(patterns.list[0].place_count, TUNE_PLACES_MAX);
    assert_string_equal(patterns.list[0].places[1].text, "b+1");
    assert_float_equal(patterns.list[0].places[1].calls, 6, 1e-9);
    assert_float_equal(patterns.list[0].places[7].calls, 3, 1e-9);
    tune_patterns_fini(&patterns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_distance),   cmocka_unit_test(test_buffers),
                                       cmocka_unit_test(test_alike),      cmocka_unit_test(test_shared_rule),
                                       cmocka_unit_test(test_call_sites), cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
