#include "hier/planning/model/model_schedule.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/least.h"
#include "schedule/cost/cost.h"
#include "schedule/cost/cost_run.h"
#include "schedule/generators/generators.h"

/* What a message costs in each run: a latency, a send or a receive, its bytes over a link, their reduction. Which way is
 * the longest depends on which of links and of the work on processors, of two kinds, takes longest and which least, and
 * on whether messages are few and far or many. Nothing is quite free: of two ways the one with more of it is found. */
static const hp_model_way_t costs[HP_MODEL_WAYS] = {
#define ORDERS(latency)                                                                                      \
    {latency, 1, 0.1, 0.01}, {latency, 1, 0.01, 0.1}, {latency, 0.1, 1, 0.01}, {latency, 0.01, 1, 0.1},      \
        {latency, 0.1, 0.01, 1},                                                                             \
    {                                                                                                        \
        latency, 0.01, 0.1, 1                                                                                \
    }
    ORDERS(0.03), ORDERS(3), {0.3, 0.5, 0.6, 0.4}, {3, 0.3, 1, 0.6}
#undef ORDERS
};

/* ---- all positions alike ---- */

static bool same_blocks(const hp_schedule_t *a, const hp_list_t *x, const hp_schedule_t *b,
                        const hp_list_t *y)
{
    return hp_schedule_blocks(a, x) == hp_schedule_blocks(b, y);
}

/* Do position 0 and another one do the same in each step? */
static bool same_work(const hp_schedule_t *a, const hp_schedule_t *b, uint32_t other)
{
    bool same = a->step_count == b->step_count;

    for (uint32_t i = 0; same && i < a->step_count; i++) {
        const hp_step_t *x = &a->steps[i], *y = &b->steps[i];
        same = (x->to == 0) == (y->to == (int32_t)other) && (x->to < 0) == (y->to < 0) &&
               (x->from < 0) == (y->from < 0) && x->sync == y->sync && x->stream == y->stream &&
               (x->action == HP_ACTION_STORE) == (y->action == HP_ACTION_STORE) &&
               same_blocks(a, &x->send, b, &y->send) && same_blocks(a, &x->recv, b, &y->recv);
    }
    return same;
}

/* Where all positions do the same in each step, as in exchanges, all are equally far at any time, and it takes no
 * longer or shorter if each receives what it would have sent itself: two of them stand for all. */
static bool are_alike(const hp_schedule_t *schedules, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (!same_work(&schedules[0], &schedules[i], i))
            return false;
    return true;
}

/* Two that do what position 0 does, each the only partner of the other. */
static hp_schedule_t *make_pair(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_schedule_t *pair = calloc(2, sizeof *pair);

    for (uint32_t me = 0; pair && me < 2; me++) {
        if (hp_schedule_make(&pair[me], generator, problem, 0) != HP_OK) {
            hp_schedules_free(pair, 2);
            return NULL;
        }
        for (uint32_t i = 0; i < pair[me].step_count; i++) {
            hp_step_t *step = &pair[me].steps[i];
            const uint32_t partner = step->to == 0 ? me : 1 - me;
            step->to = step->to < 0 ? HP_NO_POSITION : (int32_t)partner;
            step->from = step->from < 0 ? HP_NO_POSITION : (int32_t)partner;
        }
    }
    return pair;
}

/* The schedules that stand for the problem's; problem->count becomes how many they are. */
static hp_schedule_t *make_schedules(const hp_generator_t *generator, hp_problem_t *problem)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);
    const bool has_parts = /* as many blocks as positions */
        !hp_pattern_is(problem->pattern, HP_PATTERN_CUT) && problem->pattern != HP_PATTERN_BARRIER;

    if (!schedules || problem->count <= 2 || has_parts || !are_alike(schedules, problem->count))
        return schedules;
    hp_schedule_t *pair = make_pair(generator, problem);
    hp_schedules_free(schedules, problem->count);
    problem->count = 2;
    return pair;
}

/* ---- runs ---- */

/* bytes: of all messages. */
static hp_cost_setting_t setting_of(const hp_network_t *network, const hp_model_way_t *cost, double messages)
{
    return (hp_cost_setting_t){.network = network,
                               .processor = {.send_us = cost->overheads,
                                             .recv_us = cost->overheads,
                                             .reduce_rate = cost->link / cost->reduce},
                               .bytes = messages * cost->link};
}

/* The network is the same for all runs, its latency 1 and its rate 1; other costs are in proportion. */
static bool find_ways(const hp_schedule_t *schedules, const hp_problem_t *problem,
                      const hp_network_t *network, const uint32_t *machines, hp_model_schedule_t *schedule)
{
    const uint32_t cut = schedules[0].cut ? schedules[0].cut : 1;
    hp_cost_graph_t graph;
    bool fine = hp_cost_graph_init(&graph, schedules, problem, network, machines, 0) == HP_OK;

    for (unsigned i = 0; i < HP_MODEL_WAYS && fine; i++) {
        const double unit = costs[i].latencies;
        const hp_model_way_t cost = {1, costs[i].overheads / unit, costs[i].link / unit,
                                     costs[i].reduce / unit};
        const hp_cost_setting_t setting = setting_of(network, &cost, schedule->messages);
        hp_cost_t found;
        fine = hp_cost_run(&graph, problem->count, &setting, setting.bytes / cut, &found) == HP_OK;
        if (fine)
            schedule->ways[i] = (hp_model_way_t){.latencies = found.share_us.latency,
                                                 .overheads = found.share_us.overhead / cost.overheads,
                                                 .link = found.share_us.link / cost.link,
                                                 .reduce = found.share_us.reduce / cost.reduce};
    }
    hp_cost_graph_fini(&graph);
    return fine;
}

static bool find_loads(const hp_schedule_t *schedules, const hp_problem_t *problem,
                       const hp_network_t *network, hp_model_schedule_t *schedule)
{
    static const hp_model_way_t one = {1, 1, 1, 1};
    hp_cost_load_t *loads = calloc(problem->count, sizeof *loads);
    hp_cost_setting_t setting = setting_of(network, &one, 1);
    hp_cost_t cost;

    setting.no_run = true;
    setting.loads = loads;
    const bool fine = loads && hp_schedules_cost(schedules, problem, &setting, &cost) == HP_OK;
    hp_model_way_t *busiest = &schedule->most, *mean = &schedule->mean;

    for (uint32_t i = 0; i < problem->count && fine; i++) {
        const double messages = (double)(loads[i].sent + loads[i].received) / schedule->messages;
        const double bytes = hp_most_double(loads[i].sent_bytes, loads[i].received_bytes);
        busiest->overheads = hp_most_double(busiest->overheads, messages);
        busiest->link = hp_most_double(busiest->link, bytes);
        busiest->reduce = hp_most_double(busiest->reduce, loads[i].reduced_bytes);
        mean->overheads += messages / problem->count;
        mean->link += bytes / problem->count;
        mean->reduce += loads[i].reduced_bytes / problem->count;
    }
    free(loads);
    return fine;
}

/* Of the algorithm's blocks, each as large as a message, there are no more than it needs; their number is returned. */
static uint32_t fewest_blocks(const hp_generator_t *generator, hp_problem_t *problem)
{
    const hp_parameter_t *blocks = &generator->parameters[0];

    hp_generator_usual(generator, problem);
    if (!blocks->name || strcmp(blocks->name, "blocks") != 0)
        return 1;
    return problem->parameter[0] = blocks->least;
}

static bool ask(const hp_generator_t *generator, hp_problem_t problem, uint32_t messages,
                hp_model_schedule_t *schedule)
{
    if (!hp_generator_serves(generator, &problem, NULL, 0))
        return false;
    *schedule = (hp_model_schedule_t){.messages = messages};
    hp_network_t network;
    hp_network_init(&network);
    hp_schedule_t *schedules = make_schedules(generator, &problem);
    uint32_t *machines = malloc(problem.count * sizeof *machines);
    bool fine = schedules && machines &&
                hp_network_flat(&network, problem.count, 1, (hp_network_speed_t){1, 1}) == HP_OK;
    if (fine) {
        hp_network_place(&network, problem.count, HP_NETWORK_BLOCK, machines);
        fine = find_ways(schedules, &problem, &network, machines, schedule) &&
               find_loads(schedules, &problem, &network, schedule);
    }
    hp_network_fini(&network);
    hp_schedules_free(schedules, problem.count);
    free(machines);
    return fine;
}

/* ---- what was asked before ---- */

typedef struct {
    const hp_generator_t *generator; /* NULL: free */
    hp_problem_t problem;
    hp_model_schedule_t schedule;
} known_t;

/* All ways of all collectives for three numbers of nodes. */
enum { KNOWN_MAX = 128 };
static known_t known[KNOWN_MAX];
static unsigned oldest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_of(const hp_generator_t *generator, const hp_problem_t *problem,
                  const hp_generator_t *other_generator, const hp_problem_t *other)
{
    return generator == other_generator && problem->pattern == other->pattern &&
           problem->count == other->count &&
           memcmp(problem->parameter, other->parameter, sizeof other->parameter) == 0;
}

static known_t *find_known(const hp_generator_t *generator, const hp_problem_t *problem)
{
    for (unsigned i = 0; i < KNOWN_MAX && known[i].generator; i++)
        if (is_of(known[i].generator, &known[i].problem, generator, problem))
            return &known[i];
    return NULL;
}

static bool look_up(const hp_generator_t *generator, const hp_problem_t *problem, uint32_t messages,
                    hp_model_schedule_t *schedule)
{
    bool fine = problem->count <= HP_MODEL_SCHEDULE_NODES_MAX;

    if (!fine)
        return false;
    pthread_mutex_lock(&lock);
    known_t *entry = find_known(generator, problem);
    if (!entry) {
        fine = ask(generator, *problem, messages, schedule);
        if (fine) {
            entry = &known[oldest++ % KNOWN_MAX];
            *entry = (known_t){generator, *problem, *schedule};
        }
    }
    if (entry)
        *schedule = entry->schedule;
    pthread_mutex_unlock(&lock);
    return fine;
}

bool hp_model_schedule(const char *generator, hp_pattern_t pattern, uint32_t nodes,
                       hp_model_schedule_t *schedule)
{
    const hp_generator_t *made_by = hp_generator_find(generator);
    hp_problem_t problem = {.pattern = pattern, .count = nodes};
    const uint32_t messages = made_by ? fewest_blocks(made_by, &problem) : 0;

    return made_by && look_up(made_by, &problem, messages, schedule);
}

bool hp_model_exchange_schedule(const hp_generator_t *generator, const hp_problem_t *problem,
                                hp_model_schedule_t *schedule)
{
    return look_up(generator, problem, 1, schedule);
}

/* ---- exchanges among any number ---- */

static hp_model_exchange_t exchange_of(const hp_schedule_t *schedule, uint32_t me)
{
    hp_model_exchange_t exchange = {.is_serial = true};
    int32_t to = HP_NO_POSITION;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hp_step_t *step = &schedule->steps[i];
        const double sent = hp_schedule_blocks(schedule, &step->send);
        const double received = hp_schedule_blocks(schedule, &step->recv);
        exchange.reduced += step->action != HP_ACTION_STORE ? received / schedule->cut : 0;
        if (step->to == (int32_t)me)
            continue;
        exchange.rounds++;
        exchange.moved += hp_most_double(sent, received) / schedule->cut;
        exchange.is_serial &= exchange.rounds == 1 || step->to == to;
        to = step->to;
    }
    exchange.is_serial &= exchange.rounds > 1;
    return exchange;
}

/* Where positions differ, those at the ends and in the middle do. */
static bool ask_exchange(const hp_generator_t *generator, const hp_problem_t *problem,
                         hp_model_exchange_t *exchange)
{
    const uint32_t count = problem->count, some[] = {0, 1 % count, count / 2, count - 1};

    *exchange = (hp_model_exchange_t){.rounds = 0};
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        hp_schedule_t schedule;
        hp_schedule_init(&schedule);
        const bool fine = hp_schedule_make(&schedule, generator, problem, some[i]) == HP_OK;
        const hp_model_exchange_t its = fine ? exchange_of(&schedule, some[i]) : *exchange;
        hp_schedule_fini(&schedule);
        if (!fine)
            return false;
        if (its.rounds > exchange->rounds)
            *exchange = its;
    }
    return exchange->rounds > 0;
}

typedef struct {
    const hp_generator_t *generator;
    hp_problem_t problem;
    hp_model_exchange_t exchange;
} known_exchange_t;

bool hp_model_exchange(const hp_generator_t *generator, const hp_problem_t *problem,
                       hp_model_exchange_t *exchange)
{
    enum { EXCHANGES_MAX = 32 };
    static known_exchange_t exchanges[EXCHANGES_MAX];
    static unsigned next;
    bool found = false;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < EXCHANGES_MAX && !found; i++)
        if ((found = is_of(exchanges[i].generator, &exchanges[i].problem, generator, problem)))
            *exchange = exchanges[i].exchange;
    if (!found && (found = ask_exchange(generator, problem, exchange)))
        exchanges[next++ % EXCHANGES_MAX] = (known_exchange_t){generator, *problem, *exchange};
    pthread_mutex_unlock(&lock);
    return found;
}

double hp_model_schedule_us(const hp_model_schedule_t *schedule, const hp_probes_t *probes, double bytes)
{
    /* Half a round trip is a send, the wire, a receive. */
    const double overhead_us = probes->between_cpu_us, wire_us = probes->between_us - 2 * overhead_us;
    const double latency_us = hp_most_double(wire_us, 0), link_us = bytes / probes->between_rate;
    const double reduce_us = bytes / probes->reduce_rate;
    double us = 0;

    for (unsigned i = 0; i < HP_MODEL_WAYS; i++) {
        const hp_model_way_t *way = &schedule->ways[i];
        us = hp_most_double(us, way->latencies * latency_us + way->overheads * overhead_us +
                                    way->link * link_us + way->reduce * reduce_us);
    }
    return us;
}
