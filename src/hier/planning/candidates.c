#include "hier/planning/candidates.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "hier/planning/model/described.h"

/* The rules of HANPMPI_RULES. */
static hp_rule_t *file_rules;
static size_t file_rule_count;

hp_status_t hp_candidates_set_rules(const hp_rule_t *rules, size_t count)
{
    free(file_rules);
    file_rules = NULL;
    file_rule_count = 0;
    if (count == 0)
        return HP_OK;
    if (!(file_rules = malloc(count * sizeof *file_rules)))
        return HP_ERR_NO_MEM;
    memcpy(file_rules, rules, count * sizeof *file_rules);
    file_rule_count = count;
    return HP_OK;
}

const char *hp_decider_word(hp_decider_t decider)
{
    static const char *const words[] = {
#define X(id, word, text) word,
        HP_DECIDER_TABLE(X)
#undef X
    };
    return words[decider];
}

const char *hp_decider_text(hp_decider_t decider)
{
    static const char *const texts[] = {
#define X(id, word, text) text,
        HP_DECIDER_TABLE(X)
#undef X
    };
    return texts[decider];
}

static unsigned knob_word(const hp_knobs_t *knobs, hp_collective_t collective)
{
    switch (collective) {
#define X(id, name, ...)                                                                                     \
    case HP_##id:                                                                                            \
        return (unsigned)knobs->name;
        HP_COLLECTIVE_TABLE(X)
#undef X
    case HP_COLLECTIVE_COUNT:
        break;
    }
    return HP_WORD_AUTO;
}

/* Every reduction is taken then, by the one algorithm that keeps the order. */
static bool is_reproducible(const hp_knobs_t *knobs, hp_collective_t collective)
{
    return knobs->reproducible && (collective == HP_REDUCE || collective == HP_ALLREDUCE);
}

/* ---- mock-ups ---- */

bool hp_candidates_is_named(const hp_knobs_t *knobs, hp_collective_t collective)
{
    return knob_word(knobs, collective) != HP_WORD_AUTO;
}

enum { MOCKUPS_ON, MOCKUPS_OFF, MOCKUPS_FORCE }; /* hp_knob_word_mockups */

/* The one that the guard offers, or NULL. */
static const char *mockup_of(hp_collective_t collective)
{
    static const struct {
        hp_collective_t collective;
        const char *made_of;
        bool offered;
    } mockups[] = {
#define HP_MOCKUP(id, name, made_of, function, offered) {HP_##id, made_of, offered},
#include "../../../tuning/mockups.def"
#undef HP_MOCKUP
    };
    for (size_t i = 0; i < sizeof mockups / sizeof *mockups; i++)
        if (mockups[i].collective == collective && mockups[i].offered)
            return mockups[i].made_of;
    return NULL;
}

static bool is_forced_mockup(const hp_knobs_t *knobs, hp_collective_t collective)
{
    return knobs->mockups == MOCKUPS_FORCE && mockup_of(collective);
}

/* The blocks of all ranks are placed by ints. */
static uint64_t most_bytes_of_mockup(const hp_layout_t *layout)
{
    return INT_MAX / ((uint64_t)layout->nodes * layout->most_ranks);
}

/* ---- before a communicator is set up ---- */

/* Does some rule take calls of the collective, of `bytes`, on at most so many nodes? */
static bool may_take(const hp_rule_t *rules, size_t count, hp_collective_t collective, uint64_t bytes,
                     uint32_t nodes)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].collective == collective && rules[i].algorithm != HP_ALGORITHM_NATIVE &&
            bytes >= rules[i].bytes.from && bytes <= rules[i].bytes.to &&
            rules[i].nodes.from <= nodes)
            return true;
    return false;
}

static bool some_rule_takes(hp_collective_t collective, uint64_t bytes, uint32_t nodes)
{
    size_t count;
    const hp_rule_t *rules = hp_rules_default(&count);
    return may_take(file_rules, file_rule_count, collective, bytes, nodes) ||
           may_take(rules, count, collective, bytes, nodes);
}

hp_outcome_t hp_candidates_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                    uint32_t nodes)
{
    const unsigned word = knob_word(knobs, collective);

    if (!knobs->enable || word == HP_WORD_NATIVE)
        return HP_OUTCOME_HINT;
    if (word != HP_WORD_AUTO || is_reproducible(knobs, collective) || is_forced_mockup(knobs, collective) ||
        some_rule_takes(collective, bytes, nodes))
        return HP_OUTCOME_TAKEN;
    return nodes <= 1 ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE;
}

/* ---- what may run a call ---- */

/* The part of *range around `value` that the other range has no share in: it does not hold the value. */
static void keep_clear_of(hp_bounds_t *range, hp_bounds_t other, uint64_t value)
{
    if (other.from > value && other.from <= range->to)
        range->to = other.from - 1;
    if (other.to < value && other.to >= range->from)
        range->from = other.to + 1;
}

/* The first rule that holds, NULL for none. *range shrinks to the sizes for which that is so. */
static const hp_rule_t *find_rule(const hp_rule_t *rules, size_t count, hp_collective_t collective,
                                  const hp_layout_t *layout, uint64_t bytes, hp_bounds_t *range)
{
    for (size_t i = 0; i < count; i++) {
        const hp_rule_t *rule = &rules[i];
        if (rule->collective != collective || !hp_rule_matches(rule, collective, layout, rule->bytes.from))
            continue;
        if (bytes < rule->bytes.from || bytes > rule->bytes.to) {
            keep_clear_of(range, rule->bytes, bytes);
            continue;
        }
        range->from = range->from > rule->bytes.from ? range->from : rule->bytes.from;
        range->to = range->to < rule->bytes.to ? range->to : rule->bytes.to;
        return rule;
    }
    return NULL;
}

static hp_candidate_t native(hp_decider_t by, hp_outcome_t reason)
{
    return (hp_candidate_t){.by = by, .reason = reason, .expected_us = -1};
}

/* An algorithm that was asked for by name; the numbers are a rule's where one holds. */
static hp_candidate_t forced(const hp_situation_t *s, hp_collective_t collective,
                             const hp_algorithm_t *algorithm, const hp_rule_t *rule)
{
    hp_candidate_t candidate = {.algorithm = algorithm, .reason = HP_OUTCOME_TAKEN, .expected_us = -1};

    candidate.by = s->job_knobs && knob_word(s->job_knobs, collective) != knob_word(s->knobs, collective)
                       ? HP_DECIDER_HINT
                       : HP_DECIDER_KNOB;
    if (rule && rule->algorithm != HP_ALGORITHM_NATIVE) {
        candidate.setting = rule->setting;
        return candidate;
    }
    hp_setting_default(&candidate.setting);
    if (hp_collective_is(collective, HP_OF_BLOCKS)) /* which a chain would carry many times */
        candidate.setting.shapes.shape[HP_LEVEL_NODE] = HP_SHAPE_LINEAR;
    return candidate;
}

/* *range shrinks to the sizes that have one. */
static bool mockup(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes, hp_decider_t by,
                   hp_bounds_t *range, hp_candidate_t *candidate)
{
    const uint64_t most = most_bytes_of_mockup(&s->layout);
    const char *made_of = mockup_of(collective);

    if (!made_of)
        return false;
    if (bytes > most) {
        keep_clear_of(range, (hp_bounds_t){0, most}, bytes);
        return false;
    }
    keep_clear_of(range, (hp_bounds_t){most + 1, UINT64_MAX}, bytes);
    *candidate = native(by, HP_OUTCOME_MOCKUP);
    candidate->mockup = made_of;
    return true;
}

static hp_candidate_t by_rule(const hp_rule_t *rule)
{
    const hp_decider_t by = rule->line ? HP_DECIDER_FILE : HP_DECIDER_RULE;
    if (rule->algorithm == HP_ALGORITHM_NATIVE) {
        hp_candidate_t candidate = native(by, HP_OUTCOME_RULE);
        candidate.line = rule->line;
        return candidate;
    }
    return (hp_candidate_t){.algorithm = hp_algorithm_of(rule->algorithm),
                            .setting = rule->setting,
                            .by = by,
                            .line = rule->line,
                            .reason = HP_OUTCOME_TAKEN,
                            .expected_us = -1};
}

/* On one node nothing is to be gained over the host MPI's messages. */
static bool has_nothing_to_gain(const hp_layout_t *layout)
{
    return layout->nodes == 1 && !layout->shares_memory;
}

/* Without the guard. *asked: somebody named the outcome, there is no question. */
static hp_candidate_t first_choice(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                                   hp_bounds_t *range, bool *asked)
{
    const unsigned word = knob_word(s->knobs, collective);
    size_t count;
    const hp_rule_t *built_in = hp_rules_default(&count);

    *asked = true;
    if (!s->knobs->enable || word == HP_WORD_NATIVE) {
        hp_candidate_t none = forced(s, collective, NULL, NULL);
        none.reason = HP_OUTCOME_HINT;
        return none;
    }
    const hp_rule_t *rule = find_rule(file_rules, file_rule_count, collective, &s->layout, bytes, range);
    const bool from_file = rule != NULL;
    if (!rule)
        rule = find_rule(built_in, count, collective, &s->layout, bytes, range);
    if (is_reproducible(s->knobs, collective))
        return forced(s, collective, hp_algorithm_with(collective, HP_TRAIT_REPRODUCES), rule);
    if (word != HP_WORD_AUTO)
        return forced(s, collective, hp_algorithm(collective, word - HP_FIRST_ALGORITHM_WORD), rule);
    hp_candidate_t candidate;
    if (is_forced_mockup(s->knobs, collective) &&
        mockup(s, collective, bytes, HP_DECIDER_KNOB, range, &candidate))
        return candidate;
    *asked = false;
    if (rule && (from_file || !has_nothing_to_gain(&s->layout)))
        return by_rule(rule);
    *asked = has_nothing_to_gain(&s->layout);
    return native(HP_DECIDER_NOBODY, s->layout.nodes == 1 ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE);
}

/* In place of a built-in rule's algorithm, one for all sizes that share the answer. The same in every run: it depends on the
 * description alone. */
static void choose_on_network(const hp_situation_t *s, hp_collective_t collective, hp_candidates_t *c)
{
    hp_candidate_t *first = &c->slot[HP_SLOT_RULE];
    hp_algorithm_id_t algorithm;
    hp_setting_t setting;
    hp_probes_t probes;
    double us;

    if (first->by != HP_DECIDER_RULE || !first->algorithm || s->knobs->guard || !s->knobs->model ||
        !hp_probes_described(&s->layout, &probes) ||
        !hp_model_choose(&probes, &s->layout, collective, c->bytes.from, &algorithm, &setting, &us))
        return;
    first->by = HP_DECIDER_NETWORK;
    first->algorithm = hp_algorithm_of(algorithm);
    first->setting = setting;
}

static void add_native(hp_candidates_t *c)
{
    if (!c->slot[HP_SLOT_RULE].algorithm)
        return;
    c->slot[HP_SLOT_NATIVE] = native(HP_DECIDER_GUARD, HP_OUTCOME_GUARD);
    c->offered |= 1u << HP_SLOT_NATIVE;
}

static double expected_us(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                          const hp_candidate_t *candidate)
{
    if (!candidate->algorithm || !s->probes)
        return -1;
    return hp_model_us(s->probes, &s->layout, collective, bytes, hp_algorithm_id(candidate->algorithm),
                       &candidate->setting);
}

/* Of collectives of blocks the model has many schedules to choose from, of which several are about as fast: it is
 * asked for the shortest of the sizes that share an answer, so that what is found for one of them is found again
 * (wisdom.h). */
static void add_models(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                       hp_candidates_t *c)
{
    const hp_candidate_t *first = &c->slot[HP_SLOT_RULE];
    const uint64_t asked = hp_collective_is(collective, HP_OF_BLOCKS) ? c->bytes.from : bytes;
    hp_candidate_t *candidate = &c->slot[HP_SLOT_MODEL];
    hp_algorithm_id_t algorithm;

    *candidate = (hp_candidate_t){.by = HP_DECIDER_MODEL, .reason = HP_OUTCOME_TAKEN};
    if (!s->probes || !hp_model_choose(s->probes, &s->layout, collective, asked, &algorithm,
                                       &candidate->setting, &candidate->expected_us))
        return;
    const double first_us = asked == bytes ? first->expected_us : expected_us(s, collective, asked, first);
    if (first_us >= 0 && candidate->expected_us >= first_us)
        return; /* one as good as the rules' is the same thing in other words, or a guess */
    candidate->algorithm = hp_algorithm_of(algorithm);
    hp_setting_apply(&candidate->setting, s->knobs);
    if (first->algorithm && candidate->setting.segment_bytes >= bytes &&
        first->setting.segment_bytes >= bytes)
        candidate->setting.segment_bytes = first->setting.segment_bytes; /* one segment either way */
    if (candidate->algorithm == first->algorithm && hp_setting_same(&candidate->setting, &first->setting))
        return;
    c->offered |= 1u << HP_SLOT_MODEL;
    if (asked != bytes)
        candidate->expected_us = expected_us(s, collective, bytes, candidate);
}

void hp_candidates_find(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                        hp_candidates_t *out)
{
    const unsigned bin = hp_size_bin(bytes);
    hp_candidate_t *first = &out->slot[HP_SLOT_RULE];
    bool asked;

    memset(out, 0, sizeof *out);
    out->bytes = (hp_bounds_t){bin ? 1ull << (bin - 1) : 0, bin ? (1ull << (bin - 1)) * 2 - 1 : 0};
    *first = first_choice(s, collective, bytes, &out->bytes, &asked);
    choose_on_network(s, collective, out);
    if (first->algorithm)
        hp_setting_apply(&first->setting, s->knobs);
    first->expected_us = expected_us(s, collective, bytes, first);
    out->offered = 1u << HP_SLOT_RULE;
    if (!asked && s->knobs->guard) {
        add_native(out);
        if (s->knobs->model && first->by != HP_DECIDER_FILE)
            add_models(s, collective, bytes, out);
        if (s->knobs->mockups == MOCKUPS_ON && first->by != HP_DECIDER_FILE &&
            mockup(s, collective, bytes, HP_DECIDER_GUARD, &out->bytes, &out->slot[HP_SLOT_MOCKUP]))
            out->offered |= 1u << HP_SLOT_MOCKUP;
    }
}

hp_situation_t hp_candidates_situation(const hp_comm_t *comm)
{
    return (hp_situation_t){.knobs = &comm->knobs,
                            .job_knobs = comm->job_knobs,
                            .layout = hp_comm_layout(comm),
                            .probes = &comm->probes};
}

uint64_t hp_candidate_id(const hp_candidate_t *candidate)
{
    const char *name = candidate->algorithm ? candidate->algorithm->name : candidate->mockup;

    if (!name)
        return 0;
    const uint64_t setting = candidate->algorithm ? hp_setting_hash(&candidate->setting) : 0;
    const uint64_t hash = hp_hash_add(HP_HASH_BASIS, name, strlen(name));
    return hp_hash_add(hash, &setting, sizeof setting) | 1; /* not 0 */
}
