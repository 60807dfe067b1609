/* Every figure, in JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "call_sites.h"

static const char *id_of(const tune_lab_t *lab, int collective, int config)
{
    return lab->lists[collective].configs[config].id;
}

static void add_limit(json_t *limits, const char *name, double value)
{
    if (value > 0)
        json_object_set_new(limits, name, json_real(value));
}

static json_t *limits_json(const tune_rates_t *limits)
{
    json_t *object = json_object();
    add_limit(object, "link_bytes_per_us", limits->link_bytes_per_us);
    add_limit(object, "copy_bytes_per_us", limits->copy_bytes_per_us);
    add_limit(object, "between_us", limits->between_us);
    add_limit(object, "inside_us", limits->inside_us);
    return object;
}

/* Do the heuristics keep it at any size? */
static bool is_kept(const tune_lab_t *lab, int collective, const tune_config_t *config)
{
    const tune_sizes_t *sizes = tune_sizes(lab->options, (tune_collective_t)collective);

    for (int size = 0; size < sizes->count; size++)
        if (tune_heuristics_keep(&lab->knowledge, (tune_collective_t)collective, config, sizes->bytes[size]))
            return true;
    return false;
}

static json_t *configuration_json(const tune_lab_t *lab, int collective, const tune_config_t *config)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:b}", "id", config->id, "collective",
                  tune_collective_name((tune_collective_t)collective), "algorithm",
                  tune_config_algorithm(config), "heuristic", (int)is_kept(lab, collective, config));
    tune_rules_add_settings(object, config);
    return object;
}

static json_t *configurations(const tune_lab_t *lab)
{
    json_t *array = json_array();
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int i = 0; i < lab->lists[collective].count && lab->options->collectives[collective]; i++)
            if (lab->lists[collective].configs[i].algorithm != TUNE_NATIVE)
                json_array_append_new(
                    array, configuration_json(lab, collective, &lab->lists[collective].configs[i]));
    return array;
}

static json_t *measured(const tune_lab_t *lab)
{
    json_t *array = json_array();
    for (int i = 0; i < lab->book.count; i++) {
        const tune_record_t *record = &lab->book.records[i];
        const tune_key_t *key = &record->key;
        if (key->kind == TUNE_KIND_DIRECT && record->count)
            json_array_append_new(
                array, json_pack("{s:s, s:I, s:s, s:f}", "collective", tune_collective_name(key->collective),
                                 "bytes", (json_int_t)key->bytes, "configuration",
                                 id_of(lab, (int)key->collective, key->config), "us", record->us[0]));
    }
    return array;
}

/* The slowest rank's time of each task. */
static void add_tasks(json_t *array, const tune_lab_t *lab, const tune_record_t *record)
{
    const tune_key_t *key = &record->key;

    for (unsigned task = 0; task < tune_task_count(key->collective); task++) {
        double us = 0;
        for (int at = (int)task; at < record->count; at += TUNE_TASKS_MAX)
            us = record->us[at] > us ? record->us[at] : us;
        json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:s, s:f}", "collective",
                                               tune_collective_name(key->collective), "configuration",
                                               id_of(lab, (int)key->collective, key->config), "segment_bytes",
                                               (json_int_t)key->bytes, "task",
                                               tune_task_name(key->collective, task), "us", us));
    }
}

static json_t *tasks(const tune_lab_t *lab)
{
    json_t *array = json_array();
    for (int i = 0; i < lab->book.count; i++)
        if (lab->book.records[i].key.kind == TUNE_KIND_LOCKSTEP)
            add_tasks(array, lab, &lab->book.records[i]);
    return array;
}

static void add_prediction(json_t *array, const tune_lab_t *lab, int collective, int config, size_t bytes,
                           const char *model, double us)
{
    if (us >= 0)
        json_array_append_new(array, json_pack("{s:s, s:I, s:s, s:s, s:f}", "collective",
                                               tune_collective_name((tune_collective_t)collective), "bytes",
                                               (json_int_t)bytes, "configuration",
                                               id_of(lab, collective, config), "model", model, "us", us));
}

/* The curves of the larger of the task searches that ran. */
static const tune_curves_t *curves_of(const tune_report_t *report)
{
    return &report->results
                ->curves[report->lab->options->searches[TUNE_SEARCH_TASK] ? TUNE_SEARCH_TASK
                                                                          : TUNE_SEARCH_TASK_HEURISTIC];
}

static json_t *predicted(const tune_report_t *report)
{
    const tune_lab_t *lab = report->lab;
    json_t *array = json_array();

    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int config = 0; config < lab->lists[collective].count; config++)
            for (int size = 0; size < tune_size_count(lab->options, (unsigned)collective); size++) {
                const size_t bytes = tune_size(lab->options, (unsigned)collective, size);
                if (!tune_has_segments(&lab->lists[collective].configs[config]) ||
                    !tune_is_itself(&lab->lists[collective], config, bytes))
                    continue;
                add_prediction(array, lab, collective, config, bytes, "events",
                               tune_predict_us(curves_of(report), lab->lists, (tune_collective_t)collective,
                                               config, bytes));
                add_prediction(array, lab, collective, config, bytes, "lockstep",
                               tune_lockstep_predict(lab, (tune_collective_t)collective, config, bytes));
            }
    return array;
}

static json_t *searches(const tune_report_t *report)
{
    json_t *array = json_array();
    for (int id = 0; id < TUNE_SEARCHES; id++) {
        const tune_search_t *search = &report->results->searches[id];
        if (report->lab->options->searches[id])
            json_array_append_new(
                array, json_pack("{s:s, s:f, s:i, s:b}", "name", tune_search_name((tune_search_id_t)id),
                                 "seconds", search->cost.seconds, "measurements", search->cost.measurements,
                                 "complete", (int)search->complete));
    }
    return array;
}

static void add_choice(json_t *array, const tune_report_t *report, int id, int collective, int size)
{
    const tune_lab_t *lab = report->lab;
    const tune_choice_t *choice = &report->results->searches[id].choices[collective][size];
    const double us = report->results->evaluated[id][collective][size].us;
    const double best_us = report->results->evaluated[id][collective][size].best_us;

    if (choice->config < 0)
        return;
    json_t *object = json_pack("{s:s, s:s, s:I, s:s, s:f}", "search", tune_search_name((tune_search_id_t)id),
                               "collective", tune_collective_name((tune_collective_t)collective), "bytes",
                               (json_int_t)tune_size(lab->options, collective, size), "configuration",
                               id_of(lab, collective, choice->config), "us", best_us > 0 ? us : choice->us);
    if (best_us > 0)
        json_object_set_new(object, "best_us", json_real(best_us));
    json_array_append_new(array, object);
}

static json_t *choices(const tune_report_t *report)
{
    json_t *array = json_array();
    for (int id = 0; id < TUNE_SEARCHES; id++)
        for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
            for (int size = 0; size < tune_size_count(report->lab->options, collective) &&
                               report->lab->options->searches[id];
                 size++)
                add_choice(array, report, id, collective, size);
    return array;
}

static json_t *host(const tune_report_t *report)
{
    json_t *array = json_array();
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int size = 0; size < tune_size_count(report->lab->options, collective); size++)
            if (report->results->host_us[collective][size] > 0)
                json_array_append_new(array,
                                      json_pack("{s:s, s:I, s:f}", "collective",
                                                tune_collective_name((tune_collective_t)collective), "bytes",
                                                (json_int_t)tune_size(report->lab->options, collective, size),
                                                "us", report->results->host_us[collective][size]));
    return array;
}

static json_t *places(const tune_pattern_t *pattern)
{
    json_t *object = json_object();

    for (int i = 0; i < pattern->place_count; i++)
        json_object_set_new(object, pattern->places[i].text, json_real(pattern->places[i].calls));
    return object;
}

/* The patterns of a recording, with the time of each configuration. */
static json_t *patterns(const tune_report_t *report)
{
    const tune_lab_t *lab = report->lab;
    const tune_patterns_t *all = lab->options->patterns;
    json_t *array = json_array();

    for (int i = 0; i < all->count; i++) {
        const tune_pattern_t *pattern = &all->list[i];
        const int chosen =
            report->results->decided.choices[pattern->collective][tune_pattern_size(lab->options, pattern)]
                .config;
        json_t *us = json_object();
        for (int config = 0; config < lab->lists[pattern->collective].count; config++)
            if (tune_pattern_us(lab, i, config) >= 0)
                json_object_set_new(us, id_of(lab, (int)pattern->collective, config),
                                    json_real(tune_pattern_us(lab, i, config)));
        json_array_append_new(
            array, json_pack("{s:s, s:I, s:f, s:f, s:i, s:s?, s:o, s:o}", "collective",
                             tune_collective_name(pattern->collective), "bytes",
                             (json_int_t)tune_pattern_bytes(pattern), "calls", pattern->calls, "recorded_s",
                             pattern->recorded_s, "alike", pattern->alike, "configuration",
                             chosen < 0 ? NULL : id_of(lab, (int)pattern->collective, chosen), "us", us,
                             "sites", places(pattern)));
    }
    return array;
}

static json_t *call_sites(const tune_report_t *report)
{
    const tune_lab_t *lab = report->lab;
    json_t *array = json_array();
    tune_call_site_t site;

    for (int i = 0; tune_call_site(lab, &report->results->decided, i, &site); i++) {
        char hints[TUNE_HINTS_BYTES];
        if (site.config < 0)
            continue;
        const tune_config_t *config = &lab->lists[site.collective].configs[site.config];
        json_array_append_new(array, json_pack("{s:s, s:s, s:f, s:s, s:f, s:f, s:f, s:s}", "collective",
                                               tune_collective_name(site.collective), "site", site.place,
                                               "calls", site.calls, "configuration", config->id, "us",
                                               site.us, "rules_us", site.rule_us, "host_us", site.host_us,
                                               "hints", tune_config_hints(site.collective, config, hints)));
    }
    return array;
}

static json_t *document_of(const tune_report_t *report)
{
    char date[32] = "";
    const time_t now = time(NULL);
    struct tm utc;

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *document = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:{s:i, s:[i, i], s:i}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "program", "hanpmpi_tune", "version", HANPMPI_VERSION, "date", date, "mpi", report->mpi, "machine",
        report->machine, "layout", "nodes", report->layout.nodes, "ranks_per_node",
        report->layout.least_ranks, report->layout.most_ranks, "ranks", report->layout.ranks, "limits",
        limits_json(&report->limits), "configurations", configurations(report->lab), "measured",
        measured(report->lab), "tasks", tasks(report->lab), "predicted", predicted(report), "searches",
        searches(report), "choices", choices(report), "host", host(report));
    if (document && report->lab->options->patterns)
        json_object_set_new(document, "patterns", patterns(report));
    if (document && report->lab->options->patterns)
        json_object_set_new(document, "call_sites", call_sites(report));
    if (document && report->results->lockstep.measurements)
        json_object_set_new(document, "lockstep_seconds", json_real(report->results->lockstep.seconds));
    return document;
}

bool tune_report_write(const tune_report_t *report, const char *file)
{
    json_t *document = document_of(report);
    const bool written =
        document && json_dump_file(document, file, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) == 0;

    json_decref(document);
    if (!written)
        fprintf(stderr, "hanpmpi_tune: cannot write %s: %s; give another file with --results\n", file,
                strerror(errno));
    return written;
}
