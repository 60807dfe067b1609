#include "hier/selection/select.h"

#include <assert.h>
#include <stdlib.h>
#include "hier/selection/rule.h"

typedef struct {
    hp_collective_t collective;
    uint64_t nodes_from, nodes_to;
    uint64_t bytes_from, bytes_to;
    const char *algorithm;
    size_t segment_bytes;
    hp_shape_t between_nodes, inside_node;
    hp_module_id_t module; /* inside a node */
    uint32_t trees, leaders;
    hp_between_t joined;
} rule_t;

static const rule_t rules[] = {
#define HP_RULE(collective, nodes_from, nodes_to, bytes_from, bytes_to, algorithm, segment, between, inside, \
                module, trees, leaders, joined)                                                              \
    {HP_##collective, nodes_from, nodes_to,           bytes_from,        bytes_to,                           \
     #algorithm,      segment,    HP_SHAPE_##between, HP_SHAPE_##inside, HP_MODULE_##module,                 \
     trees,           leaders,    HP_BETWEEN_##joined},
#include "../../../tuning/default_rules.def"
#undef HP_RULE
};

/* Settings of an algorithm that was asked for by name on a communicator that no rule covers. */
static const rule_t forced_default = {.segment_bytes = 32768,
                                      .between_nodes = HP_SHAPE_CHAIN,
                                      .inside_node = HP_SHAPE_LINEAR,
                                      .module = HP_MODULE_SINGLE_COPY,
                                      .trees = HP_FOREST_MAX,
                                      .leaders = 1,
                                      .joined = HP_BETWEEN_TREE};

static const rule_t *find_rule(hp_collective_t collective, uint64_t nodes, uint64_t bytes)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule_t *rule = &rules[i];
        if (rule->collective == collective && bytes >= rule->bytes_from && bytes <= rule->bytes_to &&
            nodes >= rule->nodes_from && nodes <= rule->nodes_to)
            return rule;
    }
    return NULL;
}

static unsigned knob_word(const hp_knobs_t *knobs, hp_collective_t collective)
{
    switch (collective) {
#define X(id, name)                                                                                          \
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

hp_outcome_t hp_select_possible(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes,
                                bool one_node)
{
    unsigned word = knob_word(knobs, collective);

    if (!knobs->enable || word == HP_WORD_NATIVE)
        return HP_OUTCOME_HINT;
    if (word != HP_WORD_AUTO || is_reproducible(knobs, collective))
        return HP_OUTCOME_TAKEN;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].collective == collective && bytes >= rules[i].bytes_from && bytes <= rules[i].bytes_to &&
            (!one_node || rules[i].nodes_from <= 1))
            return HP_OUTCOME_TAKEN;
    return one_node ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE;
}

bool hp_select_never(const hp_knobs_t *knobs, hp_collective_t collective, bool one_node)
{
    if (!one_node || !knobs->enable || knob_word(knobs, collective) != HP_WORD_AUTO ||
        is_reproducible(knobs, collective))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].collective == collective && rules[i].nodes_from <= 1)
            return false;
    return true;
}

/* What the rule says, and the knobs over it. */
static void fill_setting(const rule_t *rule, const hp_knobs_t *knobs, hp_setting_t *setting)
{
    hp_setting_default(setting);
    setting->segment_bytes = rule->segment_bytes;
    setting->trees = rule->trees;
    setting->between = rule->joined;
    setting->leaders = rule->leaders;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        setting->shapes.shape[level] = level == HP_LEVEL_NODE ? rule->between_nodes : rule->inside_node;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        setting->modules.module[level] = (uint8_t)(level == HP_LEVEL_NODE ? HP_MODULE_P2P : rule->module);
    hp_setting_apply(setting, knobs);
}

static hp_outcome_t choose(const hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                           const hp_algorithm_t **algorithm, hp_setting_t *setting, const rule_t **used)
{
    const hp_knobs_t *knobs = &comm->knobs;
    const uint32_t nodes = hp_hierarchy_node_count(comm->hierarchy);
    const unsigned word = knob_word(knobs, collective);
    if (!knobs->enable || word == HP_WORD_NATIVE)
        return HP_OUTCOME_HINT;
    const rule_t *rule = find_rule(collective, nodes, bytes);
    if (is_reproducible(knobs, collective))
        *algorithm = hp_algorithm_find(collective, "han");
    else if (word != HP_WORD_AUTO)
        *algorithm = hp_algorithm(collective, word - HP_FIRST_ALGORITHM_WORD);
    else if (rule)
        *algorithm = hp_algorithm_find(collective, rule->algorithm);
    else
        return nodes == 1 ? HP_OUTCOME_ONE_NODE : HP_OUTCOME_RULE;
    assert(*algorithm);
    if (nodes == 1 && word == HP_WORD_AUTO && !comm->shares_memory && !is_reproducible(knobs, collective))
        return HP_OUTCOME_ONE_NODE; /* over the MPI's own messages nothing is to be gained there */
    if (bytes > (*algorithm)->bytes_max)
        return HP_OUTCOME_RULE;
    fill_setting(rule ? rule : &forced_default, knobs, setting);
    *used = rule;
    return HP_OUTCOME_TAKEN;
}

/* The last rule that was used for each collective: most programs call a collective with few sizes. */
struct hp_choices {
    struct {
        uint64_t bytes_from, bytes_to; /* none: from > to */
        const hp_algorithm_t *algorithm;
        hp_setting_t setting;
    } last[HP_COLLECTIVE_COUNT];
};

static void remember(hp_comm_t *comm, hp_collective_t collective, const rule_t *rule,
                     const hp_algorithm_t *algorithm, const hp_setting_t *setting)
{
    if (!comm->choices) {
        if (!(comm->choices = malloc(sizeof *comm->choices)))
            return;
        for (unsigned c = 0; c < HP_COLLECTIVE_COUNT; c++) {
            comm->choices->last[c].bytes_from = 1;
            comm->choices->last[c].bytes_to = 0;
        }
    }
    comm->choices->last[collective].bytes_from = rule->bytes_from;
    comm->choices->last[collective].bytes_to =
        rule->bytes_to < algorithm->bytes_max ? rule->bytes_to : algorithm->bytes_max;
    comm->choices->last[collective].algorithm = algorithm;
    comm->choices->last[collective].setting = *setting;
}

hp_outcome_t hp_select(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                       const hp_algorithm_t **algorithm, hp_setting_t *setting)
{
    const rule_t *rule = NULL;

    if (comm->choices && bytes >= comm->choices->last[collective].bytes_from &&
        bytes <= comm->choices->last[collective].bytes_to) {
        *algorithm = comm->choices->last[collective].algorithm;
        *setting = comm->choices->last[collective].setting;
        return HP_OUTCOME_TAKEN;
    }
    const hp_outcome_t outcome = choose(comm, collective, bytes, algorithm, setting, &rule);
    if (outcome == HP_OUTCOME_TAKEN && rule && bytes <= (*algorithm)->bytes_max)
        remember(comm, collective, rule, *algorithm, setting);
    return outcome;
}

void hp_select_default_setting(const hp_knobs_t *knobs, hp_setting_t *setting)
{
    fill_setting(&forced_default, knobs, setting);
}
