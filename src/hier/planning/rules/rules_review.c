/* rules_review: what the rules of a file are to each other: which are never used, which sizes they leave
 * out. */
#include "hier/planning/rules/rules_reading.h"

#include <string.h>

static bool contains(hp_bounds_t outer, hp_bounds_t inner)
{
    return outer.from <= inner.from && outer.to >= inner.to;
}

static bool meets(hp_bounds_t a, hp_bounds_t b)
{
    return a.from <= b.to && b.from <= a.to;
}

/* Rules that were left out for their machine are not here: when that was looked at, all others hold on
 * this machine. */
static bool is_same_machine(const hp_rules_reading_t *reading, const hp_rule_t *a, const hp_rule_t *b)
{
    return reading->source->machine || strcmp(a->machine, b->machine) == 0;
}

static bool is_same_network(const hp_rule_t *a, const hp_rule_t *b)
{
    return memcmp(&a->network, &b->network, sizeof a->network) == 0;
}

static bool covers(const hp_rules_reading_t *reading, const hp_rule_t *earlier, const hp_rule_t *later)
{
    return earlier->collective == later->collective && contains(earlier->bytes, later->bytes) &&
           contains(earlier->nodes, later->nodes) && contains(earlier->ranks, later->ranks) &&
           (earlier->evenness == HP_RANKS_ANY || earlier->evenness == later->evenness) &&
           (earlier->memory == HP_MEMORY_ANY || earlier->memory == later->memory) &&
           (!earlier->network.asks || is_same_network(earlier, later)) &&
           (!earlier->machine[0] || is_same_machine(reading, earlier, later));
}

size_t hp_rules_find_cover(const hp_rules_reading_t *reading, const hp_rule_t *rule)
{
    size_t i = 0;

    while (i < reading->count && !covers(reading, &reading->rules[i], rule))
        i++;
    return i;
}

/* Do they differ in nothing that they match but the bytes? */
static bool is_same_place(const hp_rules_reading_t *reading, const hp_rule_t *a, const hp_rule_t *b)
{
    return a->collective == b->collective && a->evenness == b->evenness && a->memory == b->memory &&
           contains(a->nodes, b->nodes) && contains(b->nodes, a->nodes) && contains(a->ranks, b->ranks) &&
           contains(b->ranks, a->ranks) && is_same_network(a, b) && is_same_machine(reading, a, b);
}

/* The rule of the same place that reaches furthest among those that begin below this one. count: there is
 * none. */
static size_t find_lower(const hp_rules_reading_t *reading, const hp_rule_t *rule)
{
    size_t lower = reading->count;

    for (size_t i = 0; i < reading->count; i++) {
        const hp_rule_t *other = &reading->rules[i];
        if (other->bytes.from < rule->bytes.from && is_same_place(reading, other, rule) &&
            (lower == reading->count || other->bytes.to > reading->rules[lower].bytes.to))
            lower = i;
    }
    return lower;
}

/* Does any rule take some of these calls? */
static bool is_taken(const hp_rules_reading_t *reading, const hp_rule_t *calls)
{
    for (size_t i = 0; i < reading->count; i++) {
        const hp_rule_t *rule = &reading->rules[i];
        if (rule->collective == calls->collective && meets(rule->bytes, calls->bytes) &&
            meets(rule->nodes, calls->nodes) && meets(rule->ranks, calls->ranks))
            return true;
    }
    return false;
}

void hp_rules_report_gaps(hp_rules_reading_t *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        const hp_rule_t *rule = &reading->rules[i];
        const size_t lower = find_lower(reading, rule);
        if (lower == reading->count || reading->rules[lower].bytes.to >= rule->bytes.from - 1)
            continue;
        hp_rule_t gap = *rule;
        gap.bytes = (hp_bounds_t){reading->rules[lower].bytes.to + 1, rule->bytes.from - 1};
        if (!is_taken(reading, &gap))
            hp_rules_report(reading, HP_RULES_NOTE, (hp_rules_place_t){rule->line, 0, reading->numbers[i]},
                            "between rule %u and this one no rule is for %llu to %llu bytes: the built-in "
                            "rules hold there",
                            reading->numbers[lower], (unsigned long long)gap.bytes.from,
                            (unsigned long long)gap.bytes.to);
    }
}
