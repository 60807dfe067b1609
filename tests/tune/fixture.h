/* fixture: a small space on 4 nodes of 4 ranks, and a lab whose meter is a made-up clock.
 *
 * Threads: one. Ownership: fixture_fini. */
#ifndef HP_TESTS_TUNE_FIXTURE_H
#define HP_TESTS_TUNE_FIXTURE_H

#include "tune/search.h"
#include "unit/check.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

typedef struct {
    tune_options_t options;
    tune_layout_t layout;
    tune_list_t lists[TUNE_COLLECTIVES];
    tune_lab_t lab;
    int measured, most; /* measurements; none after `most` of them */
} fixture_t;

/* The made-up time of a configuration, in microseconds. */
typedef double (*fixture_clock_fn_t)(const tune_key_t *key, const tune_config_t *config);

static fixture_clock_fn_t fixture_clock;

static inline void fixture_measure(void *context, tune_record_t *record)
{
    fixture_t *fixture = context;
    const tune_list_t *list = &fixture->lists[record->key.collective];

    record->us = calloc(2, sizeof *record->us);
    assert_non_null(record->us);
    record->us[record->count++] = fixture_clock(&record->key, &list->configs[record->key.config]);
    if (tune_kind_is_pair(record->key.kind))
        record->us[record->count++] = fixture_clock(&record->key, &list->configs[record->key.other]);
    record->seconds = 1e-6 * record->us[0];
    fixture->measured++;
}

static inline bool fixture_may_go_on(void *context)
{
    const fixture_t *fixture = context;
    return fixture->measured < fixture->most;
}

/* The options of `words`, without the program's name. */
static inline void fixture_init(fixture_t *fixture, int nodes, char **words, int count,
                                fixture_clock_fn_t clock)
{
    char name[] = "hanpmpi_tune", *argv[32] = {name};

    memset(fixture, 0, sizeof *fixture);
    memcpy(argv + 1, words, (size_t)count * sizeof *words);
    assert_int_equal(tune_options_read(&fixture->options, count + 1, argv, true), TUNE_OPTIONS_RUN);
    fixture->layout = (tune_layout_t){.ranks = 4 * nodes, .nodes = nodes, .least_ranks = 4, .most_ranks = 4};
    fixture->most = 1000000;
    assert_true(tune_options_fit(&fixture->options, &fixture->layout, true));
    tune_space_init(fixture->lists, &fixture->options.choices, &fixture->layout);
    const tune_knowledge_t knowledge = {.layout = fixture->layout,
                                        .latency_us = 30,
                                        .bytes_per_us = 119.5,
                                        .choices = &fixture->options.choices};
    tune_lab_init(&fixture->lab, &fixture->options, fixture->lists, &knowledge);
    fixture_clock = clock;
    fixture->lab.measure = fixture_measure;
    fixture->lab.meter = fixture;
    fixture->lab.may_go_on = fixture_may_go_on;
    fixture->lab.watcher = fixture;
}

static inline void fixture_fini(fixture_t *fixture)
{
    tune_lab_fini(&fixture->lab);
    tune_space_fini(fixture->lists);
    tune_options_fini(&fixture->options);
}

static inline int fixture_config(const fixture_t *fixture, tune_collective_t collective, const char *id)
{
    const int config = tune_space_find(&fixture->lists[collective], id);
    if (config < 0)
        fail_msg("no configuration %s", id);
    return config;
}

#define WORDS(...) ((char *[]){__VA_ARGS__}), (int)ARRAY_LENGTH(((char *[]){__VA_ARGS__}))

#endif
