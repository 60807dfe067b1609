/* test_knobs: the table of settings: defaults, values, what is said of bad ones. */
#include <limits.h>
#include <signal.h>
#include "base/knobs.h"
#include "check.h"

extern char **environ;

enum { LINES_MAX = 8, LINE_BYTES = 768 };
typedef struct {
    unsigned count;
    char lines[LINES_MAX][LINE_BYTES];
} problems_t;

static void keep(void *context, const char *line)
{
    problems_t *problems = context;
    assert_true(problems->count < LINES_MAX);
    snprintf(problems->lines[problems->count++], LINE_BYTES, "%s", line);
}

/* Reads the settings of exactly these environment entries, a NULL behind the last. */
static hp_knobs_t read_from(char **entries, bool *set, problems_t *problems)
{
    hp_knobs_t knobs;
    char **kept = environ;
    *problems = (problems_t){0};
    environ = entries;
    hp_knobs_read(&knobs, set, keep, problems);
    environ = kept;
    return knobs;
}

#define ENTRIES(...) ((char *[]){__VA_ARGS__, NULL})

static void defaults_hold(void **state)
{
    (void)state;
    problems_t problems;
    bool set[HP_KNOB_COUNT];
    hp_knobs_t knobs =
        read_from(ENTRIES("PATH=/bin", "HANPMP_VERBOSE=3", "XHANPMPI_VERBOSE=3"), set, &problems);
    assert_int_equal(problems.count, 0);
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        char text[HP_KNOB_TEXT_BYTES], expected[HP_KNOB_TEXT_BYTES];
        assert_false(set[id]);
        if (info->kind == HP_KNOB_KIND_TEXT)
            snprintf(expected, sizeof expected, "%s", info->default_text);
        else if (info->kind == HP_KNOB_KIND_CHOICE)
            snprintf(expected, sizeof expected, "%s", info->word((unsigned)info->default_value));
        else
            snprintf(expected, sizeof expected, "%lld", (long long)info->default_value);
        assert_string_equal(hp_knob_format(&knobs, (hp_knob_id_t)id, text, sizeof text), expected);
    }
    assert_int_equal(knobs.sends_per_child, 0);
    assert_int_equal(knobs.recvs_per_parent, 0);
    assert_int_equal(knobs.window_segments, 0);
    assert_int_equal(knobs.enable, 1);
    assert_string_equal(knobs.levels, "node,package,numa,l3");
}

static void table_is_sound(void **state)
{
    (void)state;
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        hp_knobs_t knobs;
        char text[HP_KNOB_TEXT_BYTES], range[HP_KNOB_RANGE_BYTES], error[256];
        assert_int_equal(strncmp(info->variable, "HANPMPI_", 8), 0);
        assert_true(strlen(info->text) > 10);
        assert_true(strlen(hp_knob_range((hp_knob_id_t)id, range, sizeof range)) > 0);
        for (unsigned other = 0; other < id; other++)
            assert_string_not_equal(info->variable, hp_knob_info((hp_knob_id_t)other)->variable);
        /* The default is itself an accepted value. */
        memset(&knobs, 0, sizeof knobs);
        if (info->kind == HP_KNOB_KIND_TEXT)
            snprintf(text, sizeof text, "%s", info->default_text);
        else if (info->kind == HP_KNOB_KIND_CHOICE)
            snprintf(text, sizeof text, "%s", info->word((unsigned)info->default_value));
        else
            snprintf(text, sizeof text, "%lld", (long long)info->default_value);
        assert_true(hp_knob_parse(&knobs, (hp_knob_id_t)id, text, error, sizeof error));
    }
}

static void values_are_read(void **state)
{
    (void)state;
    problems_t problems;
    bool set[HP_KNOB_COUNT];
    hp_knobs_t knobs = read_from(ENTRIES("HANPMPI_SEGMENT_BYTES=64K", "HANPMPI_SETUP_BYTES=3m",
                                         "HANPMPI_WINDOW_SEGMENTS=1", "HANPMPI_BCAST=han", "HANPMPI_ENABLE=0",
                                         "HANPMPI_TOPOLOGY=node:2 core:4", "HANPMPI_ALLREDUCE=native"),
                                 set, &problems);
    assert_int_equal(problems.count, 0);
    assert_int_equal(knobs.segment_bytes, 65536);
    assert_int_equal(knobs.setup_bytes, 3 << 20);
    assert_int_equal(knobs.window_segments, 1);
    assert_string_equal(hp_knob_info(HP_KNOB_ID_bcast)->word((unsigned)knobs.bcast), "han");
    assert_int_equal(knobs.allreduce, 1);
    assert_int_equal(knobs.enable, 0);
    assert_string_equal(knobs.topology, "node:2 core:4");
    assert_true(set[HP_KNOB_ID_segment_bytes] && set[HP_KNOB_ID_topology] && !set[HP_KNOB_ID_reduce]);
}

static bool accepts(hp_knob_id_t id, const char *value, int64_t *out)
{
    hp_knobs_t knobs;
    char error[256] = "";
    memset(&knobs, 0, sizeof knobs);
    bool accepted = hp_knob_parse(&knobs, id, value, error, sizeof error);
    assert_int_equal(accepted, error[0] == '\0');
    if (out)
        memcpy(out, (char *)&knobs + hp_knob_info(id)->offset, sizeof *out);
    return accepted;
}

static void suffixes_and_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},         {"1k", 1024},       {"2K", 2048},      {"5M", 5 << 20},
                {"5m", 5 << 20},  {"1G", 1 << 30},    {"1g", 1 << 30},   {"1073741824", 1 << 30},
                {"32KiB", 32768}, {"3 MiB", 3 << 20}, {"1GiB", 1 << 30}, {"7B", 7},
                {"7 B", 7},       {"2 K", 2048}};
    static const char *const bad[] = {"",
                                      "K",
                                      "1KB",
                                      "1Ki",
                                      "1KiBB",
                                      "1  K",
                                      "1 ",
                                      "KiB",
                                      "1iB",
                                      "1BB",
                                      "1.5K",
                                      "-1",
                                      "2G",
                                      "1073741825",
                                      "0x10",
                                      "12 ",
                                      "one",
                                      "99999999999999999999",
                                      "9223372036854775807K"};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        int64_t value;
        assert_true(accepts(HP_KNOB_ID_segment_bytes, good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(accepts(HP_KNOB_ID_segment_bytes, bad[i], NULL));
    /* Both ends of every range are inside it, their neighbours outside. */
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
        const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
        char text[32];
        if (info->kind != HP_KNOB_KIND_INT && info->kind != HP_KNOB_KIND_BOOL)
            continue;
        snprintf(text, sizeof text, "%lld", (long long)info->minimum);
        assert_true(accepts((hp_knob_id_t)id, text, NULL));
        snprintf(text, sizeof text, "%lld", (long long)info->maximum);
        assert_true(accepts((hp_knob_id_t)id, text, NULL));
        snprintf(text, sizeof text, "%lld", (long long)info->minimum - 1);
        assert_false(accepts((hp_knob_id_t)id, text, NULL));
        snprintf(text, sizeof text, "%lld", (long long)info->maximum + 1);
        assert_false(accepts((hp_knob_id_t)id, text, NULL));
    }
    assert_false(accepts(HP_KNOB_ID_bcast, "Tree", NULL));
    assert_false(accepts(HP_KNOB_ID_bcast, "", NULL));
}

static void bad_values_keep_the_default(void **state)
{
    (void)state;
    problems_t problems;
    bool set[HP_KNOB_COUNT];
    hp_knobs_t knobs =
        read_from(ENTRIES("HANPMPI_SENDS_PER_CHILD=-1", "HANPMPI_BCAST=ring", "HANPMPI_SHAPES=node:star",
                          "HANPMPI_TOPOLOGY=node:0", "HANPMPI_LEVELS=node,socket"),
                  set, &problems);
    assert_int_equal(problems.count, 5);
    assert_int_equal(knobs.sends_per_child, 0);
    assert_int_equal(knobs.bcast, 0);
    assert_string_equal(knobs.shapes, "");
    assert_string_equal(knobs.topology, "");
    assert_string_equal(knobs.levels, "node,package,numa,l3");
    for (unsigned id = 0; id < HP_KNOB_COUNT; id++)
        assert_false(set[id]);
    /* Each line names variable, value and what is accepted. */
    static const char *const parts[][3] = {{"HANPMPI_SENDS_PER_CHILD", "=-1 ", "0..1024"},
                                           {"HANPMPI_BCAST", "ring", "auto, native, han, flags"},
                                           {"HANPMPI_SHAPES", "star", "binomial"},
                                           {"HANPMPI_TOPOLOGY", "node:0", "1"},
                                           {"HANPMPI_LEVELS", "socket", "package"}};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        for (size_t k = 0; k < ARRAY_LENGTH(parts[i]); k++)
            if (!strstr(problems.lines[i], parts[i][k]))
                fail_msg("\"%s\" is not in: %s", parts[i][k], problems.lines[i]);
}

static void long_values_are_refused(void **state)
{
    (void)state;
    char entry[2 * HP_KNOB_TEXT_BYTES + 32] = "HANPMPI_LEVELS=";
    problems_t problems;
    memset(entry + strlen(entry), ' ', HP_KNOB_TEXT_BYTES);
    hp_knobs_t knobs = read_from(ENTRIES(entry), NULL, &problems);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.lines[0], "longer than"));
    assert_string_equal(knobs.levels, "node,package,numa,l3");
}

static void unknown_variables_get_the_nearest_name(void **state)
{
    (void)state;
    problems_t problems;
    static char long_name[4096];
    snprintf(long_name, sizeof long_name, "HANPMPI_%0*d=1", 4000, 0);
    read_from(ENTRIES("HANPMPI_SEGMENT_BYTE=1", "HANPMPI_ALREDUCE=han", "HANPMPI_=1", long_name), NULL,
              &problems);
    assert_int_equal(problems.count, 4);
    assert_non_null(strstr(problems.lines[0], "HANPMPI_SEGMENT_BYTE:"));
    assert_non_null(strstr(problems.lines[0], "did you mean HANPMPI_SEGMENT_BYTES?"));
    assert_non_null(strstr(problems.lines[1], "did you mean HANPMPI_ALLREDUCE?"));
}

/* What the library prints it also reads. */
static void sizes_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 1000, 1024, 1536, 65536, 3 << 20, 1 << 30};
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        char text[32];
        int64_t read;
        assert_true(hp_word_integer(hp_word_size(sizes[i], text, sizeof text), &read));
        assert_int_equal(read, sizes[i]);
    }
}

static void booleans_have_four_names(void **state)
{
    (void)state;
    static const char *const words[] = {"0",    "1",  "no",  "yes", "off", "on",    "false",
                                        "true", "No", "YES", "OFF", "On",  "FALSE", "True"};
    static const char *const wrong[] = {"", "2", "-1", "maybe", "1 ", "00"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        int64_t value;
        assert_true(accepts(HP_KNOB_ID_stats, words[i], &value));
        assert_int_equal(value, i % 2);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
        assert_false(accepts(HP_KNOB_ID_stats, wrong[i], NULL));
}

static void words_in_capitals_and_other_words_for_on_and_off(void **state)
{
    (void)state;
    static const struct {
        hp_knob_id_t id;
        const char *text, *word;
    } good[] = {
        {HP_KNOB_ID_nonblocking, "yes", "on"},    {HP_KNOB_ID_nonblocking, "0", "off"},
        {HP_KNOB_ID_nonblocking, "Auto", "auto"}, {HP_KNOB_ID_wisdom, "TRUE", "on"},
        {HP_KNOB_ID_wisdom, "READ", "read"},      {HP_KNOB_ID_wisdom, "False", "off"},
        {HP_KNOB_ID_mockups, "1", "on"},          {HP_KNOB_ID_mockups, "No", "off"},
        {HP_KNOB_ID_profile_watch, "no", "off"},  {HP_KNOB_ID_bcast, "HAN", "han"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        int64_t value;
        assert_true(accepts(good[i].id, good[i].text, &value));
        assert_string_equal(hp_knob_info(good[i].id)->word((unsigned)value), good[i].word);
    }
    assert_false(accepts(HP_KNOB_ID_profile_watch, "yes", NULL)); /* has no "on" */
    assert_false(accepts(HP_KNOB_ID_bcast, "0", NULL));
    assert_false(accepts(HP_KNOB_ID_wisdom, "2", NULL));
}

static const char *words_of_one_spelling(unsigned i)
{
    static const char *const words[] = {"ring", "Ring", "off"};
    return i < ARRAY_LENGTH(words) ? words[i] : NULL;
}

static void a_word_as_it_is_written_goes_first(void **state)
{
    (void)state;
    unsigned index;
    assert_true(hp_word_find("Ring", words_of_one_spelling, &index));
    assert_int_equal(index, 1);
    assert_true(hp_word_find("RING", words_of_one_spelling, &index));
    assert_int_equal(index, 0);
    assert_true(hp_word_find("false", words_of_one_spelling, &index));
    assert_int_equal(index, 2);
    assert_false(hp_word_find("true", words_of_one_spelling, &index));
}

/* libhanpmpi-noise.so checks the values of its own variables; a misspelt name is a mistake everywhere. */
static void variables_of_the_noise(void **state)
{
    (void)state;
    problems_t problems;
    read_from(ENTRIES("HANPMPI_NOISE=5%", "HANPMPI_NOISE_HZ=x", "HANPMPI_NOISEHZ=1", "HANPMPI_NOIS=1",
                      "HANPMPI_NOISE_RANK=3"),
              NULL, &problems);
    assert_int_equal(problems.count, 3);
    assert_non_null(strstr(problems.lines[0], "HANPMPI_NOISEHZ: did you mean HANPMPI_NOISE_HZ?"));
    assert_non_null(strstr(problems.lines[1], "HANPMPI_NOIS: did you mean HANPMPI_NOISE?"));
    assert_non_null(strstr(problems.lines[2], "HANPMPI_NOISE_RANK: did you mean HANPMPI_NOISE_RANKS?"));
}

/* Any value of any knob survives format and parse. */
static void format_and_parse_round_trip(void **state)
{
    (void)state;
    check_random_t random = check_random_start("format_and_parse_round_trip");
    static const char *const texts[][3] = {{"", "rules.json", "/etc/hanpmpi/rules.json"},
                                           {"", "schedules", "/etc/hanpmpi/my schedules"},
                                           {"", "cluster.net", "/etc/hanpmpi/cluster.json"},
                                           {"", "off", "/tmp/cache"},
                                           {"", "node:2 package:2 core:4", "core:1"},
                                           {"", "node,package,numa,l3", "l3"},
                                           {"", "node:chain package:binary core:linear", "numa:knomial8"},
                                           {"", "node:native core:shm", "core:single_copy"},
                                           {"", "on", "USR1"},
                                           {"", "stalls", "/tmp/stalls"},
                                           {"", "explain.json", "/tmp/explain.json"},
                                           {"", "trace.json", "/tmp/a trace.json"},
                                           {"", "profile.json", "/tmp/a profile.json"},
                                           {"", "records", "/tmp/records"}};
    hp_knobs_t from, to;
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    for (unsigned run = 0; run < 2000; run++) {
        unsigned text_row = 0;
        for (unsigned id = 0; id < HP_KNOB_COUNT; id++) {
            const hp_knob_info_t *info = hp_knob_info((hp_knob_id_t)id);
            char *place = (char *)&from + info->offset;
            char text[HP_KNOB_TEXT_BYTES], error[256];
            int64_t value = 0;
            if (info->kind == HP_KNOB_KIND_TEXT) {
                assert_true(text_row < ARRAY_LENGTH(texts)); /* a row for each knob that is a text */
                snprintf(place, HP_KNOB_TEXT_BYTES, "%s", texts[text_row++][check_random_below(&random, 3)]);
            } else if (info->kind == HP_KNOB_KIND_CHOICE) {
                unsigned words = 0;
                while (info->word(words))
                    words++;
                value = check_random_below(&random, words);
                memcpy(place, &value, sizeof value);
            } else {
                const uint64_t span = (uint64_t)(info->maximum - info->minimum) + 1;
                const uint64_t draw = ((uint64_t)check_random_below(&random, UINT32_MAX) << 32) |
                                      check_random_below(&random, UINT32_MAX);
                value = info->minimum + (int64_t)(draw % span);
                memcpy(place, &value, sizeof value);
            }
            hp_knob_format(&from, (hp_knob_id_t)id, text, sizeof text);
            assert_true(hp_knob_parse(&to, (hp_knob_id_t)id, text, error, sizeof error));
        }
        assert_memory_equal(&from, &to, sizeof from);
        assert_int_equal(hp_knobs_difference(&from, &to), HP_KNOB_COUNT);
    }
}

static void adopt_takes_what_the_job_shares(void **state)
{
    (void)state;
    problems_t problems;
    hp_knobs_t mine = read_from(ENTRIES("HANPMPI_VERBOSE=0", "HANPMPI_SEGMENT_BYTES=1K"), NULL, &problems);
    hp_knobs_t theirs =
        read_from(ENTRIES("HANPMPI_VERBOSE=3", "HANPMPI_SEGMENT_BYTES=2K", "HANPMPI_SHAPES=node:binary"),
                  NULL, &problems);
    assert_int_equal(hp_knobs_difference(&mine, &theirs), HP_KNOB_ID_shapes);
    hp_knobs_adopt(&mine, &theirs);
    assert_int_equal(mine.segment_bytes, 2048);
    assert_string_equal(mine.shapes, "node:binary");
    assert_int_equal(mine.verbose, 0);
    assert_int_equal(hp_knobs_difference(&mine, &theirs), HP_KNOB_COUNT); /* VERBOSE is each rank's own */
}

static void signals_by_name(void **state)
{
    char error[384];
    hp_knobs_t knobs;
    (void)state;

    hp_knobs_defaults(&knobs);
    assert_int_equal(hp_word_signal(knobs.stats_signal), 0);
    assert_int_equal(hp_word_signal("off"), 0);
    assert_int_equal(hp_word_signal("1"), SIGUSR2);
    assert_int_equal(hp_word_signal("USR1"), SIGUSR1);
    assert_true(hp_knob_parse(&knobs, HP_KNOB_ID_stats_signal, "on", error, sizeof error));
    assert_false(hp_knob_parse(&knobs, HP_KNOB_ID_stats_signal, "KILL", error, sizeof error));
    assert_non_null(strstr(error, "USR2"));
    assert_string_equal(knobs.stats_signal, "on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold),
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(suffixes_and_ranges),
        cmocka_unit_test(bad_values_keep_the_default),
        cmocka_unit_test(long_values_are_refused),
        cmocka_unit_test(unknown_variables_get_the_nearest_name),
        cmocka_unit_test(variables_of_the_noise),
        cmocka_unit_test(sizes_are_read_as_they_are_written),
        cmocka_unit_test(booleans_have_four_names),
        cmocka_unit_test(words_in_capitals_and_other_words_for_on_and_off),
        cmocka_unit_test(a_word_as_it_is_written_goes_first),
        cmocka_unit_test(format_and_parse_round_trip),
        cmocka_unit_test(adopt_takes_what_the_job_shares),
        cmocka_unit_test(signals_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
