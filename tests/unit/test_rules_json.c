/* test_rules_json: files of rules: good ones, every kind of broken one in rules/, and files that are none.
 *
 * A broken rule stands between two good ones, which must stand; what is told of it is compared to the letter.
 * docs/pitfalls.md 32. */
#include "hier/planning/rules/rules_json.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

enum { LINES_MAX = 64, LINE_BYTES = 1024 };

typedef struct {
    unsigned problems, notes;
    char lines[LINES_MAX][LINE_BYTES];
} heard_t;

typedef struct {
    hp_status_t status;
    hp_rule_t *rules;
    size_t count;
    heard_t heard;
} outcome_t;

static void hear(void *context, hp_rules_kind_t kind, const char *line)
{
    heard_t *heard = context;
    assert_true(heard->problems + heard->notes < LINES_MAX);
    snprintf(heard->lines[heard->problems + heard->notes], LINE_BYTES, "%s", line);
    *(kind == HP_RULES_NOTE ? &heard->notes : &heard->problems) += 1;
}

static void parse_named(outcome_t *out, const char *file, const char *machine, const char *text,
                        size_t length)
{
    const hp_rules_source_t source = {.file = file, .machine = machine, .line = hear, .context = &out->heard};
    memset(out, 0, sizeof *out);
    out->status = hp_rules_parse(&source, text, length, &out->rules, &out->count);
    assert_true((out->count == 0) == (out->rules == NULL));
}

static void parse(outcome_t *out, const char *text)
{
    parse_named(out, "text", "", text, strlen(text));
}

static void parse_data(outcome_t *out, const char *name, const char *machine)
{
    char path[4096], text[16384];
    snprintf(path, sizeof path, "%s/%s.json", RULES_DIR, name);
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("%s cannot be opened", path);
    const size_t length = fread(text, 1, sizeof text, in);
    assert_true(length < sizeof text);
    fclose(in);
    parse_named(out, name, machine, text, length);
}

static void read_path(outcome_t *out, const char *path)
{
    const hp_rules_source_t source = {.file = path, .machine = "", .line = hear, .context = &out->heard};
    memset(out, 0, sizeof *out);
    out->status = hp_rules_read(&source, &out->rules, &out->count);
}

static void assert_one_problem(const outcome_t *out, const char *line)
{
    assert_int_equal(out->heard.problems, 1);
    assert_string_equal(out->heard.lines[0], line);
}

static void assert_same_setting(const hp_setting_t *a, const hp_setting_t *b)
{
#define SAME(field) assert_int_equal(a->field, b->field);
    HP_SETTING_NUMBERS(SAME)
#undef SAME
    assert_int_equal(a->inter_node, b->inter_node);
    assert_memory_equal(&a->shapes, &b->shapes, sizeof a->shapes);
    assert_memory_equal(&a->modules, &b->modules, sizeof a->modules);
}

static void assert_same_rule(const hp_rule_t *a, const hp_rule_t *b)
{
    assert_int_equal(a->collective, b->collective);
    assert_memory_equal(&a->nodes, &b->nodes, sizeof a->nodes);
    assert_memory_equal(&a->ranks, &b->ranks, sizeof a->ranks);
    assert_memory_equal(&a->bytes, &b->bytes, sizeof a->bytes);
    assert_int_equal(a->evenness, b->evenness);
    assert_int_equal(a->memory, b->memory);
    assert_string_equal(a->machine, b->machine);
    assert_int_equal(a->algorithm, b->algorithm);
    if (a->algorithm != HP_ALGORITHM_NATIVE)
        assert_same_setting(&a->setting, &b->setting);
}

/* ---- good files ---- */

static void every_key_once(void **state)
{
    (void)state;
    outcome_t out;
    char error[256];
    hp_rule_t expected = {.collective = HP_ALLREDUCE,
                          .nodes = {2, 4},
                          .ranks = {1, 16},
                          .bytes = {65536, UINT64_MAX},
                          .evenness = HP_RANKS_EVEN,
                          .memory = HP_MEMORY_APART,
                          .machine = "cluster-a",
                          .algorithm = HP_ALGORITHM_ALLREDUCE_han};
    hp_setting_default(&expected.setting);
    expected.setting.segment_bytes = 32768;
    expected.setting.ib_segment_bytes = 8192;
    expected.setting.ir_segment_bytes = 4096;
    expected.setting.inter_node = HP_INTER_NODE_ring;
    expected.setting.trees = 2;
    expected.setting.leaders = 3;
    expected.setting.sends_per_child = 5;
    expected.setting.recvs_per_parent = 7;
    expected.setting.window_segments = 64;
    assert_int_equal(
        hp_shapes_parse("node:binomial core:linear", &expected.setting.shapes, error, sizeof error), HP_OK);
    assert_int_equal(hp_modules_parse("node:p2p core:shm", &expected.setting.modules, error, sizeof error),
                     HP_OK);

    parse_data(&out, "good", "cluster-a");
    assert_int_equal(out.status, HP_OK);
    assert_int_equal(out.heard.problems + out.heard.notes, 0);
    assert_int_equal(out.count, 3);
    assert_same_rule(&out.rules[0], &expected);
    assert_int_equal(out.rules[1].algorithm, HP_ALGORITHM_NATIVE);
    assert_memory_equal(&out.rules[1].nodes, (&(hp_bounds_t){3, 3}), sizeof(hp_bounds_t));
    assert_string_equal(out.rules[1].machine, "cluster-*");
    assert_int_equal(out.rules[2].evenness, HP_RANKS_UNEVEN);
    assert_memory_equal(&out.rules[2].bytes, (&(hp_bounds_t){0, 100}), sizeof(hp_bounds_t));
    free(out.rules);
}

/* Also where two rules share a line, a text has brackets, a key has escapes. */
static void lines_are_those_of_the_file(void **state)
{
    (void)state;
    static const uint32_t lines[] = {6, 27, 27, 31};
    outcome_t out;
    parse_data(&out, "good", NULL);
    assert_int_equal(out.count, ARRAY_LENGTH(lines));
    for (size_t i = 0; i < out.count; i++)
        assert_int_equal(out.rules[i].line, lines[i]);
    free(out.rules);

    parse_data(&out, "rules_first", "");
    assert_int_equal(out.heard.problems, 2);
    assert_string_equal(out.heard.lines[0],
                        "rules_first:1: rule 1: unknown collective \"bcats\": did you mean bcast?");
    assert_string_equal(
        out.heard.lines[1],
        "rules_first:1: rule 2: [[],[]] is not a rule: {\"collective\": ..., \"algorithm\": ...}");
    assert_int_equal(out.count, 1);
    assert_int_equal(out.rules[0].line, 2);
    free(out.rules);
}

static void rules_for_other_machines_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        size_t count;
    } cases[] = {{"cluster-a", 3}, {"cluster-b", 3}, {"cluster-c", 2}, {"elsewhere", 0}, {"", 0}, {NULL, 4}};
    outcome_t out;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        parse_data(&out, "good", cases[i].machine);
        assert_int_equal(out.status, HP_OK);
        assert_int_equal(out.count, cases[i].count);
        assert_int_equal(out.heard.problems, 0);
        free(out.rules);
    }
    /* A pattern may match a machine that is not known. */
    parse(&out, "{\"version\": 1, \"machine\": \"*\", \"rules\": [{\"collective\": \"bcast\", \"algorithm\": "
                "\"han\"}]}");
    assert_int_equal(out.count, 1);
    free(out.rules);
}

/* A rule behind one for another machine is used here; where nobody says which machine, both are kept. */
static void a_rule_for_another_machine_covers_nothing(void **state)
{
    (void)state;
    static const char text[] = "{\"version\": 1, \"rules\": ["
                               "{\"collective\": \"bcast\", \"machine\": \"a\", \"algorithm\": \"han\"},"
                               "{\"collective\": \"bcast\", \"algorithm\": \"han\"},"
                               "{\"collective\": \"bcast\", \"machine\": \"a\", \"algorithm\": \"native\"}]}";
    outcome_t out;
    parse_named(&out, "text", "b", text, strlen(text));
    assert_int_equal(out.count, 1);
    assert_int_equal(out.heard.problems, 0);
    free(out.rules);
    parse_named(&out, "text", "a", text, strlen(text));
    assert_int_equal(out.count, 1);
    assert_int_equal(out.heard.problems, 2);
    assert_string_equal(out.heard.lines[0], "text:1: rule 2: is never used: rule 1 covers it");
    assert_string_equal(out.heard.lines[1], "text:1: rule 3: is never used: rule 1 covers it");
    free(out.rules);
    parse_named(&out, "text", NULL, text, strlen(text));
    assert_int_equal(out.count, 2);
    assert_one_problem(&out, "text:1: rule 3: is never used: rule 1 covers it");
    free(out.rules);
}

/* One note a gap, none where another rule of the file takes some of it. */
static void gaps_are_noted(void **state)
{
    (void)state;
    outcome_t out;
    parse_data(&out, "gap", "");
    assert_int_equal(out.count, 7);
    assert_int_equal(out.heard.problems, 0);
    assert_int_equal(out.heard.notes, 1);
    assert_string_equal(out.heard.lines[0],
                        "gap:3: rule 2: between rule 1 and this one no rule is for 1025 to 4095 bytes: the "
                        "built-in rules hold there");
    free(out.rules);
}

/* What is written is read as the same: the built-in rules, and one with everything that can be written. */
static void round_trip(void **state)
{
    (void)state;
    outcome_t first, second;
    size_t built_in, length;
    char *text;
    const hp_rule_t *defaults = hp_rules_default(&built_in);
    parse_data(&first, "good", NULL);
    hp_rule_t *rules = calloc(built_in + first.count, sizeof *rules);
    assert_non_null(rules);
    memcpy(rules, first.rules, first.count * sizeof *rules);
    memcpy(rules + first.count, defaults, built_in * sizeof *rules);
    snprintf(rules[0].machine, sizeof rules[0].machine, "a \"b\" \\ \t [c]*");

    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    hp_rules_write(out, rules, first.count + built_in);
    assert_int_equal(fclose(out), 0);
    parse_named(&second, "written", NULL, text, length);
    assert_int_equal(second.heard.problems, 0);
    assert_int_equal(second.count, first.count + built_in);
    for (size_t i = 0; i < second.count; i++) {
        assert_same_rule(&second.rules[i], &rules[i]);
        assert_int_equal(second.rules[i].line, 4 + i);
    }
    free(text);
    free(rules);
    free(first.rules);
    free(second.rules);
}

static void what_rules_mean(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "allreduce, 2 to 4 nodes, 1 to 16 ranks on each node, even ranks, memory apart, 64K or more bytes, "
        "machine cluster-a: han, "
        "ib_segment_bytes 8192, ir_segment_bytes 4096, trees 2, leaders 3, sends_per_child 5, "
        "recvs_per_parent 7, "
        "window_segments 64, shapes node:binomial, modules core:shm, between_nodes ring",
        "bcast, 3 nodes, machine cluster-*: native",
        "bcast, uneven ranks, 0 to 100 bytes, machine cluster-*: han",
        "barrier, machine cluster-b: han",
    };
    outcome_t out;
    parse_data(&out, "good", NULL);
    assert_int_equal(out.count, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < out.count; i++) {
        char *text;
        size_t length;
        FILE *stream = open_memstream(&text, &length);
        assert_non_null(stream);
        hp_rule_print(stream, &out.rules[i]);
        assert_int_equal(fclose(stream), 0);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    free(out.rules);
}

/* A rule that asks for a network holds on such a network alone, and is written as it was read. */
static void rules_of_a_network(void **state)
{
    static const char text[] =
        "{\"version\": 1, \"rules\": [{\"collective\": \"alltoall\", \"network\": \"tree-32hosts-*\", "
        "\"hosts_per_switch\": 8, \"blocking\": [2, 8], \"algorithm\": \"flat\", \"between_nodes\": "
        "\"contention_free\"}]}";
    static const struct {
        const char *fingerprint;
        hp_network_traits_t traits;
        bool holds;
    } networks[] = {
        {"tree-32hosts-4switches-1", {8, 2}, true},    {"tree-32hosts-4switches-1", {8, 7.5}, true},
        {"tree-32hosts-4switches-1", {8, 8.5}, false}, {"tree-32hosts-4switches-1", {8, 1}, false},
        {"tree-32hosts-4switches-1", {9, 2}, false},   {"tree-33hosts-4switches-1", {8, 2}, false}};
    hp_layout_t layout = {.nodes = 32, .least_ranks = 1, .most_ranks = 1};
    outcome_t out, again;
    char *written = NULL;
    size_t length;
    (void)state;

    parse(&out, text);
    assert_int_equal(out.heard.problems, 0);
    assert_int_equal(out.count, 1);
    assert_false(hp_rule_matches(&out.rules[0], HP_ALLTOALL, &layout, 64)); /* there is none */
    for (size_t i = 0; i < ARRAY_LENGTH(networks); i++) {
        hp_comm_network_t network = {.traits = networks[i].traits};
        snprintf(network.fingerprint, sizeof network.fingerprint, "%s", networks[i].fingerprint);
        layout.network = &network;
        assert_int_equal(hp_rule_matches(&out.rules[0], HP_ALLTOALL, &layout, 64), networks[i].holds);
    }
    FILE *stream = open_memstream(&written, &length);
    assert_non_null(stream);
    hp_rules_write(stream, out.rules, out.count);
    assert_int_equal(fclose(stream), 0);
    parse(&again, written);
    assert_int_equal(again.count, 1);
    assert_memory_equal(&again.rules[0].network, &out.rules[0].network, sizeof out.rules[0].network);
    free(written);
    free(out.rules);
    free(again.rules);
}

static void built_in_rules_can_be_followed(void **state)
{
    (void)state;
    size_t count;
    char error[512];
    const hp_rule_t *rules = hp_rules_default(&count);
    for (size_t i = 0; i < count; i++)
        if (!hp_rule_check(&rules[i], error, sizeof error))
            fail_msg("built-in rule %zu: %s", i, error);
}

/* ---- one broken rule ---- */

static const struct {
    const char *name, *reason;
} broken[] = {
    {"algorithm_auto", "algorithm: \"auto\" is not accepted for barrier (accepted: native, han, flags)"},
    {"algorithm_list", "algorithm: [\"han\",\"tree\"] is not a text"},
    {"algorithm_missing", "there is no \"algorithm\""},
    {"algorithm_of_another",
     "algorithm: \"recursive_doubling\" is not accepted for bcast (accepted: native, han, flags)"},
    {"algorithm_unknown", "algorithm: \"ham\" is not accepted for bcast (accepted: native, han, flags)"},
    {"barrier_bytes", "bytes: a barrier has none that all ranks know, from 1 holds for nothing"},
    {"between_barrier", "between_nodes: there is no double_tree for barrier: it would be a tree"},
    {"between_bcast", "between_nodes: there is no ring for bcast: it would be a tree"},
    {"between_native", "between_nodes: ring needs the module p2p for the level node, not native"},
    {"between_one_node", "between_nodes: ring joins nodes, the rule is for one"},
    {"bytes_none", "bytes: calls without data are always left to the host MPI"},
    {"bytes_true",
     "bytes: true is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"collective_missing", "there is no \"collective\""},
    {"collective_number", "collective: 7 is not a text"},
    {"comment_number", "comment: 5 is not a text"},
    {"control", "unknown collective \"bc?[31mast?\": did you mean bcast?"},
    {"memory_unknown", "memory: \"own\" is not accepted (accepted: any, shared, apart)"},
    {"evenness_unknown", "ranks: \"odd\" is not accepted (accepted: any, even, uneven)"},
    {"half_a_node",
     "nodes: 2.5 is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"huge_real",
     "bytes: 1e300 is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"huge_text", "bytes: \"9999999999999G\" is not accepted: a number such as 4 or \"64K\", [from, to], or "
                  "null for no end"},
    {"leaders_many", "leaders: 99 is not accepted (accepted: 0..16)"},
    {"machine_long",
     "machine: \"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm is longer than 63 characters"},
    {"machine_number", "machine: 5 is not a text"},
    {"network_number", "network: 5 is not a text"},
    {"hosts_text",
     "hosts_per_switch: \"many\" is not accepted: a number such as 4 or \"64K\", [from, to], or null "
     "for no end"},
    {"blocking_zero", "blocking: from 0: there is at least 1"},
    {"module_of_nodes",
     "modules: \"node:shm\" is not accepted (shm joins ranks within a node: node accepts p2p, native)"},
    {"module_unknown", "modules: \"core:xpmem\" is not accepted ('xpmem' cannot be the value of level "
                       "'core': accepted is p2p, shm, single_copy, native)"},
    {"native_segment", "segment_bytes: native is the host MPI, which has no such setting"},
    {"negative", "nodes: -3 is less than 0"},
    {"negative_text", "bytes: \"-1K\" is less than 0"},
    {"never_used", "is never used: rule 1 covers it"},
    {"nodes_zero", "nodes: from 0: there is at least 1"},
    {"not_an_object", "[1,2,3] is not a rule: {\"collective\": ..., \"algorithm\": ...}"},
    {"null_rule", "null is not a rule: {\"collective\": ..., \"algorithm\": ...}"},
    {"one_node_algorithm", "flags is for at most 1 node: add \"nodes\": [1, 1]"},
    {"range_in_range",
     "nodes: [1,2] is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"range_object",
     "nodes: {\"from\":1} is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"range_of_none", "nodes: a range is [from, to], this one has 0 ends"},
    {"range_of_three", "nodes: a range is [from, to], this one has 3 ends"},
    {"range_reversed", "bytes: from 2048 to 1024 holds for nothing"},
    {"ranks_zero", "ranks_per_node: from 0: there is at least 1"},
    {"segment_huge", "segment_bytes: \"2G\" is not accepted (accepted: 0..1073741824)"},
    {"segment_negative", "segment_bytes: -1 is not accepted (accepted: 0..1073741824)"},
    {"segment_real", "segment_bytes: 4096.0 is neither a whole number nor a text"},
    {"segment_text", "segment_bytes: \"large\" is not accepted (accepted: 0..1073741824)"},
    {"sends_negative", "sends_per_child: -1 is not accepted (accepted: 0..1024)"},
    {"shape_level", "shapes: \"rack:chain\" is not accepted (unknown level 'rack': accepted are node, "
                    "package, numa, l3, core)"},
    {"shape_long",
     "shapes: \"node:chain node:chain node:chain node:chain no is not accepted (longer than 159 characters)"},
    {"shape_unknown", "shapes: \"node:ring\" is not accepted ('ring' cannot be the value of level 'node': "
                      "accepted is linear, chain, binary, binomial, knomial4, knomial8, postal)"},
    {"trees_many", "trees: 17 is not accepted (accepted: 0..16)"},
    {"uneven_alone", "ranks: \"uneven\" holds for nothing with one node"},
    {"uneven_and_equal", "ranks: \"uneven\" holds for nothing with one number of ranks_per_node"},
    {"unit_unknown",
     "bytes: \"64KB\" is not accepted: a number such as 4 or \"64K\", [from, to], or null for no end"},
    {"unknown_collective", "unknown collective \"bcats\": did you mean bcast?"},
    {"unknown_key", "unknown key \"node\": did you mean \"nodes\"?"},
    {"unknown_setting", "unknown key \"segment_byte\": did you mean \"segment_bytes\"?"},
};

static void a_broken_rule_goes_alone(void **state)
{
    (void)state;
    outcome_t out;
    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        char line[LINE_BYTES];
        parse_data(&out, broken[i].name, "");
        snprintf(line, sizeof line, "%s:5: rule 2: %s", broken[i].name, broken[i].reason);
        assert_int_equal(out.status, HP_OK);
        assert_one_problem(&out, line);
        assert_int_equal(out.count, 2);
        assert_int_equal(out.rules[0].algorithm, HP_ALGORITHM_BCAST_han);
        assert_memory_equal(&out.rules[0].bytes, (&(hp_bounds_t){64 << 10, 16 << 20}), sizeof(hp_bounds_t));
        assert_int_equal(out.rules[1].algorithm, HP_ALGORITHM_REDUCE_han);
        assert_int_equal(out.rules[1].setting.segment_bytes, 16384);
        assert_int_equal(out.rules[1].line, 6);
        free(out.rules);
    }
}

/* The inter-node algorithms are whatever generators there are. */
static void a_word_between_nodes(void **state)
{
    char range[HP_KNOB_RANGE_BYTES], line[LINE_BYTES];
    outcome_t out;
    (void)state;

    parse_data(&out, "between_unknown", "");
    snprintf(line, sizeof line,
             "between_unknown:5: rule 2: between_nodes: \"star\" is not accepted (accepted: %s)",
             hp_knob_range(HP_KNOB_ID_between_nodes, range, sizeof range));
    assert_one_problem(&out, line);
    assert_non_null(strstr(line, "recursive_doubling"));
    free(out.rules);
    /* Blocks go through it among the ranks of one node, too. */
    parse(&out, "{\"version\": 1, \"rules\": [{\"collective\": \"allgather\", \"nodes\": 1, \"algorithm\": "
                "\"flat\", \"between_nodes\": \"ring\"}]}");
    assert_int_equal(out.heard.problems, 0);
    assert_int_equal(out.count, 1);
    free(out.rules);
}

/* What is wrong with the file's head leaves its rules alone. */
static void the_head_of_the_file(void **state)
{
    (void)state;
    outcome_t out;
    parse_data(&out, "version_missing", "");
    assert_one_problem(&out, "version_missing: there is no \"version\": read as \"version\": 1");
    assert_int_equal(out.count, 3);
    free(out.rules);
    parse_data(&out, "file_key", "");
    assert_one_problem(&out, "file_key: unknown key \"machines\": did you mean \"machine\"?");
    assert_int_equal(out.count, 3);
    free(out.rules);
}

static void no_flood(void **state)
{
    (void)state;
    outcome_t out;
    parse_data(&out, "many", "");
    assert_int_equal(out.heard.problems, HP_RULES_LINES_MAX + 1);
    assert_string_equal(out.heard.lines[HP_RULES_LINES_MAX - 1],
                        "many:21: rule 20: nodes: -20 is less than 0");
    assert_string_equal(out.heard.lines[HP_RULES_LINES_MAX],
                        "many: and 5 more problems: hanpmpi_info --check-rules shows all");
    assert_int_equal(out.count, 1);
    free(out.rules);
}

/* Writes a file of rules that are for one size each. */
static char *write_many(unsigned count)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fprintf(out, "{\"version\": 1, \"rules\": [");
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s{\"collective\": \"bcast\", \"bytes\": %u, \"algorithm\": \"han\"}", i ? "," : "",
                i + 1);
    fprintf(out, "]}");
    assert_int_equal(fclose(out), 0);
    return text;
}

static void at_most_4096_rules(void **state)
{
    (void)state;
    outcome_t out;
    char *text = write_many(HP_RULES_MAX);
    parse(&out, text);
    assert_int_equal(out.count, HP_RULES_MAX);
    assert_int_equal(out.heard.problems + out.heard.notes, 0);
    free(out.rules);
    free(text);

    text = write_many(HP_RULES_MAX + 1);
    parse(&out, text);
    assert_int_equal(out.count, HP_RULES_MAX);
    assert_one_problem(&out, "text: 4097 rules: those after the first 4096 are not used");
    free(out.rules);
    free(text);
}

/* ---- files that are left out whole ---- */

static const struct {
    const char *name, *line;
} refused[] = {
    {"array", ": not a file of rules: {\"version\": 1, \"rules\": [...]} is (man 5 hanpmpi-rules)"},
    {"blank", ":3: '[' or '{' expected near end of file: no rule of it is used"},
    {"comma", ":6:5: ']' expected near '{': no rule of it is used"},
    {"duplicate_key", ":4:47: duplicate object key near '\"nodes\"': no rule of it is used"},
    {"empty", ":1: '[' or '{' expected near end of file: no rule of it is used"},
    {"file_machine", ": machine: [\"a\"] is not a text: no rule of it is used"},
    {"no_rules", ": not a file of rules: {\"version\": 1, \"rules\": [...]} is (man 5 hanpmpi-rules)"},
    {"nul", ":5:23: control character 0x0 near '\"bar': no rule of it is used"},
    {"nul_escape",
     ":5:33: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"bar\\u0000ier\"': no rule of it is used"},
    {"number_overflow", ":4:64: too big integer: no rule of it is used"},
    {"real_overflow", ":4:46: real number overflow near '1e999': no rule of it is used"},
    {"rules_object", ": not a file of rules: {\"version\": 1, \"rules\": [...]} is (man 5 hanpmpi-rules)"},
    {"single_quotes", ":2:3: string or '}' expected near ''': no rule of it is used"},
    {"trailing", ":9:1: end of file expected near '}': no rule of it is used"},
    {"truncated", ":5:6: premature end of input near '\"': no rule of it is used"},
    {"utf8_broken", ":5:23: unable to decode byte 0xff near '\"bar': no rule of it is used"},
    {"version_2", ": version 2 is not known: no rule of it is used (known: 1)"},
    {"version_text", ": version \"1\" is not known: no rule of it is used (known: 1)"},
};

static void what_is_no_file_of_rules(void **state)
{
    (void)state;
    outcome_t out;
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        char line[LINE_BYTES];
        parse_data(&out, refused[i].name, "");
        snprintf(line, sizeof line, "%s%s", refused[i].name, refused[i].line);
        assert_int_equal(out.status, HP_ERR_ARG);
        assert_one_problem(&out, line);
        assert_int_equal(out.count, 0);
    }
}

/* Nested deeper than a stack is: the parser must not follow. */
static void deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 1 << 20 };
    outcome_t out;
    char *text = malloc(2 * DEPTH + 1);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    parse_named(&out, "deep", "", text, 2 * DEPTH);
    assert_int_equal(out.status, HP_ERR_ARG);
    assert_one_problem(&out, "deep:1:2049: maximum parsing depth reached near '[': no rule of it is used");
    free(text);
}

#define ADVICE                                                                                               \
    ": no rule of it is used; HANPMPI_RULES takes the name of a file of rules that rank 0 can read (man 5 "  \
    "hanpmpi-rules)"

/* A new file of that many bytes of noise in a new directory. */
static void make_file(char *path, off_t bytes)
{
    char noise[4096];
    check_random_t random = check_random_start("rules_json");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)check_random_below(&random, 256);
    assert_int_equal(write(fd, noise, sizeof noise), sizeof noise);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
}

static void assert_unreadable(const char *path, const char *why)
{
    outcome_t out;
    char line[LINE_BYTES];
    read_path(&out, path);
    snprintf(line, sizeof line, "%s: %s" ADVICE, path, why);
    assert_int_equal(out.status, HP_ERR_NOT_FOUND);
    assert_one_problem(&out, line);
    assert_int_equal(out.count, 0);
}

static void what_cannot_be_read(void **state)
{
    (void)state;
    char directory[4096], why[LINE_BYTES], path[] = "/tmp/hanpmpi_rules_XXXXXX";
    assert_unreadable("/nonexistent/rules.json", "No such file or directory");
    assert_non_null(getcwd(directory, sizeof directory));
    snprintf(why, sizeof why, "No such file or directory in %.200s", directory);
    assert_unreadable("nonexistent.json", why);
    assert_unreadable(RULES_DIR, "a directory");
    assert_unreadable("/dev/zero", "not a regular file");
    make_file(path, 100 << 20);
    assert_unreadable(path, "larger than 16 MiB");
    unlink(path);
}

/* A pipe that nobody writes to: the reader must not wait for somebody. */
static void a_pipe_does_not_stop_the_job(void **state)
{
    (void)state;
    char path[] = "/tmp/hanpmpi_rules_XXXXXX";
    make_file(path, 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_unreadable(path, "not a regular file");
    unlink(path);
}

/* Root may read everything: it becomes another user for the moment. */
static void without_permission(void **state)
{
    (void)state;
    const uid_t nobody = 65534, self = geteuid();
    char path[] = "/tmp/hanpmpi_rules_XXXXXX";
    make_file(path, 100);
    assert_int_equal(chmod(path, 0), 0);
    if (self == 0)
        assert_int_equal(seteuid(nobody), 0);
    assert_unreadable(path, "Permission denied");
    if (self == 0)
        assert_int_equal(seteuid(self), 0);
    unlink(path);
}

/* Noise, and a good file by its path. */
static void what_can_be_read(void **state)
{
    (void)state;
    char path[] = "/tmp/hanpmpi_rules_XXXXXX";
    outcome_t out;
    make_file(path, 16 << 20);
    read_path(&out, path);
    assert_int_equal(out.status, HP_ERR_ARG);
    assert_int_equal(out.heard.problems, 1);
    unlink(path);
    read_path(&out, RULES_DIR "/unknown_key.json");
    assert_int_equal(out.status, HP_OK);
    assert_one_problem(&out, RULES_DIR
                       "/unknown_key.json:5: rule 2: unknown key \"node\": did you mean \"nodes\"?");
    assert_int_equal(out.count, 2);
    free(out.rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_once),
        cmocka_unit_test(lines_are_those_of_the_file),
        cmocka_unit_test(rules_for_other_machines_are_left_out),
        cmocka_unit_test(a_rule_for_another_machine_covers_nothing),
        cmocka_unit_test(gaps_are_noted),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(what_rules_mean),
        cmocka_unit_test(rules_of_a_network),
        cmocka_unit_test(built_in_rules_can_be_followed),
        cmocka_unit_test(a_broken_rule_goes_alone),
        cmocka_unit_test(a_word_between_nodes),
        cmocka_unit_test(the_head_of_the_file),
        cmocka_unit_test(no_flood),
        cmocka_unit_test(at_most_4096_rules),
        cmocka_unit_test(what_is_no_file_of_rules),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(a_pipe_does_not_stop_the_job),
        cmocka_unit_test(without_permission),
        cmocka_unit_test(what_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
