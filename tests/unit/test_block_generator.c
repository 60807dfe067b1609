/* test_block_generator: how many messages of a collective of blocks are under way at a time. */
#include "hier/blocks/generator.h"
#include <math.h>
#include "check.h"
#include "schedule/generators/generators.h"

/* By the schedule of position 0, where the algorithm needs no network. */
static uint32_t steps_of(const hp_generator_t *generator, hp_problem_t problem, int64_t messages,
                         uint64_t bytes, double room)
{
    const hp_block_load_t load = {messages, bytes, room};
    hp_schedule_t schedule;

    hp_schedule_init(&schedule);
    hp_generator_usual(generator, &problem);
    if (!generator->placed)
        assert_int_equal(hp_schedule_make(&schedule, generator, &problem, 0), HP_OK);
    const uint32_t steps = hp_block_steps_in_flight(generator, &problem, &schedule, 0, &load);
    hp_schedule_fini(&schedule);
    return steps;
}

static void long_blocks_of_an_alltoall_are_few_at_a_time(void **state)
{
    (void)state;
    const struct {
        const hp_generator_t *generator;
        hp_pattern_t pattern;
        int64_t messages; /* the knob */
        uint64_t bytes;
        double room;
        uint32_t steps;
    } cases[] = {
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 0, 0, 16},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 16384, 0, 16},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 32768, 0, 8},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 65536, 0, 4},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, UINT64_MAX, 0, 4},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 3, 65536, 0, 3}, /* what is asked for holds */
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 40, 1 << 20, 0, 40},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 4096, 16384, 4}, /* what the queues hold */
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 16385, 16384, 1},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 8, 16384, 16},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 0, 16384, 16},
        {&hp_generator_pairwise, HP_PATTERN_ALLGATHER, 0, 4096, 16384, 4},
        {&hp_generator_mesh2d, HP_PATTERN_ALLGATHER, 0, 1024, 16384,
         2},                                                          /* 8 blocks in a message between rows */
        {&hp_generator_linear, HP_PATTERN_GATHER, 0, 4096, 16384, 4}, /* to the root */
        {&hp_generator_linear, HP_PATTERN_SCATTER, 0, 4096, 16384, 16},
        {&hp_generator_ring, HP_PATTERN_ALLGATHER, 0, 65536, 16384, 16}, /* from one neighbour */
        {&hp_generator_neighbour_exchange, HP_PATTERN_ALLGATHER, 0, 65536, 16384, 16},
        {&hp_generator_ring, HP_PATTERN_ALLREDUCE, 0, 65536, 16384, 16},
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 0, 1 << 20, INFINITY, 64}, /* they drop nothing */
        {&hp_generator_pairwise, HP_PATTERN_ALLTOALL, 2, 8, INFINITY, 2},
        {&hp_generator_contention_free, HP_PATTERN_ALLTOALL, 0, 8, INFINITY,
         hp_generator_contention_free.in_flight},
        {&hp_generator_bruck, HP_PATTERN_ALLTOALL, 0, 65536, 0, 16}, /* blocks are passed on */
        {&hp_generator_linear, HP_PATTERN_SCATTER, 0, 65536, 0, 16}, /* from one sender */
        {&hp_generator_contention_free, HP_PATTERN_ALLTOALL, 0, 8, 0, hp_generator_contention_free.in_flight},
        {&hp_generator_contention_free, HP_PATTERN_ALLTOALL, 1, 8, 0, 1},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hp_problem_t problem = {.pattern = cases[i].pattern, .count = 32};
        assert_int_equal(
            steps_of(cases[i].generator, problem, cases[i].messages, cases[i].bytes, cases[i].room),
            cases[i].steps);
    }
}

static void among_nodes_blocks_go_together(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 4, 8};
    const hp_problem_t problem = {
        .pattern = HP_PATTERN_ALLTOALL, .count = 8, .node_first = first, .node_count = 2};

    assert_int_equal(steps_of(&hp_generator_pairwise, problem, 0, 65536, 0), 16);
}

/* As hanpmpi_tune makes and writes them: what was measured with so many under way runs so. */
static void a_window_of_its_own_holds(void **state)
{
    (void)state;
    const hp_problem_t problem = {.pattern = HP_PATTERN_ALLTOALL, .count = 32};
    hp_generator_t tuned = hp_generator_pairwise;

    tuned.in_flight = 8;
    assert_int_equal(steps_of(&tuned, problem, 0, 8, 0), 8);
    assert_int_equal(steps_of(&tuned, problem, 0, 1 << 20, 0), 8);
    assert_int_equal(steps_of(&tuned, problem, 2, 1 << 20, 0), 2);
}

/* On flat machines, and through nodes of four, of which all ranks take part in the rings. */
static void rings_pass_on(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 4, 8, 12};
    const hp_problem_t flat = {.pattern = HP_PATTERN_ALLGATHER, .count = 12},
                       nodes = {.pattern = HP_PATTERN_ALLGATHER,
                                .count = 12,
                                .node_first = first,
                                .node_count = 3,
                                .leaders = HP_LEADERS_ALL};

    assert_true(hp_block_passes_on(&hp_generator_ring, &flat));
    assert_true(hp_block_passes_on(&hp_generator_ring, &nodes));
    assert_false(hp_block_passes_on(&hp_generator_pairwise, &flat));
    assert_false(hp_block_passes_on(&hp_generator_neighbour_exchange, &flat));
    assert_false(hp_block_passes_on(&hp_generator_mesh2d, &flat));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_blocks_of_an_alltoall_are_few_at_a_time),
        cmocka_unit_test(among_nodes_blocks_go_together),
        cmocka_unit_test(a_window_of_its_own_holds),
        cmocka_unit_test(rings_pass_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
