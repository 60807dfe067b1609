#include "hier/planning/model/model.h"

#include <pthread.h>
#include <string.h>
#include "base/least.h"
#include "hier/collectives/flags.h"
#include "hier/modules/leader_rounds.h"
#include "hier/planning/model/model_blocks.h"
#include "hier/planning/model/model_inter_node.h"
#include "hier/planning/model/model_intra_node.h"
#include "hier/planning/model/model_network.h"

/* What a segment costs each rank in the engine, beside its data: segments of 8 KiB took 0.5 us each more than
 * their share of 32 KiB (tuning/README.md, one node, bcast). */
static const double segment_us = 0.5;

/* What no rule names has to be expected to be so much faster: times of collectives of blocks were 7% wrong on average
 * (tests/unit/test_model_blocks.c). On a network that is known they are run on it, and rules were made without it. */
static const double doubt = 0.05;

/* Segments that are worth trying. */
enum { SEGMENT_LEAST = 2048, SEGMENT_MOST = 524288 };

bool hp_probes_cover(const hp_probes_t *probes, const hp_layout_t *layout)
{
    if (!(probes->copy_rate > 0 && probes->reduce_rate > 0 && probes->cores > 0))
        return false;
    if (layout->nodes > 1 && !(probes->between_us > 0 && probes->between_rate > 0))
        return false;
    return layout->most_ranks < 2 ||
           (layout->shares_memory ? probes->flag_us > 0 : probes->inside_us > 0 && probes->inside_rate > 0);
}

/* The probes of one node take 6 ms, those of a slow network some tens (4 ranks on 2 cores; 16 on 4 virtual hosts). Four columns of
 * ScaLAPACK's grid that compared at a time took 40 to 150 ms, in one run a second (Open MPI 5.0.11, 16 ranks on 2 cores), and found
 * another network in every third run. */
enum { ONE_NODE_SOONER = 16, COMPARED_LATER = 4, NOT_KEPT_LATER = 8 };

double hp_probes_after_us(double first_us, const hp_layout_t *layout, bool is_known, bool is_kept)
{
    if (layout->nodes == 1)
        return first_us / ONE_NODE_SOONER;
    return first_us * (is_known ? COMPARED_LATER : 1) * (is_kept ? 1 : NOT_KEPT_LATER);
}

bool hp_probes_adopt(const hp_probes_t *all, size_t stride, uint32_t size, const hp_layout_t *layout,
                     hp_probes_t *out)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        const hp_probes_t *known = (const hp_probes_t *)((const char *)all + rank * stride);
        if (hp_probes_are_sane(known) && hp_probes_cover(known, layout)) {
            *out = *known;
            return true;
        }
    }
    return false;
}

/* What serves inside a node, as hp_module_choose finds it. */
static hp_module_id_t module_of(const hp_layout_t *layout, const hp_setting_t *setting)
{
    hp_module_id_t module = (hp_module_id_t)setting->modules.module[HP_LEVEL_CORE];
    if (module == HP_MODULE_SINGLE_COPY && !layout->reads_peers)
        module = HP_MODULE_SHM;
    if (!layout->shares_memory && (module == HP_MODULE_SHM || module == HP_MODULE_SINGLE_COPY))
        module = HP_MODULE_P2P;
    return module;
}

/* One segment through all stages, and what the next ones find in their way. */
typedef struct {
    double fill_us, link_us, serial_us, leader_us, member_us, bus_us;
} segment_t;

static void add_inside(segment_t *segment, const hp_intra_node_cost_t *cost)
{
    segment->fill_us += cost->fill_us + segment_us;
    segment->leader_us += cost->leader_us;
    segment->member_us += cost->member_us;
    segment->bus_us += cost->bus_us;
}

/* No less than on the network that is known. */
static hp_inter_node_cost_t between_nodes(const hp_probes_t *probes, const hp_layout_t *layout,
                                          hp_collective_t collective, double bytes,
                                          const hp_setting_t *setting)
{
    hp_inter_node_cost_t cost = hp_model_inter_node(probes, layout->nodes, collective, bytes, setting,
                                                    layout->network ? &layout->network->places : NULL);
    hp_model_network_cost_t network;

    if (!hp_model_network(probes, layout, collective, bytes, setting, &network))
        return cost;
    cost.fill_us = hp_most_double(cost.fill_us, network.fill_us);
    cost.link_us = hp_most_double(cost.link_us, network.link_us);
    if (cost.serial_us > 0)
        cost.serial_us = hp_most_double(cost.serial_us, network.fill_us);
    return cost;
}

static segment_t segment_of(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                            double bytes, const hp_setting_t *setting)
{
    const hp_module_id_t module = module_of(layout, setting);
    const hp_shape_t shape = setting->shapes.shape[HP_LEVEL_CORE];
    const bool up = collective != HP_BCAST, down = collective != HP_REDUCE;
    /* In an allreduce each leader reduces its segments, and pushes the results. */
    const bool everybody = layout->nodes == 1 && !(up && down);
    segment_t segment = {0};

    if (up && layout->most_ranks > 1) {
        const hp_intra_node_cost_t cost =
            hp_model_intra_node(probes, layout->most_ranks, module, shape, true, everybody, bytes);
        add_inside(&segment, &cost);
    }
    if (layout->nodes > 1) {
        const hp_inter_node_cost_t cost = between_nodes(probes, layout, collective, bytes, setting);
        segment.fill_us += cost.fill_us + segment_us;
        segment.link_us = cost.link_us;
        segment.serial_us = cost.serial_us;
        segment.leader_us += cost.cpu_us;
    }
    if (down && layout->most_ranks > 1) {
        const hp_intra_node_cost_t cost =
            hp_model_intra_node(probes, layout->most_ranks, module, shape, false, everybody, bytes);
        add_inside(&segment, &cost);
    }
    return segment;
}

/* What a segment costs once the pipeline is full. */
static double steady_us(const hp_probes_t *probes, const hp_layout_t *layout, const segment_t *segment,
                        const hp_setting_t *setting)
{
    const double ranks = layout->most_ranks;
    const double rotations = hp_least_double(hp_least_double(setting->leaders, HP_ROTATIONS_MAX), ranks);
    const double own =
        (segment->leader_us + (rotations - 1) * segment->member_us) / rotations; /* of a leader */
    const double all = segment->leader_us + (ranks - 1) * segment->member_us;
    const double rank_us = hp_most_double(own, segment->member_us) + segment_us;
    const double node_us = (all + ranks * segment_us) / probes->cores;
    const double work = hp_most_double(hp_most_double(rank_us, node_us), segment->bus_us);
    const double hidden = hp_least_double(probes->overlap, 1);

    return hp_most_double(segment->serial_us / rotations,
                          hp_most_double(segment->link_us, work) +
                              (1 - hidden) * hp_least_double(segment->link_us, work));
}

/* What the segments of an allreduce by an exchange lose on a network that is known. The first, as many as may be under way on
 * a link, begin at once and meet on every link as one message would; later ones still meet on some (128 KiB in 16 segments on
 * 32 nodes: 2.6 ms by SMPI, 3.1 by runs of the schedule; the first four and the busiest link alone would take 2.5). */
static double meeting_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                         double part, double whole, const hp_setting_t *setting)
{
    const double met = 0.25, lead = hp_least_double(setting->sends_per_child * part, whole);
    hp_model_network_cost_t one, all;

    if (collective != HP_ALLREDUCE || hp_inter_node_is_tree(setting->inter_node) ||
        !hp_model_network(probes, layout, collective, part, setting, &one) ||
        !hp_model_network(probes, layout, collective, lead, setting, &all))
        return 0;
    return hp_most_double(0, all.fill_us - one.fill_us - (lead - part) / part * one.link_us) +
           met * (whole - lead) / part * one.link_us;
}

static double pipeline_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                          uint64_t bytes, const hp_setting_t *setting)
{
    const bool slots = module_of(layout, setting) == HP_MODULE_SHM && layout->most_ranks > 1;
    const size_t wanted = setting->segment_bytes;
    const size_t cut = slots && wanted > layout->slot_bytes ? layout->slot_bytes : wanted;
    const double whole = (double)bytes, part = hp_least_double((double)cut, whole);
    const segment_t segment = segment_of(probes, layout, collective, part, setting);

    if (part >= whole)
        return segment.fill_us;
    return segment.fill_us + (whole - part) / part * steady_us(probes, layout, &segment, setting) +
           meeting_us(probes, layout, collective, part, whole, setting);
}

/* Inside one node. Between nodes that all ranks lead: that before, between and behind rounds of one message. */
static double barrier_us(const hp_probes_t *probes, const hp_layout_t *layout, const hp_setting_t *setting)
{
    const hp_leader_rounds_t rounds = hp_leader_rounds_of(layout->nodes, layout->least_ranks, setting);

    if (layout->nodes > 1 && rounds.count == 0)
        return pipeline_us(probes, layout, HP_BARRIER, 0, setting);
    const double inside_us =
                     hp_model_intra_node_barrier_us(probes, layout->most_ranks, module_of(layout, setting)),
                 message_us =
                     rounds.count ? hp_model_inter_node(probes, 2, HP_BARRIER, 0, setting, NULL).fill_us : 0;
    return (rounds.count + 1) * (inside_us + segment_us) + rounds.count * (message_us + segment_us);
}

static bool runs_flags(const hp_algorithm_t *algorithm, const hp_layout_t *layout, uint64_t bytes)
{
    return algorithm->traits & HP_TRAIT_FLAGS && layout->nodes == 1 && layout->shares_memory &&
           bytes <= HP_FLAGS_BYTES_MAX;
}

double hp_model_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                   uint64_t bytes, hp_algorithm_id_t id, const hp_setting_t *setting)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(id);
    const uint64_t data = collective == HP_BARRIER ? 0 : bytes;

    if (!algorithm || algorithm->collective != collective || !hp_probes_cover(probes, layout))
        return -1;
    if (hp_collective_is(collective, HP_OF_BLOCKS) || algorithm->traits & HP_TRAIT_SCHEDULE)
        return hp_model_blocks_us(probes, layout, algorithm, bytes, setting, HP_MODEL_BLOCKS_STEPS);
    if (runs_flags(algorithm, layout, data))
        return hp_model_flags_us(probes, layout->most_ranks, collective, (double)data);
    if (collective == HP_BARRIER)
        return barrier_us(probes, layout, setting);
    if (algorithm->traits & (HP_TRAIT_PIPELINED | HP_TRAIT_FLAGS))
        return pipeline_us(probes, layout, collective, data, setting);
    return -1;
}

double hp_model_bound_us(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                         uint64_t bytes)
{
    const double data = collective == HP_BARRIER ? 0 : (double)bytes;
    const double nodes = layout->nodes, ranks = layout->most_ranks;
    double us;

    if (!hp_probes_cover(probes, layout))
        return 0;
    if (hp_collective_is(collective, HP_OF_BLOCKS))
        return hp_model_blocks_bound_us(probes, layout, collective, bytes);
    us = nodes > 1 ? probes->between_us : layout->shares_memory ? probes->flag_us : probes->inside_us;
    if (nodes > 1) {
        const double share = collective == HP_ALLREDUCE ? 2 * (nodes - 1) / nodes : 1;
        us = hp_most_double(us, share * data / probes->between_rate);
    }
    if (ranks > 1) {
        const double copies = collective == HP_ALLREDUCE ? ranks : ranks - 1;
        us = hp_most_double(us, copies * data / hp_model_node_rate(probes, layout->most_ranks));
    }
    return us;
}

/* ---- the best setting ---- */

/* Worth considering on this layout? Rules for one node and for several have little in common. */
static bool is_candidate(const hp_rule_t *rule, const hp_layout_t *layout, hp_collective_t collective,
                         uint64_t bytes)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(rule->algorithm);
    const bool several = rule->nodes.to > 1;

    return algorithm && rule->collective == collective && several == (layout->nodes > 1) &&
           hp_rule_suits_memory(rule, layout) &&
           (!(algorithm->traits & HP_TRAIT_FLAGS) || runs_flags(algorithm, layout, bytes)) &&
           (!hp_collective_is(collective, HP_OF_BLOCKS) || hp_model_blocks_has_way(layout, algorithm, bytes));
}

/* But for the size of the segments. */
static bool is_same(const hp_rule_t *a, const hp_rule_t *b)
{
    const hp_setting_t *x = &a->setting, *y = &b->setting;

    return a->algorithm == b->algorithm && x->inter_node == y->inter_node && x->trees == y->trees &&
           x->leaders == y->leaders && x->ib_segment_bytes == y->ib_segment_bytes &&
           x->ir_segment_bytes == y->ir_segment_bytes && x->sends_per_child == y->sends_per_child &&
           x->recvs_per_parent == y->recvs_per_parent && x->window_segments == y->window_segments &&
           memcmp(&x->shapes, &y->shapes, sizeof x->shapes) == 0 &&
           memcmp(&x->modules, &y->modules, sizeof x->modules) == 0;
}

typedef struct {
    hp_algorithm_id_t algorithm;
    hp_setting_t setting;
    double us; /* < 0: none yet */
} best_t;

static void try_segments(const hp_probes_t *probes, const hp_layout_t *layout, uint64_t bytes,
                         const hp_rule_t *rule, best_t *best)
{
    const hp_algorithm_t *algorithm = hp_algorithm_of(rule->algorithm);
    const bool cuts = !hp_collective_is(rule->collective, HP_OF_BLOCKS) && bytes > 0 &&
                      !(algorithm->traits & HP_TRAIT_SCHEDULE) && !runs_flags(algorithm, layout, bytes);
    hp_setting_t setting = rule->setting;

    for (size_t segment = SEGMENT_LEAST; segment <= SEGMENT_MOST; segment *= 2) {
        if (cuts)
            setting.segment_bytes = segment;
        const double us = hp_model_us(probes, layout, rule->collective, bytes, rule->algorithm, &setting);
        if (us >= 0 && (best->us < 0 || us < best->us))
            *best = (best_t){.algorithm = rule->algorithm, .setting = setting, .us = us};
        if (!cuts || segment >= bytes) /* the next ones are the same */
            return;
    }
}

/* Vectors in all ways there are, with the rule's settings otherwise: rules were made where nodes share no links. */
static best_t find_on_network(const hp_probes_t *probes, const hp_layout_t *layout, uint64_t bytes,
                              const hp_rule_t *usual)
{
    hp_rule_t rule = *usual;
    best_t best = {.us = -1};

    rule.setting.trees = rule.setting.leaders = 1;
    rule.setting.ib_segment_bytes = rule.setting.ir_segment_bytes = 0;
    rule.setting.inter_node = HP_INTER_NODE_tree;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape++) {
        rule.setting.shapes.shape[HP_LEVEL_NODE] = (uint8_t)shape;
        try_segments(probes, layout, bytes, &rule, &best);
    }
    for (unsigned word = 0; hp_inter_node(word) != HP_INTER_NODE_NONE; word++) {
        rule.setting.inter_node = hp_inter_node(word);
        if (!hp_inter_node_is_tree(rule.setting.inter_node) &&
            hp_inter_node_serves(rule.setting.inter_node, rule.collective))
            try_segments(probes, layout, bytes, &rule, &best);
    }
    return best;
}

/* What no rule names has to be clearly faster. */
static void prefer(best_t *best, const best_t *other)
{
    if (other->us >= 0 && (best->us < 0 || other->us < best->us * (1 - doubt)))
        *best = *other;
}

static best_t find_best(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                        uint64_t bytes)
{
    enum { DISTINCT_MAX = 64 };
    const hp_rule_t *tried[DISTINCT_MAX];
    size_t count, tried_count = 0;
    const hp_rule_t *rules = hp_rules_default(&count), *pipelined = NULL;
    best_t best = {.us = -1};

    for (size_t i = 0; i < count && tried_count < DISTINCT_MAX; i++) {
        size_t k = 0;
        if (!is_candidate(&rules[i], layout, collective, bytes))
            continue;
        while (k < tried_count && !is_same(&rules[i], tried[k]))
            k++;
        if (k < tried_count)
            continue;
        tried[tried_count++] = &rules[i];
        if (!pipelined && hp_algorithm_of(rules[i].algorithm)->traits & HP_TRAIT_PIPELINED)
            pipelined = &rules[i];
        try_segments(probes, layout, bytes, &rules[i], &best);
    }
    if (best.us >= 0 && hp_collective_is(collective, HP_OF_BLOCKS))
        hp_model_blocks_find(probes, layout, collective, bytes, &tried[0]->setting,
                             best.us * (layout->network ? 1 : 1 - doubt), &best.algorithm, &best.setting,
                             &best.us);
    if (best.us >= 0 && collective != HP_BARRIER && pipelined && layout->nodes > 1 && layout->network) {
        const best_t other = find_on_network(probes, layout, bytes, pipelined);
        prefer(&best, &other);
    }
    return best;
}

/* ---- what was asked before: milliseconds, where schedules are walked ---- */

typedef struct {
    hp_probes_t probes;
    hp_layout_t layout;
    hp_collective_t collective;
    uint64_t bytes;
    best_t best;
} known_t;

enum { KNOWN_MAX = 64 };
static known_t known[KNOWN_MAX];
static unsigned known_count, oldest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_layout(const hp_layout_t *a, const hp_layout_t *b)
{
    return a->nodes == b->nodes && a->least_ranks == b->least_ranks && a->most_ranks == b->most_ranks &&
           a->shares_memory == b->shares_memory && a->reads_peers == b->reads_peers &&
           a->network_hash == b->network_hash;
}

static bool look_up(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                    uint64_t bytes, best_t *best)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < known_count && !found; i++) {
        const known_t *it = &known[i];
        found = it->collective == collective && it->bytes == bytes && same_layout(&it->layout, layout) &&
                memcmp(&it->probes, probes, sizeof *probes) == 0;
        if (found)
            *best = it->best;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void keep(const known_t *found)
{
    pthread_mutex_lock(&lock);
    known[oldest++ % KNOWN_MAX] = *found;
    known_count = oldest < KNOWN_MAX ? oldest : KNOWN_MAX;
    pthread_mutex_unlock(&lock);
}

/* Schedules of files come and go. */
static bool may_keep(hp_collective_t collective)
{
    return hp_collective_is(collective, HP_OF_BLOCKS) && !hp_inter_node_is_word(HP_INTER_NODE_FILES);
}

bool hp_model_choose(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                     uint64_t bytes, hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us)
{
    const bool keeps = may_keep(collective);
    const uint64_t data = collective == HP_BARRIER ? 0 : bytes;
    known_t found = {*probes, *layout, collective, data, {.us = -1}};

    if (!hp_probes_cover(probes, layout))
        return false;
    if (!keeps || !look_up(probes, layout, collective, data, &found.best)) {
        found.best = find_best(probes, layout, collective, data);
        if (keeps)
            keep(&found);
    }
    if (found.best.us < 0)
        return false;
    *algorithm = found.best.algorithm;
    *setting = found.best.setting;
    *us = found.best.us;
    return true;
}
