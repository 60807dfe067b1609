/* rules_write: rules as the file that they could have come from, and as text for people. */
#include "hier/planning/rules/rules_json.h"

#include <string.h>

/* 65536 is 64K: the largest unit of which it is a multiple. */
static const char *unit_of(uint64_t *number)
{
    static const char *const units[] = {"", "K", "M", "G"};
    unsigned unit = 0;

    while (unit < 3 && *number && *number % 1024 == 0) {
        *number /= 1024;
        unit++;
    }
    return units[unit];
}

static void write_number(FILE *out, uint64_t number, const char *quote)
{
    const char *unit = unit_of(&number);
    fprintf(out, "%s%llu%s%s", *unit ? quote : "", (unsigned long long)number, unit, *unit ? quote : "");
}

static void write_range(FILE *out, const char *key, hp_bounds_t range, uint64_t least)
{
    if (range.from == least && range.to == UINT64_MAX)
        return;
    fprintf(out, ", \"%s\": ", key);
    if (range.from == range.to) {
        write_number(out, range.from, "\"");
        return;
    }
    fprintf(out, "[");
    write_number(out, range.from, "\"");
    fprintf(out, ", ");
    if (range.to == UINT64_MAX)
        fprintf(out, "null");
    else
        write_number(out, range.to, "\"");
    fprintf(out, "]");
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    fputc('"', out);
}

static const char *algorithm_word(const hp_rule_t *rule)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(rule->algorithm);
    return algorithm ? algorithm->name : "native";
}

/* Calls each for every knob by which the rule's setting differs from the usual one. */
static void for_each_knob(FILE *out, const hp_rule_t *rule,
                          void (*each)(FILE *out, const char *key, hp_knob_kind_t kind, const char *value))
{
    char value[HP_KNOB_TEXT_BYTES], unset[HP_KNOB_TEXT_BYTES];
    hp_setting_t usual;
    hp_knobs_t knobs, none;
    const char *key;

    if (rule->algorithm == HP_ALGORITHM_NATIVE)
        return;
    hp_setting_default(&usual);
    hp_setting_knobs(&rule->setting, &usual, &knobs);
    hp_setting_no_knobs(&none);
    for (unsigned i = 0; (key = hp_setting_key(i)); i++) {
        const hp_knob_id_t id = hp_setting_knob(i);
        hp_knob_format(&knobs, id, value, sizeof value);
        if (strcmp(value, hp_knob_format(&none, id, unset, sizeof unset)) != 0)
            each(out, key, hp_knob_info(id)->kind, value);
    }
}

static void write_knob(FILE *out, const char *key, hp_knob_kind_t kind, const char *value)
{
    const char *quote = kind == HP_KNOB_KIND_INT ? "" : "\"";
    fprintf(out, ", \"%s\": %s%s%s", key, quote, value, quote);
}

static void write_rule(FILE *out, const hp_rule_t *rule)
{
    fprintf(out, "    {\"collective\": \"%s\"", hp_collective_name(rule->collective));
    write_range(out, "nodes", rule->nodes, 1);
    write_range(out, "ranks_per_node", rule->ranks, 1);
    if (rule->evenness != HP_RANKS_ANY)
        fprintf(out, ", \"ranks\": \"%s\"", hp_evenness_words[rule->evenness]);
    if (rule->memory != HP_MEMORY_ANY)
        fprintf(out, ", \"memory\": \"%s\"", hp_rule_memory_words[rule->memory]);
    write_range(out, "bytes", rule->bytes, 0);
    if (rule->machine[0]) {
        fprintf(out, ", \"machine\": ");
        write_text(out, rule->machine);
    }
    if (rule->network.asks) {
        fprintf(out, ", \"network\": ");
        write_text(out, rule->network.fingerprint[0] ? rule->network.fingerprint : "*");
        write_range(out, "hosts_per_switch", rule->network.hosts_per_switch, 1);
        write_range(out, "blocking", rule->network.blocking, 1);
    }
    fprintf(out, ", \"algorithm\": \"%s\"", algorithm_word(rule));
    for_each_knob(out, rule, write_knob);
    fprintf(out, "}");
}

void hp_rules_write(FILE *out, const hp_rule_t *rules, size_t count)
{
    fprintf(out, "{\n  \"version\": 1,\n  \"rules\": [\n");
    for (size_t i = 0; i < count; i++) {
        write_rule(out, &rules[i]);
        fprintf(out, "%s\n", i + 1 < count ? "," : "");
    }
    fprintf(out, "  ]\n}\n");
}

/* ", 2 to 4 nodes"; nothing where every number is in the range. */
static void print_range(FILE *out, hp_bounds_t range, uint64_t least, const char *what)
{
    if (range.from == least && range.to == UINT64_MAX)
        return;
    fprintf(out, ", ");
    write_number(out, range.from, "");
    if (range.to == UINT64_MAX) {
        fprintf(out, " or more");
    } else if (range.to != range.from) {
        fprintf(out, " to ");
        write_number(out, range.to, "");
    }
    fprintf(out, " %s%s", what, range.from == 1 && range.to == 1 ? "" : "s");
}

static void print_knob(FILE *out, const char *key, hp_knob_kind_t kind, const char *value)
{
    (void)kind;
    fprintf(out, ", %s %s", key, value);
}

void hp_rule_print(FILE *out, const hp_rule_t *rule)
{
    fprintf(out, "%s", hp_collective_name(rule->collective));
    print_range(out, rule->nodes, 1, "node");
    print_range(out, rule->ranks, 1, "rank");
    if (rule->ranks.from != 1 || rule->ranks.to != UINT64_MAX)
        fprintf(out, " on each node");
    if (rule->evenness != HP_RANKS_ANY)
        fprintf(out, ", %s ranks", hp_evenness_words[rule->evenness]);
    if (rule->memory != HP_MEMORY_ANY)
        fprintf(out, ", memory %s", hp_rule_memory_words[rule->memory]);
    print_range(out, rule->bytes, 0, "byte");
    if (rule->machine[0])
        fprintf(out, ", machine %s", rule->machine);
    if (rule->network.asks) {
        fprintf(out, ", network %s", rule->network.fingerprint[0] ? rule->network.fingerprint : "*");
        print_range(out, rule->network.hosts_per_switch, 1, "host");
        print_range(out, rule->network.blocking, 1, "blocking factor");
    }
    fprintf(out, ": %s", algorithm_word(rule));
    for_each_knob(out, rule, print_knob);
}
