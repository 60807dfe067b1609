/* test_problem_text: problems as people write them: what is understood, what is said of the rest, and that what is
 * written is understood as the same. */
#include "check.h"
#include "schedule/catalog/problem_text.h"
#include "schedule/file.h"
#include "schedule/generators/generators.h"

/* Two ranks; the file's name is the algorithm's. */
static const char pair[] =
    "{\"format\": 1, \"pattern\": \"reduce\", \"positions\": 2, \"root\": 1, \"ordered\": true, "
    "\"cut\": 1, \"parameters\": {\"depth\": 3}, \"schedules\": ["
    "{\"steps\": [[1, null, \"store\", 0, [[\"send\", 0]], []]]}, "
    "{\"steps\": [[1, 1, \"store\", 0, [[\"send\", 0]], [[\"recv\", 0]]], "
    "[null, 0, \"reduce_left\", 0, [], [[\"recv\", 0]]]]}]}";

static hp_problem_lent_t lent;

/* The built-in ones and the pair. */
static int make_catalog(void **state)
{
    static hp_catalog_t catalog;
    char why[HP_SCHEDULE_FILE_WHY_BYTES];

    hp_catalog_init(&catalog);
    hp_problem_lent_init(&lent);
    if (hp_schedule_file_parse("pair.json", pair, strlen(pair), &catalog.files[0], why, sizeof why) != HP_OK)
        fail_msg("%s", why);
    catalog.file_count = 1;
    *state = &catalog;
    return 0;
}

static int free_catalog(void **state)
{
    hp_catalog_fini(*state);
    hp_problem_lent_fini(&lent);
    return 0;
}

/* The problem and the generator that a text names. */
static hp_problem_t understood(const char *text, const hp_catalog_t *catalog,
                               const hp_generator_t **generator)
{
    char error[1024];
    hp_problem_t problem;

    hp_problem_lent_fini(&lent);
    hp_problem_lent_init(&lent);
    if (!hp_problem_text_parse(text, catalog, &problem, &lent, generator, error, sizeof error))
        fail_msg("%s: %s", text, error);
    return problem;
}

/* A problem is written as `again`, and that is understood as the same. */
static void comes_again(const hp_problem_t *problem, const hp_generator_t *generator, const char *again,
                        const hp_catalog_t *catalog)
{
    char written[HP_PROBLEM_TEXT_BYTES];
    const hp_generator_t *same;

    hp_problem_text_format(problem, generator, written, sizeof written);
    assert_string_equal(written, again);
    const hp_problem_t parsed = understood(written, catalog, &same);
    assert_ptr_equal(same, generator);
    hp_problem_text_format(&parsed, same, written, sizeof written);
    assert_string_equal(written, again);
}

static void what_is_written_is_understood(void **state)
{
    static const struct {
        const char *text, *name;
        hp_problem_t problem;
        const char *again;
    } cases[] = {
        {"allgather ring ranks=12",
         "ring",
         {HP_PATTERN_ALLGATHER, 12, 0, false, .parameter = {0}},
         "allgather ring ranks=12"},
        {"  bcast,binomial  root=5 ranks=16 blocks=4 ",
         "binomial",
         {HP_PATTERN_BCAST, 16, 5, false, .parameter = {4}},
         "bcast binomial ranks=16 root=5 blocks=4"},
        {"reduce chain ordered ranks=1K",
         "chain",
         {HP_PATTERN_REDUCE, 1024, 0, true, .parameter = {1}},
         "reduce chain ranks=1024 root=0 blocks=1 ordered"},
        {"alltoall bruck ranks=12 radix=3",
         "bruck",
         {HP_PATTERN_ALLTOALL, 12, 0, false, .parameter = {3}},
         "alltoall bruck ranks=12 radix=3"},
        {"allreduce ring ranks=1 root=0",
         "ring",
         {HP_PATTERN_ALLREDUCE, 1, 0, false, .parameter = {0}},
         "allreduce ring ranks=1"},
        {"reduce pair",
         "pair",
         {HP_PATTERN_REDUCE, 2, 1, true, .parameter = {3}},
         "reduce pair ranks=2 root=1 depth=3 ordered"},
        {"reduce pair ranks=2 root=1 depth=3",
         "pair",
         {HP_PATTERN_REDUCE, 2, 1, true, .parameter = {3}},
         "reduce pair ranks=2 root=1 depth=3 ordered"},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        const hp_generator_t *generator;
        const hp_problem_t problem = understood(cases[i].text, *state, &generator);
        assert_string_equal(generator->name, cases[i].name);
        assert_int_equal(problem.pattern, cases[i].problem.pattern);
        assert_int_equal(problem.count, cases[i].problem.count);
        assert_int_equal(problem.root, cases[i].problem.root);
        assert_int_equal(problem.ordered, cases[i].problem.ordered);
        assert_int_equal(problem.parameter[0], cases[i].problem.parameter[0]);
        comes_again(&problem, generator, cases[i].again, *state);
    }
}

static void nodes_are_understood(void **state)
{
    static const struct {
        const char *text;
        uint32_t count, node_count, leaders, first[5];
        const char *again;
    } cases[] = {
        {"allgather ring ranks=12 nodes=3", 12, 3, 1, {0, 4, 8, 12}, "allgather ring ranks=12 nodes=3"},
        {"allgather ring nodes=3 leaders=all ranks=12",
         12,
         3,
         HP_LEADERS_ALL,
         {0, 4, 8, 12},
         "allgather ring ranks=12 nodes=3 leaders=all"},
        {"bcast chain nodes=5,4,3 root=6",
         12,
         3,
         1,
         {0, 5, 9, 12},
         "bcast chain ranks=12 root=6 blocks=1 nodes=5,4,3"},
        {"reduce chain ranks=4 nodes=1 3 leaders=1 ordered",
         4,
         2,
         1,
         {0, 1, 4},
         "reduce chain ranks=4 root=0 blocks=1 nodes=1,3 ordered"},
        {"allgather ring ranks=3 nodes=1", 3, 1, 1, {0, 3}, "allgather ring ranks=3"},
        {"alltoall bruck nodes=2,2,2,2 radix=4",
         8,
         4,
         1,
         {0, 2, 4, 6, 8},
         "alltoall bruck ranks=8 radix=4 nodes=4"},
        {"alltoall bruck ranks=8 nodes=2 inside=pairwise leaders=all",
         8,
         2,
         HP_LEADERS_ALL,
         {0, 4, 8},
         "alltoall bruck ranks=8 radix=2 nodes=2 leaders=all inside=pairwise"},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        const hp_generator_t *generator;
        const hp_problem_t problem = understood(cases[i].text, *state, &generator);
        assert_int_equal(problem.count, cases[i].count);
        assert_int_equal(problem.node_count, cases[i].node_count);
        assert_int_equal(problem.leaders, cases[i].leaders);
        assert_memory_equal(problem.node_first, cases[i].first,
                            (cases[i].node_count + 1) * sizeof *cases[i].first);
        comes_again(&problem, generator, cases[i].again, *state);
    }
}

static void the_rest_is_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "\"\" is no pattern; accepted are bcast, reduce, allreduce, allgather, reduce_scatter, "
             "alltoall, gather, "
             "scatter, scan, exscan, barrier"},
        {"allgathr ring", "\"allgathr\" is no pattern; accepted are bcast, "},
        {"allgather", "\"\" is no algorithm for allgather; accepted are linear, chain, "},
        {"allgather rong ranks=3", "\"rong\" is no algorithm for allgather; accepted are linear, "},
        {"bcast ring ranks=3", "\"ring\" is no algorithm for bcast; accepted are linear, "},
        {"reduce rong", ", pair"},
        {"allgather ring", "ranks=N is missing: accepted are whole numbers from 1 to 4096"},
        {"allgather ring ranks=0", "ranks=0: accepted are whole numbers from 1 to 4096"},
        {"allgather ring ranks=4097", "ranks=4097: accepted are"},
        {"allgather ring ranks=x", "ranks=x: accepted are"},
        {"allgather ring ranks=3 root=1", "root=1: allgather has no root"},
        {"allgather ring ranks=3 ordered", "\"ordered\" is not understood; accepted are ranks=N"},
        {"bcast chain ranks=3 root=3", "root=3: accepted are whole numbers from 0 to 2"},
        {"bcast chain ranks=3 radix=2",
         "\"radix=\" is not understood; accepted are ranks=N, root=N, blocks=N"},
        {"bcast chain ranks=3 3", "\"3\" is not understood; accepted are ranks=N, root=N, blocks=N"},
        {"bcast chain ranks=3 blocks=5000", "chain cannot do that: blocks is 5000, not from 1 to 4096"},
        {"bcast chain ranks=3 blocks=", "blocks=: accepted are whole numbers"},
        {"allgather recursive_doubling ranks=6",
         "recursive_doubling cannot do that: the number of positions has to be a power of two"},
        {"allreduce ring ranks=6 ordered", "ring cannot do that: the operation has to commute"},
        {"allgather ring ranks=12 nodes=5", "nodes=5: so many do not share 12 ranks evenly"},
        {"allgather ring nodes=3", "ranks=N is missing"},
        {"allgather ring ranks=12 nodes=0", "nodes=0: accepted are whole numbers from 1"},
        {"allgather ring ranks=12 nodes=5,4", "nodes=: the nodes have 9 ranks, not 12"},
        {"allgather ring nodes=4096,4096", "nodes=: the nodes have 8192 ranks: accepted are 1 to 4096"},
        {"allgather ring ranks=12 nodes=5,4,x", "\"x\" is not understood"},
        {"allgather ring ranks=12 nodes=3 nodes=3", "\"nodes=\" is not understood"},
        {"allgather ring ranks=12 leaders=all", "leaders= is of nodes, and nodes=N is missing"},
        {"allgather ring ranks=12 nodes=3 leaders=2", "leaders=2: accepted are 1, per node, and all"},
        {"allgather ring ranks=12 inside=bruck", "inside= is of nodes, and nodes=N is missing"},
        {"allgather ring ranks=12 nodes=3 leaders=all inside=rong",
         "\"rong\" is no algorithm for allgather; accepted are linear, "},
        {"allgather ring ranks=12 nodes=3 inside=bruck",
         "ring cannot do that: its intra-node messages are direct"},
        {"allgather ring ranks=9 nodes=3 leaders=all inside=recursive_doubling",
         "ring cannot do that: the intra-node algorithm cannot do its part"},
        {"reduce_scatter pairwise ranks=12 nodes=3 leaders=all inside=circulant ordered",
         "pairwise cannot do that: the intra-node algorithm cannot do its part"},
        {"allgather ring nodes=5,4,3 leaders=all",
         "ring cannot do that: where all lead, all nodes have to have"},
        {"alltoall bruck ranks=12 nodes=3 radix=4", "bruck cannot do that: radix is 4, not from 2 to 3"},
        {"reduce pair nodes=1,1", "pair cannot do that: it was written for all positions, not for nodes"},
        {"reduce pair ranks=3",
         "pair cannot do that: it was written for another number of positions or another root"},
        {"reduce pair root=0", "pair cannot do that: it was written for another number"},
        {"reduce pair depth=2", "pair cannot do that: depth is 2, not from 3 to 3"},
        {"alltoall contention_free ranks=4", "contention_free cannot do that: it needs a network"},
        {"alltoall contention_free network=/nowhere.net", "network: /nowhere.net: No such file or directory"},
        {"alltoall contention_free network=", "network=: expected the name of a file"},
        {"alltoall pairwise ranks=4 order=block", "order= is of a network, and network=FILE is missing"},
        {"alltoall pairwise ranks=4 order=down",
         "order=down: accepted are block, round_robin, over_switches"},
        {"allgather ring ranks=4 sizes=x", "sizes=x: they are of an alltoall, not of allgather"},
        {"alltoall pairwise ranks=4 sizes=/nowhere", "/nowhere: No such file or directory"},
    };
    char error[1024], longer[HP_PROBLEM_TEXT_BYTES + 1];
    const hp_generator_t *generator;
    hp_problem_t problem;

    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        hp_problem_lent_fini(&lent);
        hp_problem_lent_init(&lent);
        assert_false(
            hp_problem_text_parse(cases[i].text, *state, &problem, &lent, &generator, error, sizeof error));
        if (!strstr(error, cases[i].said))
            fail_msg("%s: said \"%s\", not \"%s\"", cases[i].text, error, cases[i].said);
    }
    memset(longer, ' ', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_false(hp_problem_text_parse(longer, *state, &problem, &lent, &generator, error, sizeof error));
    assert_string_equal(error, "longer than 511 characters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_is_understood),
                                       cmocka_unit_test(nodes_are_understood),
                                       cmocka_unit_test(the_rest_is_refused)};
    return cmocka_run_group_tests(tests, make_catalog, free_catalog);
}
