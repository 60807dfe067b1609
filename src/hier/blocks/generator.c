#include "hier/blocks/generator.h"

#include <math.h>
#include <stdatomic.h>
#include "hier/blocks/program.h"
#include "schedule/generators/generators.h"
#include "topo_tree/network/placement.h"

static const hp_generator_t *usual(hp_pattern_t pattern)
{
    static const hp_generator_t *const generators[HP_PATTERN_COUNT] = {
        [HP_PATTERN_ALLGATHER] = &hp_generator_ring,
        [HP_PATTERN_ALLTOALL] = &hp_generator_pairwise,
        [HP_PATTERN_REDUCE_SCATTER] = &hp_generator_pairwise,
        [HP_PATTERN_GATHER] = &hp_generator_linear,
        [HP_PATTERN_SCATTER] = &hp_generator_linear,
        [HP_PATTERN_SCAN] = &hp_generator_scan_doubling,
        [HP_PATTERN_EXSCAN] = &hp_generator_scan_doubling,
        [HP_PATTERN_ALLREDUCE] = &hp_generator_recursive_multiplying,
    };
    return generators[pattern];
}

enum {
#define HP_GENERATOR(name) GENERATOR_##name,
#include "schedule/generators/generators.def"
#undef HP_GENERATOR
    GENERATOR_COUNT
};

/* Sets of patterns: those that were asked about, and those of them in whose schedules every position knows all sizes. */
typedef struct {
    _Atomic unsigned asked, knowing;
} sizes_t;

/* With the problem's intra-node algorithm: what is so for one radix is so for all. */
static bool known_for_few_nodes(const hp_generator_t *generator, const hp_problem_t *asked)
{
    static const uint32_t two[] = {0, 2, 4}, three[] = {0, 1, 4, 6}, four[] = {0, 2, 4, 6, 8};
    const hp_problem_t shapes[] = {{.count = 4, .node_first = two, .node_count = 2},
                                   {.count = 6, .node_first = three, .node_count = 3},
                                   {.count = 8, .node_first = four, .node_count = 4}};
    static const uint32_t leaders[] = {1, HP_LEADERS_ALL}, machines[] = {0, 1, 2, 3, 4, 5, 6, 7};
    hp_network_t network;
    bool known = generator->patterns & ~generator->equal & 1u << asked->pattern;

    hp_network_init(&network);
    if (generator->placed & 1u << asked->pattern)
        known = known && hp_generator_sample_network(&network, 8);
    for (unsigned i = 0; i < 6 && known; i++) {
        hp_problem_t problem = shapes[i / 2];
        const hp_placement_t placement = {&network, machines, problem.count};
        problem.placement = &placement;
        problem.pattern = asked->pattern;
        problem.leaders = leaders[i % 2];
        problem.inside = asked->inside;
        problem.inside_parameter = 2;
        known = hp_generator_holds(generator, problem, hp_schedule_knows_sizes);
    }
    hp_network_fini(&network);
    return known;
}

/* Seen in schedules of few positions. Threads that ask at the same time find the same. */
static bool knows_sizes(const hp_generator_t *generator, const hp_problem_t *problem)
{
    static sizes_t flat[GENERATOR_COUNT], of_nodes[GENERATOR_COUNT], with_inside[GENERATOR_COUNT];
    const bool has_nodes = hp_problem_has_nodes(problem);
    const unsigned bit = 1u << problem->pattern;
    unsigned i = 0;

    while (i < GENERATOR_COUNT && hp_generator(i) != generator)
        i++;
    if (i == GENERATOR_COUNT) /* from a file: one that is direct asks no position for others' sizes */
        return !has_nodes && generator->direct & bit;
    sizes_t *sizes = !has_nodes ? &flat[i] : problem->inside ? &with_inside[i] : &of_nodes[i];
    if (!(atomic_load(&sizes->asked) & bit)) {
        if (has_nodes ? known_for_few_nodes(generator, problem)
                      : hp_generator_holds_for_few(generator, problem->pattern, hp_schedule_knows_sizes))
            atomic_fetch_or(&sizes->knowing, bit);
        atomic_fetch_or(&sizes->asked, bit);
    }
    return atomic_load(&sizes->knowing) & bit;
}

bool hp_block_serves(const hp_generator_t *generator, hp_collective_t collective, hp_problem_t *problem)
{
    if (!generator ||
        (hp_collective_is(collective, HP_OWN_SIZES) && !(generator->direct & 1u << problem->pattern)))
        return false;
    if (hp_collective_is(collective, HP_BLOCKS_DIFFER) && !knows_sizes(generator, problem))
        return false;
    hp_generator_usual(generator, problem);
    return hp_generator_serves(generator, problem, NULL, 0);
}

/* NULL: none can. */
static const hp_generator_t *choose(hp_collective_t collective, const hp_setting_t *setting,
                                    hp_problem_t *problem)
{
    const hp_generator_t *const wanted[] = {
        hp_inter_node_generator(setting->inter_node),
        hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED)
            ? hp_inter_node_tree((hp_shape_t)setting->shapes.shape[HP_LEVEL_NODE])
            : NULL,
        usual(problem->pattern)};

    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (hp_block_serves(wanted[i], collective, problem))
            return wanted[i];
    return NULL;
}

const hp_generator_t *hp_block_generator(hp_collective_t collective, const hp_setting_t *setting,
                                         hp_problem_t *problem)
{
    const hp_generator_t *generator = choose(collective, setting, problem);

    if (!generator && problem->inside) {
        problem->inside = NULL;
        generator = choose(collective, setting, problem);
    }
    if (!generator && hp_problem_has_nodes(problem) && problem->leaders == HP_LEADERS_ALL) {
        problem->leaders = 1;
        generator = choose(collective, setting, problem);
    }
    return generator;
}

/* ---- how much is under way ---- */

enum { MESSAGES_MOST = 16 };

/* Of an alltoall: the blocks of many senders come in each other's way at a receiver. Measured on 4 hosts x 4 ranks at 1 Gbit/s,
 * 64 KiB to 1 MiB a block: with 16 under way 1.28 times as fast as Open MPI 4.1.4's own, 8 1.43, 4 1.53, 2 1.49, 1 1.49; of
 * 16 and 32 KiB it makes no difference. */
static int64_t messages_of_alltoall(uint64_t bytes)
{
    enum { LEAST = 4, BYTES = 256 * 1024 };
    const uint64_t fit = bytes > 0 ? BYTES / bytes : MESSAGES_MOST;

    return fit > MESSAGES_MOST ? MESSAGES_MOST : fit < LEAST ? LEAST : (int64_t)fit;
}

static bool on_one_node(const hp_problem_t *problem, uint32_t a, uint32_t b)
{
    return hp_problem_has_nodes(problem) ? hp_problem_node(problem, a) == hp_problem_node(problem, b)
                                         : a == b;
}

/* How many positions send to this one, up to three; those of its own node do not count. */
static unsigned count_senders(const hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t position)
{
    int32_t senders[3];
    unsigned count = 0;

    for (uint32_t i = 0; i < schedule->step_count && count < 3; i++) {
        const int32_t from = schedule->steps[i].from;
        unsigned k = 0;
        if (from < 0 || on_one_node(problem, (uint32_t)from, position))
            continue;
        while (k < count && senders[k] != from)
            k++;
        if (k == count)
            senders[count++] = from;
    }
    return count;
}

bool hp_block_passes_on(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_schedule_t schedule;

    hp_schedule_init(&schedule);
    const bool passes_on = hp_schedule_make(&schedule, generator, problem, 0) == HP_OK &&
                           count_senders(&schedule, problem, 0) == 1;
    hp_schedule_fini(&schedule);
    return passes_on;
}

/* As many as the queues of the network have room for. What comes from one or two neighbours comes in turns. */
static int64_t messages_that_fit(const hp_schedule_t *schedule, const hp_block_load_t *load)
{
    const double message = (double)hp_schedule_largest_message(schedule, true) * (double)load->bytes;
    const double fit = message > 0 ? load->room / message : MESSAGES_MOST;

    return fit > MESSAGES_MOST ? MESSAGES_MOST : fit < 1 ? 1 : (int64_t)fit;
}

static int64_t messages_at_a_time(const hp_generator_t *generator, const hp_problem_t *problem,
                                  const hp_schedule_t *schedule, uint32_t position,
                                  const hp_block_load_t *load)
{
    enum { LOSSLESS_MOST = 64 };
    const bool is_direct_alltoall =
        problem->pattern == HP_PATTERN_ALLTOALL && generator->direct & 1u << problem->pattern;

    if (generator->in_flight || hp_problem_has_nodes(problem) ||
        hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
        return MESSAGES_MOST;
    if (load->room > 0 && isfinite(load->room))
        return count_senders(schedule, problem, position) > 2 ? messages_that_fit(schedule, load)
                                                              : MESSAGES_MOST;
    if (!is_direct_alltoall)
        return MESSAGES_MOST;
    return load->room > 0 ? LOSSLESS_MOST : messages_of_alltoall(load->bytes);
}

uint32_t hp_block_steps_in_flight(const hp_generator_t *generator, const hp_problem_t *problem,
                                  const hp_schedule_t *schedule, uint32_t position,
                                  const hp_block_load_t *load)
{
    const int64_t most =
        load->messages ? load->messages : messages_at_a_time(generator, problem, schedule, position, load);

    return generator->in_flight && generator->in_flight < most ? generator->in_flight : (uint32_t)most;
}

/* ---- nodes ---- */

/* Linear: direct messages. Otherwise along that tree, or the algorithm of so few rounds that has its radix. */
static void use_inside(hp_problem_t *problem, hp_shape_t shape)
{
    static const uint32_t radixes[HP_SHAPE_COUNT] = {
        [HP_SHAPE_BINOMIAL] = 2, [HP_SHAPE_KNOMIAL4] = 4, [HP_SHAPE_KNOMIAL8] = 8};
    const bool is_rooted = hp_pattern_is(problem->pattern, HP_PATTERN_ROOTED);
    const uint32_t size = hp_problem_node_size(problem, 0);

    if (shape == HP_SHAPE_LINEAR || (!is_rooted && !radixes[shape]))
        return;
    problem->inside = is_rooted                                       ? hp_inter_node_tree(shape)
                      : problem->pattern == HP_PATTERN_REDUCE_SCATTER ? &hp_generator_circulant
                                                                      : &hp_generator_bruck;
    problem->inside_parameter = is_rooted ? 1 : radixes[shape] < size ? radixes[shape] : size;
}

void hp_block_use_nodes(const hp_setting_t *setting, hp_problem_t *problem)
{
    problem->leaders = setting->leaders > 1 ? HP_LEADERS_ALL : 1;
    use_inside(problem, (hp_shape_t)setting->shapes.shape[HP_LEVEL_CORE]);
}
