#include "hier/planning/model/model_network.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "hier/planning/model/model_schedule.h"
#include "schedule/cost/cost.h"
#include "schedule/generators/generators.h"

/* Runs of more nodes take too long. */
enum { RUN_NODES_MAX = 32 };

/* Between these sizes, and beyond them, times are taken for linear. */
static const double points[] = {1, 1024, 8192, 65536, 1048576};

enum { POINTS = sizeof points / sizeof *points };

/* Of an algorithm on a network. */
typedef struct {
    double fill_us[POINTS];
    double link_us_per_byte;
} line_t;

/* What the answer depends on. */
typedef struct {
    const hp_generator_t *generator;
    hp_pattern_t pattern;
    uint32_t nodes, rotations;
    uint64_t network_hash;
    double message_us, reduce_rate; /* of the processors */
} question_t;

/* ---- one algorithm ---- */

/* The nodes' leaders: the first place of each. */
typedef struct {
    uint32_t places[HP_MODEL_SCHEDULE_NODES_MAX], machines[HP_MODEL_SCHEDULE_NODES_MAX];
    hp_problem_t problem;
} placed_t;

static bool place(placed_t *placed, const hp_layout_t *layout, const question_t *question, uint32_t root)
{
    for (uint32_t node = 0; node < layout->nodes; node++)
        placed->places[node] = node * layout->most_ranks;
    placed->problem = (hp_problem_t){.pattern = question->pattern,
                                     .count = layout->nodes,
                                     .placement = &layout->network->places,
                                     .placed = placed->places,
                                     .rotated = root};
    hp_generator_usual(question->generator, &placed->problem);
    for (uint32_t i = 0; i < layout->nodes; i++)
        placed->machines[i] = hp_problem_machine(&placed->problem, i);
    return hp_generator_serves(question->generator, &placed->problem, NULL, 0);
}

static bool cost_of(const hp_layout_t *layout, const question_t *question, uint32_t root, double bytes,
                    double *link_bytes, hp_cost_t *cost)
{
    placed_t placed;

    if (!place(&placed, layout, question, root))
        return false;
    const hp_cost_setting_t setting = {.network = layout->network->places.network,
                                       .machines = placed.machines,
                                       .processor = {.send_us = question->message_us,
                                                     .recv_us = question->message_us,
                                                     .reduce_rate = question->reduce_rate},
                                       .bytes = bytes,
                                       .no_run = link_bytes || layout->nodes > RUN_NODES_MAX,
                                       .link_bytes = link_bytes};
    return hp_generator_cost(question->generator, &placed.problem, &setting, cost) == HP_OK;
}

static bool find_fill(const hp_layout_t *layout, const question_t *question, line_t *line)
{
    for (unsigned i = 0; i < POINTS; i++) {
        hp_cost_t cost;
        if (!cost_of(layout, question, 0, points[i], NULL, &cost))
            return false;
        line->fill_us[i] = cost.us < 0 ? cost.estimate_us : cost.us;
    }
    return true;
}

/* The busiest link, where each rotation has another root. */
static bool find_link(const hp_layout_t *layout, const question_t *question, line_t *line)
{
    const hp_network_t *network = layout->network->places.network;
    const uint32_t links = hp_network_links(network), rotations = question->rotations;
    double *carried = calloc(2 * (size_t)links, sizeof *carried), *of_one = carried + links;
    bool fine = carried;
    hp_cost_t cost;

    for (uint32_t i = 0; i < rotations && fine; i++) {
        fine = cost_of(layout, question, i * question->nodes / rotations, 1, of_one, &cost);
        for (uint32_t link = 0; link < links && fine; link++)
            carried[link] += of_one[link] / rotations;
    }
    for (uint32_t link = 0; link < links && fine; link++) {
        const double us = carried[link] / hp_network_link(network, link).speed.rate;
        line->link_us_per_byte = us > line->link_us_per_byte ? us : line->link_us_per_byte;
    }
    free(carried);
    return fine;
}

static bool ask(const hp_layout_t *layout, const question_t *question, line_t *line)
{
    *line = (line_t){.link_us_per_byte = 0};
    return find_fill(layout, question, line) && find_link(layout, question, line);
}

static double fill_us(const line_t *line, double bytes)
{
    unsigned i = 1;

    while (i + 1 < POINTS && points[i] < bytes)
        i++;
    const double step = (line->fill_us[i] - line->fill_us[i - 1]) / (points[i] - points[i - 1]);
    return line->fill_us[i - 1] + (bytes - points[i - 1]) * step;
}

/* ---- what was asked before ---- */

static bool look_up(const hp_layout_t *layout, const question_t *question, line_t *line)
{
    enum { KNOWN_MAX = 128 };
    static struct {
        question_t question;
        line_t line;
    } known[KNOWN_MAX];
    static unsigned next;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned i = 0;

    pthread_mutex_lock(&lock);
    while (i < KNOWN_MAX && memcmp(&known[i].question, question, sizeof *question) != 0)
        i++;
    bool fine = i < KNOWN_MAX;
    if (fine)
        *line = known[i].line;
    else if ((fine = ask(layout, question, line))) {
        memcpy(&known[next % KNOWN_MAX].question, question, sizeof *question);
        known[next++ % KNOWN_MAX].line = *line;
    }
    pthread_mutex_unlock(&lock);
    return fine;
}

/* Adds an algorithm of a pattern. */
static bool add(const hp_probes_t *probes, const hp_layout_t *layout, const hp_generator_t *generator,
                hp_pattern_t pattern, uint32_t rotations, double bytes, hp_model_network_cost_t *cost)
{
    question_t question;
    line_t line;

    memset(&question, 0, sizeof question); /* padding, too: they are compared as bytes */
    question.generator = generator;
    question.pattern = pattern;
    question.nodes = layout->nodes;
    question.rotations = rotations < layout->nodes ? rotations : layout->nodes;
    question.network_hash = layout->network_hash;
    question.message_us = probes->between_cpu_us;
    question.reduce_rate = probes->reduce_rate;
    if (!look_up(layout, &question, &line))
        return false;
    cost->fill_us += fill_us(&line, bytes);
    cost->link_us += bytes * line.link_us_per_byte;
    return true;
}

/* ---- all of a segment ---- */

static bool is_known(const hp_layout_t *layout)
{
    return layout->network && layout->nodes > 1 && layout->nodes <= HP_MODEL_SCHEDULE_NODES_MAX &&
           layout->least_ranks == layout->most_ranks &&
           layout->network->places.count == layout->nodes * layout->most_ranks;
}

bool hp_model_network(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                      double bytes, const hp_setting_t *setting, hp_model_network_cost_t *cost)
{
    const bool up = collective != HP_BCAST, down = collective != HP_REDUCE;
    const uint32_t rotations = up && down ? setting->trees : 1;
    hp_problem_t problem;

    *cost = (hp_model_network_cost_t){0};
    if (!is_known(layout) || collective == HP_BARRIER)
        return false;
    if (!hp_inter_node_is_tree(setting->inter_node) &&
        hp_inter_node_problem(setting->inter_node, collective, layout->nodes, false, &layout->network->places,
                              &problem))
        return add(probes, layout, hp_inter_node_generator(setting->inter_node), problem.pattern, 1, bytes,
                   cost);
    const hp_generator_t *tree = setting->inter_node == HP_INTER_NODE_double_tree
                                     ? &hp_generator_double_tree
                                     : hp_inter_node_tree((hp_shape_t)setting->shapes.shape[HP_LEVEL_NODE]);
    return (!up || add(probes, layout, tree, HP_PATTERN_REDUCE, rotations, bytes, cost)) &&
           (!down || add(probes, layout, tree, HP_PATTERN_BCAST, rotations, bytes, cost));
}
