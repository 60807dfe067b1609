#include "hier/planning/model/model_blocks.h"

#include "base/least.h"
#include "hier/blocks/generator.h"
#include "hier/collectives/block_roles.h"
#include "hier/collectives/flags.h"
#include "hier/planning/model/model_intra_node.h"
#include "schedule/cost/cost.h"
#include "schedule/cost/cost_walk.h"

/* ---- the schedule ---- */

typedef struct {
    hp_problem_t problem;
    uint32_t node_first[HP_MODEL_BLOCKS_NODES_MAX + 1];
    const hp_generator_t *generator; /* NULL: none */
} described_t;

/* Positions of the nodes, all as large as the largest but for the last. */
static void place(described_t *d, const hp_layout_t *layout, uint32_t last)
{
    for (uint32_t node = 0; node < layout->nodes; node++)
        d->node_first[node] = node * layout->most_ranks;
    d->problem.count = d->node_first[layout->nodes] = d->node_first[layout->nodes - 1] + last;
}

/* Of so many ranks; where the layout is made even for the model there are none. */
static const hp_placement_t *placement_of(const hp_layout_t *layout, const hp_problem_t *problem,
                                          bool by_rank)
{
    if (!layout->network || layout->network->ranks.count != problem->count)
        return NULL;
    return by_rank ? &layout->network->ranks : &layout->network->places;
}

static void forget_nodes(hp_problem_t *problem)
{
    *problem = (hp_problem_t){.pattern = problem->pattern, .count = problem->count};
}

/* As collectives/exchange.c does. */
static void choose(described_t *d, const hp_layout_t *layout, const hp_algorithm_t *algorithm,
                   const hp_setting_t *setting)
{
    const hp_collective_t collective = algorithm->collective;

    if (algorithm->traits & HP_TRAIT_NODES && layout->nodes > 1 && layout->most_ranks > 1) {
        d->problem.node_first = d->node_first;
        d->problem.node_count = layout->nodes;
        hp_block_use_nodes(setting, &d->problem);
    }
    if (collective == HP_ALLREDUCE && layout->least_ranks == layout->most_ranks)
        d->problem.per_node = layout->most_ranks;
    d->problem.placement =
        placement_of(layout, &d->problem, !hp_problem_has_nodes(&d->problem) && collective != HP_ALLREDUCE);
    d->generator = hp_block_generator(collective, setting, &d->problem);
    if (d->generator || !hp_problem_has_nodes(&d->problem))
        return;
    forget_nodes(&d->problem);
    d->problem.placement = placement_of(layout, &d->problem, true);
    d->generator = hp_block_generator(collective, setting, &d->problem);
}

/* What is not possible where nodes differ is not chosen; what is, is then looked at among equal ones. */
static void describe(described_t *d, const hp_layout_t *layout, const hp_algorithm_t *algorithm,
                     const hp_setting_t *setting)
{
    d->problem = (hp_problem_t){.pattern = hp_collective_pattern(algorithm->collective)};
    place(d, layout, layout->least_ranks);
    choose(d, layout, algorithm, setting);
    if (!d->generator || layout->least_ranks == layout->most_ranks)
        return;
    place(d, layout, layout->most_ranks);
    d->problem.placement = placement_of(layout, &d->problem, !hp_problem_has_nodes(&d->problem));
    hp_generator_usual(d->generator, &d->problem);
    if (!hp_generator_serves(d->generator, &d->problem, NULL, 0))
        d->generator = NULL;
}

bool hp_model_blocks_schedule(const hp_layout_t *layout, const hp_algorithm_t *algorithm,
                              const hp_setting_t *setting, hp_model_blocks_schedule_t *schedule)
{
    described_t d = {.generator = NULL};

    if (layout->nodes <= HP_MODEL_BLOCKS_NODES_MAX)
        describe(&d, layout, algorithm, setting);
    *schedule = (hp_model_blocks_schedule_t){.generator = d.generator,
                                             .has_inside = d.problem.inside,
                                             .all_lead = hp_problem_has_nodes(&d.problem) &&
                                                         d.problem.leaders == HP_LEADERS_ALL};
    return d.generator;
}

/* ---- messages ---- */

static uint32_t steps_in_flight(const hp_layout_t *layout, const described_t *d, uint64_t bytes)
{
    const hp_block_load_t load = {.bytes = bytes, .room = layout->network ? layout->network->room : 0};
    hp_schedule_t schedule;

    hp_schedule_init(&schedule);
    if (load.room > 0)
        hp_schedule_make(&schedule, d->generator, &d->problem, 0);
    const uint32_t steps = hp_block_steps_in_flight(d->generator, &d->problem, &schedule, 0, &load);
    hp_schedule_fini(&schedule);
    return steps;
}

static hp_walk_machine_t machine_of(const hp_probes_t *probes, uint32_t ranks, uint32_t steps_in_flight)
{
    const double between_us = probes->between_cpu_us, half_us = probes->inside_us / 2;
    const double inside_us = between_us > 0 ? hp_least_double(between_us, half_us) : half_us;

    return (hp_walk_machine_t){
        .between = {between_us, hp_most_double(probes->between_us - 2 * between_us, 0), probes->between_rate},
        .inside = {inside_us, probes->inside_us - 2 * inside_us, probes->inside_rate},
        .memory_rate = hp_model_node_rate(probes, ranks),
        .copy_rate = probes->copy_rate,
        .reduce_rate = probes->reduce_rate,
        .cores = probes->cores,
        .steps_in_flight = steps_in_flight};
}

enum { POSITIONS_RUN = 64, POSITIONS_MAX = 128 };

/* Is there a network on which all messages can be run? Of more positions only links are looked at, of many nothing. */
static bool has_run(const hp_problem_t *problem)
{
    return problem->placement && problem->count <= POSITIONS_RUN;
}

/* How long the messages between machines take on the network. 0: nothing is known of it. */
static double on_network_us(const described_t *d, const hp_walk_machine_t *machine, double bytes)
{
    const hp_problem_t *problem = &d->problem;
    uint32_t machines[POSITIONS_MAX];
    hp_cost_t cost;

    if (!problem->placement || problem->count > POSITIONS_MAX)
        return 0;
    for (uint32_t i = 0; i < problem->count; i++)
        machines[i] = hp_problem_machine(problem, i);
    const hp_cost_setting_t setting = {.network = problem->placement->network,
                                       .machines = machines,
                                       .processor = {.send_us = machine->between.overhead_us,
                                                     .recv_us = machine->between.overhead_us,
                                                     .reduce_rate = machine->reduce_rate,
                                                     .copy_rate = machine->copy_rate},
                                       .bytes = bytes,
                                       .in_flight = machine->steps_in_flight,
                                       .no_run = !has_run(problem)};
    if (hp_generator_cost(d->generator, problem, &setting, &cost) != HP_OK)
        return 0;
    return setting.no_run ? cost.link_us : cost.us + cost.shared_us;
}

static double by_messages(const hp_probes_t *probes, const hp_layout_t *layout,
                          const hp_algorithm_t *algorithm, uint64_t bytes, const hp_setting_t *setting,
                          uint32_t steps_max)
{
    const bool has_probes = layout->most_ranks < 2 || (probes->inside_us > 0 && probes->inside_rate > 0);
    described_t d;

    if (layout->nodes > HP_MODEL_BLOCKS_NODES_MAX || !has_probes)
        return -1;
    describe(&d, layout, algorithm, setting);
    if (!d.generator)
        return -1;
    hp_walk_machine_t machine = machine_of(probes, layout->most_ranks, steps_in_flight(layout, &d, bytes));
    if (has_run(&d.problem))
        machine.between.latency_us = 0; /* the run has that of each way */
    const double us =
        hp_walk_us(d.generator, &d.problem, layout->most_ranks, &machine, (double)bytes, steps_max);
    return us < 0 ? us : hp_most_double(us, on_network_us(&d, &machine, (double)bytes));
}

/* ---- one of the algorithms ---- */

/* Does what each rank writes fit a cell? */
static bool fits_cells(const hp_layout_t *layout, hp_pattern_t pattern, uint64_t bytes)
{
    return bytes <= HP_FLAGS_BYTES_MAX / (hp_block_each_reader(pattern) ? layout->most_ranks : 1);
}

bool hp_model_blocks_has_way(const hp_layout_t *layout, const hp_algorithm_t *algorithm, uint64_t bytes)
{
    const hp_pattern_t pattern = hp_collective_pattern(algorithm->collective);
    const bool is_scan = pattern == HP_PATTERN_SCAN || pattern == HP_PATTERN_EXSCAN;
    const bool one_memory = layout->nodes == 1 && layout->shares_memory;

    if (algorithm->traits & HP_TRAIT_CELLS)
        return one_memory && fits_cells(layout, pattern, bytes);
    if (algorithm->traits & HP_TRAIT_COPIES)
        return one_memory && layout->reads_peers && !is_scan;
    return algorithm->traits & HP_TRAIT_SCHEDULE;
}

double hp_model_blocks_us(const hp_probes_t *probes, const hp_layout_t *layout,
                          const hp_algorithm_t *algorithm, uint64_t bytes, const hp_setting_t *setting,
                          uint32_t steps_max)
{
    const hp_pattern_t pattern = hp_collective_pattern(algorithm->collective);
    const bool has_way = hp_model_blocks_has_way(layout, algorithm, bytes);

    if (hp_collective_is(algorithm->collective, HP_OWN_SIZES))
        return -1;
    if (has_way && algorithm->traits & HP_TRAIT_CELLS)
        return hp_model_block_flags_us(probes, layout->most_ranks, pattern, (double)bytes);
    if (has_way && algorithm->traits & HP_TRAIT_COPIES)
        return hp_model_block_copies_us(probes, layout->most_ranks, pattern, (double)bytes);
    return by_messages(probes, layout, algorithm, bytes, setting, steps_max);
}

/* ---- the bound ---- */

double hp_model_blocks_bound_us(const hp_probes_t *probes, const hp_layout_t *layout,
                                hp_collective_t collective, uint64_t bytes)
{
    const double ranks = layout->most_ranks, others = (layout->nodes - 1.0) * layout->least_ranks;
    const double block = (double)bytes, node_rate = hp_model_node_rate(probes, layout->most_ranks);
    const bool one_node = layout->nodes == 1;
    /* Blocks over the link of a node, in its busier direction; and what its ranks must get, from where ever. */
    double link = others, got = ranks * (others + ranks - 1);

    switch (hp_collective_pattern(collective)) {
    case HP_PATTERN_ALLTOALL:
        link = ranks * others;
        break;
    case HP_PATTERN_GATHER:
    case HP_PATTERN_SCATTER:
        got = others + ranks - 1;
        break;
    case HP_PATTERN_SCAN:
    case HP_PATTERN_EXSCAN:
        link = one_node ? 0 : 1;
        got = one_node ? ranks - 1 : layout->least_ranks;
        break;
    default:
        break;
    }
    const double latency_us = !one_node               ? probes->between_us
                              : layout->shares_memory ? probes->flag_us
                                                      : probes->inside_us;
    const double both_rate = one_node ? node_rate : node_rate + probes->between_rate;
    const double link_us = one_node ? 0 : link * block / probes->between_rate;

    return hp_collective_is(collective, HP_OWN_SIZES)
               ? 0
               : hp_most_double(latency_us, hp_most_double(link_us, got * block / both_rate));
}

/* ---- what else there is ---- */

/* What is done with an algorithm among the nodes. */
typedef struct {
    bool through_nodes;
    uint32_t leaders;
    hp_shape_t inside;
} way_t;

/* Those of a collective: the first so many of a row. */
static const way_t *ways_of(hp_pattern_t pattern, bool no_levels, unsigned *count)
{
    static const way_t exchanges[] = {{false, 1, HP_SHAPE_LINEAR},
                                      {true, 1, HP_SHAPE_LINEAR},
                                      {true, HP_ROTATIONS_MAX, HP_SHAPE_LINEAR},
                                      {true, HP_ROTATIONS_MAX, HP_SHAPE_BINOMIAL},
                                      {true, HP_ROTATIONS_MAX, HP_SHAPE_KNOMIAL4}};
    static const way_t rooted[] = {{false, 1, HP_SHAPE_LINEAR},
                                   {true, 1, HP_SHAPE_LINEAR},
                                   {true, 1, HP_SHAPE_BINOMIAL},
                                   {true, 1, HP_SHAPE_POSTAL}};
    const bool is_scan = pattern == HP_PATTERN_SCAN || pattern == HP_PATTERN_EXSCAN;
    const bool is_rooted = hp_pattern_is(pattern, HP_PATTERN_ROOTED);

    *count = no_levels   ? 1
             : is_scan   ? 2
             : is_rooted ? sizeof rooted / sizeof *rooted
                         : sizeof exchanges / sizeof *exchanges;
    return is_rooted ? rooted : exchanges;
}

/* The i-th way to join the nodes: first the trees of gather and scatter, of the others what is usual; then, of
 * several nodes, the generators that have a word. false: past the last. *fits: it does the collective. */
static bool join(unsigned i, hp_collective_t collective, bool one_node, hp_setting_t *setting, bool *fits)
{
    const bool is_rooted = hp_pattern_is(hp_collective_pattern(collective), HP_PATTERN_ROOTED);
    const unsigned trees = is_rooted ? HP_SHAPE_COUNT : 1;

    setting->shapes.shape[HP_LEVEL_NODE] = (uint8_t)(i < trees ? i : HP_SHAPE_LINEAR);
    setting->inter_node = i < trees ? HP_INTER_NODE_tree : hp_inter_node(HP_INTER_NODE_tree + 1 + i - trees);
    *fits = hp_inter_node_serves(setting->inter_node, collective);
    return i < trees || (!one_node && setting->inter_node != HP_INTER_NODE_NONE);
}

bool hp_model_blocks_find(const hp_probes_t *probes, const hp_layout_t *layout, hp_collective_t collective,
                          uint64_t bytes, const hp_setting_t *usual, double us_most,
                          hp_algorithm_id_t *algorithm, hp_setting_t *setting, double *us)
{
    const hp_algorithm_t *flat = hp_algorithm_with(collective, HP_TRAIT_SCHEDULE),
                         *through_nodes = hp_algorithm_with(collective, HP_TRAIT_NODES);
    const bool one_node = layout->nodes == 1;
    unsigned way_count;
    const way_t *ways =
        ways_of(hp_collective_pattern(collective), one_node || layout->most_ranks == 1, &way_count);
    hp_setting_t tried = *usual;
    bool found = false, fits;

    for (unsigned i = 0; join(i, collective, one_node, &tried, &fits); i++)
        for (unsigned k = 0; k < way_count && fits; k++) {
            const hp_algorithm_t *by = ways[k].through_nodes ? through_nodes : flat;
            tried.leaders = ways[k].leaders;
            tried.shapes.shape[HP_LEVEL_CORE] = ways[k].inside;
            const double needs_us =
                hp_model_blocks_us(probes, layout, by, bytes, &tried, HP_MODEL_BLOCKS_STEPS_FEW);
            if (needs_us < 0 || needs_us >= us_most)
                continue;
            *algorithm = hp_algorithm_id(by);
            *setting = tried;
            *us = us_most = needs_us;
            found = true;
        }
    return found;
}
