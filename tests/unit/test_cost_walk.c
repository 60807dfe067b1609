/* test_cost_walk: times of the walk against those of the run (cost.h), what it cannot undercut, and what it leaves
 * out. */
#include "check.h"
#include "schedule/cost/cost.h"
#include "schedule/cost/cost_walk.h"
#include "schedule/generators/generators.h"
#include "topo_tree/shape.h"

enum { STEPS = 1 << 15, NODES_MAX = 64 };

static const hp_pattern_t patterns[] = {HP_PATTERN_ALLGATHER, HP_PATTERN_REDUCE_SCATTER, HP_PATTERN_ALLTOALL,
                                        HP_PATTERN_GATHER,    HP_PATTERN_SCATTER,        HP_PATTERN_SCAN,
                                        HP_PATTERN_EXSCAN};

/* From 0.1 to 10 times as much. */
static double about(check_random_t *random, double value)
{
    value *= 0.1;
    for (uint32_t steps = check_random_below(random, 200); steps > 0; steps--)
        value *= 1.0233;
    return value;
}

/* As cost.h has them: the processor's time is the same for all messages, and inside a node they share one link. */
static hp_walk_machine_t any_machine(check_random_t *random)
{
    const double overhead_us = about(random, 0.3), inside_rate = about(random, 10000);

    return (hp_walk_machine_t){.between = {overhead_us, about(random, 2), about(random, 10000)},
                               .inside = {overhead_us, about(random, 0.5), inside_rate},
                               .memory_rate = inside_rate,
                               .copy_rate = 1e9,
                               .reduce_rate = about(random, 10000),
                               .cores = 1024,
                               .steps_in_flight = 1024};
}

/* A problem, on nodes of so many ranks. */
typedef struct {
    hp_problem_t problem;
    uint32_t node_first[NODES_MAX + 1];
    uint32_t nodes, ranks;
} placed_t;

/* leaders: < 0: nodes are not told apart. */
static void place(placed_t *placed, hp_pattern_t pattern, uint32_t nodes, uint32_t ranks, int leaders)
{
    *placed =
        (placed_t){.problem = {.pattern = pattern, .count = nodes * ranks}, .nodes = nodes, .ranks = ranks};
    for (uint32_t node = 0; node <= nodes; node++)
        placed->node_first[node] = node * ranks;
    if (leaders < 0)
        return;
    placed->problem.node_first = placed->node_first;
    placed->problem.node_count = nodes;
    placed->problem.leaders = (uint32_t)leaders;
}

static hp_cost_t run_cost(const hp_generator_t *generator, const placed_t *placed,
                          const hp_walk_machine_t *machine, double bytes)
{
    hp_network_t network;
    hp_cost_t cost;

    hp_network_init(&network);
    assert_int_equal(
        hp_network_flat(&network, placed->nodes, placed->ranks,
                        (hp_network_speed_t){machine->between.rate, machine->between.latency_us}),
        HP_OK);
    network.inside = (hp_network_speed_t){machine->inside.rate, machine->inside.latency_us};
    const hp_cost_setting_t setting = {.network = &network,
                                       .processor = {.send_us = machine->between.overhead_us,
                                                     .recv_us = machine->between.overhead_us,
                                                     .reduce_rate = machine->reduce_rate,
                                                     .copy_rate = machine->copy_rate},
                                       .bytes = bytes};
    assert_int_equal(hp_generator_cost(generator, &placed->problem, &setting, &cost), HP_OK);
    hp_network_fini(&network);
    return cost;
}

typedef struct {
    double sum, largest;
    unsigned count;
    uint64_t walk_ns, run_ns;
} errors_t;

static bool is_tree(const hp_generator_t *generator)
{
    return hp_shape_find(generator->name) != HP_SHAPE_COUNT;
}

static void compare(check_random_t *random, const hp_generator_t *generator, placed_t *placed,
                    errors_t *errors)
{
    const hp_walk_machine_t machine = any_machine(random);
    const double bytes = about(random, check_random_below(random, 2) ? 100 : 100000);

    hp_generator_usual(generator, &placed->problem);
    if (!hp_generator_serves(generator, &placed->problem, NULL, 0))
        return;
    const uint64_t start = check_processor_ns();
    const double us = hp_walk_us(generator, &placed->problem, placed->ranks, &machine, bytes, STEPS);
    const uint64_t middle = check_processor_ns();
    const hp_cost_t cost = run_cost(generator, placed, &machine, bytes);
    const double error = (us > cost.us ? us - cost.us : cost.us - us) / cost.us;

    errors->run_ns += check_processor_ns() - middle;
    errors->walk_ns += middle - start;
    if (!(us > 0 && us >= cost.link_us * (1 - 1e-9)))
        fail_msg("%s %s of %u x %u: %g us, its busiest link takes %g us", generator->name,
                 hp_pattern_name(placed->problem.pattern), placed->nodes, placed->ranks, us, cost.link_us);
    errors->sum += error;
    errors->largest = error > errors->largest ? error : errors->largest;
    errors->count++;
}

static double report(const char *what, const errors_t *errors)
{
    const double mean = errors->sum / errors->count;
    printf("%s: mean error %.1f%%, largest %.0f%% of %u; %.1f us each, the run %.1f us\n", what, 100 * mean,
           100 * errors->largest, errors->count, (double)errors->walk_ns / 1e3 / errors->count,
           (double)errors->run_ns / 1e3 / errors->count);
    return mean;
}

static void one_rank_a_node(void **state)
{
    check_random_t random = check_random_start("one_rank_a_node");
    static const uint32_t counts[] = {2, 3, 5, 8, 13, 16, 32};
    (void)state;

    for (size_t k = 0; k < ARRAY_LENGTH(patterns); k++) {
        errors_t errors = {.count = 0};
        const hp_generator_t *generator;
        for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++)
            for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
                placed_t placed;
                place(&placed, patterns[k], counts[i], 1, -1);
                compare(&random, generator, &placed, &errors);
            }
        assert_true(report(hp_pattern_name(patterns[k]), &errors) < 0.1);
    }
}

/* Trees in which all ranks of a node lead are out: their messages follow each other, where the walk has them side by
 * side. */
static void several_ranks_a_node(void **state)
{
    check_random_t random = check_random_start("several_ranks_a_node");
    static const uint32_t shapes[][2] = {{2, 2}, {4, 4}, {8, 3}, {3, 5}, {1, 7}, {16, 4}};
    (void)state;

    for (size_t k = 0; k < ARRAY_LENGTH(patterns); k++) {
        errors_t errors = {.count = 0};
        const hp_generator_t *generator;
        for (unsigned i = 0; i < 3 * ARRAY_LENGTH(shapes); i++)
            for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++) {
                const int leaders = (int)(i % 3) - 1; /* none, all, one */
                const uint32_t *shape = shapes[i / 3];
                placed_t placed;
                place(&placed, patterns[k], shape[0], shape[1], leaders);
                if (shape[0] > 1 ? leaders != HP_LEADERS_ALL || !is_tree(generator) : leaders < 0)
                    compare(&random, generator, &placed, &errors);
            }
        assert_true(report(hp_pattern_name(patterns[k]), &errors) < 0.2);
    }
}

/* ---- cores, copies, steps in flight ---- */

static const hp_walk_machine_t machine = {.between = {0.3, 2, 12000},
                                          .inside = {0.3, 0.5, 10000},
                                          .memory_rate = 80000,
                                          .copy_rate = 12000,
                                          .reduce_rate = 8000,
                                          .cores = 64,
                                          .steps_in_flight = 16};

static double walk(const hp_walk_machine_t *on, const char *generator, hp_pattern_t pattern, uint32_t nodes,
                   uint32_t ranks, double bytes)
{
    placed_t placed;
    place(&placed, pattern, nodes, ranks, -1);
    const hp_generator_t *made_by = hp_generator_find(generator);
    hp_generator_usual(made_by, &placed.problem);
    return hp_walk_us(made_by, &placed.problem, ranks, on, bytes, STEPS);
}

static void ranks_share_cores(void **state)
{
    hp_walk_machine_t few = machine;
    const double work_us = 8 * 2 * 7 * machine.inside.overhead_us; /* of all ranks */
    (void)state;

    few.cores = 2;
    const double us = walk(&few, "pairwise", HP_PATTERN_ALLTOALL, 1, 8, 8);
    assert_true(us >= work_us / 2 && us < work_us);
    few.cores = 0.5; /* of a node that shares a core with another one */
    assert_true(walk(&few, "pairwise", HP_PATTERN_ALLTOALL, 1, 8, 8) >= 2 * work_us);
    assert_true(walk(&machine, "pairwise", HP_PATTERN_ALLTOALL, 1, 8, 8) < us);
}

static void steps_wait_for_their_turn(void **state)
{
    hp_walk_machine_t one = machine;
    const double hop_us = 2 * machine.between.overhead_us + machine.between.latency_us;
    (void)state;

    one.steps_in_flight = 1;
    const double alone_us = walk(&one, "pairwise", HP_PATTERN_ALLTOALL, 16, 1, 0);
    assert_true(alone_us > 14.99 * hop_us && alone_us < 15.01 * hop_us);
    const double us = walk(&machine, "pairwise", HP_PATTERN_ALLTOALL, 16, 1, 0);
    assert_true(us < 15 * 2 * machine.between.overhead_us + hop_us);
}

static void a_rank_copies_what_it_sends_inside(void **state)
{
    hp_walk_machine_t slow = machine;
    (void)state;

    slow.copy_rate = 100;
    assert_true(walk(&slow, "linear", HP_PATTERN_SCATTER, 1, 5, 10000) >= 4 * 100);
    assert_true(walk(&machine, "linear", HP_PATTERN_SCATTER, 1, 5, 10000) < 100);
}

/* Bruck's blocks lie apart. */
static void what_lies_apart_is_packed(void **state)
{
    hp_walk_machine_t slow = machine;
    (void)state;

    slow.copy_rate = 100;
    const double straight_us = walk(&machine, "pairwise", HP_PATTERN_ALLTOALL, 16, 1, 10000);
    const double own_us = 10000 / slow.copy_rate; /* its own block is copied, beside the messages */
    assert_true(walk(&slow, "pairwise", HP_PATTERN_ALLTOALL, 16, 1, 10000) <= straight_us + own_us);
    const double packed_us = walk(&machine, "bruck", HP_PATTERN_ALLTOALL, 16, 1, 10000);
    /* 8 blocks in each of 4 rounds, at both ends */
    assert_true(walk(&slow, "bruck", HP_PATTERN_ALLTOALL, 16, 1, 10000) >=
                packed_us + 4 * 8 * 2 * own_us * 0.95);
}

/* ---- limits ---- */

static void what_is_left_out(void **state)
{
    placed_t placed;
    const hp_generator_t *ring = hp_generator_find("ring"), *barrier = hp_generator_find("dissemination");
    (void)state;

    place(&placed, HP_PATTERN_ALLGATHER, 64, 16, -1);
    assert_true(hp_walk_us(ring, &placed.problem, 16, &machine, 8, STEPS) > 0);
    assert_true(hp_walk_us(ring, &placed.problem, 16, &machine, 8, 1000) < 0); /* steps */
    assert_true(hp_walk_us(ring, &placed.problem, 16, &machine, 8, 100) < 0);  /* positions */
    place(&placed, HP_PATTERN_BARRIER, 8, 1, -1);
    assert_true(hp_walk_us(barrier, &placed.problem, 1, &machine, 8, STEPS) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_rank_a_node),
                                       cmocka_unit_test(several_ranks_a_node),
                                       cmocka_unit_test(ranks_share_cores),
                                       cmocka_unit_test(steps_wait_for_their_turn),
                                       cmocka_unit_test(a_rank_copies_what_it_sends_inside),
                                       cmocka_unit_test(what_lies_apart_is_packed),
                                       cmocka_unit_test(what_is_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
