#include "rules.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crossing.h"

enum {
    ELEMENT_BYTES = 4,
    TINY_BYTES = 64 /* a smallest size up to this speaks for all shorter messages */
};

void tune_rules_smooth(const tune_options_t *options, tune_search_t *search, tune_known_fn_t known,
                       const void *context)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        tune_choice_t *choices = search->choices[collective];
        for (int size = 1; size < tune_sizes(options, (tune_collective_t)collective)->count; size++) {
            if (choices[size].config < 0 || choices[size - 1].config < 0)
                continue;
            const double us = known(context, (tune_collective_t)collective, choices[size - 1].config, size);
            if (us >= 0 && us <= TUNE_KEEP * choices[size].us)
                choices[size] = (tune_choice_t){choices[size - 1].config, us};
        }
    }
}

typedef struct {
    tune_lab_t *lab;
    tune_collective_t collective;
    int lower, upper; /* configurations */
} neighbors_t;

static int upper_is_faster(void *context, size_t bytes)
{
    const neighbors_t *neighbors = context;
    const tune_key_t key = {TUNE_KIND_PAIR, neighbors->collective, neighbors->lower, neighbors->upper, bytes};
    const tune_record_t *record = tune_lab_get(neighbors->lab, &key, NULL);
    return !record || record->count < 2 ? -1 : record->us[1] < record->us[0];
}

/* Would the upper one do for all of the lower one's sizes? One segment hides segment sizes and turns. */
static bool upper_serves(const tune_list_t *list, int lower, int upper, size_t most)
{
    return lower == upper ||
           tune_space_representative(list, lower, most) == tune_space_representative(list, upper, most);
}

/* Where the upper one's range begins. Between sizes that are not neighbours nobody knows: nothing is said
 * there. */
static size_t begin_range(tune_lab_t *lab, tune_rule_t *last, bool neighbors, tune_collective_t collective,
                          int config, size_t bytes)
{
    neighbors_t pair = {lab, collective, last->config, config};

    if (!neighbors)
        return bytes;
    const size_t from =
        tune_crossing(last->to, bytes, ELEMENT_BYTES, lab->options->crossing_steps, upper_is_faster, &pair);
    last->to = from - 1;
    return from;
}

static void make_for(tune_rules_t *rules, tune_lab_t *lab, const tune_search_t *search,
                     tune_collective_t collective, const double host_us[TUNE_SIZES_MAX])
{
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);
    tune_rule_t *last = NULL;
    int last_size = 0;

    for (int size = 0; size < sizes->count; size++) {
        const size_t bytes = sizes->bytes[size];
        const tune_choice_t *choice = &search->choices[collective][size];
        size_t from = bytes > 0 && bytes <= TINY_BYTES ? 1 : bytes;
        if (choice->config < 0)
            continue;
        if (last && upper_serves(&lab->lists[collective], last->config, choice->config, last->to)) {
            from = last->from; /* the same rule, longer; also over sizes that are not known */
        } else {
            if (last)
                from = begin_range(lab, last, last_size + 1 == size, collective, choice->config, bytes);
            last = &rules->rules[rules->count++];
        }
        *last = (tune_rule_t){collective, from, bytes, choice->config, choice->us, host_us[size]};
        last_size = size;
    }
}

void tune_rules_make(tune_rules_t *rules, tune_lab_t *lab, const tune_search_t *search,
                     double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX])
{
    rules->count = 0;
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        make_for(rules, lab, search, (tune_collective_t)collective, host_us[collective]);
}

void tune_rules_add_settings(json_t *object, const tune_config_t *config)
{
    tune_setting_t settings[TUNE_SETTINGS_MAX];
    const int count = tune_config_settings(config, settings);

    for (int i = 0; i < count; i++)
        json_object_set_new(object, settings[i].key,
                            settings[i].is_number ? json_integer(atoll(settings[i].text))
                                                  : json_string(settings[i].text));
}

static json_t *rule_json(const tune_rule_t *rule, const tune_config_t *config, const tune_layout_t *layout,
                         const char *network)
{
    char comment[80];
    json_t *object =
        json_pack("{s:s, s:[i, i], s:[i, i], s:s}", "collective", tune_collective_name(rule->collective),
                  "nodes", layout->nodes, layout->nodes, "ranks_per_node", layout->least_ranks,
                  layout->most_ranks, "algorithm", tune_config_algorithm(config));

    /* Whatever the ranks come to know of the blocks' sizes. */
    if (tune_collective_family(rule->collective) != TUNE_OF_OWN_SIZES)
        json_object_set_new(object, "bytes",
                            json_pack("[I, I]", (json_int_t)rule->from, (json_int_t)rule->to));
    if (network[0])
        json_object_set_new(object, "network", json_string(network));
    tune_rules_add_settings(object, config);
    const int used = snprintf(comment, sizeof comment, "%.0f us", rule->us);
    if (rule->host_us > 0)
        snprintf(comment + used, sizeof comment - (size_t)used, ", host %.0f us", rule->host_us);
    json_object_set_new(object, "comment", json_string(comment));
    return object;
}

bool tune_rules_write(const tune_rules_t *rules, const tune_list_t *lists, const tune_layout_t *layout,
                      const char *network, json_t *array, const char *file)
{
    for (int i = 0; i < rules->count; i++) {
        const tune_rule_t *rule = &rules->rules[i];
        json_array_append_new(
            array, rule_json(rule, &lists[rule->collective].configs[rule->config], layout, network));
    }
    json_t *document = json_pack("{s:i, s:O}", "version", 1, "rules", array);
    const bool written = document && json_dump_file(document, file, JSON_INDENT(1)) == 0;
    json_decref(document);
    if (!written)
        fprintf(stderr, "hanpmpi_tune: cannot write %s: %s; give another file with --output\n", file,
                strerror(errno));
    return written;
}
