/* test_schedule_program: what a position does in a segment: the operations of small schedules, what each waits for and where
 * its blocks lie; and that programs of all algorithms find the right result in whatever order their operations run that
 * waits for nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "hier/call/inter_node.h"
#include "hier/modules/schedule_program.h"
#include "schedule/generators/generators.h"
#include "trees.h"

/* ---- small ones ---- */

#define WAITS(...) (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

static void check_waits(const hp_program_t *program, uint32_t i, const int32_t *after, size_t count)
{
    const hp_operation_t *operation = &program->operations[i];

    assert_int_equal(operation->after_count, count);
    for (uint32_t k = 0; k < count; k++)
        assert_int_equal(program->after[operation->first_after + k], after[k]);
}

static void check_message(const hp_program_t *program, uint32_t i, hp_do_t what, int32_t position)
{
    assert_int_equal(program->operations[i].what, what);
    assert_int_equal(program->operations[i].position, position);
}

static hp_program_t *make(hp_arena_t *arena, const char *algorithm, hp_problem_t problem, uint32_t position,
                          bool in_place)
{
    const hp_generator_t *generator = hp_generator_find(algorithm);
    hp_schedule_t schedule;

    if (problem.parameter[0] == 0)
        hp_generator_usual(generator, &problem);
    hp_schedule_init(&schedule);
    assert_int_equal(hp_schedule_make(&schedule, generator, &problem, position), HP_OK);
    const hp_program_problem_t wanted = {.schedule = &schedule,
                                         .pattern = problem.pattern,
                                         .position = position,
                                         .block = -1,
                                         .in_place = in_place,
                                         .commutative = !problem.ordered};
    hp_program_t *program = hp_program_make(arena, &wanted);
    assert_non_null(program);
    hp_schedule_fini(&schedule);
    return program;
}

/* The second of three: each block on as soon as it is there. */
static void chain_of_two_blocks(void **state)
{
    enum { ELEMENTS = 5, EXTENT = 8 };
    hp_arena_t arena;
    (void)state;

    hp_arena_init(&arena);
    hp_program_t *program = make(
        &arena, "chain", (hp_problem_t){.pattern = HP_PATTERN_BCAST, .count = 3, .parameter = {2}}, 1, false);
    assert_int_equal(program->operation_count, 5);
    assert_int_equal(program->block_count, 2);
    for (uint32_t block = 0; block < 2; block++) {
        const uint32_t recv = 2 * block, send = recv + 1;
        check_message(program, recv, HP_DO_RECV_RESULT, 0);
        check_waits(program, recv, WAITS(HP_AFTER_FREE));
        assert_int_equal(program->operations[recv].out.base, HP_AT_RESULT);
        assert_int_equal(program->operations[recv].out.index, block);
        check_message(program, send, HP_DO_SEND, 2);
        check_waits(program, send, WAITS((int32_t)recv));
        assert_int_equal(program->operations[send].in.base, HP_AT_RESULT);
        assert_int_equal(program->operations[send].in.index, block);
    }
    assert_int_equal(program->operations[4].what, HP_DO_JOIN);
    check_waits(program, 4, WAITS(0, 2));
    assert_int_equal(program->done, 4);
    assert_int_equal(program->read, HP_AFTER_READY);
    assert_int_equal(program->scratch, 0);

    hp_program_cut(program, ELEMENTS, EXTENT);
    assert_int_equal(program->operations[0].count, 2);
    assert_int_equal(program->operations[2].count, 3);
    assert_int_equal(program->operations[2].out.offset, 2 * EXTENT);
    hp_program_cut(program, 1, EXTENT); /* the first block is empty */
    assert_int_equal(program->operations[0].count, 0);
    assert_int_equal(program->operations[3].count, 1);
    assert_int_equal(program->operations[3].in.offset, 0);
    hp_arena_fini(&arena);
}

/* Two positions: the sum ends where the result goes; in place what comes is reduced into what has been sent. */
static void doubling_of_two(void **state)
{
    const hp_problem_t problem = {.pattern = HP_PATTERN_ALLREDUCE, .count = 2};
    hp_arena_t arena;
    (void)state;

    hp_arena_init(&arena);
    hp_program_t *program = make(&arena, "recursive_doubling", problem, 0, false);
    assert_int_equal(program->operation_count, 3);
    check_message(program, 0, HP_DO_SEND, 1);
    check_waits(program, 0, WAITS(HP_AFTER_READY));
    assert_int_equal(program->operations[0].in.base, HP_AT_VALUE);
    check_message(program, 1, HP_DO_RECV_RESULT, 1);
    check_waits(program, 1, WAITS(HP_AFTER_FREE));
    assert_int_equal(program->operations[2].what, HP_DO_REDUCE);
    check_waits(program, 2, WAITS(1, HP_AFTER_READY));
    assert_int_equal(program->operations[2].in.base, HP_AT_VALUE);
    assert_int_equal(program->operations[2].out.base, 1);
    assert_int_equal(program->done, 2);
    assert_int_equal(program->scratch, 0);

    program = make(&arena, "recursive_doubling", problem, 0, true);
    assert_int_equal(program->operation_count, 3);
    assert_int_equal(program->operations[0].in.base, HP_AT_RESULT);
    check_message(program, 1, HP_DO_RECV_ASIDE, 1);
    check_waits(program, 1, NULL, 0);
    assert_int_equal(program->operations[2].in.base, 1);
    assert_int_equal(program->operations[2].out.base, HP_AT_RESULT);
    bool waits_for_send = false;
    for (uint32_t i = 0; i < program->operations[2].after_count; i++)
        waits_for_send |= program->after[program->operations[2].first_after + i] == 0;
    assert_true(waits_for_send);
    assert_int_equal(program->scratch, 1);
    hp_arena_fini(&arena);
}

/* ---- in any order ---- */

enum { POSITIONS_MAX = 9, ELEMENTS_MAX = 40 };

/* x -> a x + b: one after the other, which does not commute; or, where it has to, a sum. */
typedef struct {
    uint32_t a, b;
} element_t;

static element_t combine(bool ordered, element_t left, element_t right)
{
    const uint64_t prime = 2147483647;
    if (!ordered)
        return (element_t){left.a + right.a, left.b + right.b};
    return (element_t){(uint32_t)((uint64_t)left.a * right.a % prime),
                       (uint32_t)(((uint64_t)left.a * right.b + left.b) % prime)};
}

static element_t contribution(uint32_t position, size_t i)
{
    return (element_t){2 + position * 7 + (uint32_t)i, 11 + position * 101 + 3 * (uint32_t)i};
}

/* Messages from one position to another in a stream. */
typedef struct {
    element_t *elements;
    size_t count;
} message_t;

typedef struct {
    hp_program_t *program;
    element_t own[ELEMENTS_MAX], result[ELEMENTS_MAX], packed[ELEMENTS_MAX];
    element_t *aside; /* ELEMENTS_MAX of each operation */
    bool *done;
    bool ready, is_free, in_place;
    uint32_t left;
} runner_t;

typedef struct {
    hp_pattern_t pattern;
    bool ordered;
    size_t elements;
    uint32_t count;
    runner_t runners[POSITIONS_MAX];
    message_t *messages; /* of all sends: [sender][its operation] */
    uint32_t operations_max;
    uint32_t random;
} run_t;

static uint32_t below(run_t *run, uint32_t end)
{
    run->random = run->random * 1664525u + 1013904223u;
    return (run->random >> 8) % end;
}

static bool sends(const hp_operation_t *operation)
{
    return operation->what == HP_DO_SEND || operation->what == HP_DO_SEND_PACKED;
}

static bool receives(const hp_operation_t *operation)
{
    return operation->what == HP_DO_RECV_RESULT || operation->what == HP_DO_RECV_ASIDE;
}

/* Elements that the operation moves; in a program of one block all there are. */
static size_t count_of(const run_t *run, const hp_program_t *program, uint32_t i)
{
    return program->block_count > 1 ? program->operations[i].count : run->elements;
}

static element_t *buffer_of(runner_t *r, uint32_t i)
{
    const hp_operation_t *operation = &r->program->operations[i];

    if (operation->what == HP_DO_RECV_RESULT)
        return r->result + operation->out.offset / sizeof(element_t);
    return operation->holder < 0 ? r->aside + (size_t)i * ELEMENTS_MAX
                                 : r->aside + (size_t)operation->holder * ELEMENTS_MAX +
                                       operation->out.offset / sizeof(element_t);
}

static element_t *at(runner_t *r, const hp_spot_t *spot)
{
    element_t *base = spot->base >= 0                             ? buffer_of(r, (uint32_t)spot->base)
                      : spot->base == HP_AT_VALUE && !r->in_place ? r->own
                                                                  : r->result;
    return base + spot->offset / sizeof(element_t);
}

/* The n-th message of the lane that the operation is in: n. */
static uint32_t number_in_lane(const hp_program_t *program, uint32_t i)
{
    const hp_operation_t *operation = &program->operations[i];
    uint32_t number = 0;

    for (uint32_t k = 0; k < i; k++) {
        const hp_operation_t *other = &program->operations[k];
        number += other->position == operation->position && other->stream == operation->stream &&
                  sends(other) == sends(operation) && (other->count > 0 || program->block_count == 1);
    }
    return number;
}

/* The message that a receive takes; NULL: it has not been sent. */
static message_t *message_for(run_t *run, uint32_t me, uint32_t i)
{
    const hp_operation_t *operation = &run->runners[me].program->operations[i];
    const uint32_t from = (uint32_t)operation->position, number = number_in_lane(run->runners[me].program, i);
    const hp_program_t *theirs = run->runners[from].program;

    for (uint32_t k = 0; k < theirs->operation_count; k++)
        if (sends(&theirs->operations[k]) && theirs->operations[k].position == (int32_t)me &&
            theirs->operations[k].stream == operation->stream && count_of(run, theirs, k) > 0 &&
            number_in_lane(theirs, k) == number) {
            message_t *message = &run->messages[from * run->operations_max + k];
            return message->elements ? message : NULL;
        }
    return NULL;
}

/* Have those been done that are before it in its lane, or that pack for it? The engine sees to that. */
static bool is_next(const runner_t *r, uint32_t i)
{
    const hp_operation_t *operations = r->program->operations;

    for (uint32_t k = i; k-- > 0;) {
        if (operations[i].position >= 0 && operations[k].position == operations[i].position &&
            operations[k].stream == operations[i].stream && sends(&operations[k]) == sends(&operations[i]) &&
            !r->done[k])
            return false;
    }
    if (operations[i].what != HP_DO_PACK && operations[i].what != HP_DO_SEND_PACKED)
        return true;
    for (uint32_t k = 0; k < i; k++)
        if ((operations[k].what == HP_DO_PACK || operations[k].what == HP_DO_SEND_PACKED) && !r->done[k])
            return false;
    return true;
}

static bool can_run(run_t *run, uint32_t me, uint32_t i)
{
    runner_t *r = &run->runners[me];
    const hp_operation_t *operation = &r->program->operations[i];

    if (r->done[i] || !is_next(r, i))
        return false;
    for (uint32_t k = 0; k < operation->after_count; k++) {
        const int32_t before = r->program->after[operation->first_after + k];
        if (before == HP_AFTER_READY ? !r->ready : before == HP_AFTER_FREE ? !r->is_free : !r->done[before])
            return false;
    }
    if (operation->holder >= 0 && !r->done[operation->holder])
        return false;
    return !receives(operation) || message_for(run, me, i);
}

/* What has come aside lies in a buffer of a segment: its own, or the other operation's. */
static void check_room(const run_t *run, const runner_t *r, const hp_operation_t *operation)
{
    if (operation->holder < 0)
        return;
    assert_int_equal(r->program->operations[operation->holder].holder, -1);
    assert_true(operation->out.offset / sizeof(element_t) + operation->count <= run->elements);
}

static void do_operation(run_t *run, uint32_t me, uint32_t i)
{
    runner_t *r = &run->runners[me];
    const hp_operation_t *operation = &r->program->operations[i];
    const size_t count = count_of(run, r->program, i);
    element_t *in = at(r, &operation->in), *out = at(r, &operation->out);
    message_t *message = sends(operation) ? &run->messages[me * run->operations_max + i] : NULL;

    switch ((hp_do_t)operation->what) {
    case HP_DO_SEND:
    case HP_DO_SEND_PACKED:
        *message = (message_t){malloc(count * sizeof(element_t)), count};
        assert_non_null(message->elements);
        memcpy(message->elements, operation->what == HP_DO_SEND ? in : r->packed, count * sizeof *in);
        break;
    case HP_DO_RECV_RESULT:
    case HP_DO_RECV_ASIDE:
        message = message_for(run, me, i);
        assert_int_equal(message->count, count);
        check_room(run, r, operation);
        memcpy(buffer_of(r, i), message->elements, count * sizeof *in);
        break;
    case HP_DO_REDUCE:
    case HP_DO_REDUCE_ONTO:
        for (size_t k = 0; k < count; k++)
            out[k] = operation->what == HP_DO_REDUCE ? combine(run->ordered, in[k], out[k])
                                                     : combine(run->ordered, out[k], in[k]);
        break;
    case HP_DO_COPY:
        memmove(r->result + operation->out.offset / sizeof *in, in, count * sizeof *in);
        break;
    case HP_DO_PACK:
        memcpy(r->packed + operation->out.offset / sizeof *in, in, count * sizeof *in);
        break;
    default:
        break;
    }
    r->done[i] = true;
    r->left--;
}

static bool brings_something(const run_t *run, uint32_t me)
{
    return run->pattern != HP_PATTERN_BCAST || me == 0;
}

/* The own contribution is there; of a bcast the root's. */
static void get_ready(run_t *run, uint32_t me)
{
    runner_t *r = &run->runners[me];
    element_t *into = r->in_place || run->pattern == HP_PATTERN_BCAST ? r->result : r->own;

    for (size_t i = 0; i < run->elements && brings_something(run, me); i++)
        into[i] = contribution(me, i);
    r->ready = true;
}

/* One thing that can be done, of all that can. False: there is none. */
static bool do_something(run_t *run)
{
    enum { TRIES = 20 };
    for (uint32_t try = 0; try < TRIES + run->count; try++) {
        const uint32_t me = try < TRIES ? below(run, run->count) : try - TRIES;
        runner_t *r = &run->runners[me];
        if (!r->ready && below(run, 4) == 0) {
            get_ready(run, me);
            return true;
        }
        /* What was there before is being read until then; in place it is the contribution. */
        if (!r->is_free && (!r->in_place || r->ready) && below(run, 4) == 0)
            return r->is_free = true;
        const uint32_t operations = r->program->operation_count;
        const uint32_t first = operations ? below(run, operations) : 0;
        for (uint32_t k = 0; k < operations; k++)
            if (can_run(run, me, (first + k) % operations)) {
                do_operation(run, me, (first + k) % operations);
                return true;
            }
    }
    for (uint32_t me = 0; me < run->count; me++) {
        runner_t *r = &run->runners[me];
        if (!r->ready) {
            get_ready(run, me);
            return true;
        }
        if (!r->is_free)
            return r->is_free = true;
    }
    return false;
}

static void begin(run_t *run, hp_arena_t *arena, const char *algorithm, hp_problem_t problem, uint32_t me,
                  bool in_place)
{
    runner_t *r = &run->runners[me];

    *r = (runner_t){.program = make(arena, algorithm, problem, me, in_place), .in_place = in_place};
    const uint32_t operations = r->program->operation_count;
    hp_program_cut(r->program, run->elements, sizeof(element_t));
    r->aside = calloc((size_t)operations * ELEMENTS_MAX + 1, sizeof *r->aside);
    r->done = calloc(operations + 1, sizeof *r->done);
    assert_true(r->aside && r->done);
    for (uint32_t i = 0; i < operations; i++) /* no task is made of what moves nothing */
        r->done[i] = r->program->block_count > 1 && r->program->operations[i].count == 0 &&
                     r->program->operations[i].run_count > 0;
    for (uint32_t i = 0; i < operations; i++)
        r->left += !r->done[i];
    run->operations_max = operations > run->operations_max ? operations : run->operations_max;
}

static void check_results(const run_t *run, const char *algorithm)
{
    for (uint32_t me = 0; me < run->count; me++)
        for (size_t i = 0; i < run->elements; i++) {
            element_t right = contribution(0, i);
            for (uint32_t p = 1; p < run->count && run->pattern != HP_PATTERN_BCAST; p++)
                right = combine(run->ordered, right, contribution(p, i));
            const element_t *have = &run->runners[me].result[i];
            if (have->a != right.a || have->b != right.b)
                fail_msg("%s %s: %u positions, %zu elements%s: element %zu of position %u is wrong",
                         hp_pattern_name(run->pattern), algorithm, run->count, run->elements,
                         run->runners[me].in_place ? ", in place" : "", i, me);
        }
}

/* Programs among so many positions, their operations in an order that the seed draws. */
static void run_all(const char *algorithm, hp_problem_t problem, size_t elements, bool in_place,
                    uint32_t seed)
{
    static run_t run;
    hp_arena_t arena;

    hp_arena_init(&arena);
    run = (run_t){.pattern = problem.pattern,
                  .ordered = problem.ordered,
                  .elements = elements,
                  .count = problem.count,
                  .random = seed};
    for (uint32_t me = 0; me < run.count; me++)
        begin(&run, &arena, algorithm, problem, me, in_place);
    run.messages = calloc((size_t)run.count * run.operations_max + 1, sizeof *run.messages);
    assert_non_null(run.messages);
    while (do_something(&run)) {
    }
    for (uint32_t me = 0; me < run.count; me++)
        assert_int_equal(run.runners[me].left, 0);
    check_results(&run, algorithm);
    for (uint32_t me = 0; me < run.count; me++) {
        free(run.runners[me].aside);
        free(run.runners[me].done);
    }
    for (uint32_t i = 0; i < run.count * run.operations_max; i++)
        free(run.messages[i].elements);
    free(run.messages);
    hp_arena_fini(&arena);
}

static uint32_t run_orders(const hp_generator_t *generator, hp_problem_t problem)
{
    static const size_t elements[] = {1, 5, ELEMENTS_MAX};
    enum { SEEDS = 8 };
    uint32_t runs = 0;

    for (size_t e = 0; e < ARRAY_LENGTH(elements); e++)
        for (int in_place = 0; in_place < 1 + (problem.pattern == HP_PATTERN_ALLREDUCE); in_place++)
            for (uint32_t seed = 0; seed < SEEDS; seed++, runs++)
                run_all(generator->name, problem, elements[e], in_place, 77 * seed + problem.count);
    return runs;
}

static void any_order_is_right(void **state)
{
    static const hp_pattern_t patterns[] = {HP_PATTERN_BCAST, HP_PATTERN_ALLREDUCE};
    const hp_generator_t *generator;
    uint32_t runs[HP_PATTERN_COUNT] = {0};
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)) != NULL; g++)
        for (size_t p = 0; p < ARRAY_LENGTH(patterns); p++)
            for (uint32_t count = 2; count <= POSITIONS_MAX && hp_inter_node_runs(generator, patterns[p]);
                 count++)
                for (int ordered = 0; ordered < 2; ordered++) {
                    hp_problem_t problem = {.pattern = patterns[p],
                                            .count = count,
                                            .ordered = ordered,
                                            .placement = trees_kept(count)};
                    hp_generator_usual(generator, &problem);
                    if (hp_generator_serves(generator, &problem, NULL, 0))
                        runs[patterns[p]] += run_orders(generator, problem);
                }
    assert_true(runs[HP_PATTERN_BCAST] > 1000 && runs[HP_PATTERN_ALLREDUCE] > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_of_two_blocks),
        cmocka_unit_test(doubling_of_two),
        cmocka_unit_test(any_order_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
