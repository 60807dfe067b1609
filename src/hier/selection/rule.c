#include "hier/selection/rule.h"

#include <stdio.h>
#include <string.h>

/* N, M and the window did well on every machine tried; no rule changes them. */
#define PIPELINE_DEFAULTS .sends_per_child = 4, .recvs_per_parent = 6, .window_segments = 256

static const hp_rule_t rules[] = {
#define HP_RULE(which, nodes_from, nodes_to, bytes_from, bytes_to, name, segment, between_shape,             \
                inside_shape, inside_module, tree_count, leader_count, joined)                               \
    {.collective = HP_##which,                                                                               \
     .nodes = {nodes_from, nodes_to},                                                                        \
     .ranks = {1, UINT64_MAX},                                                                               \
     .bytes = {bytes_from, bytes_to},                                                                        \
     .algorithm = HP_ALGORITHM_##which##_##name,                                                             \
     .setting = {.segment_bytes = segment,                                                                   \
                 .shapes.shape = {[HP_LEVEL_NODE] = HP_SHAPE_##between_shape,                                \
                                  [HP_LEVEL_NODE + 1 ... HP_LEVEL_CORE] = HP_SHAPE_##inside_shape},          \
                 .modules.module = {[HP_LEVEL_NODE] = HP_MODULE_P2P,                                         \
                                    [HP_LEVEL_NODE + 1 ... HP_LEVEL_CORE] = HP_MODULE_##inside_module},      \
                 .between = HP_BETWEEN_##joined,                                                             \
                 .trees = tree_count,                                                                        \
                 .leaders = leader_count,                                                                    \
                 PIPELINE_DEFAULTS}},
#include "../../../tuning/default_rules.def"
#undef HP_RULE
};

const hp_rule_t *hp_rules_default(size_t *count)
{
    *count = sizeof rules / sizeof *rules;
    return rules;
}

static bool is_in(uint64_t value, hp_range_t range)
{
    return value >= range.from && value <= range.to;
}

bool hp_rule_matches(const hp_rule_t *rule, hp_collective_t collective, const hp_layout_t *layout,
                     uint64_t bytes)
{
    const bool even = layout->least_ranks == layout->most_ranks;

    return rule->collective == collective && is_in(bytes, rule->bytes) && is_in(layout->nodes, rule->nodes) &&
           is_in(layout->least_ranks, rule->ranks) && is_in(layout->most_ranks, rule->ranks) &&
           (rule->evenness == HP_RANKS_ANY || (rule->evenness == HP_RANKS_EVEN) == even);
}

bool hp_rule_check(const hp_rule_t *rule, char *error, unsigned error_bytes)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(rule->algorithm);
    const hp_setting_t *setting = &rule->setting;
    const struct {
        const char *name;
        hp_range_t range;
    } ranges[] = {{"nodes", rule->nodes}, {"ranks_per_node", rule->ranks}, {"bytes", rule->bytes}};

    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].range.from > ranges[i].range.to) {
            snprintf(error, error_bytes, "%s: from %llu to %llu holds for nothing", ranges[i].name,
                     (unsigned long long)ranges[i].range.from, (unsigned long long)ranges[i].range.to);
            return false;
        }
    if (!algorithm)
        return true;
    if (algorithm->collective != rule->collective) {
        snprintf(error, error_bytes, "%s is an algorithm of %s, not of %s", algorithm->name,
                 hp_collective_name(algorithm->collective), hp_collective_name(rule->collective));
        return false;
    }
    if (rule->bytes.to > algorithm->bytes_max && rule->bytes.to != UINT64_MAX) {
        snprintf(error, error_bytes, "%s is for at most %llu bytes, the rule goes to %llu", algorithm->name,
                 (unsigned long long)algorithm->bytes_max, (unsigned long long)rule->bytes.to);
        return false;
    }
    if (rule->bytes.from > algorithm->bytes_max) {
        snprintf(error, error_bytes, "%s is for at most %llu bytes, the rule begins at %llu", algorithm->name,
                 (unsigned long long)algorithm->bytes_max, (unsigned long long)rule->bytes.from);
        return false;
    }
    if (!setting->segment_bytes || !setting->trees || setting->trees > HP_FOREST_MAX || !setting->leaders ||
        setting->leaders > HP_FOREST_MAX || !setting->sends_per_child || !setting->recvs_per_parent ||
        !setting->window_segments) {
        snprintf(error, error_bytes,
                 "segment_bytes, sends_per_child, recvs_per_parent and window_segments must be at least 1, "
                 "trees and leaders 1..%d",
                 HP_FOREST_MAX);
        return false;
    }
    return true;
}

void hp_setting_default(hp_setting_t *setting)
{
    *setting = (hp_setting_t){.segment_bytes = 32768,
                              .shapes.shape = {[HP_LEVEL_NODE] = HP_SHAPE_CHAIN},
                              .between = HP_BETWEEN_TREE,
                              .trees = HP_FOREST_MAX,
                              .leaders = 1,
                              PIPELINE_DEFAULTS};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        setting->modules.module[level] = level == HP_LEVEL_NODE ? HP_MODULE_P2P : HP_MODULE_SINGLE_COPY;
        if (level != HP_LEVEL_NODE)
            setting->shapes.shape[level] = HP_SHAPE_LINEAR;
    }
}

static void apply_number(uint32_t *to, int64_t knob)
{
    if (knob)
        *to = (uint32_t)knob;
}

static void apply_bytes(size_t *to, int64_t knob)
{
    if (knob)
        *to = (size_t)knob;
}

void hp_setting_apply(hp_setting_t *setting, const hp_knobs_t *knobs)
{
    char error[HP_KNOB_TEXT_BYTES]; /* texts were checked when they were set */

    apply_bytes(&setting->segment_bytes, knobs->segment_bytes);
    apply_bytes(&setting->ib_segment_bytes, knobs->ib_segment_bytes);
    apply_bytes(&setting->ir_segment_bytes, knobs->ir_segment_bytes);
    apply_number(&setting->trees, knobs->trees);
    apply_number(&setting->leaders, knobs->leaders);
    apply_number(&setting->sends_per_child, knobs->sends_per_child);
    apply_number(&setting->recvs_per_parent, knobs->recvs_per_parent);
    apply_number(&setting->window_segments, knobs->window_segments);
    if (knobs->between_nodes)
        setting->between = (hp_between_t)knobs->between_nodes;
    if (knobs->modules[0])
        hp_modules_parse(knobs->modules, &setting->modules, error, sizeof error);
    if (knobs->shapes[0])
        hp_shapes_parse(knobs->shapes, &setting->shapes, error, sizeof error);
}

bool hp_setting_same(const hp_setting_t *a, const hp_setting_t *b)
{
    return a->segment_bytes == b->segment_bytes && a->ib_segment_bytes == b->ib_segment_bytes &&
           a->ir_segment_bytes == b->ir_segment_bytes && a->between == b->between && a->trees == b->trees &&
           a->leaders == b->leaders && a->sends_per_child == b->sends_per_child &&
           a->recvs_per_parent == b->recvs_per_parent && a->window_segments == b->window_segments &&
           memcmp(&a->shapes, &b->shapes, sizeof a->shapes) == 0 &&
           memcmp(&a->modules, &b->modules, sizeof a->modules) == 0;
}
