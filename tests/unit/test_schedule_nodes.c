/* test_schedule_nodes: schedules of two levels: every generator in nodes of many shapes is right, broken copies are
 * found, and between the nodes there is what the generator does among so many positions, and nothing else.
 *
 * HP_SCHEDULE_POSITIONS: only shapes of so many positions are verified. */
#include "broken.h"
#include "check.h"
#include "positions.h"
#include "schedule/generators/generators.h"
#include "trees.h"

enum { NODES_MAX = 12, POSITIONS_MAX = 64 };

typedef struct {
    uint32_t count, sizes[NODES_MAX];
} shape_t;

static const shape_t shapes[] = {
    {2, {1, 1}},
    {2, {2, 2}},
    {3, {2, 2, 2}},
    {2, {3, 3}},
    {4, {4, 4, 4, 4}},
    {3, {4, 4, 4}},
    {6, {2, 2, 2, 2, 2, 2}},
    {3, {1, 2, 3}},
    {2, {4, 1}},
    {2, {1, 4}},
    {3, {2, 2, 1}},
    {4, {3, 1, 1, 3}},
    {4, {1, 5, 2, 4}},
    {5, {3, 3, 3, 3, 1}},
    {7, {1, 3, 2, 1, 4, 2, 1}},
    {8, {2, 1, 2, 1, 2, 1, 2, 1}},
};
static const shape_t large = {8, {8, 8, 8, 8, 8, 8, 8, 8}}, large_uneven = {6, {9, 3, 8, 1, 7, 5}};

static uint32_t positions_of(const shape_t *shape)
{
    uint32_t positions = 0;
    for (uint32_t n = 0; n < shape->count; n++)
        positions += shape->sizes[n];
    return positions;
}

/* The problem's nodes; node_first: room for NODES_MAX + 1. */
static void lay_out(hp_problem_t *problem, const shape_t *shape, uint32_t *node_first)
{
    node_first[0] = 0;
    for (uint32_t n = 0; n < shape->count; n++)
        node_first[n + 1] = node_first[n] + shape->sizes[n];
    problem->node_first = node_first;
    problem->node_count = shape->count;
    problem->count = node_first[shape->count];
    problem->placement = trees_kept(problem->count);
}

static void fail_with(const char *what, const hp_generator_t *generator, const hp_problem_t *problem)
{
    char nodes[4 * NODES_MAX] = "";

    for (uint32_t n = 0; n < problem->node_count; n++)
        snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), "%s%u", n ? "," : "",
                 hp_problem_node_size(problem, n));
    fail_msg("%s %s, nodes=%s, leaders %u, inside %s, root %u, parameter %u%s: %s",
             hp_pattern_name(problem->pattern), generator->name, nodes, problem->leaders,
             problem->inside ? problem->inside->name : "direct", problem->root, problem->parameter[0],
             problem->ordered ? ", ordered" : "", what);
}

/* ---- they are right ---- */

static uint32_t verify(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_fault_t fault;

    if (!hp_generator_serves(generator, problem, NULL, 0))
        return 0;
    if (hp_generator_verify(generator, problem, &fault) != HP_OK)
        fail_with(fault.text, generator, problem);
    return 1;
}

/* The parameters as usual, and two more; roots at both ends of nodes and amid them. */
static uint32_t verify_roots(const hp_generator_t *generator, hp_problem_t problem, uint32_t stride)
{
    const bool is_rooted = hp_pattern_is(problem.pattern, HP_PATTERN_ROOTED);
    uint32_t verified = 0;

    for (problem.root = 0; problem.root < (is_rooted ? problem.count : 1); problem.root += stride) {
        hp_generator_usual(generator, &problem);
        const uint32_t usual = problem.parameter[0];
        verified += verify(generator, &problem);
        for (uint32_t other = 2; other <= 3 && generator->parameters[0].name; other++) {
            problem.parameter[0] = usual == other ? 1 : other;
            verified += verify(generator, &problem);
        }
    }
    return verified;
}

/* In each form: by one leader or all, in order or not, with every algorithm inside the nodes. */
static uint32_t verify_forms(const hp_generator_t *generator, hp_pattern_t pattern, const shape_t *shape,
                             uint32_t stride)
{
    uint32_t verified = 0, node_first[NODES_MAX + 1];

    if (positions_of(shape) > positions_max(POSITIONS_MAX))
        return 0;
    for (uint32_t leaders = HP_LEADERS_ALL; leaders <= 1; leaders++)
        for (int ordered = 0; ordered <= hp_pattern_is(pattern, HP_PATTERN_REDUCES); ordered++) {
            hp_problem_t problem = {.pattern = pattern, .ordered = ordered, .leaders = leaders};
            lay_out(&problem, shape, node_first);
            verified += verify_roots(generator, problem, stride);
            for (unsigned i = 0; (problem.inside = hp_generator(i)); i++)
                for (uint32_t parameter = 1; parameter <= (problem.inside->parameters[0].name ? 3 : 1);
                     parameter++) {
                    problem.inside_parameter = parameter;
                    verified += verify_roots(generator, problem, stride);
                }
        }
    return verified;
}

static void each_is_right(void **state)
{
    const hp_generator_t *generator;
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++) {
        uint32_t in_all = 0;
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++) {
            uint32_t verified = 0;
            for (unsigned s = 0; s < ARRAY_LENGTH(shapes); s++)
                verified += verify_forms(generator, (hp_pattern_t)pattern, &shapes[s], 1);
            verified += verify_forms(generator, (hp_pattern_t)pattern, &large, 31);
            verified += verify_forms(generator, (hp_pattern_t)pattern, &large_uneven, 10);
            assert_int_equal(verified > 0, generator->patterns >> pattern & 1);
            in_all += verified;
        }
        printf("%-20s %6u problems\n", generator->name, in_all);
    }
}

/* ---- broken copies ---- */

static void break_forms(const hp_generator_t *generator, hp_pattern_t pattern, const shape_t *shape,
                        uint32_t broken[BROKEN_KINDS])
{
    static const char *const insides[] = {"direct", "binomial", "bruck", "circulant"};
    uint32_t node_first[NODES_MAX + 1];

    for (uint32_t leaders = HP_LEADERS_ALL; leaders <= 1; leaders++) {
        hp_problem_t problem = {.pattern = pattern, .leaders = leaders};
        lay_out(&problem, shape, node_first);
        problem.root = hp_pattern_is(pattern, HP_PATTERN_ROOTED) ? problem.count / 2 : 0;
        problem.ordered = (generator->ordered >> pattern & 1) && problem.count % 2;
        hp_generator_usual(generator, &problem);
        for (unsigned i = 0; i < ARRAY_LENGTH(insides); i++) {
            problem.inside = hp_generator_find(insides[i]);
            problem.inside_parameter = 2;
            for (unsigned kind = 0; kind < BROKEN_KINDS && hp_generator_serves(generator, &problem, NULL, 0);
                 kind++)
                broken[kind] += broken_are_found(generator, &problem, (broken_kind_t)kind);
        }
    }
}

static void broken_ones_are_found(void **state)
{
    static const shape_t few[] = {{2, {2, 3}}, {2, {3, 3}}, {4, {2, 2, 2, 2}}, {4, {1, 2, 1, 3}}};
    const hp_generator_t *generator;
    uint32_t broken[BROKEN_KINDS] = {0};
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++)
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++)
            for (unsigned s = 0; s < ARRAY_LENGTH(few); s++)
                break_forms(generator, (hp_pattern_t)pattern, &few[s], broken);
    for (unsigned kind = 0; kind < BROKEN_KINDS; kind++) {
        printf("%u copies with fault %u: all found\n", broken[kind], kind);
        assert_true(broken[kind] > 1000);
    }
}

/* ---- what goes between the nodes ---- */

typedef struct {
    uint32_t messages, blocks;
} traffic_t;

static traffic_t traffic(const hp_generator_t *generator, const hp_problem_t *problem, bool between_nodes)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);
    traffic_t sum = {0};

    assert_non_null(schedules);
    for (uint32_t p = 0; p < problem->count; p++)
        for (uint32_t i = 0; i < schedules[p].step_count; i++) {
            const hp_step_t *step = &schedules[p].steps[i];
            if (step->to < 0 || step->to == (int32_t)p)
                continue;
            if (between_nodes && hp_problem_node(problem, p) == hp_problem_node(problem, (uint32_t)step->to))
                continue;
            sum.messages++;
            sum.blocks += hp_schedule_blocks(&schedules[p], &step->send);
        }
    hp_schedules_free(schedules, problem->count);
    return sum;
}

/* Blocks of a problem among nodes, in those of the positions. */
static uint32_t factor(const hp_problem_t *problem, uint32_t size)
{
    if (hp_pattern_is(problem->pattern, HP_PATTERN_CUT))
        return 1;
    return problem->pattern == HP_PATTERN_ALLTOALL ? size * size : size;
}

static void between_nodes_is_the_algorithm_alone(void **state)
{
    static const shape_t four = {4, {3, 3, 3, 3}};
    uint32_t node_first[NODES_MAX + 1], compared = 0;
    const hp_generator_t *generator;
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++)
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++)
            for (uint32_t leaders = HP_LEADERS_ALL; leaders <= 1; leaders++) {
                hp_problem_t problem = {.pattern = (hp_pattern_t)pattern, .leaders = leaders};
                lay_out(&problem, &four, node_first);
                hp_generator_usual(generator, &problem);
                if (!hp_generator_serves(generator, &problem, NULL, 0))
                    continue;
                const hp_problem_t nodes = hp_problem_of_nodes(&problem);
                const traffic_t found = traffic(generator, &problem, true),
                                wanted = traffic(generator, &nodes, false);
                if (found.messages != (leaders == 1 ? 1 : 3) * wanted.messages ||
                    found.blocks != factor(&problem, 3) * wanted.blocks)
                    fail_with("other messages between the nodes than the algorithm's", generator, &problem);
                compared++;
            }
    printf("%u algorithms\n", compared);
    assert_true(compared > 60);
}

/* A ring's block is sent on to the members before the next one is waited for. */
static void what_comes_is_passed_on_at_once(void **state)
{
    static const shape_t three = {3, {2, 2, 2}};
    static const int32_t to[] = {0, -1, 2, 1, 1, 2, 1}, from[] = {0, 1, 4, -1, -1, 4, -1};
    uint32_t node_first[NODES_MAX + 1];
    hp_problem_t problem = {.pattern = HP_PATTERN_ALLGATHER, .leaders = 1};
    hp_schedule_t schedule;
    (void)state;

    lay_out(&problem, &three, node_first);
    hp_schedule_init(&schedule);
    assert_int_equal(hp_schedule_make(&schedule, hp_generator_find("ring"), &problem, 0), HP_OK);
    assert_int_equal(schedule.step_count, ARRAY_LENGTH(to));
    for (unsigned i = 0; i < ARRAY_LENGTH(to); i++) {
        assert_int_equal(schedule.steps[i].to, to[i]);
        assert_int_equal(schedule.steps[i].from, from[i]);
    }
    hp_schedule_fini(&schedule);
}

/* ---- memory ---- */

/* So many allocations are left before one fails; negative: none does. */
static long allocations = -1;

static bool fails(void)
{
    return allocations >= 0 && allocations-- == 0;
}

#define WRAP(function, parameters, arguments)                                                                \
    void *__real_##function parameters;                                                                      \
    void *__wrap_##function parameters;                                                                      \
    void *__wrap_##function parameters                                                                       \
    {                                                                                                        \
        return fails() ? NULL : __real_##function arguments;                                                 \
    }
WRAP(malloc, (size_t bytes), (bytes))
WRAP(calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(realloc, (void *memory, size_t bytes), (memory, bytes))

static void memory_may_run_out(void **state)
{
    static const shape_t shape = {4, {2, 3, 1, 2}};
    static const struct {
        const char *generator;
        hp_pattern_t pattern;
        const char *inside;
    } cases[] = {{"circulant", HP_PATTERN_REDUCE_SCATTER, ""},
                 {"binomial", HP_PATTERN_GATHER, ""},
                 {"binomial", HP_PATTERN_GATHER, "binomial"},
                 {"pairwise", HP_PATTERN_ALLTOALL, ""},
                 {"chain", HP_PATTERN_BARRIER, ""}};
    uint32_t node_first[NODES_MAX + 1];
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_problem_t problem = {.pattern = cases[i].pattern,
                                .leaders = 1,
                                .inside = hp_generator_find(cases[i].inside),
                                .inside_parameter = 1};
        hp_status_t status = HP_ERR_NO_MEM;
        long least = 0;
        lay_out(&problem, &shape, node_first);
        hp_generator_usual(hp_generator_find(cases[i].generator), &problem);
        for (; status != HP_OK; least++) {
            hp_schedule_t schedule;
            hp_schedule_init(&schedule);
            allocations = least;
            status = hp_schedule_make(&schedule, hp_generator_find(cases[i].generator), &problem, 2);
            allocations = -1;
            assert_true(status == HP_OK || status == HP_ERR_NO_MEM);
            assert_int_equal(schedule.status, status);
            hp_schedule_fini(&schedule);
        }
        assert_true(least > 4);
    }
}

/* ---- what cannot be ---- */

static void the_rest_is_refused(void **state)
{
    static const struct {
        const char *generator;
        hp_pattern_t pattern;
        uint32_t leaders;
        bool ordered;
        shape_t shape;
        const char *why;
    } cases[] = {
        {"pairwise_xor",
         HP_PATTERN_ALLGATHER,
         1,
         false,
         {3, {1, 1, 2}},
         "the number of nodes has to be a power of two"},
        {"neighbour_exchange",
         HP_PATTERN_ALLGATHER,
         1,
         false,
         {3, {2, 2, 2}},
         "the number of nodes has to be even"},
        {"bruck",
         HP_PATTERN_ALLTOALL,
         1,
         false,
         {3, {2, 2, 1}},
         "it needs blocks of one size, so all nodes have to have as many positions"},
        {"pairwise",
         HP_PATTERN_ALLTOALL,
         HP_LEADERS_ALL,
         false,
         {2, {2, 1}},
         "where all lead, all nodes have to have as many positions"},
        {"binomial", HP_PATTERN_BCAST, HP_LEADERS_ALL, false, {2, {2, 2}}, "it takes one leader per node"},
        {"binomial", HP_PATTERN_BCAST, 2, false, {2, {2, 2}}, "leaders are one per node, or all"},
        {"ring", HP_PATTERN_REDUCE_SCATTER, 1, true, {2, {2, 2}}, "the operation has to commute"},
        {"ring", HP_PATTERN_BCAST, 1, false, {2, {2, 2}}, "it does not do this collective"},
    };
    uint32_t node_first[NODES_MAX + 1];
    char why[256];
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_problem_t problem = {
            .pattern = cases[i].pattern, .leaders = cases[i].leaders, .ordered = cases[i].ordered};
        lay_out(&problem, &cases[i].shape, node_first);
        assert_false(hp_generator_serves(hp_generator_find(cases[i].generator), &problem, why, sizeof why));
        assert_string_equal(why, cases[i].why);
    }
}

/* What a file has is of all positions. */
static void files_know_no_nodes(void **state)
{
    static const shape_t two = {2, {1, 1}};
    const hp_problem_t flat = {.pattern = HP_PATTERN_BARRIER, .count = 2};
    hp_schedule_t *schedules = hp_schedules_make(hp_generator_find("dissemination"), &flat);
    const hp_generator_t file = {
        .name = "file", .patterns = HP_SERVES(BARRIER), .schedules = schedules, .problem = &flat};
    hp_problem_t problem = {.pattern = HP_PATTERN_BARRIER, .leaders = 1};
    uint32_t node_first[NODES_MAX + 1];
    char why[256];
    (void)state;

    assert_non_null(schedules);
    assert_true(hp_generator_serves(&file, &flat, NULL, 0));
    lay_out(&problem, &two, node_first);
    assert_false(hp_generator_serves(&file, &problem, why, sizeof why));
    assert_string_equal(why, "it was written for all positions, not for nodes");
    hp_schedules_free(schedules, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_right),
                                       cmocka_unit_test(broken_ones_are_found),
                                       cmocka_unit_test(between_nodes_is_the_algorithm_alone),
                                       cmocka_unit_test(what_comes_is_passed_on_at_once),
                                       cmocka_unit_test(memory_may_run_out),
                                       cmocka_unit_test(the_rest_is_refused),
                                       cmocka_unit_test(files_know_no_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
