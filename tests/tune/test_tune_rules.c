/* test_tune_rules: from choices at sizes to ranges; crossing points against a made-up clock; the file. */
#include <jansson.h>

#include "fixture.h"
#include "tune/crossing.h"
#include "tune/rules.h"

static size_t asked[64];
static int asked_count;

/* The upper configuration is faster from 50000 bytes on. */
static int upper_from_50000(void *context, size_t bytes)
{
    int *answers = context;
    asked[asked_count++] = bytes;
    return (*answers)-- > 0 ? bytes >= 50000 : -1;
}

static void test_crossing(void **state)
{
    int many = 100, few = 1;
    (void)state;

    asked_count = 0;
    assert_int_equal(tune_crossing(32768, 65536, 4, 3, upper_from_50000, &many), 53248);
    assert_int_equal(asked_count, 3);
    assert_int_equal(asked[0], 49152);
    assert_int_equal(asked[1], 57344);
    assert_int_equal(asked[2], 53248);
    assert_int_equal(tune_crossing(32768, 65536, 4, 0, upper_from_50000, &many), 65536);
    assert_int_equal(tune_crossing(32768, 65536, 4, 3, upper_from_50000, &few), 65536); /* no time for more */
    assert_int_equal(tune_crossing(4, 8, 4, 3, upper_from_50000, &many), 8); /* nothing is between them */
    assert_in_range(tune_crossing(32768, 65536, 4, 20, upper_from_50000, &many), 50000, 50003);
}

/* Chains overtake the host MPI's at 3000 bytes. */
static double crossing_clock(const tune_key_t *key, const tune_config_t *config)
{
    return config->algorithm == TUNE_NATIVE ? (double)key->bytes : 1500 + (double)key->bytes / 2;
}

static void set(const fixture_t *fixture, tune_search_t *search, int size, const char *id)
{
    search->choices[TUNE_BCAST][size] =
        (tune_choice_t){id ? fixture_config(fixture, TUNE_BCAST, id) : -1, 100.0 + size};
}

static void test_ranges(void **state)
{
    static tune_rules_t rules;
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4,1K,2K,4K,8K,16K,32K", "--steps=2"),
                 crossing_clock);
    memset(&search, -1, sizeof search);
    set(&fixture, &search, 0, "native");
    set(&fixture, &search, 1, NULL); /* not done; the same choice on both sides */
    set(&fixture, &search, 2, "native");
    set(&fixture, &search, 3, "han-chain-shm-4K");
    set(&fixture, &search, 4, "han-chain-shm-4K");
    set(&fixture, &search, 5, "han-linear-shm-16K");
    set(&fixture, &search, 6, NULL);
    host_us[TUNE_BCAST][5] = 500;
    tune_rules_make(&rules, &fixture.lab, &search, host_us);

    assert_int_equal(rules.count, 3);
    assert_int_equal(rules.rules[0].from, 1);  /* the smallest size speaks for all below */
    assert_int_equal(rules.rules[0].to, 3071); /* at 3072 chains are faster, at 2560 not */
    assert_int_equal(rules.rules[1].from, 3072);
    assert_int_equal(rules.rules[2].to, 16384);
    assert_int_equal(rules.rules[2].from, rules.rules[1].to + 1);
    assert_true(rules.rules[2].host_us == 500);

    set(&fixture, &search, 4,
        NULL); /* other choices around what was not done: nothing is said of what is between */
    tune_rules_make(&rules, &fixture.lab, &search, host_us);
    assert_int_equal(rules.count, 3);
    assert_int_equal(rules.rules[1].to, 4096);
    assert_int_equal(rules.rules[2].from, 16384);
    fixture_fini(&fixture);
}

/* A size of one segment does not care for the segment's size: the next size's will do. */
static void test_one_segment_is_no_boundary(void **state)
{
    static tune_rules_t rules;
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4K,8K"), crossing_clock);
    memset(&search, -1, sizeof search);
    set(&fixture, &search, 0, "han-linear-shm-4K");
    set(&fixture, &search, 1, "han-linear-shm-16K");
    tune_rules_make(&rules, &fixture.lab, &search, host_us);
    assert_int_equal(rules.count, 1);
    assert_string_equal(fixture.lists[TUNE_BCAST].configs[rules.rules[0].config].id, "han-linear-shm-16K");
    assert_int_equal(rules.rules[0].from, 4096);
    assert_int_equal(rules.rules[0].to, 8192);
    fixture_fini(&fixture);
}

static double known_101(const void *context, tune_collective_t collective, int config, int size)
{
    (void)context;
    (void)collective;
    (void)config;
    return size == 1 ? 101 * 1.019 : 200;
}

static void test_smoothing(void **state)
{
    fixture_t fixture;
    tune_search_t search;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast", "--bytes=4,8,16"), crossing_clock);
    memset(&search, -1, sizeof search);
    set(&fixture, &search, 0, "native");
    set(&fixture, &search, 1, "han-linear-shm-4K"); /* 101 us, the one before 102.9 */
    set(&fixture, &search, 2, "han-linear-shm-4K"); /* 102 us, the one before 200 */
    tune_rules_smooth(&fixture.options, &search, known_101, NULL);
    assert_int_equal(search.choices[TUNE_BCAST][1].config, 0);
    assert_true(search.choices[TUNE_BCAST][2].config != 0);
    fixture_fini(&fixture);
}

static void test_file(void **state)
{
    char name[] = "/tmp/hp_test_tune_rules.XXXXXX";
    static tune_rules_t rules;
    const char *collective, *algorithm, *shapes, *modules, *between, *comment;
    json_int_t segment, from, to;
    int version, nodes[2], ranks[2], trees, leaders;
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--collective=bcast"), crossing_clock);
    rules.count = 2;
    rules.rules[0] = (tune_rule_t){TUNE_ALLREDUCE, 1, 99, 0, 12, 0};
    rules.rules[1] = (tune_rule_t){
        TUNE_ALLREDUCE, 100, 200, fixture_config(&fixture, TUNE_ALLREDUCE, "han-chain-t16-shm-64K"),
        365.2,          3700};
    const int file = mkstemp(name);
    assert_true(file >= 0);
    json_t *all = json_array();
    assert_true(tune_rules_write(&rules, fixture.lists, &fixture.layout, "", all, name));
    json_t *document = json_load_file(name, 0, NULL);
    assert_non_null(document);
    assert_int_equal(
        json_unpack(document,
                    "{s:i, s:[{s:s, s:[I, I]}, {s:s, s:[i, i], s:[i, i], s:[I, I], s:s, s:I, s:s, "
                    "s:s, s:s, s:i, s:i, s:s}]}",
                    "version", &version, "rules", "algorithm", &algorithm, "bytes", &from, &to, "collective",
                    &collective, "nodes", &nodes[0], &nodes[1], "ranks_per_node", &ranks[0], &ranks[1],
                    "bytes", &from, &to, "algorithm", &algorithm, "segment_bytes", &segment, "shapes",
                    &shapes, "modules", &modules, "between_nodes", &between, "trees", &trees, "leaders",
                    &leaders, "comment", &comment),
        0);
    assert_int_equal(version, 1);
    assert_string_equal(collective, "allreduce");
    assert_string_equal(algorithm, "han");
    assert_true(nodes[0] == 4 && nodes[1] == 4 && ranks[0] == 4 && ranks[1] == 4 && from == 100 && to == 200);
    assert_true(segment == 65536 && trees == 16 && leaders == 1);
    assert_string_equal(between, "tree");
    assert_string_equal(comment, "365 us, host 3700 us");
    assert_int_equal(strncmp(shapes, "node:chain ", 11), 0);
    assert_int_equal(strncmp(modules, "node:p2p ", 9), 0);
    json_decref(document);
    assert_int_equal(remove(name), 0);
    /* Those of another layout come behind. */
    const tune_layout_t other = {.ranks = 2, .nodes = 2, .least_ranks = 1, .most_ranks = 1};
    assert_false(tune_rules_write(&rules, fixture.lists, &other, "tree-4hosts-2switches-1", all,
                                  "/nowhere/rules.json"));
    assert_int_equal(json_array_size(all), 4);
    json_decref(all);
    fixture_fini(&fixture);
}

/* A barrier has the size 0; blocks have no segments; blocks of which ranks know their own alone have no size. */
static void test_file_of_blocks(void **state)
{
    char name[] = "/tmp/hp_test_tune_rules.XXXXXX";
    static tune_rules_t rules;
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    fixture_t fixture;
    tune_search_t search;
    json_int_t from, to;
    const char *shapes, *between;
    int leaders;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--bytes=4,1K", "--steps=0"), crossing_clock);
    memset(&search, -1, sizeof search);
    search.choices[TUNE_BARRIER][0] = (tune_choice_t){1, 5};
    const int bruck = fixture_config(&fixture, TUNE_ALLGATHER, "han-bruck-l16-knomial4");
    search.choices[TUNE_ALLGATHER][0] = search.choices[TUNE_ALLGATHER][1] = (tune_choice_t){bruck, 14};
    search.choices[TUNE_ALLTOALLV][0] = (tune_choice_t){0, 70};
    tune_rules_make(&rules, &fixture.lab, &search, host_us);
    assert_int_equal(rules.count, 3);
    const int file = mkstemp(name);
    assert_true(file >= 0);
    json_t *all = json_array();
    assert_true(tune_rules_write(&rules, fixture.lists, &fixture.layout, "tree-4hosts-*", all, name));
    json_decref(all);
    json_t *document = json_load_file(name, 0, NULL), *array = json_object_get(document, "rules");
    assert_int_equal(json_unpack(json_array_get(array, 0), "{s:[I, I]}", "bytes", &from, &to), 0);
    assert_true(from == 0 && to == 0);
    /* What ranks come to know of the blocks' sizes changes nothing. */
    assert_null(json_object_get(json_array_get(array, 2), "bytes"));
    json_t *rule = json_array_get(array, 1);
    assert_int_equal(json_unpack(rule, "{s:[I, I], s:s, s:s, s:i}", "bytes", &from, &to, "shapes", &shapes,
                                 "between_nodes", &between, "leaders", &leaders),
                     0);
    assert_true(from == 1 && to == 1024 && leaders == 16);
    assert_string_equal(shapes, "core:knomial4");
    assert_string_equal(between, "bruck");
    assert_null(json_object_get(rule, "segment_bytes"));
    assert_null(json_object_get(rule, "modules"));
    assert_string_equal(json_string_value(json_object_get(rule, "network")), "tree-4hosts-*");
    json_decref(document);
    assert_int_equal(remove(name), 0);
    fixture_fini(&fixture);
}

/* The host MPI's up to 3000 bytes, pairwise from there on. */
static double routine_clock(const tune_key_t *key, const tune_config_t *config)
{
    if (config->algorithm == TUNE_NATIVE)
        return (double)key->bytes;
    return strcmp(config->id, "flat-pairwise") == 0 ? 3000 : 1e6;
}

/* What --routines asks for: the crossing point is found by halving, with no measurement more than that takes. */
static void test_routines(void **state)
{
    static double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    static tune_search_t search;
    static tune_rules_t rules;
    tune_curves_t curves;
    fixture_t fixture;
    (void)state;

    fixture_init(&fixture, 4, WORDS("--routines"), routine_clock);
    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++)
        assert_int_equal(fixture.options.collectives[c],
                         c == TUNE_ALLTOALL || c == TUNE_ALLGATHER || c == TUNE_ALLREDUCE);
    assert_int_equal(fixture.options.crossing_steps, 8);
    fixture_fini(&fixture);
    fixture_init(&fixture, 4, WORDS("--routines", "--collectives=alltoall", "--steps=20"), routine_clock);
    const int configs = fixture.lists[TUNE_ALLTOALL].count, sizes = fixture.options.blocks.count;
    assert_int_equal(sizes, 11);
    tune_curves_init(&curves, fixture.lists);
    tune_search_run(&fixture.lab, fixture.options.rules_from, &search, &curves);
    assert_int_equal(fixture.measured, configs * sizes);
    tune_rules_make(&rules, &fixture.lab, &search, host_us);
    assert_int_equal(rules.count, 2);
    assert_int_equal(rules.rules[0].config, 0);
    assert_int_equal(rules.rules[0].to, 3003);
    assert_int_equal(rules.rules[1].from, 3004);
    assert_int_equal(rules.rules[1].to, 256 * KIB);
    assert_int_equal(fixture.measured, configs * sizes + 9); /* 2048 bytes in fours, halved */
    tune_curves_fini(&curves);
    fixture_fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_one_segment_is_no_boundary),
        cmocka_unit_test(test_smoothing),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_of_blocks),
        cmocka_unit_test(test_routines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
