/* test_inter_node_files: schedules from files as ways to join nodes: which can be, their words, and what takes the tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "base/knobs.h"
#include "hier/call/inter_node_files.h"
#include "hier/call/setting.h"
#include "hier/blocks/generator.h"
#include "schedule/file.h"
#include "schedule/generators/generators.h"

static char lines[8][512];
static unsigned line_count;

static void keep_line(void *context, const char *line)
{
    (void)context;
    assert_true(line_count < ARRAY_LENGTH(lines));
    snprintf(lines[line_count++], sizeof *lines, "%s", line);
}

/* The built-in algorithm's schedules of the problem, as if read from name.json. */
static hp_generator_t *from_file(const char *name, const char *algorithm, hp_problem_t problem)
{
    const hp_generator_t *built_in = hp_generator_find(algorithm);
    hp_generator_t *generator;
    char *text, why[HP_SCHEDULE_FILE_WHY_BYTES];
    size_t length;

    hp_generator_usual(built_in, &problem);
    hp_schedule_t *schedules = hp_schedules_make(built_in, &problem);
    FILE *out = open_memstream(&text, &length);
    assert_true(schedules && out);
    assert_int_equal(hp_schedule_file_write(out, schedules, &problem, built_in), HP_OK);
    fclose(out);
    if (hp_schedule_file_parse_verified(name, text, length, &generator, why, sizeof why) != HP_OK)
        fail_msg("%s", why);
    free(text);
    hp_schedules_free(schedules, problem.count);
    return generator;
}

static void add(hp_catalog_t *catalog, const char *name, const char *algorithm, hp_problem_t problem)
{
    catalog->files[catalog->file_count++] = from_file(name, algorithm, problem);
}

static void begin(hp_catalog_t *catalog)
{
    hp_catalog_init(catalog);
    hp_inter_node_no_files();
    line_count = 0;
}

static void end(hp_catalog_t *catalog)
{
    hp_inter_node_no_files();
    hp_catalog_fini(catalog);
}

static hp_inter_node_t found(const char *name)
{
    unsigned word = 0;
    while (hp_inter_node(word) != HP_INTER_NODE_NONE &&
           strcmp(hp_inter_node_name(hp_inter_node(word)), name) != 0)
        word++;
    return hp_inter_node(word);
}

static void files_are_words(void **state)
{
    static hp_catalog_t catalog;
    hp_problem_t problem;
    hp_knobs_t knobs;
    hp_setting_t setting;
    char error[HP_KNOB_TEXT_BYTES];
    (void)state;

    begin(&catalog);
    add(&catalog, "fine", "circulant_bcast", (hp_problem_t){.pattern = HP_PATTERN_BCAST, .count = 5});
    add(&catalog, "sums", "recursive_doubling",
        (hp_problem_t){.pattern = HP_PATTERN_ALLREDUCE, .count = 4, .ordered = true});
    hp_inter_node_take(&catalog, "my", keep_line, NULL);
    assert_int_equal(line_count, 0);

    const hp_inter_node_t fine = found("fine"), sums = found("sums");
    assert_true(fine >= HP_INTER_NODE_FILES && sums == fine + 1);
    assert_ptr_equal(hp_inter_node_generator(fine), catalog.files[0]);
    assert_true(hp_inter_node_serves(fine, HP_BCAST) && !hp_inter_node_serves(fine, HP_ALLREDUCE));
    assert_true(hp_inter_node_problem(fine, HP_BCAST, 5, false, NULL, &problem));
    assert_int_equal(problem.parameter[0], 8); /* as the file has it */
    assert_false(hp_inter_node_problem(fine, HP_BCAST, 4, false, NULL, &problem));
    assert_false(hp_inter_node_problem(fine, HP_ALLREDUCE, 5, false, NULL, &problem));
    assert_true(hp_inter_node_problem(sums, HP_ALLREDUCE, 4, true, NULL, &problem));
    assert_false(hp_inter_node_is_tree(fine));

    hp_knobs_defaults(&knobs);
    hp_setting_default(&setting);
    assert_true(hp_knob_parse(&knobs, HP_KNOB_ID_between_nodes, "sums", error, sizeof error));
    hp_setting_apply(&setting, &knobs);
    assert_int_equal(setting.inter_node, sums);
    end(&catalog);
    assert_false(hp_knob_parse(&knobs, HP_KNOB_ID_between_nodes, "sums", error, sizeof error));
    assert_int_equal(found("sums"), HP_INTER_NODE_NONE);
    assert_null(hp_inter_node_generator(sums)); /* nobody has it any more */
    assert_string_equal(hp_inter_node_name(sums), "tree");
}

static void what_cannot_be_run_is_refused(void **state)
{
    static const struct {
        const char *algorithm;
        hp_problem_t problem;
        const char *why;
    } files[] = {
        {"ring", {.pattern = HP_PATTERN_ALLREDUCE, .count = 6}, NULL},
        {"double_tree", {.pattern = HP_PATTERN_BCAST, .count = 7}, NULL},
        {"ring", {.pattern = HP_PATTERN_ALLGATHER, .count = 6}, NULL},
        {"bruck", {.pattern = HP_PATTERN_ALLTOALL, .count = 6}, NULL},
        {"linear",
         {.pattern = HP_PATTERN_GATHER, .count = 6, .root = 2},
         "a collective of blocks with root 0"},
        {"binomial",
         {.pattern = HP_PATTERN_REDUCE, .count = 6},
         "a bcast, an allreduce or a collective of blocks"},
        {"chain", {.pattern = HP_PATTERN_BCAST, .count = 6, .root = 2}, "root 0"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        hp_generator_t *generator = from_file("file", files[i].algorithm, files[i].problem);
        const char *why = hp_inter_node_refusal(generator);
        assert_true(files[i].why ? why && strstr(why, files[i].why) : !why);
        hp_schedule_file_free(generator);
    }

    hp_generator_t *generator =
        from_file("file", "chain", (hp_problem_t){.pattern = HP_PATTERN_BCAST, .count = 2});
    hp_schedule_t *root = (hp_schedule_t *)&generator->schedules[0];
    root->scratch_blocks = 65;
    assert_true(strstr(hp_inter_node_refusal(generator), "scratch"));
    root->scratch_blocks = 0;
    root->steps[0].sync = true;
    assert_true(strstr(hp_inter_node_refusal(generator), "sync"));
    root->steps[0].sync = false;
    root->steps[0].from = 1;
    assert_true(strstr(hp_inter_node_refusal(generator), "receives nothing"));
    root->steps[0].from = HP_NO_POSITION;
    hp_range_t *range = (hp_range_t *)&root->ranges[root->steps[0].send.first];
    const hp_range_t whole = *range;
    for (uint32_t cut = 1; cut <= 65; cut += cut == 1 ? 1 : 63) { /* more than a vector; a part of it twice */
        root->cut = cut;
        *range = hp_range(HP_SPACE_RECV, 0, cut);
        assert_null(hp_inter_node_refusal(generator));
        range->count = range->run = cut + 1;
        assert_true(strstr(hp_inter_node_refusal(generator), "a vector at most"));
        if (cut == 1)
            continue;
        *range = (hp_range_t){.space = HP_SPACE_RECV, .first = 1, .count = 2, .run = 1, .stride = cut};
        assert_true(strstr(hp_inter_node_refusal(generator), "a vector at most"));
    }
    *range = whole;
    hp_schedule_file_free(generator);
}

/* A block that goes straight to its place may have any size. */
static void what_is_direct_serves_blocks_that_differ(void **state)
{
    hp_generator_t *direct =
        from_file("direct", "pairwise", (hp_problem_t){.pattern = HP_PATTERN_ALLTOALL, .count = 6});
    hp_generator_t *carried =
        from_file("carried", "bruck", (hp_problem_t){.pattern = HP_PATTERN_ALLTOALL, .count = 6});
    hp_problem_t ranks = {.pattern = HP_PATTERN_ALLTOALL, .count = 6};
    (void)state;

    assert_true(hp_block_serves(direct, HP_ALLTOALLV, &ranks));
    assert_true(hp_block_serves(carried, HP_ALLTOALL, &ranks));
    assert_false(hp_block_serves(carried, HP_ALLTOALLV, &ranks));
    hp_schedule_file_free(direct);
    hp_schedule_file_free(carried);
}

/* Asked for before the files are read: the slot comes first, on all ranks alike. */
static void what_was_asked_for_is_said(void **state)
{
    static hp_catalog_t catalog;
    hp_problem_t problem;
    (void)state;

    begin(&catalog);
    assert_int_equal(hp_inter_node_add("missing"), HP_INTER_NODE_FILES);
    assert_int_equal(hp_inter_node_add("gathers"), HP_INTER_NODE_FILES + 1);
    assert_int_equal(hp_inter_node_add("broken"), HP_INTER_NODE_FILES + 2);
    assert_int_equal(hp_inter_node_add("fine"), HP_INTER_NODE_FILES + 3);
    assert_int_equal(hp_inter_node_add("missing"), HP_INTER_NODE_FILES);
    assert_int_equal(hp_inter_node_add("ring"), HP_INTER_NODE_NONE);
    assert_int_equal(hp_inter_node_add("tree"), HP_INTER_NODE_NONE);
    assert_int_equal(hp_inter_node_add("a/b"), HP_INTER_NODE_NONE);
    assert_int_equal(hp_inter_node_add(""), HP_INTER_NODE_NONE);
    add(&catalog, "a_first_one", "chain", (hp_problem_t){.pattern = HP_PATTERN_BCAST, .count = 3});
    add(&catalog, "fine", "ring", (hp_problem_t){.pattern = HP_PATTERN_ALLREDUCE, .count = 3});
    add(&catalog, "gathers", "binomial", (hp_problem_t){.pattern = HP_PATTERN_REDUCE, .count = 3});
    strcpy(catalog.broken[catalog.broken_count++], "broken");
    strcpy(catalog.broken[catalog.broken_count++], "broken_too");
    hp_inter_node_take(&catalog, "my", keep_line, NULL);
    assert_int_equal(line_count, 2); /* the catalog has said what is wrong with the broken one */
    assert_string_equal(lines[0], "my/missing.json: there is no such file; what asks for the inter-node "
                                  "algorithm missing takes the tree");
    assert_true(strstr(lines[1], "my/gathers.json: nodes are joined by a bcast, an allreduce or"));

    assert_int_equal(found("fine"), HP_INTER_NODE_FILES + 3);
    assert_non_null(hp_inter_node_generator(found("fine")));
    assert_int_equal(found("a_first_one"), HP_INTER_NODE_FILES + 4);
    const hp_inter_node_t empty = found("broken_too");
    assert_int_equal(empty, HP_INTER_NODE_FILES + 5);
    assert_null(hp_inter_node_generator(empty));
    assert_true(hp_inter_node_is_tree(empty) && hp_inter_node_serves(empty, HP_REDUCE));
    assert_false(hp_inter_node_problem(empty, HP_BCAST, 3, false, NULL, &problem));
    assert_int_equal(hp_inter_node_word(empty) + 1, hp_inter_node_word(HP_INTER_NODE_NONE));
    end(&catalog);
}

static void there_is_a_limit(void **state)
{
    enum { MORE = 3 };
    static hp_catalog_t catalog;
    (void)state;

    begin(&catalog);
    for (unsigned i = 0; i < HP_INTER_NODE_FILES_MAX + MORE; i++) {
        char name[16];
        snprintf(name, sizeof name, "file%u", i);
        add(&catalog, name, "chain", (hp_problem_t){.pattern = HP_PATTERN_BCAST, .count = 3});
    }
    hp_inter_node_take(&catalog, "my", keep_line, NULL);
    assert_int_equal(line_count, 1);
    assert_string_equal(lines[0], "my: the last 3 schedules do not join nodes: 128 are the limit");
    assert_non_null(hp_inter_node_generator(found("file127")));
    assert_int_equal(found("file128"), HP_INTER_NODE_NONE);
    end(&catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_words),
        cmocka_unit_test(what_cannot_be_run_is_refused),
        cmocka_unit_test(what_is_direct_serves_blocks_that_differ),
        cmocka_unit_test(what_was_asked_for_is_said),
        cmocka_unit_test(there_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
