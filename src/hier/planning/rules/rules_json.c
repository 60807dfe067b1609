#include "hier/planning/rules/rules_json.h"

#include <fnmatch.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "hier/planning/rules/rules_reading.h"

enum { REASON_BYTES = 2 * HP_KNOB_RANGE_BYTES + 128, VALUE_BYTES = HP_KNOB_TEXT_BYTES + 1 };

/* What a rule is read with. reason: why it is left out. */
typedef struct {
    json_t *object;
    const char *file_machine;
    hp_rule_t *rule;
    char reason[REASON_BYTES];
} rule_reader_t;

__attribute__((format(printf, 2, 3))) static bool refuse(rule_reader_t *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->reason, sizeof reader->reason, format, arguments);
    va_end(arguments);
    return false;
}

/* A value as it stands in the file, for messages: its beginning. Returns text. */
static const char *show(const json_t *value, char *text, size_t text_bytes)
{
    char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    snprintf(text, text_bytes, "%s", dump ? dump : "?");
    free(dump);
    return text;
}

/* ---- keys ---- */

static const char *const match_keys[] = {"collective", "nodes",   "ranks_per_node", "ranks",
                                         "bytes",      "machine", "network",        "hosts_per_switch",
                                         "blocking",   "comment", "algorithm",      "memory"};
enum { MATCH_KEYS = sizeof match_keys / sizeof *match_keys };
static const char *const file_keys[] = {"version", "machine", "comment", "rules"};

static const char *rule_key(unsigned i)
{
    return i < MATCH_KEYS ? match_keys[i] : hp_setting_key(i - MATCH_KEYS);
}

static const char *file_key(unsigned i)
{
    return i < sizeof file_keys / sizeof *file_keys ? file_keys[i] : NULL;
}

/* The first key of the object that is not in the list, NULL: all are. */
static const char *find_unknown_key(json_t *object, hp_word_fn_t word)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        unsigned i = 0;
        while (word(i) && strcmp(word(i), key) != 0)
            i++;
        if (!word(i))
            return key;
    }
    return NULL;
}

static bool check_keys(rule_reader_t *reader)
{
    const char *key = find_unknown_key(reader->object, rule_key);
    return !key ||
           refuse(reader, "unknown key \"%.40s\": did you mean \"%s\"?", key, hp_word_nearest(key, rule_key));
}

/* ---- what it matches ---- */

static const char *collective_word(unsigned i)
{
    return i < HP_COLLECTIVE_COUNT ? hp_collective_name((hp_collective_t)i) : NULL;
}

/* The text of a key that must be one. NULL: the reason is given. */
static const char *need_text(rule_reader_t *reader, const char *key)
{
    char shown[48];
    const json_t *value = json_object_get(reader->object, key);

    if (!value)
        refuse(reader, "there is no \"%s\"", key);
    else if (!json_is_string(value))
        refuse(reader, "%s: %s is not a text", key, show(value, shown, sizeof shown));
    return json_string_value(value);
}

static bool read_collective(rule_reader_t *reader)
{
    const char *name = need_text(reader, "collective");

    if (!name)
        return false;
    for (unsigned i = 0; i < HP_COLLECTIVE_COUNT; i++)
        if (strcmp(name, collective_word(i)) == 0) {
            reader->rule->collective = (hp_collective_t)i;
            return true;
        }
    return refuse(reader, "unknown collective \"%.40s\": did you mean %s?", name,
                  hp_word_nearest(name, collective_word));
}

/* 4, "64K". */
static bool read_number(const json_t *value, int64_t *out)
{
    if (!json_is_integer(value))
        return json_is_string(value) && hp_word_integer(json_string_value(value), out);
    *out = json_integer_value(value);
    return true;
}

/* One end of a range. value: NULL where there is none. */
static bool read_end(rule_reader_t *reader, const char *key, const json_t *value, uint64_t *end)
{
    char shown[48];
    int64_t number;

    if (!value || json_is_null(value))
        return true;
    show(value, shown, sizeof shown);
    if (!read_number(value, &number))
        return refuse(reader,
                      "%s: %s is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end",
                      key, shown);
    if (number < 0)
        return refuse(reader, "%s: %s is less than 0", key, shown);
    *end = (uint64_t)number;
    return true;
}

static bool read_range(rule_reader_t *reader, const char *key, uint64_t least, hp_bounds_t *range)
{
    const json_t *value = json_object_get(reader->object, key);

    *range = (hp_bounds_t){least, UINT64_MAX};
    if (!json_is_array(value)) {
        if (!read_end(reader, key, value, &range->from))
            return false;
        if (value && !json_is_null(value))
            range->to = range->from;
        return true;
    }
    if (json_array_size(value) != 2)
        return refuse(reader, "%s: a range is [from, to], this one has %zu ends", key,
                      json_array_size(value));
    return read_end(reader, key, json_array_get(value, 0), &range->from) &&
           read_end(reader, key, json_array_get(value, 1), &range->to);
}

/* One of three words, the first of which is meant where there is none. */
static bool read_word(rule_reader_t *reader, const char *key, const char *const words[HP_RULE_WORDS],
                      unsigned *number)
{
    const json_t *value = json_object_get(reader->object, key);
    char shown[48];

    *number = 0;
    if (!value)
        return true;
    for (unsigned i = 0; i < HP_RULE_WORDS; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), words[i]) == 0) {
            *number = i;
            return true;
        }
    return refuse(reader, "%s: %s is not accepted (accepted: %s, %s, %s)", key,
                  show(value, shown, sizeof shown), words[0], words[1], words[2]);
}

static bool read_place(rule_reader_t *reader)
{
    unsigned ranks, nodes;

    if (!read_word(reader, "ranks", hp_evenness_words, &ranks) ||
        !read_word(reader, "memory", hp_rule_memory_words, &nodes))
        return false;
    reader->rule->evenness = (hp_evenness_t)ranks;
    reader->rule->memory = (hp_rule_memory_t)nodes;
    return true;
}

/* Checks a pattern. NULL: it can be used, else what is wrong with it. */
static const char *pattern_fault(const json_t *value)
{
    return !json_is_string(value)                                 ? "is not a text"
           : strlen(json_string_value(value)) >= HP_MACHINE_BYTES ? "is longer than 63 characters"
                                                                  : NULL;
}

static bool read_machine(rule_reader_t *reader)
{
    const json_t *value = json_object_get(reader->object, "machine");
    const char *fault = value ? pattern_fault(value) : NULL;
    char shown[48];

    if (fault)
        return refuse(reader, "machine: %s %s", show(value, shown, sizeof shown), fault);
    snprintf(reader->rule->machine, sizeof reader->rule->machine, "%s",
             value ? json_string_value(value) : reader->file_machine);
    return true;
}

static bool read_network(rule_reader_t *reader)
{
    hp_rule_network_t *network = &reader->rule->network;
    const json_t *value = json_object_get(reader->object, "network");
    const char *fault = value ? pattern_fault(value) : NULL;
    char shown[48];

    memset(network, 0, sizeof *network); /* padding, too: they are compared as bytes */
    if (fault)
        return refuse(reader, "network: %s %s", show(value, shown, sizeof shown), fault);
    network->asks = value || json_object_get(reader->object, "hosts_per_switch") ||
                    json_object_get(reader->object, "blocking");
    if (value)
        snprintf(network->fingerprint, sizeof network->fingerprint, "%s", json_string_value(value));
    return !network->asks || (read_range(reader, "hosts_per_switch", 1, &network->hosts_per_switch) &&
                              read_range(reader, "blocking", 1, &network->blocking));
}

static bool read_comment(rule_reader_t *reader)
{
    return !json_object_get(reader->object, "comment") || need_text(reader, "comment");
}

/* ---- its outcome ---- */

static bool refuse_algorithm(rule_reader_t *reader, const char *name)
{
    const hp_algorithm_t *algorithm;
    char accepted[REASON_BYTES / 2] = "native";
    size_t used = strlen(accepted);

    for (unsigned i = 0; (algorithm = hp_algorithm(reader->rule->collective, i)) && used < sizeof accepted;
         i++)
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, ", %s", algorithm->name);
    return refuse(reader, "algorithm: \"%.40s\" is not accepted for %s (accepted: %s)", name,
                  hp_collective_name(reader->rule->collective), accepted);
}

static bool read_algorithm(rule_reader_t *reader)
{
    const char *name = need_text(reader, "algorithm");

    if (!name)
        return false;
    const hp_algorithm_t *algorithm = hp_algorithm_find(reader->rule->collective, name);
    if (!algorithm && strcmp(name, "native") != 0)
        return refuse_algorithm(reader, name);
    reader->rule->algorithm = hp_algorithm_id(algorithm);
    return true;
}

/* The value as it would stand in the environment. */
static bool read_knob_text(const json_t *value, char *text, size_t text_bytes)
{
    if (json_is_integer(value)) {
        snprintf(text, text_bytes, "%lld", (long long)json_integer_value(value));
        return true;
    }
    if (!json_is_string(value))
        return false;
    snprintf(text, text_bytes, "%s", json_string_value(value)); /* what is cut is too long for a knob, too */
    return true;
}

static bool read_setting(rule_reader_t *reader)
{
    hp_knobs_t knobs;
    const char *key;
    char text[VALUE_BYTES], shown[48], error[REASON_BYTES / 2];

    hp_setting_no_knobs(&knobs);
    for (unsigned i = 0; (key = hp_setting_key(i)); i++) {
        const json_t *value = json_object_get(reader->object, key);
        if (!value)
            continue;
        if (reader->rule->algorithm == HP_ALGORITHM_NATIVE)
            return refuse(reader, "%s: native is the host MPI, which has no such setting", key);
        show(value, shown, sizeof shown);
        if (!read_knob_text(value, text, sizeof text))
            return refuse(reader, "%s: %s is neither a whole number nor a text", key, shown);
        if (!hp_knob_parse(&knobs, hp_setting_knob(i), text, error, sizeof error))
            return refuse(reader, "%s: %s is not accepted (%s)", key, shown, error);
    }
    hp_setting_default(&reader->rule->setting);
    hp_setting_apply(&reader->rule->setting, &knobs);
    return true;
}

static bool read_rule(rule_reader_t *reader)
{
    hp_rule_t *rule = reader->rule;

    if (!json_is_object(reader->object)) {
        char shown[48];
        return refuse(reader, "%s is not a rule: {\"collective\": ..., \"algorithm\": ...}",
                      show(reader->object, shown, sizeof shown));
    }
    return check_keys(reader) && read_collective(reader) && read_range(reader, "nodes", 1, &rule->nodes) &&
           read_range(reader, "ranks_per_node", 1, &rule->ranks) &&
           read_range(reader, "bytes", 0, &rule->bytes) && read_place(reader) && read_machine(reader) &&
           read_network(reader) && read_comment(reader) && read_algorithm(reader) && read_setting(reader) &&
           hp_rule_check(rule, reader->reason, sizeof reader->reason);
}

/* ---- the file ---- */

static bool is_for(const hp_rules_source_t *source, const hp_rule_t *rule)
{
    return !source->machine || !rule->machine[0] || fnmatch(rule->machine, source->machine, 0) == 0;
}

/* Reads a rule into the place behind the kept ones, and keeps it if it is sound, for this machine, and
 * ever used. */
static void take_rule(hp_rules_reading_t *reading, json_t *object, const char *file_machine, uint32_t number,
                      uint32_t line)
{
    hp_rule_t *rule = &reading->rules[reading->count];
    const hp_rules_place_t place = {line, 0, number};
    rule_reader_t reader = {.object = object, .file_machine = file_machine, .rule = rule};

    memset(rule, 0, sizeof *rule);
    rule->line = line;
    if (!read_rule(&reader)) {
        hp_rules_report(reading, HP_RULES_PROBLEM, place, "%s", reader.reason);
        return;
    }
    if (!is_for(reading->source, rule))
        return;
    const size_t cover = hp_rules_find_cover(reading, rule);
    if (cover < reading->count) {
        hp_rules_report(reading, HP_RULES_PROBLEM, place, "is never used: rule %u covers it",
                        reading->numbers[cover]);
        return;
    }
    reading->numbers[reading->count++] = number;
}

/* Which member of the object has this key, which is there. */
static size_t find_member(json_t *object, const char *wanted)
{
    const char *key;
    json_t *value;
    size_t member = 0;

    json_object_foreach(object, key, value)
    {
        if (strcmp(key, wanted) == 0)
            break;
        member++;
    }
    return member;
}

static hp_status_t take_rules(hp_rules_reading_t *reading, json_t *root, const char *machine,
                              const char *text, size_t length)
{
    json_t *array = json_object_get(root, "rules");
    const size_t given = json_array_size(array), count = given < HP_RULES_MAX ? given : HP_RULES_MAX;
    uint32_t *lines = calloc(count + 1, sizeof *lines);

    reading->rules = calloc(count + 1, sizeof *reading->rules);
    reading->numbers = calloc(count + 1, sizeof *reading->numbers);
    const bool has_memory = lines && reading->rules && reading->numbers;
    if (has_memory) {
        hp_rules_find_lines(text, length, find_member(root, "rules"), lines, count);
        for (size_t i = 0; i < count; i++)
            take_rule(reading, json_array_get(array, i), machine, (uint32_t)i + 1, lines[i]);
        if (given > count)
            hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE,
                            "%zu rules: those after the first %d are not used", given, HP_RULES_MAX);
        hp_rules_report_gaps(reading);
    } else {
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE, "%s for %zu rules: no rule of it is used",
                        hp_status_text(HP_ERR_NO_MEM), count);
    }
    free(lines);
    return has_memory ? HP_OK : HP_ERR_NO_MEM;
}

static bool check_version(hp_rules_reading_t *reading, const json_t *root)
{
    const json_t *version = json_object_get(root, "version");
    char shown[48];

    if (!version) {
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE,
                        "there is no \"version\": read as \"version\": 1");
        return true;
    }
    if (json_is_integer(version) && json_integer_value(version) == 1)
        return true;
    hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE,
                    "version %s is not known: no rule of it is used (known: 1)",
                    show(version, shown, sizeof shown));
    return false;
}

static hp_status_t take_file(hp_rules_reading_t *reading, json_t *root, const char *text, size_t length)
{
    const json_t *machine = json_object_get(root, "machine");
    const char *key, *fault = machine ? pattern_fault(machine) : NULL;
    char shown[48];

    if (!json_is_object(root) || !json_is_array(json_object_get(root, "rules"))) {
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE,
                        "not a file of rules: {\"version\": 1, \"rules\": [...]} is (man 5 hanpmpi-rules)");
        return HP_ERR_ARG;
    }
    if (!check_version(reading, root))
        return HP_ERR_ARG;
    if ((key = find_unknown_key(root, file_key)))
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE,
                        "unknown key \"%.40s\": did you mean \"%s\"?", key, hp_word_nearest(key, file_key));
    if (fault) {
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE, "machine: %s %s: no rule of it is used",
                        show(machine, shown, sizeof shown), fault);
        return HP_ERR_ARG;
    }
    return take_rules(reading, root, machine ? json_string_value(machine) : "", text, length);
}

/* Without memory the JSON library fails with no word of what or where. */
static hp_status_t refuse_text(hp_rules_reading_t *reading, const json_error_t *error)
{
    const hp_rules_place_t place = {(uint32_t)error->line, (uint32_t)error->column, 0};

    if (json_error_code(error) == json_error_out_of_memory || !error->text[0]) {
        hp_rules_report(reading, HP_RULES_PROBLEM, HP_RULES_FILE, "%s: no rule of it is used",
                        hp_status_text(HP_ERR_NO_MEM));
        return HP_ERR_NO_MEM;
    }
    hp_rules_report(reading, HP_RULES_PROBLEM, place, "%s: no rule of it is used", error->text);
    return HP_ERR_ARG;
}

static hp_status_t take_text(hp_rules_reading_t *reading, const char *text, size_t length)
{
    json_error_t error = {.text = ""};
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

    if (!root)
        return refuse_text(reading, &error);
    const hp_status_t status = take_file(reading, root, text, length);
    json_decref(root);
    return status;
}

hp_status_t hp_rules_parse(const hp_rules_source_t *source, const char *text, size_t length,
                           hp_rule_t **rules, size_t *count)
{
    hp_rules_reading_t reading = {.source = source};

    const hp_status_t status = take_text(&reading, text, length);
    hp_rules_report_rest(&reading);
    free(reading.numbers);
    if (status != HP_OK || reading.count == 0) {
        free(reading.rules);
        reading.rules = NULL;
        reading.count = 0;
    }
    *rules = reading.rules;
    *count = reading.count;
    return status;
}
