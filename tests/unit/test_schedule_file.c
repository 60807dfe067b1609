/* test_schedule_file: schedules written and read are the same, what is wrong with a file is said, and nothing that a
 * file can hold takes memory or time without bounds; the catalog of a directory. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "positions.h"
#include "schedule/catalog/catalog.h"
#include "schedule/file.h"
#include "schedule/generators/generators.h"
#include "schedule/verify.h"
#include "trees.h"

/* ---- round trips ---- */

static char *write_text(const hp_schedule_t *schedules, const hp_problem_t *problem,
                        const hp_generator_t *generator, size_t *length)
{
    char *text;
    FILE *out = open_memstream(&text, length);

    assert_non_null(out);
    assert_int_equal(hp_schedule_file_write(out, schedules, problem, generator), HP_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void compare_lists(const hp_schedule_t *a, const hp_list_t *a_list, const hp_schedule_t *b,
                          const hp_list_t *b_list)
{
    assert_int_equal(a_list->count, b_list->count);
    for (uint32_t r = 0; r < a_list->count; r++) {
        const hp_range_t *one = &a->ranges[a_list->first + r], *other = &b->ranges[b_list->first + r];
        assert_int_equal(one->space, other->space);
        assert_int_equal(one->count, other->count);
        for (uint32_t i = 0; i < one->count; i++)
            assert_int_equal(hp_range_block(one, i), hp_range_block(other, i));
    }
}

static void compare(const hp_schedule_t *a, const hp_schedule_t *b)
{
    assert_int_equal(a->cut, b->cut);
    assert_int_equal(a->scratch_blocks, b->scratch_blocks);
    assert_int_equal(a->step_count, b->step_count);
    for (uint32_t i = 0; i < a->step_count; i++) {
        const hp_step_t *one = &a->steps[i], *other = &b->steps[i];
        assert_int_equal(one->to, other->to);
        assert_int_equal(one->from, other->from);
        assert_int_equal(one->action, other->action);
        assert_int_equal(one->stream, other->stream);
        assert_int_equal(one->sync, other->sync);
        compare_lists(a, &one->send, b, &other->send);
        compare_lists(a, &one->recv, b, &other->recv);
    }
}

/* Writes, reads, makes, and writes again. */
static void round_trip(const hp_generator_t *generator, const hp_problem_t *problem)
{
    hp_schedule_t *made = hp_schedules_make(generator, problem);
    hp_generator_t *read;
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    size_t length, second_length;

    assert_non_null(made);
    char *text = write_text(made, problem, generator, &length);
    if (hp_schedule_file_parse("some/where/copy.json", text, length, &read, why, sizeof why) != HP_OK)
        fail_msg("%s %s: %s", hp_pattern_name(problem->pattern), generator->name, why);
    assert_string_equal(read->name, "copy");
    assert_string_equal(read->text, generator->text);
    assert_int_equal(read->in_flight, generator->in_flight);
    /* With few positions others are, too. */
    assert_true((read->direct & generator->direct) == (generator->direct & read->patterns));
    assert_int_equal(read->problem->count, problem->count);
    assert_int_equal(read->problem->root, problem->root);
    assert_int_equal(read->problem->ordered, problem->ordered);

    hp_problem_t asked = {.pattern = problem->pattern,
                          .count = problem->count,
                          .root = problem->root,
                          .ordered = problem->ordered};
    hp_generator_usual(read, &asked);
    assert_true(hp_generator_serves(read, &asked, why, sizeof why));
    assert_memory_equal(asked.parameter, problem->parameter, sizeof asked.parameter);
    hp_schedule_t *again = hp_schedules_make(read, &asked);
    assert_non_null(again);
    for (uint32_t position = 0; position < problem->count; position++)
        compare(&made[position], &again[position]);
    char *second = write_text(again, &asked, read, &second_length);
    assert_int_equal(length, second_length);
    assert_memory_equal(text, second, length);

    asked.count++;
    assert_false(hp_generator_serves(read, &asked, why, sizeof why));
    free(text);
    free(second);
    hp_schedules_free(made, problem->count);
    hp_schedules_free(again, problem->count);
    hp_schedule_file_free(read);
}

static void each_comes_back_the_same(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 7, 8, 12, 16};
    const hp_generator_t *generator;
    (void)state;

    for (unsigned g = 0; (generator = hp_generator(g)); g++) {
        unsigned done = 0;
        for (unsigned pattern = 0; pattern < HP_PATTERN_COUNT; pattern++)
            for (unsigned c = 0; c < cases_max(ARRAY_LENGTH(counts)); c++)
                for (int ordered = 0; ordered < 2; ordered++) {
                    hp_problem_t problem = {
                        .pattern = (hp_pattern_t)pattern, .count = counts[c], .ordered = ordered};
                    problem.placement = trees_kept(counts[c]);
                    if (ordered && !hp_pattern_is(problem.pattern, HP_PATTERN_REDUCES))
                        continue;
                    if (hp_pattern_is(problem.pattern, HP_PATTERN_ROOTED))
                        problem.root = counts[c] / 2;
                    hp_generator_usual(generator, &problem);
                    if (!hp_generator_serves(generator, &problem, NULL, 0))
                        continue;
                    round_trip(generator, &problem);
                    done++;
                }
        assert_true(done > 0);
    }
}

/* ---- bad files ---- */

/* An allgather of three around a ring. */
static const char good[] =
    "{\"format\": 1, \"comment\": \"three around a ring\", \"pattern\": \"allgather\", \"positions\": 3,\n"
    " \"parameters\": {\"radix\": 2}, \"schedules\": [\n"
    "  {\"scratch\": 1, \"steps\": [\n"
    "    [0, 0, \"store\", 0, [[\"send\", 0]], [[\"recv\", 0]]],\n"
    "    [1, 2, \"store\", 0, [[\"recv\", 0]], [[\"recv\", 2]]],\n"
    "    [1, 2, \"store\", 1, [[\"recv\", 2]], [[\"recv\", 1]]]]},\n"
    "  {\"steps\": [\n"
    "    [1, 1, \"store\", 0, [[\"send\", 0]], [[\"recv\", 1]]],\n"
    "    [2, 0, \"store\", 0, [[\"recv\", 1]], [[\"recv\", 0]]],\n"
    "    [2, 0, \"store\", 1, [[\"recv\", 0]], [[\"recv\", 2]]]]},\n"
    "  {\"steps\": [\n"
    "    [2, 2, \"store\", 0, [[\"send\", 0]], [[\"recv\", 2]]],\n"
    "    [0, 1, \"store\", 0, [[\"recv\", 2]], [[\"recv\", 1]]],\n"
    "    [0, 1, \"store\", 1, [[\"recv\", 1]], [[\"recv\", 0]]]]}]}\n";

/* What is replaced by what in it, the first time it stands there, and the whole of what is said then, behind the file's name. */
static const struct {
    const char *from, *to, *said;
} faults[] = {
    {"{\"format\"", "{format", "line 1, column 7: string or '}' expected near 'format'"},
    {"]]]]}]}\n", "", "line 14, column 49: ']' expected near end of file"},
    {"\"format\": 1", "\"format\": 2", "format: 2 is not a whole number from 1 to 1"},
    {"\"format\": 1, ", "", "there is no \"format\""},
    {"\"comment\"", "\"coment\"", "unknown key \"coment\": did you mean \"comment\"?"},
    {"\"three around a ring\"", "3", "comment: 3 is not a text"},
    {"\"pattern\": \"allgather\", ", "", "there is no \"pattern\""},
    {"\"allgather\"", "\"allgathr\"", "pattern: \"allgathr\" is not one: did you mean \"allgather\"?"},
    {"\"allgather\"", "7", "pattern: 7 is not a text"},
    {"\"positions\": 3", "\"positions\": 0", "positions: 0 is not a whole number from 1 to 4096"},
    {"\"positions\": 3", "\"positions\": 1000000000000",
     "positions: 1000000000000 is not a whole number from 1 to 4096"},
    {"\"positions\": 3", "\"positions\": 1e3", "positions: 1000.0 is not a whole number from 1 to 4096"},
    {"\"positions\": 3", "\"positions\": 99999999999999999999",
     "line 1, column 105: too big integer near '99999999999999999999'"},
    {"\"positions\": 3", "\"positions\": 3, \"positions\": 3",
     "line 1, column 99: duplicate object key near '\"positions\"'"},
    {"\"positions\": 3", "\"positions\": 4", "schedules: 3 of them for 4 positions"},
    {"\"positions\": 3", "\"positions\": 3, \"root\": 0", "root: allgather has none"},
    {"\"positions\": 3", "\"positions\": 3, \"ordered\": true", "ordered: allgather does not reduce"},
    {"\"positions\": 3", "\"positions\": 3, \"cut\": 3", "cut: allgather has a block for each position"},
    {"\"allgather\", \"positions\": 3", "\"bcast\", \"cut\": 1, \"root\": 3, \"positions\": 3",
     "root: 3 is not a whole number from 0 to 2"},
    {"\"allgather\", \"positions\": 3", "\"bcast\", \"positions\": 3", "there is no \"cut\""},
    {"\"allgather\", \"positions\": 3", "\"bcast\", \"cut\": 4000000000, \"positions\": 3",
     "cut: 4000000000 is not a whole number from 1 to 1048576"},
    {"\"allgather\", \"positions\": 3", "\"allreduce\", \"cut\": 3, \"ordered\": 1, \"positions\": 3",
     "ordered: 1 is neither true nor false"},
    {"\"positions\": 3", "\"positions\": 3, \"in_flight\": 0",
     "in_flight: 0 is not a whole number from 1 to 2147483647"},
    {"{\"radix\": 2}", "[]", "parameters: {\"name\": number} is accepted"},
    {"{\"radix\": 2}", "{\"a\": 1, \"b\": 1, \"c\": 1}", "parameters: 3 of them, at most 2 are accepted"},
    {"{\"radix\": 2}", "{\"ra dix\": 2}",
     "parameters: \"ra dix\" is no name (1 to 63 letters, digits, _, - and .)"},
    {"{\"radix\": 2}", "{\"radix\": 0}", "radix: 0 is not a whole number from 1 to 2147483647"},
    {"\"schedules\": [\n", "\"schedules\": [7, ", "schedules: 4 of them for 3 positions"},
    {"{\"scratch\": 1, \"steps\": [\n", "{\"scratch\": 1, \"steps\": 3}, {\"steps\": [\n",
     "schedules: 4 of them for 3 positions"},
    {"{\"scratch\": 1, \"steps\"", "{\"scratch\": 1, \"stepps\"",
     "position 0: a schedule is {\"scratch\": blocks, \"steps\": [...]}"},
    {"\"scratch\": 1", "\"scratch\": 1, \"stream\": 3",
     "position 0: unknown key \"stream\": did you mean \"steps\"?"},
    {"\"scratch\": 1", "\"scratch\": -1", "position 0: scratch: -1 is not a whole number from 0 to 1048576"},
    {"\"scratch\": 1", "\"scratch\": 4000000000",
     "position 0: scratch: 4000000000 is not a whole number from 0 to 1048576"},
    {"[1, 2, \"store\", 0, [[\"recv\", 0]], [[\"recv\", 2]]]", "{\"to\": 1}",
     "position 0, step 1: a step is [to, from, action, stream, send, recv], without the last two if it is "
     "sync"},
    {"[1, 2, \"store\", 0,", "[1, \"store\", 0,",
     "position 0, step 1: a step is [to, from, action, stream, send, recv], without the last two if it is "
     "sync"},
    {"[1, 2, \"store\"", "[3, 2, \"store\"", "position 0, step 1: to: 3 is not a whole number from 0 to 2"},
    {"[1, 2, \"store\"", "[1, -1, \"store\"",
     "position 0, step 1: from: -1 is not a whole number from 0 to 2"},
    {"[1, 2, \"store\", 0", "[1, 2, \"stor\", 0",
     "position 0, step 1: \"stor\" is no action (accepted: store, reduce_left, reduce_right, sync)"},
    {"[1, 2, \"store\", 0", "[1, 2, null, 0",
     "position 0, step 1: null is no action (accepted: store, reduce_left, reduce_right, sync)"},
    {"[1, 2, \"store\", 0", "[1, 2, \"store\", 4",
     "position 0, step 1: stream: 4 is not a whole number from 0 to 3"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "3, [[\"recv\", 2]]",
     "position 0, step 1: send is not a list of ranges"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0]], [[\"recv\"]]",
     "position 0, step 1: recv: a range is [space, first], [space, first, count] or [space, first, count, "
     "run, stride]"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"rcv\", 0]], [[\"recv\", 2]]",
     "position 0, step 1: send: \"rcv\" is no space (accepted: send, recv, scratch)"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0, 0]], [[\"recv\", 2]]",
     "position 0, step 1: count: 0 is not a whole number from 1 to 4294967295"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0, 2, 0, 1]], [[\"recv\", 2]]",
     "position 0, step 1: run: 0 is not a whole number from 1 to 4294967295"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0, 4, 2, 1]], [[\"recv\", 2]]",
     "position 0, step 1: a stride of 1 for runs of 2 blocks: they overlap"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0]], [[\"recv\", 3]]",
     "position 0, step 1: block 3 of recv is not there: recv has 3 blocks"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0]], [[\"recv\", 4294967295, 4294967295]]",
     "position 0, step 1: block 8589934589 of recv is not there: recv has 3 blocks"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0, 4294967295, 1, 4294967295]], [[\"recv\", 2]]",
     "position 0, step 1: block 18446744060824649730 of recv is not there: recv has 3 blocks"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"scratch\", 1]], [[\"recv\", 2]]",
     "position 0, step 1: block 1 of scratch is not there: scratch has 1 blocks"},
    /* and what the verification says: a cycle, a missing receive, ... */
    {"[1, 2, \"store\", 0, [[\"recv\", 0]], [[\"recv\", 2]]]",
     "[null, 2, \"store\", 0, [], [[\"recv\", 2]]], [1, null, \"store\", 0, [[\"recv\", 0]], []]", NULL},
    {"    [1, 2, \"store\", 1, [[\"recv\", 2]], [[\"recv\", 1]]]]},\n",
     "    [1, null, \"store\", 1, [[\"recv\", 2]], []]]},\n",
     "position 2, step 2: waits for ever to send to 0, which has finished"},
    {"[1, 2, \"store\", 0, [[\"recv\", 0]], [[\"recv\", 2]]]", "[null, null, \"store\", 0]",
     "position 0, step 1: neither sends nor receives"},
    {"[1, 2, \"store\", 1, [[\"recv\", 2]], [[\"recv\", 1]]]", "[1, 2, \"sync\", 1]",
     "position 0, step 2: receives 0 blocks from 2, which sends 1 in its step 2"},
    {"[1, 2, \"store\", 0, [[\"recv\", 0]], [[\"recv\", 2]]]",
     "[1, 2, \"store\", 0, [[\"scratch\", 0]], [[\"recv\", 2]]]",
     "position 0, step 1: sends block 0 of scratch, which holds nothing"},
    {"[[\"recv\", 0]], [[\"recv\", 2]]", "[[\"recv\", 0]], [[\"recv\", 1]]",
     "position 0, step 2: sends block 2 of recv, which holds nothing"},
    /* right if all were read first, and two swaps are none */
    {"[[\"recv\", 2]], [[\"recv\", 1]]]",
     "[[\"recv\", 2]], [[\"recv\", 1]]],"
     "[0, 0, \"store\", 0, [[\"recv\", 1], [\"recv\", 2]], [[\"recv\", 2], [\"recv\", 1]]],"
     "[0, 0, \"store\", 0, [[\"recv\", 1], [\"recv\", 2]], [[\"recv\", 2], [\"recv\", 1]]]",
     "position 0, step 3: reads block 2 of recv and writes it, too"},
    /* right unless send is in recv */
    {"[[\"recv\", 2]], [[\"recv\", 1]]]",
     "[[\"recv\", 2]], [[\"recv\", 1]]],"
     "[0, 0, \"store\", 0, [[\"recv\", 1]], [[\"recv\", 0]]],"
     "[0, 0, \"store\", 0, [[\"send\", 0]], [[\"recv\", 0]]]",
     "position 0, step 3: stores block 1 in block 0 of recv, where with MPI_IN_PLACE its own lies"},
    {"[[\"recv\", 2]], [[\"recv\", 1]]", "[[\"recv\", 0]], [[\"recv\", 1]]",
     "position 1: ends with block 0 of position 0 in the place of block 2 of position 2"},
};

/* The text with the fault; its memory is the caller's. */
static char *with_fault(unsigned i)
{
    const char *at = strstr(good, faults[i].from);
    char *text;

    if (!at)
        fail_msg("\"%s\" is not in the good file", faults[i].from);
    assert_true(
        asprintf(&text, "%.*s%s%s", (int)(at - good), good, faults[i].to, at + strlen(faults[i].from)) > 0);
    return text;
}

#define FILE_SAID "bad.json: "

_Static_assert(ARRAY_LENGTH(faults) > 40, "broken files of schedules, one of which is none");

static void faults_are_named(void **state)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    (void)state;

    assert_int_equal(hp_schedule_file_parse("good.json", good, strlen(good), &generator, why, sizeof why),
                     HP_OK);
    hp_schedule_file_free(generator);
    for (unsigned i = 0; i < ARRAY_LENGTH(faults); i++) {
        char *text = with_fault(i);
        const hp_status_t status =
            hp_schedule_file_parse("bad.json", text, strlen(text), &generator, why, sizeof why);
        if (!faults[i].said) { /* none: the same in two steps */
            assert_int_equal(status, HP_OK);
            hp_schedule_file_free(generator);
        } else if (status != HP_ERR_ARG || generator || strncmp(why, FILE_SAID, strlen(FILE_SAID)) != 0 ||
                   strcmp(why + strlen(FILE_SAID), faults[i].said) != 0) {
            fail_msg("%s for %s:\nsaid \"%s\", not \"%s\"", faults[i].to, faults[i].from,
                     status == HP_OK ? "nothing" : why, faults[i].said);
        }
        free(text);
    }
}

/* Each waits for the other: no step can be taken. */
static void a_cycle_is_found(void **state)
{
    static const char text[] = "{\"format\": 1, \"pattern\": \"barrier\", \"positions\": 2, \"schedules\": ["
                               "{\"steps\": [[null, 1, \"sync\", 0], [1, null, \"sync\", 0]]},"
                               "{\"steps\": [[null, 0, \"sync\", 0], [0, null, \"sync\", 0]]}]}";
    char why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    (void)state;

    assert_int_equal(hp_schedule_file_parse("c.json", text, strlen(text), &generator, why, sizeof why),
                     HP_ERR_ARG);
    assert_string_equal(
        why, "c.json: position 0, step 0: waits for ever to receive from 1, which is at its step 0 "
             "(to -1, from 0)");
}

/* Where a comment is too long it is cut between two characters: what was read can be written. */
static void long_comments_are_cut(void **state)
{
    char text[2048], comment[600], why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    size_t length;
    (void)state;

    for (int before = 508; before <= 512; before++) {
        snprintf(comment, sizeof comment, "%0*d\u20ac\u20ac", before, 0);
        const int used = snprintf(text, sizeof text,
                                  "{\"format\": 1, \"comment\": \"%s\", \"pattern\": \"barrier\", "
                                  "\"positions\": 1, \"schedules\": [{\"steps\": []}]}",
                                  comment);
        assert_int_equal(hp_schedule_file_parse("c.json", text, (size_t)used, &generator, why, sizeof why),
                         HP_OK);
        assert_int_equal(strlen(generator->text), before == 508 ? 511 : before < 512 ? before : 511);
        free(write_text(generator->schedules, generator->problem, generator, &length));
        hp_schedule_file_free(generator);
    }
}

static void names_are_checked(void **state)
{
    static const char *const names[] = {"a b.json", "a=b.json", "dir/", "", "\n.json"};
    char why[HP_SCHEDULE_FILE_WHY_BYTES], name[80];
    hp_generator_t *generator;
    (void)state;

    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    for (unsigned i = 0; i <= ARRAY_LENGTH(names); i++) {
        const char *tried = i < ARRAY_LENGTH(names) ? names[i] : name;
        assert_int_equal(hp_schedule_file_parse(tried, good, strlen(good), &generator, why, sizeof why),
                         HP_ERR_ARG);
        assert_non_null(strstr(why, "its name cannot be an algorithm's"));
        assert_null(strchr(why, '\n'));
    }
}

/* ---- bounds ---- */

static size_t now, peak;

static void *counted_malloc(size_t bytes)
{
    size_t *memory = malloc(bytes + 16);
    if (!memory)
        return NULL;
    memory[0] = bytes;
    now += bytes + 16;
    peak = now > peak ? now : peak;
    return memory + 2;
}

static void counted_free(void *memory)
{
    if (!memory)
        return;
    now -= (size_t)((size_t *)memory)[-2] + 16;
    free((size_t *)memory - 2);
}

/* The most that a file of the largest size can become. */
static void memory_of_a_text_is_bounded(void **state)
{
    static const char *const units[] = {"[],", "0,", "{},", "\"\",", "[0],", "[[]],"};
    const size_t length = HP_SCHEDULE_FILE_BYTES_MAX;
    char *text = malloc(length), why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    (void)state;

    assert_non_null(text);
    json_set_alloc_funcs(counted_malloc, counted_free);
    for (unsigned i = 0; i < ARRAY_LENGTH(units); i++) {
        const size_t unit = strlen(units[i]);
        size_t used = (size_t)sprintf(text, "{\"schedules\": [");
        while (used + unit + 8 < length) {
            memcpy(text + used, units[i], unit);
            used += unit;
        }
        used += (size_t)sprintf(text + used, "0]}");
        now = peak = 0;
        assert_int_equal(hp_schedule_file_parse("large.json", text, used, &generator, why, sizeof why),
                         HP_ERR_ARG);
        assert_non_null(strstr(why, "there is no \"format\""));
        assert_int_equal(now, 0);
        printf("4 MiB of %-6s %4zu MiB\n", units[i], peak >> 20);
        assert_true(peak <= (size_t)90 * HP_SCHEDULE_FILE_BYTES_MAX);
    }
    json_set_alloc_funcs(malloc, free);
    free(text);
}

/* A short text that would take for ever, or all memory, to be verified. */
static void work_is_bounded(void **state)
{
    enum { STEPS = 40 };
    char text[8192], why[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;
    (void)state;

    size_t used = (size_t)sprintf(text, "{\"format\": 1, \"pattern\": \"bcast\", \"positions\": 1, \"cut\": "
                                        "1048576, \"schedules\": [{\"steps\": [");
    for (unsigned i = 0; i < STEPS; i++)
        used += (size_t)sprintf(text + used,
                                "%s[0, 0, \"store\", 0, [[\"recv\", 0, 1048576]], [[\"recv\", 0, 1048576]]]",
                                i ? "," : "");
    used += (size_t)sprintf(text + used, "]}]}");
    assert_int_equal(hp_schedule_file_parse("w.json", text, used, &generator, why, sizeof why), HP_ERR_ARG);
    assert_string_equal(why,
                        "w.json: position 0, step 16: too large to be verified: more than 33554432 blocks in "
                        "messages of 1 positions");

    used =
        (size_t)sprintf(text, "{\"format\": 1, \"pattern\": \"bcast\", \"positions\": 16, \"cut\": 1048576, "
                              "\"schedules\": [");
    for (unsigned i = 0; i < 16; i++)
        used += (size_t)sprintf(text + used, "%s{\"steps\": []}", i ? "," : "");
    used += (size_t)sprintf(text + used, "]}");
    assert_int_equal(hp_schedule_file_parse("m.json", text, used, &generator, why, sizeof why), HP_ERR_ARG);
    assert_string_equal(why,
                        "m.json: position 8: too large to be verified: the blocks of all positions would "
                        "take more than 256 MiB");
}

/* ---- files ---- */

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *out = fopen(path_of(name), "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0 && fclose(out) == 0);
}

/* Files of all kinds, most of them none of schedules. */
static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/hanpmpi-schedules-XXXXXX");
    assert_non_null(mkdtemp(folder));
    put_file("b_ring.json", good);
    put_file("a_ring.json", good);
    put_file("ring.json", good);
    put_file("notes.txt", "not looked at");
    put_file(".hidden.json", "not looked at");
    put_file("empty.json", "");
    put_file("noise.json", "\x7f\x45\x4c\x46\x02\x01\x01");
    put_file("large.json", "");
    assert_int_equal(truncate(path_of("large.json"), (off_t)1 << 40), 0); /* more than there is memory */
    assert_int_equal(mkdir(path_of("folder.json"), 0700), 0);
    assert_int_equal(mkfifo(path_of("pipe.json"), 0600), 0);
    assert_int_equal(symlink("nowhere", path_of("link.json")), 0);
    char *text = with_fault(ARRAY_LENGTH(faults) - 1);
    put_file("wrong.json", text);
    free(text);
    return 0;
}

static int remove_folder(void **state)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    (void)state;

    while (directory && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove(path_of(entry->d_name));
    closedir(directory);
    return rmdir(folder);
}

typedef struct {
    unsigned count;
    char lines[16][HP_SCHEDULE_FILE_WHY_BYTES];
} heard_t;

static void hear(void *context, const char *line)
{
    heard_t *heard = context;
    assert_true(heard->count < 16);
    snprintf(heard->lines[heard->count++], HP_SCHEDULE_FILE_WHY_BYTES, "%s", line);
}

static void a_directory_is_read(void **state)
{
    static const char *const said[] = {
        "empty.json: line 1, column 0: '[' or '{' expected near end of file",
        "folder.json: a directory, not a file of schedules",
        "large.json: larger than 4 MiB",
        "link.json: No such file or directory",
        "noise.json: line 1, column 1: '[' or '{' expected near '?'",
        "pipe.json: not a regular file",
        "ring.json: \"ring\" is the name of a built-in algorithm",
        "wrong.json: position 1: ends with block 0 of position 0 in the place of block 2 of position 2",
    };
    static heard_t heard;
    static hp_catalog_t catalog;
    unsigned built_in = 0;
    (void)state;

    while (hp_generator(built_in))
        built_in++;
    hp_catalog_init(&catalog);
    hp_catalog_read(&catalog, folder, hear, &heard);
    assert_int_equal(heard.count, ARRAY_LENGTH(said));
    for (unsigned i = 0; i < heard.count; i++) {
        assert_memory_equal(heard.lines[i], folder, strlen(folder));
        assert_string_equal(heard.lines[i] + strlen(folder) + 1, said[i]);
    }
    assert_int_equal(catalog.file_count, 2);
    assert_string_equal(hp_catalog_generator(&catalog, built_in)->name, "a_ring");
    assert_string_equal(hp_catalog_generator(&catalog, built_in + 1)->name, "b_ring");
    assert_null(hp_catalog_generator(&catalog, built_in + 2));
    assert_ptr_equal(hp_catalog_find(&catalog, "ring"), hp_generator_find("ring"));
    assert_ptr_equal(hp_catalog_find(&catalog, "b_ring"), catalog.files[1]);
    assert_null(hp_catalog_find(&catalog, "wrong"));
    hp_catalog_fini(&catalog);

    heard.count = 0;
    hp_catalog_read(&catalog, path_of("nowhere"), hear, &heard);
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(heard.lines[0], "nowhere: No such file or directory"));
    hp_catalog_fini(&catalog);
}

static void what_cannot_be_written_is_reported(void **state)
{
    const hp_generator_t *ring = hp_generator_find("ring");
    const hp_problem_t problem = {.pattern = HP_PATTERN_ALLREDUCE, .count = 64};
    hp_schedule_t *schedules = hp_schedules_make(ring, &problem);
    FILE *full = fopen("/dev/full", "w");
    (void)state;

    assert_non_null(schedules);
    assert_non_null(full);
    assert_int_equal(hp_schedule_file_write(full, schedules, &problem, ring), HP_ERR_ARG);
    fclose(full);
    hp_schedules_free(schedules, problem.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_comes_back_the_same),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(a_cycle_is_found),
        cmocka_unit_test(long_comments_are_cut),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(memory_of_a_text_is_bounded),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test_setup_teardown(a_directory_is_read, make_folder, remove_folder),
        cmocka_unit_test(what_cannot_be_written_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
