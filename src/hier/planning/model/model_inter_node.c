#include "hier/planning/model/model_inter_node.h"

#include "base/least.h"
#include "hier/call/inter_node.h"
#include "hier/planning/model/model_schedule.h"

uint32_t hp_model_log2(uint32_t count)
{
    uint32_t rounds = 0;
    while (rounds < 32 && (UINT64_C(1) << rounds) < count)
        rounds++;
    return rounds;
}

static uint32_t lower_log2(uint32_t count)
{
    uint32_t rounds = 0;
    while (count >>= 1)
        rounds++;
    return rounds;
}

/* Each round is one digit of the positions in base k. The children of the largest subtrees are served
 * first, so the last child of each round is on the longest way. */
static hp_model_tree_t knomial(uint32_t count, uint32_t k)
{
    uint64_t weight = 1;
    uint32_t below = 0; /* rounds under the first one */

    while (weight * k < count) {
        weight *= k;
        below++;
    }
    const uint32_t top = (uint32_t)((count + weight - 1) / weight) - 1;
    return (hp_model_tree_t){.hops = below + 1,
                             .gaps = top + below * (k - 1),
                             .root = top + below * (k - 1),
                             .inner = below * (k - 1)};
}

static hp_model_tree_t binary(uint32_t count)
{
    const uint32_t root = count > 2 ? 2 : 1, half = count / 2; /* positions of the root's larger half */
    const uint32_t inner = half > 2 ? 2 : half - 1, hops = lower_log2(count);
    return (hp_model_tree_t){.hops = hops, .gaps = root + (hops - 1) * inner, .root = root, .inner = inner};
}

/* Of `rounds` rounds a message takes four, so that the deepest position is so many hops away. */
static hp_model_tree_t postal(uint32_t count)
{
    const uint32_t root = hp_shape_children(HP_SHAPE_POSTAL, count, 0, NULL, 0), rounds = root + 3;
    return (hp_model_tree_t){.hops = rounds / 4 + 1,
                             .gaps = rounds / 4 + 1 + rounds % 4,
                             .root = root,
                             .inner = root > 1 ? root - 1 : 0};
}

hp_model_tree_t hp_model_tree(hp_shape_t shape, uint32_t count)
{
    if (count < 2)
        return (hp_model_tree_t){0};
    switch (shape) {
    case HP_SHAPE_CHAIN:
        return (hp_model_tree_t){count - 1, count - 1, 1, count > 2};
    case HP_SHAPE_BINARY:
        return binary(count);
    case HP_SHAPE_BINOMIAL:
        return knomial(count, 2);
    case HP_SHAPE_KNOMIAL4:
        return knomial(count, 4);
    case HP_SHAPE_KNOMIAL8:
        return knomial(count, 8);
    case HP_SHAPE_POSTAL:
        return postal(count);
    default:
        return (hp_model_tree_t){1, count - 1, count - 1, 0};
    }
}

/* The root has one child in each of the two trees, the others at most two in one of them and none in the
 * other: on average one (double_tree.h). */
static hp_model_tree_t double_tree(uint32_t count)
{
    const uint32_t hops = count > 2 ? lower_log2(count - 1) + 1 : 1;
    return (hp_model_tree_t){.hops = hops, .gaps = 2 * hops - 1, .root = 1, .inner = count > 2};
}

typedef struct {
    double us;      /* between two messages of a sender, or of a receiver */
    double link_us; /* of a message */
    double reduce_us;
} message_t;

static message_t message_of(const hp_probes_t *probes, double bytes)
{
    const double link_us = bytes / probes->between_rate;
    return (message_t){.us = hp_most_double(link_us, probes->between_cpu_us),
                       .link_us = link_us,
                       .reduce_us = bytes / probes->reduce_rate};
}

/* Fan-out, or fan-in, in pieces (0: whole) that follow each other. */
static double fan_us(const hp_probes_t *probes, const hp_model_tree_t *tree, double bytes, size_t piece_bytes,
                     bool reduces)
{
    const double piece = piece_bytes && (double)piece_bytes < bytes ? (double)piece_bytes : bytes;
    const message_t message = message_of(probes, piece);
    const double reduce_us = reduces ? message.reduce_us : 0, step_us = hp_most_double(message.us, reduce_us);
    const double busiest = tree->root > tree->inner ? tree->root : tree->inner;

    return tree->hops * (probes->between_us + reduce_us) + tree->gaps * step_us +
           (piece < bytes ? (bytes - piece) / piece * busiest * step_us : 0);
}

static double pieces_of(double bytes, size_t piece_bytes)
{
    return piece_bytes && (double)piece_bytes < bytes ? bytes / (double)piece_bytes : 1;
}

/* Children of the busiest position, and with its parent; of the mean position where roots rotate. */
typedef struct {
    double children, neighbors;
} load_t;

static load_t load_of(const hp_model_tree_t *tree, uint32_t nodes, uint32_t rotations)
{
    const double children = tree->root > tree->inner ? tree->root : tree->inner;
    const double neighbors = tree->root > tree->inner + 1 ? tree->root : tree->inner + 1;
    const double mean = (double)(nodes - 1) / nodes;

    if (rotations < nodes) /* the busiest position leads one rotation, an average one the others */
        return (load_t){(children + (rotations - 1) * mean) / rotations,
                        (neighbors + (rotations - 1) * 2 * mean) / rotations};
    return (load_t){mean, 2 * mean};
}

static hp_inter_node_cost_t tree_cost(const hp_probes_t *probes, uint32_t nodes, hp_collective_t collective,
                                      double bytes, const hp_setting_t *setting)
{
    const bool up = collective != HP_BCAST, down = collective != HP_REDUCE, twice = up && down;
    const bool two_trees = setting->inter_node == HP_INTER_NODE_double_tree;
    const hp_model_tree_t tree =
        two_trees ? double_tree(nodes) : hp_model_tree(setting->shapes.shape[HP_LEVEL_NODE], nodes);
    const load_t load = load_of(&tree, nodes, twice ? setting->trees : 1);
    const message_t message = message_of(probes, bytes);
    const double messages = (up ? pieces_of(bytes, setting->ir_segment_bytes) : 0) +
                            (down ? pieces_of(bytes, setting->ib_segment_bytes) : 0);
    hp_inter_node_cost_t cost = {.link_us = (twice ? load.neighbors : load.children) * message.link_us,
                                 .cpu_us = load.neighbors * messages * probes->between_cpu_us +
                                           (up ? load.children * message.reduce_us : 0)};

    if (up)
        cost.fill_us += fan_us(probes, &tree, bytes, setting->ir_segment_bytes, true);
    if (down)
        cost.fill_us += fan_us(probes, &tree, bytes, setting->ib_segment_bytes, false);
    return cost;
}

/* ---- exchanges ---- */

/* What a load takes of the link, and of the processor where each message is sent in so many pieces. */
static double link_us_of(const hp_model_way_t *load, const hp_probes_t *probes, double bytes)
{
    return load->link * bytes / probes->between_rate;
}

static double cpu_us_of(const hp_model_way_t *load, const hp_probes_t *probes, double bytes, double messages)
{
    return load->overheads * messages * probes->between_cpu_us + load->reduce * bytes / probes->reduce_rate;
}

/* The generator that a whole segment goes through; NULL: it goes along trees. */
static const hp_generator_t *exchange_of(const hp_setting_t *setting, hp_collective_t collective,
                                         uint32_t nodes, const struct hp_placement *placement,
                                         hp_problem_t *problem)
{
    return !hp_inter_node_is_tree(setting->inter_node) &&
                   hp_inter_node_problem(setting->inter_node, collective, nodes, false, placement, problem)
               ? hp_inter_node_generator(setting->inter_node)
               : NULL;
}

static hp_inter_node_cost_t exchange_cost(const hp_probes_t *probes, const hp_model_exchange_t *exchange,
                                          double bytes)
{
    const message_t message = message_of(probes, bytes * exchange->moved / exchange->rounds);
    const double reduce_us = exchange->reduced * bytes / probes->reduce_rate;

    return (hp_inter_node_cost_t){.fill_us = exchange->rounds * (probes->between_us + message.us) + reduce_us,
                                  .link_us = exchange->rounds * message.link_us,
                                  .cpu_us = 2 * exchange->rounds * probes->between_cpu_us + reduce_us};
}

static bool by_exchange(const hp_probes_t *probes, const hp_generator_t *generator,
                        const hp_problem_t *problem, double bytes, hp_inter_node_cost_t *cost)
{
    hp_model_schedule_t schedule;
    hp_model_exchange_t exchange;

    if (!hp_model_exchange(generator, problem, &exchange))
        return false;
    if (hp_model_exchange_schedule(generator, problem, &schedule))
        *cost = (hp_inter_node_cost_t){.fill_us = hp_model_schedule_us(&schedule, probes, bytes),
                                       .link_us = link_us_of(&schedule.most, probes, bytes),
                                       .cpu_us = cpu_us_of(&schedule.most, probes, bytes, 1)};
    else /* too many nodes */
        *cost = exchange_cost(probes, &exchange, bytes);
    if (exchange.is_serial)
        cost->serial_us = cost->fill_us;
    return true;
}

/* ---- by formulas, where there are no schedules ---- */

static hp_inter_node_cost_t by_formula(const hp_probes_t *probes, uint32_t nodes, hp_collective_t collective,
                                       double bytes, const hp_setting_t *setting)
{
    if (collective == HP_BARRIER) /* a dissemination */
        return (hp_inter_node_cost_t){.fill_us = hp_model_log2(nodes) *
                                                 (probes->between_us + probes->between_cpu_us)};
    return tree_cost(probes, nodes, collective, bytes, setting);
}

/* ---- from schedules ---- */

/* The first piece, or pieces, as they go, then what the busiest position has to do for each more. */
static double pieces_us(const hp_model_schedule_t *schedule, const hp_probes_t *probes, double bytes,
                        size_t piece_bytes)
{
    const double pieces = pieces_of(bytes, piece_bytes), piece = bytes / pieces;
    const double step_us = hp_most_double(link_us_of(&schedule->most, probes, piece),
                                          cpu_us_of(&schedule->most, probes, piece, 1));

    return hp_model_schedule_us(schedule, probes, piece) + (pieces - schedule->messages) * step_us;
}

/* A busiest position, and the mean of all: the busiest leads one rotation, an average one the others. */
static double rotated(double busiest, double mean, uint32_t nodes, uint32_t rotations)
{
    return rotations < nodes ? (busiest + (rotations - 1) * mean) / rotations : mean;
}

static bool tree_by_schedule(const hp_probes_t *probes, uint32_t nodes, hp_collective_t collective,
                             double bytes, const hp_setting_t *setting, hp_inter_node_cost_t *cost)
{
    const bool two_trees = setting->inter_node == HP_INTER_NODE_double_tree;
    const char *generator =
        two_trees ? "double_tree" : hp_shape_info(setting->shapes.shape[HP_LEVEL_NODE])->name;
    const bool up = collective != HP_BCAST, down = collective != HP_REDUCE;
    const uint32_t rotations = up && down ? setting->trees : 1;
    const double messages = ((up ? pieces_of(bytes, setting->ir_segment_bytes) : 0) +
                             (down ? pieces_of(bytes, setting->ib_segment_bytes) : 0)) /
                            (up + down);
    hp_model_schedule_t reduce, bcast, both;

    if ((up && !hp_model_schedule(generator, HP_PATTERN_REDUCE, nodes, &reduce)) ||
        (down && !hp_model_schedule(generator, HP_PATTERN_BCAST, nodes, &bcast)) ||
        (up && down && !hp_model_schedule(generator, HP_PATTERN_ALLREDUCE, nodes, &both)))
        return false;
    const hp_model_schedule_t *load = up && down ? &both : up ? &reduce : &bcast;
    *cost = (hp_inter_node_cost_t){
        .fill_us = (up ? pieces_us(&reduce, probes, bytes, setting->ir_segment_bytes) : 0) +
                   (down ? pieces_us(&bcast, probes, bytes, setting->ib_segment_bytes) : 0),
        .link_us = rotated(link_us_of(&load->most, probes, bytes), link_us_of(&load->mean, probes, bytes),
                           nodes, rotations),
        .cpu_us = rotated(cpu_us_of(&load->most, probes, bytes, messages),
                          cpu_us_of(&load->mean, probes, bytes, messages), nodes, rotations)};
    return true;
}

static bool by_schedule(const hp_probes_t *probes, uint32_t nodes, hp_collective_t collective, double bytes,
                        const hp_setting_t *setting, hp_inter_node_cost_t *cost)
{
    hp_model_schedule_t barrier;

    if (collective != HP_BARRIER)
        return tree_by_schedule(probes, nodes, collective, bytes, setting, cost);
    if (!hp_model_schedule("dissemination", HP_PATTERN_BARRIER, nodes, &barrier))
        return false;
    *cost = (hp_inter_node_cost_t){.fill_us = hp_model_schedule_us(&barrier, probes, 0)};
    return true;
}

hp_inter_node_cost_t hp_model_inter_node(const hp_probes_t *probes, uint32_t nodes,
                                         hp_collective_t collective, double bytes,
                                         const hp_setting_t *setting, const struct hp_placement *placement)
{
    hp_inter_node_cost_t cost;
    hp_problem_t problem;
    const hp_generator_t *exchange = exchange_of(setting, collective, nodes, placement, &problem);

    if (exchange && by_exchange(probes, exchange, &problem, bytes, &cost))
        return cost;
    return by_schedule(probes, nodes, collective, bytes, setting, &cost)
               ? cost
               : by_formula(probes, nodes, collective, bytes, setting);
}
