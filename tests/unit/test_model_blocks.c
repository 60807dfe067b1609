/* test_model_blocks: collectives of blocks: predictions against what was simulated (docs/results, tuning/README.md),
 * the bound, and what the model chooses. */
#include <jansson.h>
#include "check.h"
#include "hier/planning/model/model.h"
#include "hier/planning/model/model_blocks.h"
#include "topo_tree/shape.h"
#include "trees.h"

/* SMPI's star of docs/results/blocks_*.json: messages take 0.3 us at each end; reductions and copies are free. */
static const hp_probes_t simulated = {.inside_us = 1.1,
                                      .inside_rate = 10000,
                                      .between_us = 2.6,
                                      .between_rate = 12500,
                                      .between_cpu_us = 0.3,
                                      .copy_rate = 1e6,
                                      .node_copy_rate = 80000,
                                      .reduce_rate = 1e6,
                                      .overlap = 1,
                                      .cores = 1024};

/* As in test_model: a server of today's kind, and the virtual cluster. */
static const hp_probes_t server = {.flag_us = 0.2,
                                   .inside_us = 0.4,
                                   .inside_rate = 8000,
                                   .between_us = 1.5,
                                   .between_rate = 12000,
                                   .between_cpu_us = 0.3,
                                   .copy_rate = 12000,
                                   .node_copy_rate = 100000,
                                   .reduce_rate = 8000,
                                   .overlap = 0.8,
                                   .cores = 64};
static const hp_probes_t cluster = {.flag_us = 10,
                                    .inside_us = 10,
                                    .inside_rate = 1000,
                                    .between_us = 34,
                                    .between_rate = 120,
                                    .between_cpu_us = 17,
                                    .copy_rate = 4000,
                                    .reduce_rate = 3000,
                                    .overlap = 0.8,
                                    .cores = 0.5};
static const hp_probes_t *const machines[] = {&simulated, &server, &cluster};

static hp_layout_t layout_of(const hp_probes_t *probes, uint32_t nodes, uint32_t ranks)
{
    const bool shares = probes->flag_us > 0;
    return (hp_layout_t){.nodes = nodes,
                         .least_ranks = ranks,
                         .most_ranks = ranks,
                         .shares_memory = shares,
                         .reads_peers = shares,
                         .slot_bytes = 65536};
}

/* ---- settings ---- */

/* leaders: 0: flat, for which the shape inside does not matter. */
typedef struct {
    const char *between; /* a generator, or of gather and scatter a shape */
    uint32_t leaders;
    hp_shape_t inside;
} way_t;

static hp_algorithm_id_t algorithm_of(hp_collective_t collective, const char *name)
{
    const hp_algorithm_t *algorithm = hp_algorithm_find(collective, name);
    assert_non_null(algorithm);
    return hp_algorithm_id(algorithm);
}

static hp_inter_node_t inter_node_of(const char *name)
{
    unsigned word = 0;
    while (hp_inter_node(word) != HP_INTER_NODE_NONE &&
           strcmp(hp_inter_node_name(hp_inter_node(word)), name) != 0)
        word++;
    return hp_inter_node(word);
}

static hp_setting_t setting_of(const way_t *way)
{
    const hp_shape_t shape = hp_shape_find(way->between);
    hp_setting_t setting;

    hp_setting_default(&setting);
    setting.inter_node = shape == HP_SHAPE_COUNT ? inter_node_of(way->between) : HP_INTER_NODE_tree;
    assert_true(setting.inter_node != HP_INTER_NODE_NONE);
    setting.shapes.shape[HP_LEVEL_NODE] = shape == HP_SHAPE_COUNT ? HP_SHAPE_LINEAR : shape;
    setting.shapes.shape[HP_LEVEL_CORE] = way->inside;
    setting.leaders = way->leaders ? way->leaders : 1;
    return setting;
}

static double way_us(const hp_probes_t *probes, uint32_t nodes, uint32_t ranks, hp_collective_t collective,
                     uint64_t bytes, const way_t *way)
{
    const hp_layout_t layout = layout_of(probes, nodes, ranks);
    const hp_setting_t setting = setting_of(way);
    return hp_model_us(probes, &layout, collective, bytes,
                       algorithm_of(collective, way->leaders ? "han" : "flat"), &setting);
}

#define FLAT(between)                                                                                        \
    {                                                                                                        \
        between, 0, HP_SHAPE_LINEAR                                                                          \
    }
#define HAN(between, inside)                                                                                 \
    {                                                                                                        \
        between, 1, HP_SHAPE_##inside                                                                        \
    }
#define ALL(between, inside)                                                                                 \
    {                                                                                                        \
        between, HP_ROTATIONS_MAX, HP_SHAPE_##inside                                                         \
    }

/* ---- predictions against what was simulated ---- */

static double error_of(double us, double measured)
{
    return (us > measured ? us - measured : measured - us) / measured;
}

/* The times of 16 x 16 ranks in tuning/README.md. */
static void settings_that_were_simulated(void **state)
{
    static const struct {
        hp_collective_t collective;
        uint64_t bytes;
        way_t way;
        double us;
    } rows[] = {{HP_ALLGATHER, 8, ALL("bruck", KNOMIAL4), 14.3},
                {HP_ALLGATHER, 8, FLAT("bruck"), 18.3},
                {HP_ALLGATHER, 8, ALL("mesh2d", KNOMIAL4), 10.1},
                {HP_ALLGATHER, 512, ALL("bruck", KNOMIAL4), 50.7},
                {HP_ALLGATHER, 512, ALL("mesh2d", KNOMIAL4), 44.9},
                {HP_ALLGATHER, 512, HAN("mesh2d", LINEAR), 47.7},
                {HP_ALLGATHER, 512, HAN("bruck", LINEAR), 56.7},
                {HP_ALLGATHER, 512, ALL("bruck", LINEAR), 68},
                {HP_ALLGATHER, 4096, HAN("bruck", LINEAR), 215},
                {HP_ALLGATHER, 4096, ALL("ring", LINEAR), 215},
                {HP_ALLGATHER, 4096, ALL("bruck", KNOMIAL4), 303},
                {HP_REDUCE_SCATTER_BLOCK, 8, ALL("pairwise", BINOMIAL), 13.8},
                {HP_REDUCE_SCATTER_BLOCK, 8, ALL("circulant", BINOMIAL), 15.5},
                {HP_REDUCE_SCATTER_BLOCK, 8, ALL("pairwise", LINEAR), 18.0},
                {HP_REDUCE_SCATTER_BLOCK, 512, ALL("pairwise", LINEAR), 42.8},
                {HP_REDUCE_SCATTER_BLOCK, 512, ALL("circulant", LINEAR), 50.5},
                {HP_ALLTOALL, 8, ALL("pairwise", KNOMIAL4), 17.8},
                {HP_ALLTOALL, 8, FLAT("bruck"), 21.5},
                {HP_ALLTOALL, 512, FLAT("pairwise"), 182},
                {HP_ALLTOALL, 512, ALL("pairwise", LINEAR), 205},
                {HP_ALLTOALL, 4096, FLAT("pairwise"), 1333},
                {HP_ALLTOALL, 4096, ALL("pairwise", LINEAR), 1541},
                {HP_GATHER, 8, HAN("postal", POSTAL), 9.5},
                {HP_GATHER, 8, FLAT("postal"), 10.4},
                {HP_GATHER, 512, HAN("postal", POSTAL), 17.1},
                {HP_GATHER, 4096, HAN("postal", LINEAR), 87},
                {HP_GATHER, 4096, FLAT("postal"), 84},
                {HP_GATHER, 32768, HAN("postal", LINEAR), 644},
                {HP_SCATTER, 8, HAN("postal", POSTAL), 9.5},
                {HP_SCATTER, 8, HAN("linear", POSTAL), 10.1},
                {HP_SCATTER, 512, HAN("linear", POSTAL), 15.9},
                {HP_SCATTER, 512, HAN("postal", POSTAL), 21.1},
                {HP_SCATTER, 4096, HAN("linear", LINEAR), 87},
                {HP_SCATTER, 32768, FLAT("linear"), 637}};
    double sum = 0;
    (void)state;

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const double us = way_us(&simulated, 16, 16, rows[i].collective, rows[i].bytes, &rows[i].way);
        const double error = error_of(us, rows[i].us);
        printf("  %-20s %6llu B  %-8s %-10s %-9s simulated %7.1f us  predicted %7.1f us  %3.0f%%\n",
               hp_collective_name(rows[i].collective), (unsigned long long)rows[i].bytes,
               rows[i].way.leaders == 0   ? "flat"
               : rows[i].way.leaders == 1 ? "one"
                                          : "all lead",
               rows[i].way.between, hp_shape_info(rows[i].way.inside)->name, rows[i].us, us, 100 * error);
        assert_true(us > 0 && error < 0.35);
        sum += error;
    }
    printf("settings: mean error %.1f%% of %zu\n", 100 * sum / ARRAY_LENGTH(rows), ARRAY_LENGTH(rows));
    assert_true(sum < 0.1 * ARRAY_LENGTH(rows));
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const hp_rule_t *rule_for(hp_collective_t collective, const hp_layout_t *layout, uint64_t bytes)
{
    size_t count;
    const hp_rule_t *rules = hp_rules_default(&count);
    for (size_t i = 0; i < count; i++)
        if (hp_rule_matches(&rules[i], collective, layout, bytes))
            return &rules[i];
    return NULL;
}

static hp_collective_t collective_of(const char *name)
{
    unsigned c = 0;
    while (c < HP_COLLECTIVE_COUNT && strcmp(name, hp_collective_name((hp_collective_t)c)) != 0)
        c++;
    assert_true(c < HP_COLLECTIVE_COUNT);
    return (hp_collective_t)c;
}

static double compare_point(const hp_layout_t *layout, const char *name, uint64_t bytes, double measured)
{
    const hp_collective_t collective = collective_of(name);
    const hp_rule_t *rule = rule_for(collective, layout, bytes);

    assert_non_null(rule);
    const double us = hp_model_us(&simulated, layout, collective, bytes, rule->algorithm, &rule->setting);
    printf("  %-20s %10llu B  simulated %10.1f us  predicted %10.1f us  %4.0f%%\n", name,
           (unsigned long long)bytes, measured, us, 100 * error_of(us, measured));
    return error_of(us, measured);
}

/* What the rules run. */
static void rules_that_were_simulated(void **state)
{
    static const char *const files[] = {"blocks_8x8.json", "blocks_16x16.json"};
    (void)state;

    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", HP_RESULTS_DIR, files[i]);
        json_t *root = json_load_file(path, 0, NULL), *point;
        assert_non_null(root);
        const json_t *conditions = json_object_get(root, "conditions");
        const json_t *ranks = json_array_get(json_object_get(conditions, "ranks"), 0);
        const hp_layout_t layout =
            layout_of(&simulated, (uint32_t)number(conditions, "nodes"), (uint32_t)json_integer_value(ranks));
        double sum = 0;
        unsigned count = 0;
        const char *key;
        assert_true(number(conditions, "message_charge") == 3e-7 &&
                    number(conditions, "bandwidth") == 12.5e9);
        json_object_foreach(json_object_get(root, "points"), key, point)
        {
            char name[32];
            unsigned long long bytes;
            if (sscanf(key, "hanpmpi/%31[^/]/%llu", name, &bytes) != 2 || /* another side's */
                !json_object_get(point, "us")) /* a simulation that had no memory */
                continue;
            sum += compare_point(&layout, name, bytes, number(point, "us"));
            count++;
        }
        printf("%s: mean error %.1f%% of %u\n", files[i], 100 * sum / count, count);
        assert_true(count >= 29 && sum < 0.1 * count);
        json_decref(root);
    }
}

/* ---- which of two is faster ---- */

static void better_ways(void **state)
{
    static const struct {
        const hp_probes_t *probes;
        uint32_t nodes, ranks;
        hp_collective_t collective;
        uint64_t bytes;
        way_t faster, slower;
    } pairs[] = {
        /* few messages, or few bytes */
        {&simulated, 16, 1, HP_ALLGATHER, 8, FLAT("bruck"), FLAT("ring")},
        {&server, 16, 1, HP_ALLGATHER, 8, FLAT("bruck"), FLAT("neighbour_exchange")},
        {&simulated, 64, 1, HP_ALLTOALL, 8, FLAT("bruck"), FLAT("pairwise")},
        {&simulated, 16, 1, HP_ALLTOALL, 1 << 20, FLAT("pairwise"), FLAT("bruck")},
        {&cluster, 16, 1, HP_ALLTOALL, 1 << 20, FLAT("pairwise"), FLAT("bruck")},
        {&simulated, 16, 1, HP_REDUCE_SCATTER_BLOCK, 8, FLAT("circulant"), FLAT("ring")},
        {&simulated, 16, 1, HP_GATHER, 8, FLAT("binomial"), FLAT("chain")},
        {&simulated, 16, 1, HP_GATHER, 1 << 20, FLAT("linear"), FLAT("chain")},
        {&simulated, 32, 1, HP_SCAN, 8, FLAT("scan_doubling"), FLAT("scan_chain")},
        /* bruck's last messages carry half of all blocks: where ranks share the link of a node that costs */
        {&simulated, 16, 8, HP_ALLGATHER, 1 << 20, FLAT("ring"), FLAT("bruck")},
        {&simulated, 16, 8, HP_ALLGATHER, 1 << 20, FLAT("neighbour_exchange"), FLAT("bruck")},
        {&cluster, 16, 4, HP_ALLGATHER, 1 << 20, FLAT("ring"), FLAT("bruck")},
        /* through the nodes, or each rank for itself */
        {&simulated, 8, 8, HP_ALLGATHER, 8, ALL("bruck", KNOMIAL4), FLAT("bruck")},
        {&simulated, 8, 8, HP_ALLTOALL, 8, ALL("pairwise", KNOMIAL4), FLAT("pairwise")},
        {&server, 8, 8, HP_ALLTOALL, 8, ALL("pairwise", KNOMIAL4), FLAT("pairwise")},
        {&simulated, 8, 8, HP_GATHER, 8, HAN("postal", POSTAL), FLAT("linear")},
        {&simulated, 8, 8, HP_ALLTOALL, 65536, FLAT("pairwise"), ALL("bruck", LINEAR)},
        {&simulated, 8, 8, HP_ALLGATHER, 65536, ALL("ring", LINEAR), FLAT("pairwise")},
        {&simulated, 8, 8, HP_REDUCE_SCATTER_BLOCK, 65536, ALL("pairwise", LINEAR), FLAT("pairwise")}};
    unsigned wrong = 0;
    (void)state;

    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        const double faster = way_us(pairs[i].probes, pairs[i].nodes, pairs[i].ranks, pairs[i].collective,
                                     pairs[i].bytes, &pairs[i].faster);
        const double slower = way_us(pairs[i].probes, pairs[i].nodes, pairs[i].ranks, pairs[i].collective,
                                     pairs[i].bytes, &pairs[i].slower);
        if (!(faster > 0 && faster < slower)) {
            printf("pair %zu: %s %.1f us should be less than %s %.1f us\n", i, pairs[i].faster.between,
                   faster, pairs[i].slower.between, slower);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* ---- what holds for all ---- */

static bool is_known(hp_collective_t collective)
{
    return hp_collective_is(collective, HP_OF_BLOCKS) && !hp_collective_is(collective, HP_OWN_SIZES);
}

/* Every rule's setting, and its neighbours, on layouts of all kinds. */
static void times_stay_above_the_bound(void **state)
{
    static const uint32_t sizes[][2] = {{1, 2}, {1, 7}, {1, 16}, {2, 1}, {2, 2},
                                        {3, 4}, {5, 1}, {8, 8},  {16, 3}};
    static const uint64_t bytes[] = {1, 8, 100, 2048, 16384, 100000, 1 << 20, 1 << 28};
    size_t count;
    unsigned compared = 0;
    const hp_rule_t *rules = hp_rules_default(&count);
    (void)state;

    for (size_t i = 0; i < count * ARRAY_LENGTH(sizes) * ARRAY_LENGTH(machines); i++) {
        const hp_rule_t *rule = &rules[i % count];
        const uint32_t *size = sizes[i / count % ARRAY_LENGTH(sizes)];
        const hp_probes_t *probes = machines[i / count / ARRAY_LENGTH(sizes)];
        const hp_layout_t layout = layout_of(probes, size[0], size[1]);
        double before = 0;
        for (size_t b = 0; b < ARRAY_LENGTH(bytes) && is_known(rule->collective); b++) {
            const double us =
                hp_model_us(probes, &layout, rule->collective, bytes[b], rule->algorithm, &rule->setting);
            const double bound = hp_model_bound_us(probes, &layout, rule->collective, bytes[b]);
            if (!(bound > 0 && us >= bound * (1 - 1e-12)))
                fail_msg("%s %s of %llu bytes, %u nodes of %u ranks: bound %g > prediction %g",
                         hp_collective_name(rule->collective), hp_algorithm_of(rule->algorithm)->name,
                         (unsigned long long)bytes[b], size[0], size[1], bound, us);
            /* Where an algorithm's way ends, another one begins. */
            assert_true(us >= before * 0.95 ||
                        !hp_model_blocks_has_way(&layout, hp_algorithm_of(rule->algorithm), bytes[b]));
            before = us;
            compared++;
        }
    }
    assert_true(compared > 1000);
}

/* What hanpmpi_bench counts (tuning/bench/blocks.c): of the blocks of 4 x 2 ranks. */
static void bounds(void **state)
{
    static const struct {
        hp_collective_t collective;
        double blocks; /* over a node's link, one way */
    } rows[] = {{HP_ALLGATHER, 6}, {HP_ALLGATHERV, 6}, {HP_REDUCE_SCATTER, 6}, {HP_REDUCE_SCATTER_BLOCK, 6},
                {HP_GATHER, 6},    {HP_SCATTER, 6},    {HP_ALLTOALL, 12},      {HP_SCAN, 1},
                {HP_EXSCAN, 1}};
    const hp_layout_t layout = layout_of(&cluster, 4, 2), node = layout_of(&server, 1, 4);
    (void)state;

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const double us = rows[i].blocks * (1 << 20) / cluster.between_rate;
        const double bound = hp_model_bound_us(&cluster, &layout, rows[i].collective, 1 << 20);
        assert_true(bound > us * 0.999999 && bound < us * 1.000001);
        assert_true(hp_model_bound_us(&cluster, &layout, rows[i].collective, 1) == cluster.between_us);
    }
    /* One memory: each of four ranks gets three blocks. */
    const double us = 12.0 * (1 << 20) / (4 * server.copy_rate);
    const double bound = hp_model_bound_us(&server, &node, HP_ALLTOALL, 1 << 20);
    assert_true(bound > us * 0.999999 && bound < us * 1.000001);
    assert_true(hp_model_bound_us(&cluster, &layout, HP_ALLTOALLV, 1 << 20) == 0);
}

static void nodes_of_several_sizes(void **state)
{
    const way_t all = ALL("bruck", KNOMIAL4), one = HAN("bruck", LINEAR), flat = FLAT("pairwise");
    const hp_setting_t all_lead = setting_of(&all), one_leads = setting_of(&one), each = setting_of(&flat);
    hp_layout_t layout = layout_of(&server, 8, 8);
    (void)state;

    const double equal_us =
        hp_model_us(&server, &layout, HP_ALLGATHER, 8, algorithm_of(HP_ALLGATHER, "han"), &all_lead);
    layout.least_ranks = 5;
    const hp_algorithm_id_t han = algorithm_of(HP_ALLGATHER, "han");
    const double us = hp_model_us(&server, &layout, HP_ALLGATHER, 8, han, &all_lead);
    assert_true(us > 0 && us != equal_us); /* one leader then */
    assert_true(us == hp_model_us(&server, &layout, HP_ALLGATHER, 8, han, &one_leads));
    /* An alltoall cannot be put together there. */
    assert_true(hp_model_us(&server, &layout, HP_ALLTOALL, 8, algorithm_of(HP_ALLTOALL, "han"), &all_lead) >
                0);
    assert_true(hp_model_us(&server, &layout, HP_ALLTOALL, 8, algorithm_of(HP_ALLTOALL, "flat"), &each) > 0);
    assert_true(hp_model_bound_us(&server, &layout, HP_ALLGATHER, 1 << 20) <
                hp_model_us(&server, &layout, HP_ALLGATHER, 1 << 20, han, &one_leads));
}

static void what_is_not_known(void **state)
{
    const way_t pairwise = FLAT("pairwise");
    const hp_setting_t setting = setting_of(&pairwise);
    const hp_layout_t layout = layout_of(&server, 8, 8), many = layout_of(&server, 65, 1),
                      node = layout_of(&server, 1, 8);
    hp_probes_t probes = server;
    hp_algorithm_id_t algorithm;
    hp_setting_t chosen;
    double us;
    (void)state;

    assert_true(hp_model_us(&server, &layout, HP_ALLTOALLV, 8, algorithm_of(HP_ALLTOALLV, "flat"), &setting) <
                0);
    assert_false(hp_model_choose(&server, &layout, HP_ALLTOALLV, 8, &algorithm, &chosen, &us));
    assert_true(hp_model_us(&server, &many, HP_ALLTOALL, 8, algorithm_of(HP_ALLTOALL, "flat"), &setting) < 0);
    assert_false(hp_model_choose(&server, &many, HP_ALLTOALL, 8, &algorithm, &chosen, &us));
    assert_true(hp_model_bound_us(&server, &many, HP_ALLTOALL, 8) > 0);
    /* Only what needs no messages. */
    probes.inside_us = 0;
    assert_true(hp_model_us(&probes, &node, HP_ALLTOALL, 8, algorithm_of(HP_ALLTOALL, "flat"), &setting) < 0);
    assert_true(hp_model_us(&probes, &node, HP_ALLTOALL, 8, algorithm_of(HP_ALLTOALL, "flags"), &setting) >
                0);
}

/* ---- what it chooses ---- */

typedef struct {
    hp_algorithm_id_t algorithm;
    hp_setting_t setting;
    double us;
} chosen_t;

enum { CHOICES_MAX = 1024 };

static void choose(const hp_probes_t *probes, uint32_t nodes, uint32_t ranks, hp_collective_t collective,
                   uint64_t bytes, chosen_t *chosen)
{
    const hp_layout_t layout = layout_of(probes, nodes, ranks);
    *chosen = (chosen_t){.us = -1};
    if (!hp_model_choose(probes, &layout, collective, bytes, &chosen->algorithm, &chosen->setting,
                         &chosen->us))
        fail_msg("nothing for %s of %llu bytes on %u nodes of %u", hp_collective_name(collective),
                 (unsigned long long)bytes, nodes, ranks);
}

static void check_choice(const hp_probes_t *probes, uint32_t nodes, uint32_t ranks,
                         hp_collective_t collective, uint64_t bytes, const chosen_t *chosen)
{
    const hp_layout_t layout = layout_of(probes, nodes, ranks);
    const hp_rule_t rule = {.collective = collective,
                            .nodes = {nodes, nodes},
                            .ranks = {ranks, ranks},
                            .bytes = {bytes, bytes},
                            .algorithm = chosen->algorithm,
                            .setting = chosen->setting};
    const hp_rule_t *usual = rule_for(collective, &layout, bytes);
    char error[256];

    if (!hp_rule_check(&rule, error, sizeof error))
        fail_msg("%s", error);
    assert_true(chosen->us >= hp_model_bound_us(probes, &layout, collective, bytes));
    assert_true(chosen->us ==
                hp_model_us(probes, &layout, collective, bytes, chosen->algorithm, &chosen->setting));
    assert_true(!usual || !hp_model_blocks_has_way(&layout, hp_algorithm_of(usual->algorithm), bytes) ||
                chosen->us <=
                    hp_model_us(probes, &layout, collective, bytes, usual->algorithm, &usual->setting));
}

/* Long scans on one node are the host MPI's. */
static bool has_no_rule(hp_collective_t collective, uint32_t nodes, uint64_t bytes)
{
    return nodes == 1 && (collective == HP_SCAN || collective == HP_EXSCAN) && bytes > 16384;
}

/* In whatever order ranks ask: forwards, and backwards, when what was kept is another. */
static void choices_can_be_followed_and_are_the_same(void **state)
{
    static const uint32_t sizes[][2] = {{1, 8}, {2, 2}, {4, 4}, {5, 1}, {8, 8}};
    static const uint64_t bytes[] = {8, 512, 16384, 1 << 20};
    static chosen_t chosen[CHOICES_MAX];
    enum { ASKED = ARRAY_LENGTH(sizes) * ARRAY_LENGTH(bytes) * HP_COLLECTIVE_COUNT * 2 };
    (void)state;

    _Static_assert((int)ASKED <= (int)CHOICES_MAX, "there is room");
    for (unsigned k = 0; k < 2 * ASKED; k++) {
        const unsigned i = k < ASKED ? k : 2 * ASKED - 1 - k;
        const hp_probes_t *probes = machines[1 + i % 2];
        const hp_collective_t collective = (hp_collective_t)(i / 2 % HP_COLLECTIVE_COUNT);
        const uint32_t *size = sizes[i / 2 / HP_COLLECTIVE_COUNT % ARRAY_LENGTH(sizes)];
        const uint64_t of = bytes[i / 2 / HP_COLLECTIVE_COUNT / ARRAY_LENGTH(sizes)];
        chosen_t again;
        if (!is_known(collective) || has_no_rule(collective, size[0], of))
            continue;
        choose(probes, size[0], size[1], collective, of, &again);
        if (k < ASKED) {
            check_choice(probes, size[0], size[1], collective, of, &again);
            chosen[i] = again;
        }
        assert_memory_equal(&chosen[i].setting, &again.setting, sizeof again.setting);
        assert_true(chosen[i].algorithm == again.algorithm && chosen[i].us == again.us);
    }
}

/* It is asked once for each communicator, collective and size. */
static void a_choice_is_cheap(void **state)
{
    static const uint32_t ranks[] = {1, 4, 16};
    enum { TIMES = 3 };
    (void)state;

    for (size_t r = 0; r < ARRAY_LENGTH(ranks); r++)
        for (unsigned c = HP_PIPELINED_COUNT; c < HP_COLLECTIVE_COUNT; c++) {
            uint64_t best_ns = UINT64_MAX;
            chosen_t chosen;
            for (unsigned i = 0; i < TIMES && is_known((hp_collective_t)c); i++) {
                const uint64_t start = check_processor_ns();
                choose(&server, 64, ranks[r], (hp_collective_t)c, 8 + i, &chosen);
                const uint64_t ns = check_processor_ns() - start;
                best_ns = ns < best_ns ? ns : best_ns;
            }
            if (!is_known((hp_collective_t)c))
                continue;
            const uint64_t start = check_processor_ns();
            choose(&server, 64, ranks[r], (hp_collective_t)c, 8, &chosen);
            printf("hp_model_choose, %s of 64 x %u: %.0f us, asked again %.1f us\n",
                   hp_collective_name((hp_collective_t)c), ranks[r], (double)best_ns / 1000,
                   (double)(check_processor_ns() - start) / 1000);
            assert_true(best_ns < 200000000); /* 5 ms are wanted; under sanitizers it takes longer */
        }
}

/* Ranks in turns over the switches of a chain: the ring of ranks crosses the trunks with eight messages a step, which the
 * model sees where it knows the network, and so takes the ring that does not. */
static void a_network_decides(void **state)
{
    const hp_algorithm_t *flat = hp_algorithm_find(HP_ALLGATHER, "flat");
    hp_layout_t layout = layout_of(&cluster, 32, 1);
    hp_comm_network_t network = {.hash = 1};
    hp_algorithm_id_t chosen;
    hp_setting_t setting;
    trees_t tree;
    double us;
    (void)state;

    hp_setting_default(&setting);
    setting.inter_node = inter_node_of("depth_first_ring");
    const double unknown_us =
        hp_model_blocks_us(&cluster, &layout, flat, 32768, &setting, HP_MODEL_BLOCKS_STEPS);
    trees_even(&tree, TREES_CHAIN, 4, 8, HP_PLACEMENT_OVER_SWITCHES);
    network.ranks = network.places = tree.placement;
    layout.network = &network;
    layout.network_hash = network.hash;
    const double placed_us =
        hp_model_blocks_us(&cluster, &layout, flat, 32768, &setting, HP_MODEL_BLOCKS_STEPS);
    setting.inter_node = inter_node_of("ring");
    const double ring_us =
        hp_model_blocks_us(&cluster, &layout, flat, 32768, &setting, HP_MODEL_BLOCKS_STEPS);
    printf("allgather of 32 KiB over a chain of 4 x 8: ring %.0f us, depth_first_ring %.0f us\n", ring_us,
           placed_us);
    assert_true(ring_us >= 5 * placed_us);
    assert_true(placed_us < 1.1 * unknown_us); /* it is no slower than a ring on one switch */
    assert_true(hp_model_blocks_find(&cluster, &layout, HP_ALLGATHER, 32768, &setting, ring_us, &chosen,
                                     &setting, &us));
    assert_string_equal(hp_inter_node_name(setting.inter_node), "depth_first_ring");
    trees_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_network_decides),
                                       cmocka_unit_test(settings_that_were_simulated),
                                       cmocka_unit_test(rules_that_were_simulated),
                                       cmocka_unit_test(better_ways),
                                       cmocka_unit_test(times_stay_above_the_bound),
                                       cmocka_unit_test(bounds),
                                       cmocka_unit_test(nodes_of_several_sizes),
                                       cmocka_unit_test(what_is_not_known),
                                       cmocka_unit_test(choices_can_be_followed_and_are_the_same),
                                       cmocka_unit_test(a_choice_is_cheap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
