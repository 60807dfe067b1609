#include "hier/planning/select.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The rules of HANPMPI_RULES. */
static hp_rule_t *file_rules;
static size_t file_rule_count;

hp_status_t hp_select_set_rules(const hp_rule_t *rules, size_t count)
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

/* ---- before a communicator is set up ---- */

/* Does some rule take calls of the collective, of `bytes`, on one node or on any? */
static bool may_take(const hp_rule_t *rules, size_t count, hp_collective_t collective, uint64_t bytes,
                     bool one_node)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].collective == collective && rules[i].algorithm != HP_ALGORITHM_NATIVE &&
            bytes >= rules[i].bytes.from && bytes <= rules[i].bytes.to &&
            (!one_node || rules[i].nodes.from <= 1))
            return true;
    return false;
}

static bool some_rule_takes(hp_collective_t collective, uint64_t bytes, bool one_node)
{
    size_t count;
    const hp_rule_t *rules = hp_rules_default(&count);
    return may_take(file_rules, file_rule_count, collective, bytes, one_node) ||
           may_take(rules, count, collective, bytes, one_node);
}

hp_outcome_t hp_select_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                bool one_node)
{
    const unsigned word = knob_word(knobs, collective);

    if (!knobs->enable || word == HP_WORD_NATIVE)
        return HP_OUTCOME_HINT;
    if (word != HP_WORD_AUTO || is_reproducible(knobs, collective) ||
        some_rule_takes(collective, bytes, one_node))
        return HP_OUTCOME_TAKEN;
    return one_node ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE;
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

/* Over the MPI's own messages nothing is to be gained on one node. */
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
    *asked = false;
    if (rule && (from_file || !has_nothing_to_gain(&s->layout)))
        return by_rule(rule);
    *asked = has_nothing_to_gain(&s->layout);
    return native(HP_DECIDER_NOBODY, s->layout.nodes == 1 ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE);
}

static void add_native(hp_candidates_t *c)
{
    if (!c->slot[HP_SLOT_RULE].algorithm)
        return;
    c->slot[HP_SLOT_NATIVE] = native(HP_DECIDER_GUARD, HP_OUTCOME_GUARD);
    c->offered |= 1u << HP_SLOT_NATIVE;
}

static void add_models(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                       hp_candidates_t *c)
{
    const hp_candidate_t *first = &c->slot[HP_SLOT_RULE];
    hp_candidate_t *candidate = &c->slot[HP_SLOT_MODEL];
    hp_algorithm_id_t algorithm;

    *candidate = (hp_candidate_t){.by = HP_DECIDER_MODEL, .reason = HP_OUTCOME_TAKEN};
    if (!s->probes || !hp_model_choose(s->probes, &s->layout, collective, bytes, &algorithm,
                                       &candidate->setting, &candidate->expected_us))
        return;
    candidate->algorithm = hp_algorithm_of(algorithm);
    hp_setting_apply(&candidate->setting, s->knobs);
    if (first->algorithm && candidate->setting.segment_bytes >= bytes &&
        first->setting.segment_bytes >= bytes)
        candidate->setting.segment_bytes = first->setting.segment_bytes; /* one segment either way */
    if (candidate->algorithm != first->algorithm || !hp_setting_same(&candidate->setting, &first->setting))
        c->offered |= 1u << HP_SLOT_MODEL;
}

void hp_select_candidates(const hp_situation_t *s, hp_collective_t collective, uint64_t bytes,
                          hp_candidates_t *out)
{
    const unsigned bin = hp_size_bin(bytes);
    hp_candidate_t *first = &out->slot[HP_SLOT_RULE];
    bool asked;

    memset(out, 0, sizeof *out);
    out->bytes = (hp_bounds_t){bin ? 1ull << (bin - 1) : 0, bin ? (1ull << (bin - 1)) * 2 - 1 : 0};
    *first = first_choice(s, collective, bytes, &out->bytes, &asked);
    if (first->algorithm)
        hp_setting_apply(&first->setting, s->knobs);
    out->offered = 1u << HP_SLOT_RULE;
    if (!asked && s->knobs->guard) {
        add_native(out);
        if (s->knobs->model && first->by != HP_DECIDER_FILE)
            add_models(s, collective, bytes, out);
    }
    if (first->algorithm && s->probes)
        first->expected_us = hp_model_us(s->probes, &s->layout, collective, bytes,
                                         hp_algorithm_id(first->algorithm), &first->setting);
}

/* ---- what a communicator remembers ---- */

struct hp_choices {
    hp_bin_t *bins[HP_COLLECTIVE_COUNT][HP_SIZE_BINS];
};

static bool synchronizes(hp_collective_t collective)
{
    const unsigned patterns = HP_SERVES(ALLREDUCE) | HP_SERVES(BARRIER) | HP_SERVES(ALLGATHER) |
                              HP_SERVES(REDUCE_SCATTER) | HP_SERVES(ALLTOALL);
    return patterns & 1u << hp_collective_pattern(collective) && !hp_collective_is(collective, HP_OWN_SIZES);
}

static hp_bin_t *make_bin(hp_comm_t *comm, hp_collective_t collective, unsigned number)
{
    if (!comm->choices && !(comm->choices = calloc(1, sizeof *comm->choices)))
        return NULL;
    hp_bin_t *bin = calloc(1, sizeof *bin);
    if (bin)
        bin->candidates.bytes = (hp_bounds_t){1, 0}; /* none yet */
    return comm->choices->bins[collective][number] = bin;
}

hp_situation_t hp_select_situation(const hp_comm_t *comm)
{
    return (hp_situation_t){.knobs = &comm->knobs,
                            .job_knobs = comm->job_knobs,
                            .layout = hp_comm_layout(comm),
                            .probes = &comm->probes};
}

static void fill(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes, hp_bin_t *bin)
{
    const hp_situation_t situation = hp_select_situation(comm);
    const bool is_first = !bin->candidates.offered;

    hp_select_candidates(&situation, collective, bytes, &bin->candidates);
    /* For another part of the bin, with another rule, what the guard found goes on to hold for the slots. */
    if (is_first)
        hp_guard_init(&bin->guard, bin->candidates.offered, HP_SLOT_RULE, synchronizes(collective));
}

static hp_bin_t *find_bin(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes)
{
    const unsigned number = hp_size_bin(bytes);
    hp_bin_t *bin = comm->choices ? comm->choices->bins[collective][number] : NULL;

    if (!bin && !(bin = make_bin(comm, collective, number)))
        return NULL;
    if (bytes < bin->candidates.bytes.from || bytes > bin->candidates.bytes.to)
        fill(comm, collective, bytes, bin);
    return bin;
}

static hp_outcome_t take_slot(hp_choice_t *choice, unsigned slot)
{
    hp_bin_t *bin = choice->bin;

    choice->slot = bin->candidates.offered & (1u << slot) ? slot : HP_SLOT_RULE;
    const hp_candidate_t *candidate = &bin->candidates.slot[choice->slot];
    bin->calls[choice->slot]++;
    choice->algorithm = candidate->algorithm;
    choice->setting = &candidate->setting;
    return candidate->reason;
}

hp_outcome_t hp_select(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes, hp_choice_t *choice)
{
    *choice = (hp_choice_t){.bin = find_bin(comm, collective, bytes)};
    if (!choice->bin)
        return HP_OUTCOME_FAILED;
    return take_slot(choice, hp_guard_next(&choice->bin->guard, &choice->is_timed));
}

hp_outcome_t hp_select_untimed(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                               hp_choice_t *choice)
{
    *choice = (hp_choice_t){.bin = find_bin(comm, collective, bytes)};
    if (!choice->bin)
        return HP_OUTCOME_FAILED;
    return take_slot(choice, hp_guard_verdict(&choice->bin->guard));
}

void hp_select_each(const hp_comm_t *comm, hp_bin_fn_t visit, void *context)
{
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT && comm->choices; c++)
        for (unsigned number = 0; number < HP_SIZE_BINS; number++)
            if (comm->choices->bins[c][number])
                visit(context, (hp_collective_t)c, number, comm->choices->bins[c][number]);
}

void hp_select_forget(hp_comm_t *comm)
{
    if (!comm)
        return;
    for (unsigned c = 0; c < HP_COLLECTIVE_COUNT && comm->choices; c++)
        for (unsigned number = 0; number < HP_SIZE_BINS; number++)
            free(comm->choices->bins[c][number]);
    free(comm->choices);
    comm->choices = NULL;
}

void hp_select_set_knobs(hp_comm_t *comm, const hp_knobs_t *knobs)
{
    comm->knobs = *knobs;
    hp_select_forget(comm);
}
