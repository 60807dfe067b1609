/* test_sim_arrival: what the others lose by ranks that come late, with collectives around them and without (comm/around.h).
 *
 * A rank comes d later than the others. What another one loses: how much longer than in the calm it is in the collective,
 * which it enters at 0. The network: 1 Gbit/s, 50 us; inside a node the module shm. What runs is what the built-in rules have
 * for 1 MiB on 4 nodes; other shapes, too. */
#include <string.h>
#include "hier/executions/execution.h"
#include "sim/random_case.h"
#include "sim/seeds.h"

enum { RANKS_MAX = 24, LATE_MAX = 4, MIB = 1 << 20 };

typedef struct {
    const char *title;
    uint32_t node_count, ranks_of[8]; /* on each node, in blocks */
} machine_t;

static uint32_t machine_ranks(const machine_t *machine)
{
    uint32_t ranks = 0;
    for (uint32_t node = 0; node < machine->node_count; node++)
        ranks += machine->ranks_of[node];
    return ranks;
}

static void fill_table(const machine_t *machine, hp_locality_t *table)
{
    uint32_t rank = 0;
    for (uint32_t node = 0; node < machine->node_count; node++)
        for (uint32_t core = 0; core < machine->ranks_of[node]; core++)
            table[rank++] = (hp_locality_t){.id = {node, 0, 0, 0, core}};
}

typedef struct {
    const machine_t *machine;
    hp_collective_t collective;
    hp_shape_t shape; /* between nodes */
    hp_inter_node_t inter_node;
    uint32_t trees, leaders, root;
    bool in_place;
    hp_module_id_t inside;
} what_t;

typedef struct {
    uint32_t count, ranks[LATE_MAX];
    uint64_t ns;
} late_t;

typedef struct {
    uint64_t finish_ns[RANKS_MAX], last_ns;
} times_t;

static collective_t collective_of(const what_t *what, bool around)
{
    collective_t c = {.algorithm = around ? hp_algorithm_around(what->collective)
                                          : hp_algorithm_find(what->collective, "han"),
                      .setting = {.segment_bytes = 32768,
                                  .inter_node = what->inter_node,
                                  .trees = what->trees,
                                  .leaders = what->leaders},
                      .kind = ELEMENTS_ONE,
                      .op = ELEMENTS_SUM_INT64,
                      .commutative = true,
                      .in_place = what->in_place,
                      .root = what->root,
                      .count = MIB / 8};
    if (what->collective == HP_BCAST) {
        c.kind = ELEMENTS_BYTES;
        c.count = MIB;
    }
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++) {
        c.setting.shapes.shape[level] = level == HP_LEVEL_NODE ? what->shape : HP_SHAPE_LINEAR;
        c.setting.modules.module[level] = (uint8_t)(level == HP_LEVEL_NODE ? HP_MODULE_P2P : what->inside);
    }
    return c;
}

static sim_config_t world_of(uint32_t ranks, const hp_locality_t *table)
{
    sim_config_t world = {.rank_count = ranks, .table = table, .seed = 1};
    for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
        world.links[level] = level == HP_LEVEL_NODE ? (sim_link_t){.latency_ns = 50000, .ns_per_byte = 8}
                                                    : (sim_link_t){.latency_ns = 500, .ns_per_byte = 0.1};
    return world;
}

/* Does the hierarchy of the levels that there are allow it? */
static bool try_around(job_t *job, const late_t *late)
{
    for (uint32_t rank = 0; rank < hp_hierarchy_rank_count(job_comm(job, 0)->hierarchy); rank++) {
        hp_comm_t *comm = job_comm(job, rank);
        uint32_t members;
        hp_around_t *around;
        hp_comm_node_ranks(comm, &members);
        if (hp_around_create(comm->hierarchy, comm->first_place, members, late->ranks, late->count,
                             &around) != HP_OK) {
            assert_int_equal(rank, 0); /* the same answer on all */
            return false;
        }
        hp_comm_set_around(comm, around);
    }
    return true;
}

static void run(const what_t *what, const late_t *around, const late_t *late, times_t *times)
{
    const uint32_t ranks = machine_ranks(what->machine);
    hp_locality_t table[RANKS_MAX];
    fill_table(what->machine, table);
    const sim_config_t world = world_of(ranks, table);
    const hp_knobs_t knobs = job_knobs();
    const collective_t c = collective_of(what, around != NULL);
    sim_outcome_t outcomes[RANKS_MAX];
    job_t *job = job_create(&world, &knobs);

    if (around)
        assert_true(try_around(job, around));
    for (uint32_t i = 0; late && i < late->count; i++)
        sim_delay(job_sim(job), late->ranks[i], 0, late->ns);
    if (!job_run(job, &c, 1, outcomes))
        fail_msg("%s", job_problem(job));
    times->last_ns = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        times->finish_ns[rank] = outcomes[rank].finish_ns;
        if (outcomes[rank].finish_ns > times->last_ns)
            times->last_ns = outcomes[rank].finish_ns;
    }
    job_destroy(job);
}

static bool is_one_of(const late_t *late, uint32_t rank)
{
    for (uint32_t i = 0; i < late->count; i++)
        if (late->ranks[i] == rank)
            return true;
    return false;
}

/* Mean over those that are not late, microseconds. */
static double lost_us(const what_t *what, const times_t *calm, const times_t *with, const late_t *late)
{
    const uint32_t ranks = machine_ranks(what->machine);
    double sum = 0;

    for (uint32_t rank = 0; rank < ranks; rank++)
        if (!is_one_of(late, rank))
            sum += ((double)with->finish_ns[rank] - (double)calm->finish_ns[rank]) / 1000.0;
    return sum / (ranks - late->count);
}

static const machine_t machines[] = {{"4 nodes x 4", 4, {4, 4, 4, 4}},
                                     {"4 uneven nodes", 4, {5, 2, 4, 1}},
                                     {"2 nodes x 3", 2, {3, 3}},
                                     {"6 nodes x 2", 6, {2, 2, 2, 2, 2, 2}}};

/* With and without a way around the late rank. Adds up over the late ranks what the others lose: of an allreduce what they are in it
 * after that has come, for which they must wait. */
static void compare(what_t what, unsigned times, double *without_us, double *around_us)
{
    times_t calm, with;

    run(&what, NULL, NULL, &calm);
    for (uint32_t rank = what.root + 1; rank < machine_ranks(what.machine); rank += 3) {
        const late_t late = {1, {rank}, times * calm.last_ns};
        const double unavoidable =
            what.collective == HP_ALLREDUCE ? (double)(late.ns - calm.last_ns) / 1000 : 0;
        run(&what, NULL, &late, &with);
        const double without = lost_us(&what, &calm, &with, &late), little = (double)calm.last_ns / 1000 / 50;
        run(&what, &late, &late, &with);
        const double around = lost_us(&what, &calm, &with, &late);
        if (around > without + little)
            fail_msg("%s, rank %u late by %u times: %.0f us lost around it, %.0f without",
                     what.machine->title, rank, times, around, without);
        *without_us += without - unavoidable;
        *around_us += around - unavoidable;
    }
}

/* One rank comes late by once and three times what the collective takes: what the built-in rules have for 1 MiB on that many
 * nodes. Nobody's lateness makes the others lose more than without a way around it, and on average they lose at least 20% less; of an allreduce, of what is left to do when the late one has come. */
static void others_lose_less(void **state)
{
    (void)state;
    for (size_t m = 0; m < ARRAY_LENGTH(machines); m += seeds_divisor())
        for (unsigned c = HP_BCAST; c <= HP_ALLREDUCE; c++)
            for (unsigned times = 1; times <= 3; times += 2) {
                const bool few = machines[m].node_count <= 4;
                /* On two nodes nothing is to be gained (planning/arrival.c); what is left to do is the same for any lateness. */
                if (c == HP_ALLREDUCE && (machines[m].node_count < 3 || times > 1))
                    continue;
                const what_t what = {.machine = &machines[m],
                                     .collective = (hp_collective_t)c,
                                     .shape = few ? HP_SHAPE_CHAIN : HP_SHAPE_BINARY,
                                     .inter_node = few ? HP_INTER_NODE_tree : HP_INTER_NODE_double_tree,
                                     .trees = c == HP_ALLREDUCE ? 16 : 1,
                                     .leaders = m == 1 ? 4 : 1,
                                     .root = (uint32_t)m % 2, /* of several nodes the first */
                                     .inside = HP_MODULE_SHM};
                double without = 0, around = 0;
                compare(what, times, &without, &around);
                printf("%-14s %-9s late by %u times: lost by the others without %9.0f us, around %9.0f us: "
                       "%+.0f%%\n",
                       machines[m].title, hp_collective_name((hp_collective_t)c), times, without, around,
                       100 * (around / without - 1));
                assert_true(around <= 0.8 * without);
            }
}

/* In a bcast and a reduce only one other rank still waits for the late one, whatever the shape: the one that has a message
 * for it or from it. */
static void one_waits(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < HP_SHAPE_COUNT; shape += (unsigned)seeds_divisor())
        for (unsigned c = HP_BCAST; c <= HP_REDUCE; c++)
            for (unsigned module = HP_MODULE_P2P; module <= HP_MODULE_SINGLE_COPY; module++) {
                const what_t what = {.machine = &machines[0],
                                     .collective = (hp_collective_t)c,
                                     .shape = (hp_shape_t)shape,
                                     .inter_node = HP_INTER_NODE_tree,
                                     .trees = 1,
                                     .leaders = 1,
                                     .root = 2,
                                     .inside = (hp_module_id_t)module};
                const late_t late = {
                    2, {4, 9}, 100000000}; /* leaders of the second and a member of the third node */
                times_t times;
                unsigned waiting = 0;
                run(&what, &late, &late, &times);
                for (uint32_t rank = 0; rank < 16; rank++)
                    waiting += !is_one_of(&late, rank) && times.finish_ns[rank] >= late.ns;
                assert_int_equal(waiting, c == HP_REDUCE ? 1 : 2); /* the root; each one's parent */
            }
}

/* ---- any case ---- */

static bool may_go_around(const collective_t *c, const hp_around_t *around)
{
    const hp_collective_t collective = c->algorithm->collective;

    return strcmp(c->algorithm->name, "han") == 0 && collective < HP_BARRIER && !c->lockstep &&
           !hp_setting_uses(&c->setting, HP_MODULE_NATIVE) && (collective == HP_BCAST || c->commutative) &&
           (collective == HP_ALLREDUCE || !hp_around_is_late(around, c->root)) &&
           (collective != HP_ALLREDUCE || hp_inter_node_is_tree(c->setting.inter_node));
}

static void forget(job_t *job)
{
    for (uint32_t rank = 0; rank < hp_hierarchy_rank_count(job_comm(job, 0)->hierarchy); rank++) {
        hp_plans_forget_around(&job_comm(job, rank)->executions->plans);
        hp_comm_set_around(job_comm(job, rank), NULL);
    }
}

static late_t random_late(sim_random_t *random, uint32_t rank_count)
{
    late_t late = {.count = 0};
    const uint32_t most = rank_count - 1 < LATE_MAX ? rank_count - 1 : LATE_MAX,
                   count = 1 + (uint32_t)sim_random_below(random, most);

    for (uint32_t rank = 0; rank < rank_count; rank++)
        if (sim_random_below(random, rank_count - rank) < count - late.count)
            late.ranks[late.count++] = rank;
    return late;
}

/* Collectives around some ranks, late or not, and others in between, one behind the other, with any settings; then around
 * other ranks: everything comes out right, and nothing is left. */
static void results_are_right(void **state)
{
    (void)state;
    enum { LENGTH = 10, MOST_ELEMENTS = 120, SPAN_NS = 100000 };
    const seeds_t seeds = seeds_start("results_are_right", 100);
    uint64_t ways = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        sim_random_t random = {seed};
        const uint32_t rank_count = 2 + (uint32_t)sim_random_below(&random, 15);
        hp_locality_t *table = random_table(&random, rank_count);
        const sim_config_t world = random_world(&random, rank_count, table);
        hp_knobs_t knobs = random_knobs(&random);
        if (seed % 4)
            snprintf(knobs.levels, sizeof knobs.levels, seed % 2 ? "node" : "node,package,l3");
        knobs.reproducible = 0;
        job_t *job = job_create(&world, &knobs);
        for (unsigned turn = 0; turn < 2; turn++) {
            const late_t late = random_late(&random, rank_count);
            collective_t list[LENGTH];
            const bool is_around = try_around(job, &late);
            for (unsigned i = 0; i < LENGTH; i++) {
                const unsigned which = (unsigned)sim_random_below(&random, any_algorithm_count());
                const hp_algorithm_t *algorithm =
                    sim_random_below(&random, 4) == 0
                        ? any_algorithm(which)
                        : hp_algorithm_find((hp_collective_t)sim_random_below(&random, HP_BARRIER), "han");
                list[i] = random_collective(&random, algorithm, rank_count, MOST_ELEMENTS);
                list[i].root = (uint32_t)sim_random_below(&random, random_roots(algorithm, rank_count));
                for (unsigned level = 0; level < HP_LEVEL_COUNT; level++)
                    if (list[i].setting.modules.module[level] == HP_MODULE_NATIVE)
                        list[i].setting.modules.module[level] = HP_MODULE_SHM;
                list[i].lockstep = false;
                random_again(&random, list, i);
            }
            for (unsigned i = 0; i < LENGTH && is_around; i++)
                if (may_go_around(&list[i], job_comm(job, 0)->around)) {
                    list[i].algorithm = hp_algorithm_around(list[i].algorithm->collective);
                    ways++;
                }
            random_delays(&random, job_sim(job), rank_count, SPAN_NS);
            for (uint32_t i = 0; i < late.count && sim_random_below(&random, 2); i++)
                sim_delay(job_sim(job), late.ranks[i], sim_now(job_sim(job)),
                          sim_now(job_sim(job)) + SPAN_NS);
            if (!job_run(job, list, LENGTH, NULL)) {
                for (unsigned i = 0; i < LENGTH; i++)
                    print_case(&list[i], rank_count, &knobs, &world);
                seeds_fail(seed, job_problem(job));
            }
            forget(job);
        }
        job_destroy(job);
        free(table);
    }
    printf("%llu collectives around late ranks\n", (unsigned long long)ways);
    assert_true(ways > seeds.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_lose_less),
        cmocka_unit_test(one_waits),
        cmocka_unit_test(results_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
