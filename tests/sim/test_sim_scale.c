/* test_sim_scale: how many messages an algorithm sends and over which links; and 4096 ranks.
 *
 * docs/pitfalls.md 28 (nothing becomes linear when there are more ranks than elements). */
#include <time.h>
#include "sim/random_case.h"
#include "sim/seeds.h"

static hp_shapes_t shapes_of(hp_shape_t between_nodes, hp_shape_t inside_node)
{
    hp_shapes_t shapes;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        shapes.shape[level] = level == HP_LEVEL_NODE ? between_nodes : inside_node;
    return shapes;
}

/* rank_count ranks in blocks of `per_node`. */
static hp_locality_t *table_of_blocks(uint32_t rank_count, uint32_t per_node)
{
    hp_locality_t *table = sim_alloc(rank_count, sizeof *table);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        table[rank] = (hp_locality_t){.id = {rank / per_node, 0, 0, 0, rank % per_node}};
    return table;
}

static sim_config_t plain_world(uint32_t rank_count, const hp_locality_t *table)
{
    sim_config_t world = {.rank_count = rank_count, .table = table, .seed = 1};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        world.links[level] = level == HP_LEVEL_NODE ? (sim_link_t){.latency_ns = 20000, .ns_per_byte = 0.8}
                                                    : (sim_link_t){.latency_ns = 500, .ns_per_byte = 0.1};
    return world;
}

static uint32_t count_nodes(const hp_locality_t *table, uint32_t rank_count)
{
    uint32_t nodes = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        uint32_t first = 0;
        while (table[first].id[HP_LEVEL_NODE] != table[rank].id[HP_LEVEL_NODE])
            first++;
        nodes += first == rank;
    }
    return nodes;
}

static uint64_t count_messages(const sim_counters_t *counters)
{
    uint64_t messages = 0;
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        messages += counters->messages[level];
    return messages;
}

/* A tree has as many links as ranks but one, of them as many between nodes as nodes but one; an allreduce
 * goes up and down. */
static void trees_send_no_message_too_many(void **state)
{
    (void)state;
    enum { RANKS_MAX = 40, MOST_ELEMENTS = 100 };
    const seeds_t seeds = seeds_start("trees_send_no_message_too_many", 500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, RANKS_MAX - 1);
        hp_locality_t *table = random_table(&random, rank_count);
        const sim_config_t world = random_world(&random, rank_count, table);
        const hp_knobs_t knobs = job_knobs();
        for (unsigned collective = 0; collective < HP_PIPELINED_COUNT; collective++) {
            const hp_algorithm_t *tree = hp_algorithm_find((hp_collective_t)collective, "han");
            if (collective == HP_BARRIER)
                continue;
            collective_t c = random_collective(&random, tree, rank_count, MOST_ELEMENTS);
            if (!c.commutative)
                continue; /* another tree, maybe with a hop to the root */
            memset(&c.setting.modules, HP_MODULE_P2P, sizeof c.setting.modules);
            c.setting.inter_node = HP_INTER_NODE_tree;
            c.setting.ib_segment_bytes = c.setting.ir_segment_bytes = 0;
            c.root = (uint32_t)sim_random_below(&random, random_roots(tree, rank_count));
            job_t *job = job_create(&world, &knobs);
            if (!job_run(job, &c, 1, NULL))
                seeds_fail(seed, job_problem(job));
            const size_t element = elements_type(c.kind).bytes;
            const size_t per_segment =
                c.setting.segment_bytes < element ? 1 : c.setting.segment_bytes / element;
            const uint64_t crossings =
                (c.count + per_segment - 1) / per_segment * (collective == HP_ALLREDUCE ? 2 : 1);
            const sim_counters_t *counters = sim_counters(job_sim(job));
            if (count_messages(counters) != crossings * (rank_count - 1))
                seeds_fail(seed, "not one message a link and segment");
            if (counters->messages[HP_LEVEL_NODE] != crossings * (count_nodes(table, rank_count) - 1))
                seeds_fail(seed, "not one message a segment into every node");
            job_destroy(job);
        }
        free(table);
    }
}

static uint64_t largest_node_bytes(uint32_t nodes, uint32_t per_node, uint32_t trees, size_t count,
                                   size_t segment_bytes)
{
    uint64_t largest = 0;
    hp_locality_t *table = table_of_blocks(nodes * per_node, per_node);
    const sim_config_t world = plain_world(nodes * per_node, table);
    const hp_knobs_t knobs = job_knobs();
    const collective_t c = {.algorithm = hp_algorithm_find(HP_ALLREDUCE, "han"),
                            .setting = {.segment_bytes = segment_bytes,
                                        .shapes = shapes_of(HP_SHAPE_CHAIN, HP_SHAPE_LINEAR),
                                        .trees = trees,
                                        .leaders = 1},
                            .kind = ELEMENTS_ONE,
                            .op = ELEMENTS_SUM_INT64,
                            .commutative = true,
                            .count = count};
    job_t *job = job_create(&world, &knobs);
    if (!job_run(job, &c, 1, NULL))
        fail_msg("%s", job_problem(job));
    for (uint32_t rank = 0; rank < nodes * per_node; rank += per_node) {
        uint64_t out, in;
        sim_node_bytes(job_sim(job), rank, &out, &in);
        largest = out > largest ? out : largest;
        largest = in > largest ? in : largest;
    }
    job_destroy(job);
    free(table);
    return largest;
}

/* With a root on every node each direction of each node's link carries 2 (N - 1) / N of the message, the
 * lower bound; with one root those inside the chain carry it twice. */
static void rotating_roots_load_links_evenly(void **state)
{
    (void)state;
    static const uint32_t node_counts[] = {2, 3, 4, 7, 16};
    enum { SEGMENT_BYTES = 64, ELEMENT_BYTES = 8, ROUNDS = 6, PER_NODE = 3 };
    for (size_t i = 0; i < ARRAY_LENGTH(node_counts); i++) {
        const uint32_t nodes = node_counts[i];
        const size_t bytes = (size_t)SEGMENT_BYTES * ROUNDS * nodes;
        const uint64_t even = 2 * (nodes - 1) * bytes / nodes;
        assert_int_equal(largest_node_bytes(nodes, PER_NODE, nodes, bytes / ELEMENT_BYTES, SEGMENT_BYTES),
                         even);
        assert_int_equal(largest_node_bytes(nodes, PER_NODE, 1, bytes / ELEMENT_BYTES, SEGMENT_BYTES),
                         nodes == 2 ? even : 2 * bytes);
        /* A number of segments that the roots do not divide evenly, the last one short. */
        const uint64_t odd =
            largest_node_bytes(nodes, PER_NODE, nodes, bytes / ELEMENT_BYTES + 9, SEGMENT_BYTES);
        assert_true(odd <= even + 2 * (SEGMENT_BYTES + 9 * ELEMENT_BYTES));
    }
}

/* A barrier. One leader per node: up and down inside every node, and log2 N messages of a leader between them. All lead:
 * rounds of messages between the nodes, in front of each and behind the last a barrier inside every node; of messages that
 * is a dissemination, as it is on one node. On modules of shared memory no message stays inside a node. */
static void barriers_send_few_messages(void **state)
{
    (void)state;
    enum { PER_NODE = 5, TREE = 2 * (PER_NODE - 1), DISSEMINATION = 3 * PER_NODE };
    static const struct {
        uint32_t nodes, leaders, between, inside; /* messages of a node */
    } cases[] = {
        {1, 1, 0, DISSEMINATION},     {2, 1, 1, TREE}, {3, 1, 2, TREE}, {8, 1, 3, TREE}, {13, 1, 4, TREE},
        {1, 2, 0, DISSEMINATION},     {2, 2, 1, TREE}, /* one round anyway */
        {3, 2, 2, 2 * DISSEMINATION},                  /* distances 1 2 */
        {8, 5, 4, 3 * DISSEMINATION},                  /* 1 2, 3 6 */
        {13, 2, 6, 3 * DISSEMINATION} /* 1 2 3, 4 8 12 */};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        for (unsigned module = 0; module < HP_MODULE_NATIVE; module++) {
            const uint32_t nodes = cases[i].nodes;
            hp_locality_t *table = table_of_blocks(nodes * PER_NODE, PER_NODE);
            const sim_config_t world = plain_world(nodes * PER_NODE, table);
            const hp_knobs_t knobs = job_knobs();
            collective_t c = {.algorithm = hp_algorithm_find(HP_BARRIER, "han"),
                              .setting = {.shapes = shapes_of(HP_SHAPE_BINOMIAL, HP_SHAPE_LINEAR),
                                          .trees = 1,
                                          .leaders = cases[i].leaders},
                              .kind = ELEMENTS_BYTES,
                              .commutative = true};
            for (unsigned level = HP_LEVEL_NODE + 1; level < HP_LEVEL_COUNT; level++)
                c.setting.modules.module[level] = (uint8_t)module;
            job_t *job = job_create(&world, &knobs);
            if (!job_run(job, &c, 1, NULL))
                fail_msg("%s", job_problem(job));
            const sim_counters_t *counters = sim_counters(job_sim(job));
            const uint64_t inside = module == HP_MODULE_P2P ? cases[i].inside : 0;
            assert_int_equal(counters->messages[HP_LEVEL_NODE], nodes * cases[i].between);
            assert_int_equal(count_messages(counters), nodes * (cases[i].between + inside));
            assert_int_equal(counters->bytes[HP_LEVEL_NODE], 0);
            job_destroy(job);
            free(table);
        }
}

/* What one rank of a wide node may have to wait for in one segment: everybody, at two levels and in both
 * ways, while slots are used again. The engine's room for tasks must be enough for it (an assertion, and the
 * address sanitizer, watch). */
static void wide_nodes_have_room_for_their_tasks(void **state)
{
    (void)state;
    enum { RANKS = 96, LENGTH = 6 };
    const seeds_t seeds = seeds_start("wide_nodes_have_room_for_their_tasks", 12);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        hp_locality_t *table = sim_alloc(RANKS, sizeof *table);
        const uint32_t packages = 2 + (uint32_t)(seed % 3);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            table[rank] = (hp_locality_t){.id = {0, rank * packages / RANKS, 0, rank / 2 % 8, rank}};
        const sim_config_t world = random_world(&random, RANKS, table);
        hp_knobs_t knobs = job_knobs();
        knobs.slots = 2;
        knobs.slot_bytes = 64;
        snprintf(knobs.levels, sizeof knobs.levels, seed % 2 ? "package" : "package,l3");
        collective_t list[LENGTH];
        for (unsigned i = 0; i < LENGTH; i++) {
            list[i] = random_collective(&random, hp_algorithm_find(HP_ALLREDUCE, "han"), RANKS, 60);
            list[i].kind = ELEMENTS_ONE;
            list[i].op = ELEMENTS_SUM_INT64;
            list[i].commutative = true;
            list[i].setting.leaders = 1 + i;
            for (unsigned level = HP_LEVEL_NODE + 1; level < HP_LEVEL_COUNT; level++)
                list[i].setting.modules.module[level] = HP_MODULE_SHM;
        }
        job_t *job = job_create(&world, &knobs);
        random_delays(&random, job_sim(job), RANKS, 100000);
        if (!job_run(job, list, LENGTH, NULL)) {
            for (unsigned i = 0; i < LENGTH; i++)
                print_case(&list[i], RANKS, &knobs, &world);
            seeds_fail(seed, job_problem(job));
        }
        job_destroy(job);
        free(table);
    }
}

/* The largest number of ranks that one process can hold in seconds. */
static void many_ranks(void **state)
{
    (void)state;
    enum { RANKS = 4096, PER_NODE = 16, COUNT = 20, SEGMENT_BYTES = 64 };
    hp_locality_t *table = table_of_blocks(RANKS, PER_NODE);
    const sim_config_t world = plain_world(RANKS, table);
    const hp_knobs_t knobs = job_knobs();
    sim_outcome_t *outcomes = sim_alloc(RANKS, sizeof *outcomes);
    const clock_t begun = clock();
    job_t *job = job_create(&world, &knobs);
    printf("%u communicators made in %.1f s\n", RANKS, (double)(clock() - begun) / CLOCKS_PER_SEC);

    for (unsigned i = 0; any_algorithm(i); i++) {
        const bool empty = any_algorithm(i)->collective == HP_BARRIER;
        collective_t c = {.algorithm = any_algorithm(i),
                          .setting = {.segment_bytes = SEGMENT_BYTES,
                                      .shapes = shapes_of(HP_SHAPE_BINARY, HP_SHAPE_LINEAR),
                                      .trees = HP_ROTATIONS_MAX,
                                      .leaders = 1},
                          .kind = empty ? ELEMENTS_BYTES : ELEMENTS_ONE,
                          .op = ELEMENTS_SUM_INT64,
                          .commutative = true,
                          .root = random_roots(any_algorithm(i), RANKS) > 1 ? RANKS - 3 : 0,
                          .count = empty ? 0 : COUNT,
                          .data_seed = i};
        for (unsigned level = HP_LEVEL_NODE + 1; level < HP_LEVEL_COUNT; level++)
            c.setting.modules.module[level] = HP_MODULE_SHM;
        uint64_t last_ns = 0;
        if (!job_run(job, &c, 1, outcomes))
            fail_msg("%s", job_problem(job));
        for (uint32_t rank = 0; rank < RANKS; rank++)
            last_ns = outcomes[rank].finish_ns > last_ns ? outcomes[rank].finish_ns : last_ns;
        printf("%s %s: %u ranks finish after %.1f us\n", hp_collective_name(c.algorithm->collective),
               c.algorithm->name, RANKS, (double)last_ns / 1000.0);
        /* 256 nodes, 8 hops; a message costs three latencies and there and back again: far from 4096 of
         * anything. */
        assert_true(last_ns < 3000000);
    }
    job_destroy(job);
    free(outcomes);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_send_no_message_too_many),
        cmocka_unit_test(rotating_roots_load_links_evenly),
        cmocka_unit_test(barriers_send_few_messages),
        cmocka_unit_test(wide_nodes_have_room_for_their_tasks),
        cmocka_unit_test(many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
