/* test_select: which algorithm runs a call, with which settings, or why none does.
 *
 * docs/pitfalls.md 32 (rules are checked), 33 (segment sizes of rules are used). */
#include "hier/planning/model/described.h"
#include "hier/planning/select.h"
#include "places.h"

#include <limits.h>

typedef enum {
    ANY_NODES,
    ALONE,
    APART,
    WIDE
} which_nodes_t; /* of all; with one rank each; whose ranks share nothing; with many ranks */

static const unsigned ranks_of[] = {[ALONE] = 1, [APART] = 2, [WIDE] = 8};

typedef struct {
    hp_collective_t collective;
    uint64_t nodes_from, nodes_to, bytes_from, bytes_to;
    const char *algorithm;
    size_t segment_bytes;
    hp_shape_t between_nodes, inside_node;
    hp_module_id_t module;
    uint32_t trees, leaders;
    hp_inter_node_t joined;
    which_nodes_t which_nodes;
} row_t;

static const row_t rows[] = {
#define ROW(which, collective, nodes_from, nodes_to, bytes_from, bytes_to, algorithm, segment, between,      \
            inside, module, trees, leaders, joined)                                                          \
    {HP_##collective,                                                                                        \
     nodes_from,                                                                                             \
     nodes_to,                                                                                               \
     bytes_from,                                                                                             \
     bytes_to,                                                                                               \
     #algorithm,                                                                                             \
     segment,                                                                                                \
     HP_SHAPE_##between,                                                                                     \
     HP_SHAPE_##inside,                                                                                      \
     HP_MODULE_##module,                                                                                     \
     trees,                                                                                                  \
     leaders,                                                                                                \
     HP_INTER_NODE_##joined,                                                                                 \
     which},
#define HP_RULE(...)       ROW(ANY_NODES, __VA_ARGS__)
#define HP_RULE_ALONE(...) ROW(ALONE, __VA_ARGS__)
#define HP_RULE_APART(...) ROW(APART, __VA_ARGS__)
#define HP_RULE_WIDE(...)  ROW(WIDE, __VA_ARGS__)
#include "../../tuning/default_rules.def"
#undef HP_RULE
#undef HP_RULE_ALONE
#undef HP_RULE_APART
#undef HP_RULE_WIDE
#undef ROW
};

static void nobody_problem(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static hp_knobs_t knobs_with(hp_knob_id_t id, const char *value)
{
    extern char **environ;
    char **kept = environ, *none = NULL, error[256];
    hp_knobs_t knobs;
    environ = &none;
    hp_knobs_read(&knobs, NULL, nobody_problem, NULL);
    environ = kept;
    if (value)
        assert_true(hp_knob_parse(&knobs, id, value, error, sizeof error));
    return knobs;
}

static hp_knobs_t default_knobs(void)
{
    return knobs_with(HP_KNOB_COUNT, NULL);
}

static hp_comm_t *comm_with(uint32_t nodes, uint32_t ranks_per_node, const hp_knobs_t *knobs)
{
    hp_comm_t *comm = NULL;
    const uint32_t size = nodes * ranks_per_node;
    hp_locality_t *table = malloc(size * sizeof *table);
    assert_non_null(table);
    for (uint32_t rank = 0; rank < size; rank++)
        table[rank] = (hp_locality_t){.id = {rank / ranks_per_node, 0, 0, 0, rank % ranks_per_node}};
    assert_int_equal(hp_comm_create(0, size, table, knobs, NULL, &comm), HP_OK);
    free(table);
    return comm;
}

/* A communicator of `nodes` nodes with two ranks each, which share memory. */
static hp_comm_t *comm_of(uint32_t nodes, const hp_knobs_t *knobs)
{
    hp_comm_t *comm = comm_with(nodes, 2, knobs);
    comm->shares_memory = true;
    return comm;
}

/* hp_select, with the answer copied: it is valid until the next one only. */
static hp_outcome_t chosen(hp_comm_t *comm, hp_collective_t collective, uint64_t bytes,
                           const hp_algorithm_t **algorithm, hp_setting_t *setting)
{
    hp_choice_t choice;
    const hp_outcome_t outcome = hp_select(comm, collective, bytes, &choice);
    *algorithm = choice.algorithm;
    if (choice.algorithm)
        *setting = *choice.setting;
    return outcome;
}

static uint32_t nodes_in(const row_t *row)
{
    return (uint32_t)row->nodes_from;
}

static void pitfall_32_rules_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const row_t *row = &rows[i];
        const hp_algorithm_t *algorithm = hp_algorithm_find(row->collective, row->algorithm);
        if (!algorithm)
            fail_msg("rule %zu names %s, which is no algorithm of %s", i, row->algorithm,
                     hp_collective_name(row->collective));
        assert_true(row->nodes_from >= 1 && row->nodes_from <= row->nodes_to);
        assert_true(row->bytes_from <= row->bytes_to);
        assert_true(row->segment_bytes > 0);
        assert_true(row->trees >= 1 && row->trees <= HP_ROTATIONS_MAX);
        for (size_t k = 0; k < i; k++) /* first match wins: a rule inside an earlier one is never used */
            assert_false(rows[k].collective == row->collective &&
                         (rows[k].which_nodes == ANY_NODES || rows[k].which_nodes == row->which_nodes) &&
                         rows[k].nodes_from <= row->nodes_from && rows[k].nodes_to >= row->nodes_to &&
                         rows[k].bytes_from <= row->bytes_from && rows[k].bytes_to >= row->bytes_to);
    }
}

static void pitfall_33_rules_are_used(void **state)
{
    (void)state;
    const hp_knobs_t knobs = default_knobs();
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const row_t *row = &rows[i];
        hp_comm_t *comm = row->which_nodes == ANY_NODES
                              ? comm_of(nodes_in(row), &knobs)
                              : comm_with(nodes_in(row), ranks_of[row->which_nodes], &knobs);
        comm->shares_memory = row->which_nodes == ANY_NODES || row->which_nodes == WIDE;
        const hp_algorithm_t *algorithm = NULL;
        hp_setting_t setting;
        assert_int_equal(chosen(comm, row->collective, row->bytes_from, &algorithm, &setting),
                         HP_OUTCOME_TAKEN);
        assert_string_equal(algorithm->name, row->algorithm);
        assert_int_equal(setting.segment_bytes, row->segment_bytes);
        assert_int_equal(setting.trees, row->trees);
        assert_int_equal(setting.leaders, row->leaders);
        assert_int_equal(setting.inter_node, row->joined);
        assert_int_equal(setting.modules.module[HP_LEVEL_CORE], row->module);
        for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
            assert_int_equal(setting.shapes.shape[level],
                             level == HP_LEVEL_NODE ? row->between_nodes : row->inside_node);
        hp_select_forget(comm);
        hp_comm_destroy(comm);
    }
}

static hp_outcome_t outcome_of(const hp_knobs_t *knobs, uint32_t nodes, hp_collective_t collective,
                               uint64_t bytes, const hp_algorithm_t **algorithm, hp_setting_t *setting)
{
    hp_comm_t *comm = comm_of(nodes, knobs);
    *algorithm = NULL;
    hp_outcome_t outcome = chosen(comm, collective, bytes, algorithm, setting);
    /* What is said before the communicator is set up does not contradict what is said then. */
    if (outcome == HP_OUTCOME_TAKEN)
        assert_int_equal(hp_candidates_possible(knobs, collective, bytes, nodes), HP_OUTCOME_TAKEN);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
    return outcome;
}

static void calls_that_no_rule_covers(void **state)
{
    (void)state;
    const hp_knobs_t knobs = default_knobs();
    const hp_algorithm_t *algorithm;
    hp_setting_t setting;
    assert_int_equal(outcome_of(&knobs, 4, HP_BCAST, 8, &algorithm, &setting), HP_OUTCOME_RULE);
    /* On how many nodes is not known there, only on how many at most. */
    const uint32_t many = INT32_MAX;
    assert_int_equal(hp_candidates_possible(&knobs, HP_BARRIER, 0, many), HP_OUTCOME_TAKEN);
    assert_int_equal(hp_candidates_possible(&knobs, HP_BARRIER, 8, many), HP_OUTCOME_RULE);
    assert_int_equal(hp_candidates_possible(&knobs, HP_BARRIER, 8, 1), HP_OUTCOME_ONE_NODE);
    assert_int_equal(hp_candidates_possible(&knobs, HP_BCAST, 8, many), HP_OUTCOME_TAKEN);
    assert_int_equal(hp_candidates_possible(&knobs, HP_BCAST, 1 << 20, 1), HP_OUTCOME_TAKEN);
    assert_int_equal(hp_candidates_possible(&knobs, HP_GATHERV, 8, 5), HP_OUTCOME_TAKEN);
    assert_int_equal(hp_candidates_possible(&knobs, HP_GATHERV, 8, 4), HP_OUTCOME_RULE);
}

/* Over the host MPI's messages nothing is to be gained on one node: unless an algorithm is asked for. */
static void one_node_whose_ranks_share_nothing(void **state)
{
    (void)state;
    const hp_knobs_t knobs = default_knobs(), forced = knobs_with(HP_KNOB_ID_bcast, "han");
    const hp_knobs_t *both[] = {&knobs, &forced};
    const hp_outcome_t expected[] = {HP_OUTCOME_ONE_NODE, HP_OUTCOME_TAKEN};
    const hp_algorithm_t *algorithm = NULL;
    hp_setting_t setting;
    for (unsigned i = 0; i < 2; i++) {
        hp_comm_t *comm = comm_of(1, both[i]);
        assert_int_equal(chosen(comm, HP_BCAST, 1 << 20, &algorithm, &setting), HP_OUTCOME_TAKEN);
        hp_select_forget(comm);
        hp_comm_destroy(comm);
        comm = comm_of(1, both[i]);
        comm->shares_memory = false;
        hp_select_set_knobs(comm, both[i]); /* what the selection remembers is forgotten */
        assert_int_equal(chosen(comm, HP_BCAST, 1 << 20, &algorithm, &setting), expected[i]);
        hp_select_forget(comm);
        hp_comm_destroy(comm);
    }
}

static void switched_off(void **state)
{
    (void)state;
    const hp_knobs_t off = knobs_with(HP_KNOB_ID_enable, "0");
    const hp_knobs_t native = knobs_with(HP_KNOB_ID_reduce, "native");
    const hp_algorithm_t *algorithm;
    hp_setting_t setting;
    assert_int_equal(outcome_of(&off, 4, HP_BCAST, 1 << 20, &algorithm, &setting), HP_OUTCOME_HINT);
    assert_int_equal(outcome_of(&native, 4, HP_REDUCE, 1 << 20, &algorithm, &setting), HP_OUTCOME_HINT);
    assert_int_equal(outcome_of(&native, 4, HP_BCAST, 1 << 20, &algorithm, &setting), HP_OUTCOME_TAKEN);
    assert_null(hp_algorithm_find(HP_REDUCE, "native"));
}

/* An algorithm asked for by name takes calls that no rule covers, on one node and of any size it can. */
static void asked_for_by_name(void **state)
{
    (void)state;
    const hp_knobs_t bcast = knobs_with(HP_KNOB_ID_bcast, "han");
    const hp_algorithm_t *algorithm;
    hp_setting_t setting = {0};
    for (uint32_t nodes = 1; nodes <= 64; nodes *= 4) {
        assert_int_equal(outcome_of(&bcast, nodes, HP_BCAST, 1, &algorithm, &setting), HP_OUTCOME_TAKEN);
        assert_string_equal(algorithm->name, "han");
        assert_true(setting.segment_bytes > 0 && setting.trees >= 1);
    }
}

static void knobs_rule_over_rules(void **state)
{
    (void)state;
    const hp_knobs_t segment = knobs_with(HP_KNOB_ID_segment_bytes, "12345");
    const hp_knobs_t shapes = knobs_with(HP_KNOB_ID_shapes, "node:binomial core:knomial4");
    const hp_algorithm_t *algorithm;
    hp_setting_t setting;
    assert_int_equal(outcome_of(&segment, 4, HP_BCAST, 1 << 20, &algorithm, &setting), HP_OUTCOME_TAKEN);
    assert_int_equal(setting.segment_bytes, 12345);
    assert_int_equal(outcome_of(&shapes, 4, HP_BCAST, 1 << 20, &algorithm, &setting), HP_OUTCOME_TAKEN);
    assert_int_equal(setting.shapes.shape[HP_LEVEL_NODE], HP_SHAPE_BINOMIAL);
    assert_int_equal(setting.shapes.shape[HP_LEVEL_CORE], HP_SHAPE_KNOMIAL4);
    assert_int_equal(setting.shapes.shape[HP_LEVEL_PACKAGE], HP_SHAPE_LINEAR); /* not named: the rule's */
}

/* A call that cannot be timed is counted, takes no part in the guard's trial, and follows its verdict. */
static void untimed_calls_follow_the_guard(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, CALLS = 40 };
    const hp_knobs_t knobs = default_knobs();
    hp_comm_t *comm = comm_of(4, &knobs);
    hp_choice_t choice, untimed;

    assert_int_equal(hp_select_untimed(comm, HP_BCAST, BYTES, &untimed), HP_OUTCOME_TAKEN);
    hp_bin_t *bin = untimed.bin;
    assert_true(bin->guard.open & 1u << HP_SLOT_NATIVE); /* there is a question */
    const hp_guard_t asked = bin->guard;
    for (unsigned i = 1; i < CALLS; i++) {
        assert_int_equal(hp_select_untimed(comm, HP_BCAST, BYTES, &untimed), HP_OUTCOME_TAKEN);
        assert_false(untimed.is_timed);
        assert_int_equal(untimed.slot, HP_SLOT_RULE);
    }
    assert_memory_equal(&bin->guard, &asked, sizeof asked);
    assert_int_equal(bin->calls[HP_SLOT_RULE], CALLS);
    assert_int_equal(hp_select(comm, HP_BCAST, BYTES, &choice), HP_OUTCOME_TAKEN);
    assert_string_equal(choice.algorithm->name, untimed.algorithm->name);
    bin->guard.open = 0;
    bin->guard.chosen = bin->guard.second = HP_SLOT_NATIVE;
    assert_int_equal(hp_select_untimed(comm, HP_BCAST, BYTES, &untimed),
                     bin->candidates.slot[HP_SLOT_NATIVE].reason);
    assert_int_equal(untimed.slot, HP_SLOT_NATIVE);
    assert_null(untimed.algorithm);
    assert_int_equal(bin->calls[HP_SLOT_NATIVE], 1);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
}

static hp_candidates_t candidates_of(const hp_knobs_t *knobs, hp_collective_t collective, uint64_t bytes)
{
    const hp_situation_t situation = {
        .knobs = knobs, .job_knobs = knobs, .layout = {.nodes = 4, .least_ranks = 1, .most_ranks = 4}};
    hp_candidates_t candidates;
    hp_candidates_find(&situation, collective, bytes, &candidates);
    return candidates;
}

/* The guard tries a mock-up where there is one, whose counts fit; a rule of the user's file is not doubted by one. */
static void mockups_are_offered(void **state)
{
    (void)state;
    enum { MOST = INT_MAX / 16 }; /* 4 nodes of 4 ranks at most */
    const hp_knobs_t knobs = default_knobs(), off = knobs_with(HP_KNOB_ID_mockups, "off"),
                     no_guard = knobs_with(HP_KNOB_ID_guard, "0");
    const hp_rule_t rule = {.collective = HP_GATHER,
                            .nodes = {1, UINT64_MAX},
                            .bytes = {0, UINT64_MAX},
                            .ranks = {0, UINT64_MAX},
                            .algorithm = HP_ALGORITHM_NATIVE,
                            .line = 3};
    hp_candidates_t gather = candidates_of(&knobs, HP_GATHER, MOST);
    assert_true(gather.offered & 1u << HP_SLOT_MOCKUP);
    assert_string_equal(gather.slot[HP_SLOT_MOCKUP].mockup, "gatherv");
    assert_int_equal(gather.slot[HP_SLOT_MOCKUP].reason, HP_OUTCOME_MOCKUP);
    assert_int_equal(gather.bytes.to, MOST);
    gather = candidates_of(&knobs, HP_GATHER, MOST + 1);
    assert_false(gather.offered & 1u << HP_SLOT_MOCKUP);
    assert_int_equal(gather.bytes.from, MOST + 1);
    assert_false(candidates_of(&knobs, HP_ALLGATHER, 1024).offered & 1u << HP_SLOT_MOCKUP);
    assert_false(candidates_of(&off, HP_GATHER, 1024).offered & 1u << HP_SLOT_MOCKUP);
    assert_int_equal(candidates_of(&no_guard, HP_GATHER, 1024).offered, 1u << HP_SLOT_RULE);
    assert_int_equal(hp_candidates_set_rules(&rule, 1), HP_OK);
    assert_int_equal(candidates_of(&knobs, HP_GATHER, 1024).offered, 1u << HP_SLOT_RULE);
    assert_int_equal(hp_candidates_set_rules(NULL, 0), HP_OK);
}

/* What the model would do is the same for all sizes that share a question for the guard. It is not offered where it expects no more of it
 * than of the rules'. */
static void the_model_answers_for_a_bin(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {8, 9, 15, 512, 1000, 1023, 16384, 32767};
    static const uint64_t shortest[] = {8, 8, 8, 512, 512, 512, 16384, 16384};
    const hp_probes_t probes = {.flag_us = 0.2,
                                .inside_us = 0.4,
                                .inside_rate = 8000,
                                .between_us = 2.6,
                                .between_rate = 12500,
                                .between_cpu_us = 0.3,
                                .copy_rate = 12000,
                                .node_copy_rate = 80000,
                                .reduce_rate = 8000,
                                .overlap = 0.8,
                                .cores = 64};
    const hp_knobs_t knobs = default_knobs();
    const hp_situation_t situation = {
        .knobs = &knobs, .job_knobs = &knobs, .layout = {16, 16, 16, true, true, 65536}, .probes = &probes};
    unsigned offered = 0;

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (unsigned c = HP_PIPELINED_COUNT; c < HP_COLLECTIVE_COUNT; c++) {
            hp_candidates_t found, of_shortest;
            hp_candidates_find(&situation, (hp_collective_t)c, bytes[i], &found);
            hp_candidates_find(&situation, (hp_collective_t)c, shortest[i], &of_shortest);
            if (of_shortest.bytes.to < bytes[i]) /* there another rule holds */
                continue;
            const hp_candidate_t *model = &found.slot[HP_SLOT_MODEL], *rule = &found.slot[HP_SLOT_RULE];
            assert_int_equal(found.offered, of_shortest.offered);
            if (!(found.offered & 1u << HP_SLOT_MODEL))
                continue;
            assert_true(hp_candidate_id(model) == hp_candidate_id(&of_shortest.slot[HP_SLOT_MODEL]));
            assert_true(model->expected_us > 0 && hp_candidate_id(model) != hp_candidate_id(rule));
            assert_true(bytes[i] != shortest[i] || rule->expected_us < 0 ||
                        model->expected_us < rule->expected_us);
            offered++;
        }
    assert_true(offered > 10);
}

/* By force they run all calls that they can, but for those of an algorithm that is named, and those that nobody waits in. */
static void mockups_by_force(void **state)
{
    (void)state;
    hp_knobs_t knobs = knobs_with(HP_KNOB_ID_mockups, "force");
    char error[256];
    hp_choice_t choice;

    assert_int_equal(hp_candidates_possible(&knobs, HP_ALLREDUCE, 1, 1), HP_OUTCOME_TAKEN);
    hp_comm_t *comm = comm_of(4, &knobs);
    assert_int_equal(hp_select(comm, HP_ALLREDUCE, 1 << 20, &choice), HP_OUTCOME_MOCKUP);
    assert_false(choice.is_timed);
    assert_string_equal(choice.bin->candidates.slot[HP_SLOT_RULE].mockup, "reduce + bcast");
    assert_int_equal(hp_select_untimed(comm, HP_ALLREDUCE, 1 << 20, &choice), HP_OUTCOME_HINT);
    assert_int_equal(hp_select(comm, HP_ALLREDUCE, 1 << 30, &choice), HP_OUTCOME_TAKEN);
    assert_int_equal(hp_select(comm, HP_BCAST, 1 << 20, &choice), HP_OUTCOME_TAKEN);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
    assert_true(hp_knob_parse(&knobs, HP_KNOB_ID_allreduce, "han", error, sizeof error));
    comm = comm_of(4, &knobs);
    assert_int_equal(hp_select(comm, HP_ALLREDUCE, 1 << 20, &choice), HP_OUTCOME_TAKEN);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
}

/* Where a network is described and nobody measures: not what rules say that were made where nodes share no links. Eight hosts on two
 * switches, whose link is as fast as one of them; ranks in the order of the hosts. */
static void a_described_network_decides(void **state)
{
    static const uint32_t machines[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    const hp_knobs_t knobs = knobs_with(HP_KNOB_ID_guard, "0"), guarded = default_knobs();
    hp_knobs_t without_model = knobs;
    const hp_rule_t rule = {.collective = HP_ALLREDUCE,
                            .nodes = {1, UINT64_MAX},
                            .bytes = {0, UINT64_MAX},
                            .ranks = {0, UINT64_MAX},
                            .algorithm = HP_ALGORITHM_NATIVE,
                            .line = 3};
    hp_candidates_t found;
    hp_network_t network;
    (void)state;

    without_model.model = 0;
    hp_network_init(&network);
    assert_true(hp_generator_sample_network(&network, 8));
    network.queue = 64000;
    hp_comm_t *comm = comm_of(8, &knobs);
    const hp_candidate_t *first = &found.slot[HP_SLOT_RULE];
    hp_situation_t situation = hp_candidates_situation(comm);
    hp_candidates_find(&situation, HP_ALLREDUCE, 1 << 20, &found);
    assert_int_equal(first->by, HP_DECIDER_RULE); /* no network */
    const uint64_t by_rule = hp_candidate_id(first);

    assert_int_equal(hp_comm_set_network(comm, &network, machines), HP_OK);
    assert_true(comm->network->room ==
                64000. / 2 / 4 / 2); /* half, of four hosts that share a link, two ranks each */
    situation = hp_candidates_situation(comm);
    hp_candidates_find(&situation, HP_ALLREDUCE, 1 << 20, &found);
    assert_int_equal(first->by, HP_DECIDER_NETWORK);
    assert_int_equal(found.offered, 1u << HP_SLOT_RULE);
    assert_true(hp_candidate_id(first) != by_rule);
    hp_probes_t described;
    assert_true(hp_probes_described(&situation.layout, &described));
    hp_candidates_t of_rule;
    situation.knobs = &without_model;
    hp_candidates_find(&situation, HP_ALLREDUCE, 1 << 20, &of_rule);
    assert_true(hp_candidate_id(&of_rule.slot[HP_SLOT_RULE]) == by_rule);
    situation.knobs = &guarded; /* which measures all */
    hp_candidates_find(&situation, HP_ALLREDUCE, 1 << 20, &of_rule);
    assert_true(hp_candidate_id(&of_rule.slot[HP_SLOT_RULE]) == by_rule);
    const hp_algorithm_id_t chosen = hp_algorithm_id(first->algorithm),
                            usual = hp_algorithm_id(of_rule.slot[HP_SLOT_RULE].algorithm);
    assert_true(hp_model_us(&described, &situation.layout, HP_ALLREDUCE, 1 << 20, chosen, &first->setting) <
                hp_model_us(&described, &situation.layout, HP_ALLREDUCE, 1 << 20, usual,
                            &of_rule.slot[HP_SLOT_RULE].setting));

    situation.knobs = &knobs;
    assert_int_equal(hp_candidates_set_rules(&rule, 1), HP_OK); /* the user's */
    hp_candidates_find(&situation, HP_ALLREDUCE, 1 << 20, &found);
    assert_int_equal(first->by, HP_DECIDER_FILE);
    assert_int_equal(hp_candidates_set_rules(NULL, 0), HP_OK);
    hp_comm_destroy(comm);
    hp_network_fini(&network);
}

/* What is made for the network takes much longer than on the network of the file, and something else is chosen. */
static void networks_that_lie(void **state)
{
    static const uint32_t machines[] = {0, 0, 1, 1, 2, 2, 3, 3};
    const hp_knobs_t knobs = default_knobs();
    hp_network_t network;
    hp_choice_t choice;
    (void)state;

    hp_network_init(&network);
    assert_true(hp_generator_sample_network(&network, 4));
    hp_comm_t *comm = comm_of(4, &knobs);
    assert_int_equal(hp_comm_set_network(comm, &network, machines), HP_OK);
    hp_select(comm, HP_ALLTOALL, 1 << 17, &choice);
    hp_bin_t bin = *choice.bin;
    hp_candidate_t *made = &bin.candidates.slot[HP_SLOT_MODEL];
    made->algorithm = hp_algorithm_find(HP_ALLTOALL, "flat");
    made->setting.inter_node = HP_INTER_NODE_contention_free;
    made->expected_us = 1000;
    bin.candidates.offered |= 1u << HP_SLOT_MODEL;
    bin.guard.open = 0;
    bin.guard.chosen = HP_SLOT_RULE;
    bin.guard.took[HP_SLOT_MODEL].median = 2100;
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOT_MODEL);
    bin.guard.took[HP_SLOT_MODEL].median = 1900; /* about as expected, only that something else is faster */
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOTS);
    bin.guard.took[HP_SLOT_MODEL].median = -1; /* not tried */
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOTS);
    bin.guard.took[HP_SLOT_MODEL].median = 2100;
    bin.guard.chosen = HP_SLOT_MODEL; /* slow, but nothing is faster */
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOTS);
    bin.guard.chosen = HP_SLOT_RULE;
    bin.guard.open = 1; /* the trial goes on */
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOTS);
    bin.guard.open = 0;
    made->setting.inter_node = HP_INTER_NODE_pairwise; /* made for no network */
    assert_int_equal(hp_select_denies_network(comm, HP_ALLTOALL, &bin), HP_SLOTS);
    hp_select_forget(comm);
    hp_comm_destroy(comm);
    hp_network_fini(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_32_rules_are_sound),
        cmocka_unit_test(pitfall_33_rules_are_used),
        cmocka_unit_test(calls_that_no_rule_covers),
        cmocka_unit_test(one_node_whose_ranks_share_nothing),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(asked_for_by_name),
        cmocka_unit_test(knobs_rule_over_rules),
        cmocka_unit_test(untimed_calls_follow_the_guard),
        cmocka_unit_test(mockups_are_offered),
        cmocka_unit_test(the_model_answers_for_a_bin),
        cmocka_unit_test(mockups_by_force),
        cmocka_unit_test(a_described_network_decides),
        cmocka_unit_test(networks_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
