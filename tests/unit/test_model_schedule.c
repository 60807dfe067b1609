/* test_model_schedule: what the model keeps of a schedule's runs against runs with the costs that it is asked for. */
#include "check.h"
#include "hier/planning/model/model_schedule.h"
#include "schedule/cost/cost.h"
#include "schedule/generators/generators.h"

/* From 0.01 to 100. */
static double any(check_random_t *random)
{
    double value = 0.01;
    for (uint32_t steps = check_random_below(random, 400); steps > 0; steps--)
        value *= 1.0233;
    return value;
}

static hp_probes_t any_probes(check_random_t *random)
{
    hp_probes_t probes = {
        .between_cpu_us = any(random), .between_rate = any(random), .reduce_rate = any(random)};
    probes.between_us = 2 * probes.between_cpu_us + any(random);
    return probes;
}

static double run_us(const hp_generator_t *generator, const hp_problem_t *problem, const hp_probes_t *probes,
                     double bytes)
{
    const hp_network_speed_t speed = {probes->between_rate, probes->between_us - 2 * probes->between_cpu_us};
    hp_network_t network;
    hp_cost_t cost;

    hp_network_init(&network);
    assert_int_equal(hp_network_flat(&network, problem->count, 1, speed), HP_OK);
    const hp_cost_setting_t setting = {.network = &network,
                                       .processor = {.send_us = probes->between_cpu_us,
                                                     .recv_us = probes->between_cpu_us,
                                                     .reduce_rate = probes->reduce_rate},
                                       .bytes = bytes};
    assert_int_equal(hp_generator_cost(generator, problem, &setting, &cost), HP_OK);
    hp_network_fini(&network);
    return cost.us;
}

typedef struct {
    double sum, largest;
    unsigned count;
} errors_t;

/* Trees, and what all positions do alike: the longest ways are among those kept, but for what overtakes what. Others
 * have more ways than are kept. */
static bool is_plain(const char *name)
{
    static const char *const names[] = {"linear",   "chain",    "binary", "binomial",
                                        "knomial4", "knomial8", "ring",   "recursive_doubling"};
    for (unsigned i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void compare(check_random_t *random, const hp_generator_t *generator, hp_problem_t problem,
                    errors_t *errors)
{
    hp_model_schedule_t schedule;

    assert_true(hp_model_schedule(generator->name, problem.pattern, problem.count, &schedule));
    if (strcmp(generator->parameters[0].name ? generator->parameters[0].name : "", "blocks") == 0)
        problem.parameter[0] = (uint32_t)schedule.messages;
    for (unsigned i = 0; i < 6; i++) {
        const hp_probes_t probes = any_probes(random);
        const double bytes = any(random), us = hp_model_schedule_us(&schedule, &probes, bytes);
        const double run = run_us(generator, &problem, &probes, schedule.messages * bytes);
        const double error = (us > run ? us - run : run - us) / run;
        if (error > (is_plain(generator->name) ? 0.05 : 0.5))
            fail_msg("%s %s of %u: %g us, the run %g us; overhead %g, latency %g, link %g, reduce %g",
                     generator->name, hp_pattern_name(problem.pattern), problem.count, us, run,
                     probes.between_cpu_us, probes.between_us - 2 * probes.between_cpu_us,
                     bytes / probes.between_rate, bytes / probes.reduce_rate);
        errors->sum += error;
        errors->largest = error > errors->largest ? error : errors->largest;
        errors->count++;
    }
}

/* The ways to join nodes, and others: all that moves one vector. */
static void the_ways_that_are_kept_tell_the_time(void **state)
{
    static const uint32_t counts[] = {2, 3, 4, 5, 7, 8, 16, 21, 33, 64};
    check_random_t random = check_random_start("the_ways_that_are_kept_tell_the_time");
    const hp_generator_t *generator;
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++) {
        errors_t errors = {.count = 0};
        for (unsigned i = 0; i < HP_PATTERN_COUNT * ARRAY_LENGTH(counts); i++) {
            hp_problem_t problem = {.pattern = (hp_pattern_t)(i % HP_PATTERN_COUNT),
                                    .count = counts[i / HP_PATTERN_COUNT]};
            hp_generator_usual(generator, &problem);
            const bool moves =
                hp_pattern_is(problem.pattern, HP_PATTERN_CUT) || problem.pattern == HP_PATTERN_BARRIER;
            if (moves && hp_generator_serves(generator, &problem, NULL, 0))
                compare(&random, generator, problem, &errors);
        }
        assert_true(errors.sum <= 0.06 * errors.count);
        if (errors.count > 0)
            printf("%-20s mean error %4.1f%%, largest %4.1f%% of %u\n", generator->name,
                   100 * errors.sum / errors.count, 100 * errors.largest, errors.count);
    }
}

static void loads(void **state)
{
    hp_model_schedule_t schedule;
    (void)state;

    assert_true(hp_model_schedule("ring", HP_PATTERN_ALLREDUCE, 8, &schedule));
    assert_true(schedule.most.link > 1.7499 && schedule.most.link < 1.7501);
    assert_true(schedule.most.reduce > 0.8749 && schedule.most.reduce < 0.8751);
    assert_true(schedule.most.overheads == 28 && schedule.mean.overheads == 28);
    assert_true(hp_model_schedule("linear", HP_PATTERN_REDUCE, 5, &schedule));
    assert_true(schedule.most.link == 4 && schedule.most.reduce == 4 && schedule.most.overheads == 4);
    assert_true(schedule.mean.link > 1.5999 && schedule.mean.link < 1.6001); /* one each, the root four */
    /* Every other segment takes either tree: nobody sends more than one on average. */
    assert_true(hp_model_schedule("double_tree", HP_PATTERN_BCAST, 16, &schedule));
    assert_true(schedule.messages == 2 && schedule.most.link == 1);
}

static void what_there_is_no_schedule_of(void **state)
{
    hp_model_schedule_t schedule;
    (void)state;

    assert_false(hp_model_schedule("none", HP_PATTERN_BCAST, 4, &schedule));
    assert_false(hp_model_schedule("ring", HP_PATTERN_BCAST, 4, &schedule));
    assert_false(hp_model_schedule("ring", HP_PATTERN_ALLREDUCE, HP_MODEL_SCHEDULE_NODES_MAX + 1, &schedule));
    assert_true(hp_model_schedule("ring", HP_PATTERN_ALLREDUCE, HP_MODEL_SCHEDULE_NODES_MAX, &schedule));
}

/* What is kept is the same as what was run, in whatever order one asks, and takes no time. */
static void asked_again(void **state)
{
    enum { N = 64 };
    static hp_model_schedule_t first[N + 1];
    hp_model_schedule_t again;
    uint64_t first_ns = 0, again_ns = 0;
    (void)state;

    for (unsigned round = 0; round < 4; round++)
        for (uint32_t i = 2; i <= N; i++) {
            const uint32_t nodes = round % 2 ? N + 2 - i : i;
            const uint64_t start = check_processor_ns();
            assert_true(hp_model_schedule("binomial", HP_PATTERN_REDUCE, nodes, &again));
            const uint64_t ns = check_processor_ns() - start;
            if (round == 0) {
                first[nodes] = again;
                first_ns += ns;
            } else {
                assert_memory_equal(&first[nodes], &again, sizeof again);
                again_ns += ns;
            }
        }
    printf("binomial reduce, 2 to %d nodes: %.0f us each, then %.2f us\n", N,
           (double)first_ns / 1e3 / (N - 1), (double)again_ns / 3e3 / (N - 1));
    assert_true(again_ns / 3 < first_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ways_that_are_kept_tell_the_time), cmocka_unit_test(loads),
        cmocka_unit_test(what_there_is_no_schedule_of), cmocka_unit_test(asked_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
