/* test_schedule: every generator is right for every number of positions and every root, and the verifier says where
 * broken copies of them are wrong.
 *
 * HP_SCHEDULE_POSITIONS: up to so many positions, 128 where it is not set. HP_SCHEDULE_PART: "0/2": every second
 * generator from the first on, so that two processes share the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "broken.h"
#include "check.h"
#include "positions.h"
#include "schedule/generators/generators.h"
#include "schedule/verify.h"
#include "trees.h"

/* The i-th generator of this process; NULL past the last. */
static const hp_generator_t *generator_here(unsigned i)
{
    const char *text = getenv("HP_SCHEDULE_PART");
    unsigned part = 0, parts = 1;

    if (text && (sscanf(text, "%u/%u", &part, &parts) != 2 || part >= parts))
        fail_msg("HP_SCHEDULE_PART=%s", text);
    return hp_generator(i * parts + part);
}

/* Every root is tried with the parameters as usual; root 0, the middle and the last with other ones. */
static bool is_sampled(const hp_problem_t *problem)
{
    return problem->root == 0 || problem->root == problem->count / 2 || problem->root == problem->count - 1;
}

static uint64_t verify(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_fault_t fault;
    const hp_status_t status = hp_generator_verify(generator, problem, &fault);

    if (status != HP_OK)
        fail_msg("%s %s, %u positions, root %u, parameters %u %u%s: %s", hp_pattern_name(problem->pattern),
                 generator->name, problem->count, problem->root, problem->parameter[0], problem->parameter[1],
                 problem->ordered ? ", ordered" : "", fault.text);
    return 1;
}

/* All parameters up to a few, and the largest. */
static uint64_t verify_parameters(const hp_generator_t *generator, hp_problem_t problem)
{
    enum { FEW = 5 };
    uint64_t verified = 0;
    uint32_t most[HP_PARAMETERS_MAX] = {0};

    for (unsigned i = 0; i < HP_PARAMETERS_MAX && generator->parameters[i].name; i++) {
        most[i] = hp_parameter_most(&generator->parameters[i], &problem);
        if (most[i] > FEW && most[i] > problem.count)
            most[i] = FEW; /* of blocks there may be thousands */
    }
    const uint32_t first[2] = {generator->parameters[0].least, generator->parameters[1].least};
    for (uint32_t a = first[0]; a <= most[0]; a = a < FEW || a == most[0] ? a + 1 : most[0])
        for (uint32_t b = first[1]; b <= most[1]; b = b < FEW || b == most[1] ? b + 1 : most[1]) {
            problem.parameter[0] = a;
            problem.parameter[1] = b;
            if (hp_generator_serves(generator, &problem, NULL, 0))
                verified += verify(generator, &problem);
        }
    return verified;
}

static uint64_t verify_roots(const hp_generator_t *generator, hp_problem_t problem)
{
    const bool rooted = hp_pattern_is(problem.pattern, HP_PATTERN_ROOTED);
    uint64_t verified = 0;

    for (problem.root = 0; problem.root < (rooted ? problem.count : 1); problem.root++) {
        hp_generator_usual(generator, &problem);
        if (!hp_generator_serves(generator, &problem, NULL, 0))
            continue;
        verified += is_sampled(&problem) && generator->parameters[0].name
                        ? verify_parameters(generator, problem)
                        : verify(generator, &problem);
    }
    return verified;
}

static void each_is_right(void **state)
{
    const uint32_t most = positions_max(128);
    (void)state;

    const hp_generator_t *generator;
    for (unsigned g = 0; (generator = generator_here(g)) != NULL; g++) {
        uint64_t verified = 0;
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++)
            for (uint32_t count = 1; count <= most; count++) {
                const hp_placement_t *placement = trees_kept(count);
                for (int ordered = 0; ordered < 2; ordered++)
                    if (!ordered || hp_pattern_is((hp_pattern_t)pattern, HP_PATTERN_REDUCES))
                        verified += verify_roots(generator, (hp_problem_t){.pattern = (hp_pattern_t)pattern,
                                                                           .count = count,
                                                                           .ordered = ordered,
                                                                           .placement = placement});
            }
        assert_true(verified > 0);
        printf("%-20s %8lu problems of up to %u positions\n", generator->name, (unsigned long)verified, most);
    }
}

/* ---- traits ---- */

static bool is_direct(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_schedule_t *schedules = hp_schedules_make(generator, problem);
    bool direct = true;

    assert_non_null(schedules);
    for (uint32_t p = 0; p < problem->count; p++)
        direct = direct && hp_schedule_is_direct(&schedules[p], problem, p);
    hp_schedules_free(schedules, problem->count);
    return direct;
}

/* Whatever the number of positions, the root and the first parameter. */
static bool is_always_direct(const hp_generator_t *generator, hp_pattern_t pattern)
{
    enum { POSITIONS = 17, PARAMETER_MAX = 4 };
    const uint32_t most = generator->parameters[0].name ? PARAMETER_MAX : 1;

    for (uint32_t count = 2; count <= POSITIONS; count++)
        for (uint32_t value = 1; value <= most; value++) {
            hp_problem_t problem = {.pattern = pattern, .count = count, .placement = trees_kept(count)};
            hp_generator_usual(generator, &problem);
            problem.root = hp_pattern_is(pattern, HP_PATTERN_ROOTED) ? count / 2 : 0;
            problem.parameter[0] = value;
            if (hp_generator_serves(generator, &problem, NULL, 0) && !is_direct(generator, &problem))
                return false;
        }
    return generator->patterns >> pattern & 1;
}

static void those_are_direct_that_say_so(void **state)
{
    const hp_generator_t *generator;
    uint32_t direct = 0;
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++)
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++) {
            const bool is = is_always_direct(generator, (hp_pattern_t)pattern);
            if (is != (generator->direct >> pattern & 1))
                fail_msg("%s %s is %s", hp_pattern_name((hp_pattern_t)pattern), generator->name,
                         is ? "direct, and does not say so" : "not direct");
            direct |= (uint32_t)is << pattern;
        }
    /* Whatever blocks differ in size, somebody can. */
    assert_int_equal(direct,
                     HP_SERVES(ALLGATHER) | HP_SERVES(ALLTOALL) | HP_SERVES(GATHER) | HP_SERVES(SCATTER));
}

static void replaced_blocks_are_not_direct(void **state)
{
    const hp_problem_t problem = {.pattern = HP_PATTERN_ALLGATHER, .count = 2};
    hp_schedule_t *schedules = hp_schedules_make(hp_generator_find("pairwise"), &problem);
    (void)state;

    assert_non_null(schedules);
    assert_true(hp_schedule_is_direct(&schedules[0], &problem, 0));
    /* A block that another one replaces may be of another size. */
    hp_schedule_local(&schedules[0], 0, hp_range(HP_SPACE_SEND, 0, 1), hp_range(HP_SPACE_RECV, 0, 1),
                      HP_ACTION_STORE);
    assert_false(hp_schedule_is_direct(&schedules[0], &problem, 0));
    hp_schedules_free(schedules, problem.count);
}

/* ---- broken copies ---- */

static void broken_ones_are_found(void **state)
{
    static const uint32_t counts[] = {3, 4, 6, 7, 8};
    (void)state;

    const hp_generator_t *generator;
    for (unsigned g = 0; (generator = generator_here(g)) != NULL; g++) {
        uint32_t broken[BROKEN_KINDS] = {0}, kinds = 0;
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++)
            for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++)
                for (int ordered = 0; ordered < 2; ordered++) {
                    hp_problem_t problem = {.pattern = (hp_pattern_t)pattern,
                                            .count = counts[c],
                                            .ordered = ordered,
                                            .placement = trees_kept(counts[c])};
                    if (hp_pattern_is(problem.pattern, HP_PATTERN_ROOTED))
                        problem.root = counts[c] / 2;
                    hp_generator_usual(generator, &problem);
                    for (unsigned what = 0;
                         what < BROKEN_KINDS && hp_generator_serves(generator, &problem, NULL, 0); what++)
                        broken[what] += broken_are_found(generator, &problem, (broken_kind_t)what);
                }
        for (unsigned what = 0; what < BROKEN_KINDS; what++)
            kinds += broken[what] > 0;
        printf("%-20s %5u wrong partners, %5u left out, %5u misplaced, %5u wrong actions: all found\n",
               generator->name, broken[0], broken[1], broken[2], broken[3]);
        assert_true(broken[BROKEN_PARTNER] > 0 && broken[BROKEN_LEFT_OUT] > 0);
    }
}

/* A schedule that nobody generates, a fault of each kind that a file may have. */
static void odd_steps_are_refused(void **state)
{
    const hp_problem_t problem = {.pattern = HP_PATTERN_ALLREDUCE, .count = 2};
    const hp_generator_t *generator = hp_generator_find("recursive_doubling");
    static const struct {
        int32_t to, from;
        hp_range_t send, recv;
        const char *text;
    } steps[] = {
        {7, HP_NO_POSITION, {HP_SPACE_RECV, 0, 1, 1, 1}, {0}, "no position 7"},
        {HP_NO_POSITION, HP_NO_POSITION, {0}, {0}, "neither sends nor receives"},
        {0,
         1,
         {HP_SPACE_RECV, 0, 1, 1, 1},
         {HP_SPACE_RECV, 0, 1, 1, 1},
         "not from and to the position itself"},
        {1, HP_NO_POSITION, {0}, {0}, "a message without blocks"},
        {0, 0, {HP_SPACE_RECV, 0, 1, 1, 1}, {HP_SPACE_SEND, 0, 1, 1, 1}, "writes to send"},
        {0, 0, {HP_SPACE_RECV, 3, 1, 1, 1}, {HP_SPACE_RECV, 0, 1, 1, 1}, "block 3 of recv is not there"},
        {0,
         0,
         {HP_SPACE_SCRATCH, 0, 1, 1, 1},
         {HP_SPACE_RECV, 0, 1, 1, 1},
         "block 0 of scratch is not there"},
        {0, 0, {HP_SPACE_RECV, 0, 1, 0, 1}, {HP_SPACE_RECV, 0, 1, 1, 1}, "a range of no blocks"},
        {0, 0, {HP_SPACE_RECV, 0, 9, 1, 0}, {HP_SPACE_RECV, 0, 1, 1, 1}, "sends 9 blocks, more than it has"},
        {0,
         0,
         {HP_SPACE_RECV, 0, 1, 1, 0},
         {HP_SPACE_RECV, 0, 9, 1, 0},
         "receives 9 blocks, more than it has"},
        {1,
         HP_NO_POSITION,
         {HP_SPACE_RECV, 0, 1, 1, 1},
         {0},
         "waits for ever to send to 1, which has finished"},
    };
    (void)state;

    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
        hp_fault_t fault;
        assert_non_null(schedules);
        hp_schedule_step(&schedules[0], steps[i].to, steps[i].from, HP_ACTION_STORE);
        hp_schedule_sends(&schedules[0], steps[i].send);
        hp_schedule_receives(&schedules[0], steps[i].recv);
        assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_ERR_ARG);
        if (!strstr(fault.text, steps[i].text))
            fail_msg("\"%s\" where \"%s\" was expected", fault.text, steps[i].text);
        hp_schedules_free(schedules, problem.count);
    }
}

/* What nobody may store, though it were right in the end. */
static void places_that_are_not_written(void **state)
{
    static const struct {
        hp_pattern_t pattern;
        const char *algorithm;
        hp_range_t from;
        const char *text;
    } cases[] = {
        {HP_PATTERN_ALLGATHER, "linear", {HP_SPACE_RECV, 1, 1, 1, 1}, "where with MPI_IN_PLACE its own lies"},
        {HP_PATTERN_GATHER, "linear", {HP_SPACE_RECV, 1, 1, 1, 1}, "where with MPI_IN_PLACE its own lies"},
        {HP_PATTERN_SCATTER, "linear", {HP_SPACE_SEND, 1, 1, 1, 1}, "where with MPI_IN_PLACE its own lies"},
        {HP_PATTERN_EXSCAN, "scan_doubling", {HP_SPACE_SEND, 0, 1, 1, 1}, "where an exscan has no result"},
    };
    (void)state;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hp_problem_t problem = {.pattern = cases[i].pattern, .count = 3};
        hp_schedule_t *schedules = hp_schedules_make(hp_generator_find(cases[i].algorithm), &problem);
        hp_fault_t fault;
        assert_non_null(schedules);
        assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_OK);
        hp_schedule_local(&schedules[0], 0, cases[i].from, hp_range(HP_SPACE_RECV, 0, 1), HP_ACTION_STORE);
        assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_ERR_ARG);
        if (!strstr(fault.text, cases[i].text))
            fail_msg("\"%s\" where \"%s\" was expected", fault.text, cases[i].text);
        hp_schedules_free(schedules, problem.count);
    }
}

/* A message says what its sender knew when the step began: position 1 may send before it has heard of position 0. */
static void a_barrier_needs_a_chain(void **state)
{
    static const int32_t steps[][3] = {{0, 1, 2}, {0, -1, 2}, {1, 2, 0}, {1, -1, 2},
                                       {2, 0, 1}, {2, 0, -1}, {2, 1, -1}};
    const hp_problem_t problem = {.pattern = HP_PATTERN_BARRIER, .count = 3};
    hp_schedule_t schedules[3];
    hp_fault_t fault;
    (void)state;

    for (unsigned i = 0; i < 3; i++)
        hp_schedule_init(&schedules[i]);
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
        hp_schedule_sync(&schedules[steps[i][0]], steps[i][1], steps[i][2]);
    assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_ERR_ARG);
    assert_string_equal(fault.text, "position 2: leaves the barrier without having heard of position 0");
    for (unsigned i = 0; i < 3; i++)
        hp_schedule_fini(&schedules[i]);
}

/* Scratch blocks one further on: all is right but for the sizes, if blocks differ in size. */
static void shift_scratch(hp_schedule_t *to, const hp_schedule_t *from)
{
    hp_schedule_init(to);
    to->cut = from->cut;
    to->scratch_blocks = from->scratch_blocks;
    for (uint32_t i = 0; i < from->step_count; i++) {
        const hp_step_t *step = &from->steps[i];
        to->stream = step->stream;
        hp_schedule_step(to, step->to, step->from, step->action);
        for (uint32_t r = 0; r < step->send.count + step->recv.count; r++) {
            const bool sends = r < step->send.count;
            const hp_range_t range =
                from->ranges[sends ? step->send.first + r : step->recv.first + r - step->send.count];
            if (range.space == HP_SPACE_SCRATCH)
                (sends ? hp_schedule_sends_around : hp_schedule_receives_around)(
                    to, range.space, range.first + 1, range.count, from->cut);
            else
                (sends ? hp_schedule_sends : hp_schedule_receives)(to, range);
        }
    }
}

static void blocks_of_other_sizes_are_found(void **state)
{
    hp_problem_t problem = {.pattern = HP_PATTERN_REDUCE, .count = 3, .parameter = {4}};
    const hp_generator_t *generator = hp_generator_find("circulant_bcast");
    hp_schedule_t *schedules = hp_schedules_make(generator, &problem), shifted;
    hp_fault_t fault;
    (void)state;

    assert_non_null(schedules);
    assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_OK);
    shift_scratch(&shifted, &schedules[1]);
    assert_int_equal(shifted.status, HP_OK);
    hp_schedule_fini(&schedules[1]);
    schedules[1] = shifted;
    assert_int_equal(hp_schedules_verify(schedules, &problem, &fault), HP_ERR_ARG);
    assert_string_equal(fault.text,
                        "position 1, step 0: stores block 0 of the message in block 1 of scratch, which "
                        "may have another size");
    hp_schedules_free(schedules, problem.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_right),
                                       cmocka_unit_test(those_are_direct_that_say_so),
                                       cmocka_unit_test(replaced_blocks_are_not_direct),
                                       cmocka_unit_test(broken_ones_are_found),
                                       cmocka_unit_test(odd_steps_are_refused),
                                       cmocka_unit_test(places_that_are_not_written),
                                       cmocka_unit_test(a_barrier_needs_a_chain),
                                       cmocka_unit_test(blocks_of_other_sizes_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
