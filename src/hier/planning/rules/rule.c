#include "hier/planning/rules/rule.h"

#include <fnmatch.h>
#include <stdio.h>

const char *const hp_evenness_words[HP_RULE_WORDS] = {
    [HP_RANKS_ANY] = "any", [HP_RANKS_EVEN] = "even", [HP_RANKS_UNEVEN] = "uneven"};
const char *const hp_rule_memory_words[HP_RULE_WORDS] = {
    [HP_MEMORY_ANY] = "any", [HP_MEMORY_SHARED] = "shared", [HP_MEMORY_APART] = "apart"};

static const hp_rule_t rules[] = {
#define ROW(where, least_ranks, most_ranks, which, nodes_from, nodes_to, bytes_from, bytes_to, name,         \
            segment, between_shape, inside_shape, inside_module, tree_count, leader_count, joined)           \
    {.collective = HP_##which,                                                                               \
     .nodes = {nodes_from, nodes_to},                                                                        \
     .ranks = {least_ranks, most_ranks},                                                                     \
     .memory = HP_MEMORY_##where,                                                                            \
     .bytes = {bytes_from, bytes_to},                                                                        \
     .algorithm = HP_ALGORITHM_##which##_##name,                                                             \
     .setting = {.segment_bytes = segment,                                                                   \
                 .shapes.shape = {[HP_LEVEL_NODE] = HP_SHAPE_##between_shape,                                \
                                  [HP_LEVEL_NODE + 1 ... HP_LEVEL_CORE] = HP_SHAPE_##inside_shape},          \
                 .modules.module = {[HP_LEVEL_NODE] = HP_MODULE_P2P,                                         \
                                    [HP_LEVEL_NODE + 1 ... HP_LEVEL_CORE] = HP_MODULE_##inside_module},      \
                 .inter_node = HP_INTER_NODE_##joined,                                                       \
                 .trees = tree_count,                                                                        \
                 .leaders = leader_count,                                                                    \
                 HP_SETTING_USUAL_PIPELINE}},
#define HP_RULE(...)       ROW(ANY, 1, UINT64_MAX, __VA_ARGS__)
#define HP_RULE_ALONE(...) ROW(ANY, 1, 1, __VA_ARGS__)
#define HP_RULE_APART(...) ROW(APART, 2, UINT64_MAX, __VA_ARGS__)
#define HP_RULE_WIDE(...)  ROW(ANY, 8, UINT64_MAX, __VA_ARGS__)
#include "../../../../tuning/default_rules.def"
#undef HP_RULE
#undef HP_RULE_ALONE
#undef HP_RULE_APART
#undef HP_RULE_WIDE
#undef ROW
};

const hp_rule_t *hp_rules_default(size_t *count)
{
    *count = sizeof rules / sizeof *rules;
    return rules;
}

static bool is_in(uint64_t value, hp_bounds_t range)
{
    return value >= range.from && value <= range.to;
}

static bool network_matches(const hp_rule_network_t *asked, const hp_comm_network_t *network)
{
    if (!asked->asks)
        return true;
    if (!network || (asked->fingerprint[0] && fnmatch(asked->fingerprint, network->fingerprint, 0) != 0))
        return false;
    const uint64_t whole = (uint64_t)network->traits.blocking;
    return is_in(network->traits.hosts_per_switch, asked->hosts_per_switch) &&
           is_in(whole + ((double)whole < network->traits.blocking), asked->blocking);
}

bool hp_rule_suits_memory(const hp_rule_t *rule, const hp_layout_t *layout)
{
    return rule->memory == HP_MEMORY_ANY || (rule->memory == HP_MEMORY_SHARED) == layout->shares_memory;
}

bool hp_rule_matches(const hp_rule_t *rule, hp_collective_t collective, const hp_layout_t *layout,
                     uint64_t bytes)
{
    const bool even = layout->least_ranks == layout->most_ranks;

    return rule->collective == collective && is_in(bytes, rule->bytes) && is_in(layout->nodes, rule->nodes) &&
           network_matches(&rule->network, layout->network) && hp_rule_suits_memory(rule, layout) &&
           is_in(layout->least_ranks, rule->ranks) && is_in(layout->most_ranks, rule->ranks) &&
           (rule->evenness == HP_RANKS_ANY || (rule->evenness == HP_RANKS_EVEN) == even);
}

/* Each of the following is one reason why a rule cannot be: false, with the reason in error. */

static bool check_ranges(const hp_rule_t *rule, char *error, unsigned error_bytes)
{
    const struct {
        const char *name;
        hp_bounds_t range;
        uint64_t least;
    } ranges[] = {{"nodes", rule->nodes, 1},
                  {"ranks_per_node", rule->ranks, 1},
                  {"bytes", rule->bytes, 0},
                  {"hosts_per_switch", rule->network.hosts_per_switch, rule->network.asks},
                  {"blocking", rule->network.blocking, rule->network.asks}};

    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const unsigned long long from = ranges[i].range.from, to = ranges[i].range.to;
        if (from > to) {
            snprintf(error, error_bytes, "%s: from %llu to %llu holds for nothing", ranges[i].name, from, to);
            return false;
        }
        if (from < ranges[i].least) {
            snprintf(error, error_bytes, "%s: from %llu: there is at least 1", ranges[i].name, from);
            return false;
        }
    }
    return true;
}

static bool check_calls(const hp_rule_t *rule, char *error, unsigned error_bytes)
{
    if (rule->evenness == HP_RANKS_UNEVEN && (rule->nodes.to == 1 || rule->ranks.from == rule->ranks.to)) {
        snprintf(error, error_bytes, "ranks: \"uneven\" holds for nothing with one %s",
                 rule->nodes.to == 1 ? "node" : "number of ranks_per_node");
        return false;
    }
    const bool may_be_none =
        rule->collective == HP_BARRIER || hp_collective_is(rule->collective, HP_OWN_SIZES);
    if (rule->collective == HP_BARRIER && rule->bytes.from > 0) {
        snprintf(error, error_bytes, "bytes: a %s has none that all ranks know, from %llu holds for nothing",
                 hp_collective_name(rule->collective), (unsigned long long)rule->bytes.from);
        return false;
    }
    if (!may_be_none && rule->bytes.to == 0) {
        snprintf(error, error_bytes, "bytes: calls without data are always left to the host MPI");
        return false;
    }
    return true;
}

static bool check_algorithm(const hp_rule_t *rule, const hp_algorithm_t *algorithm, char *error,
                            unsigned error_bytes)
{
    if (algorithm->collective != rule->collective)
        snprintf(error, error_bytes, "%s is an algorithm of %s, not of %s", algorithm->name,
                 hp_collective_name(algorithm->collective), hp_collective_name(rule->collective));
    else if (rule->nodes.to > algorithm->nodes_max)
        snprintf(error, error_bytes, "%s is for at most %llu node: add \"nodes\": [1, %llu]", algorithm->name,
                 (unsigned long long)algorithm->nodes_max, (unsigned long long)algorithm->nodes_max);
    else
        return true;
    return false;
}

static bool check_numbers(const hp_setting_t *setting, char *error, unsigned error_bytes)
{
    if (setting->segment_bytes && setting->trees && setting->trees <= HP_ROTATIONS_MAX && setting->leaders &&
        setting->leaders <= HP_ROTATIONS_MAX && setting->sends_per_child && setting->recvs_per_parent &&
        setting->window_segments)
        return true;
    snprintf(error, error_bytes,
             "segment_bytes, sends_per_child, recvs_per_parent and window_segments must be at least 1, "
             "trees and leaders 1..%d",
             HP_ROTATIONS_MAX);
    return false;
}

static bool check_inter_node(const hp_rule_t *rule, char *error, unsigned error_bytes)
{
    const hp_inter_node_t inter_node = rule->setting.inter_node;
    const char *name = hp_inter_node_name(inter_node);

    if (inter_node == HP_INTER_NODE_tree)
        return true;
    if (inter_node == HP_INTER_NODE_auto)
        snprintf(error, error_bytes, "between_nodes: %s says nothing in a rule", name);
    else if (!hp_inter_node_serves(inter_node, rule->collective))
        snprintf(error, error_bytes, "between_nodes: there is no %s for %s: it would be a tree", name,
                 hp_collective_name(rule->collective));
    else if (rule->nodes.to == 1 && !hp_collective_is(rule->collective, HP_OF_BLOCKS)) /* flat: ranks, too */
        snprintf(error, error_bytes, "between_nodes: %s joins nodes, the rule is for one", name);
    else if (rule->setting.modules.module[HP_LEVEL_NODE] != HP_MODULE_P2P)
        snprintf(error, error_bytes, "between_nodes: %s needs the module p2p for the level node, not %s",
                 name, hp_module_name((hp_module_id_t)rule->setting.modules.module[HP_LEVEL_NODE]));
    else
        return true;
    return false;
}

bool hp_rule_check(const hp_rule_t *rule, char *error, unsigned error_bytes)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(rule->algorithm);

    if (!check_ranges(rule, error, error_bytes) || !check_calls(rule, error, error_bytes))
        return false;
    return !algorithm ||
           (check_algorithm(rule, algorithm, error, error_bytes) &&
            check_numbers(&rule->setting, error, error_bytes) && check_inter_node(rule, error, error_bytes));
}
