/* test_placed: the algorithms made for a network: how many messages meet on a link, in how many phases, on trees of many
 * shapes; what keeps phases apart; patterns of sizes; and what of a network matters to rules.
 *
 * HP_PLACED_TREES: so many random trees, 1000 where it is not set. */
#include "check.h"
#include "schedule/cost/cost.h"
#include "schedule/generators/generators.h"
#include "schedule/generators/parts/phase_steps.h"
#include "trees.h"

static const double one_rate[] = {125};

static uint32_t tree_count(void)
{
    const char *text = getenv("HP_PLACED_TREES");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 1000;
}

static hp_problem_t problem_on(const trees_t *tree, hp_pattern_t pattern)
{
    return (hp_problem_t){.pattern = pattern, .count = tree->placement.count, .placement = &tree->placement};
}

/* ---- loads ---- */

typedef struct {
    const trees_t *tree;
    uint32_t *used, *path;
} loads_t;

static void loads_init(loads_t *loads, const trees_t *tree)
{
    *loads = (loads_t){.tree = tree,
                       .used = calloc(hp_network_links(&tree->network), sizeof *loads->used),
                       .path = calloc(hp_network_path_most(&tree->network), sizeof *loads->path)};
    assert_true(loads->used && loads->path);
}

static void loads_fini(loads_t *loads)
{
    free(loads->used);
    free(loads->path);
}

static void loads_clear(loads_t *loads)
{
    memset(loads->used, 0, hp_network_links(&loads->tree->network) * sizeof *loads->used);
}

/* The message crosses its links; the most that one of them has now. Inside a machine there is none. */
static uint32_t loads_add(loads_t *loads, uint32_t from, uint32_t to, uint32_t messages)
{
    const uint32_t *machines = loads->tree->machines;
    uint32_t most = 0;

    if (machines[from] == machines[to])
        return 0;
    const uint32_t count = hp_network_path(&loads->tree->network, machines[from], machines[to], loads->path);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t used = loads->used[loads->path[i]] += messages;
        most = used > most ? used : most;
    }
    return most;
}

/* The i-th message that a position sends, i from 0 on; NULL: it sends fewer. */
static const hp_step_t *nth_send(const hp_schedule_t *schedule, uint32_t position, uint32_t i)
{
    for (uint32_t k = 0; k < schedule->step_count; k++) {
        const hp_step_t *step = &schedule->steps[k];
        if (step->to >= 0 && step->to != (int32_t)position && !step->sync && i-- == 0)
            return step;
    }
    return NULL;
}

/* All positions send their i-th messages at a time: the sum over i of the most blocks on a link; *first: of the first. */
static uint32_t load_in_rounds(const trees_t *tree, const char *name, hp_pattern_t pattern, uint32_t *first)
{
    const hp_problem_t problem = problem_on(tree, pattern);
    hp_schedule_t *schedules = hp_schedules_make(hp_generator_find(name), &problem);
    uint32_t sum = 0;
    loads_t loads;

    assert_non_null(schedules);
    loads_init(&loads, tree);
    for (uint32_t i = 0, sent = 1; sent; i++) {
        uint32_t most = 0;
        sent = 0;
        loads_clear(&loads);
        for (uint32_t p = 0; p < problem.count; p++) {
            const hp_step_t *step = nth_send(&schedules[p], p, i);
            if (!step)
                continue;
            sent = 1;
            const uint32_t now =
                loads_add(&loads, p, (uint32_t)step->to, hp_schedule_blocks(&schedules[p], &step->send));
            most = now > most ? now : most;
        }
        *first = i == 0 ? most : *first;
        sum += most;
    }
    loads_fini(&loads);
    hp_schedules_free(schedules, problem.count);
    return sum;
}

/* ---- phases, as the schedule has them: what stands between two barriers ---- */

typedef struct {
    uint32_t phases, load; /* the sum over phases of the most messages on a link */
} phased_t;

static uint32_t barrier_rounds(uint32_t count)
{
    uint32_t rounds = 0;
    for (uint32_t reach = 1; reach < count; reach *= 2)
        rounds++;
    return rounds;
}

static phased_t phased(const trees_t *tree)
{
    hp_problem_t problem = problem_on(tree, HP_PATTERN_ALLTOALL);
    const hp_generator_t *generator = hp_generator_find("contention_free_barriers");
    const uint32_t rounds = barrier_rounds(problem.count);
    uint32_t step[64] = {0};
    phased_t found = {0, 0};
    loads_t loads;

    hp_generator_usual(generator, &problem);
    hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
    assert_non_null(schedules);
    loads_init(&loads, tree);
    for (bool more = true; more; found.phases++) {
        uint32_t most = 0, sending[64] = {0}, receiving[64] = {0};
        more = false;
        loads_clear(&loads);
        for (uint32_t p = 0; p < problem.count; p++) {
            const hp_schedule_t *schedule = &schedules[p];
            for (; step[p] < schedule->step_count && !schedule->steps[step[p]].sync; step[p]++) {
                const hp_step_t *at = &schedule->steps[step[p]];
                if (at->to < 0 || at->to == (int32_t)p)
                    continue;
                const uint32_t now = loads_add(&loads, p, (uint32_t)at->to, 1);
                most = now > most ? now : most;
                assert_true(++sending[p] == 1 && ++receiving[at->to] == 1);
                most = most ? most : 1; /* inside a machine: of the positions' own links */
            }
            more = more || step[p] < schedule->step_count;
            for (uint32_t r = 0; r < rounds && step[p] < schedule->step_count; r++)
                assert_true(schedule->steps[step[p]++].sync);
        }
        found.load += most;
    }
    loads_fini(&loads);
    hp_schedules_free(schedules, problem.count);
    return found;
}

static void golden_loads(void **state)
{
    static const struct {
        trees_shape_t shape;
        hp_placement_order_t order;
        uint32_t placed, pair, ring, around, around_placed;
    } rows[] = {{TREES_STAR, HP_PLACEMENT_BLOCK, 192, 199, 192, 1, 1},
                {TREES_STAR, HP_PLACEMENT_OVER_SWITCHES, 192, 199, 199, 8, 1},
                {TREES_CHAIN, HP_PLACEMENT_BLOCK, 256, 327, 256, 1, 1},
                {TREES_CHAIN, HP_PLACEMENT_OVER_SWITCHES, 256, 327, 263, 8, 1}};
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(rows); i++) {
        uint32_t first;
        trees_t tree;
        trees_even(&tree, rows[i].shape, 4, 8, rows[i].order);
        const phased_t placed = phased(&tree);
        assert_int_equal(placed.phases, rows[i].placed);
        assert_int_equal(placed.load, rows[i].placed);
        assert_int_equal(load_in_rounds(&tree, "pairwise_xor", HP_PATTERN_ALLTOALL, &first), rows[i].pair);
        assert_int_equal(load_in_rounds(&tree, "pairwise", HP_PATTERN_ALLTOALL, &first), rows[i].ring);
        load_in_rounds(&tree, "ring", HP_PATTERN_ALLGATHER, &first);
        assert_int_equal(first, rows[i].around);
        assert_int_equal(load_in_rounds(&tree, "depth_first_ring", HP_PATTERN_ALLGATHER, &first), 31);
        assert_int_equal(first, rows[i].around_placed);
        trees_fini(&tree);
    }
}

static void golden_loads_of_doubling(void **state)
{
    static const uint32_t loads[] = {[TREES_STAR] = 199, [TREES_CHAIN] = 327};
    (void)state;

    for (unsigned shape = 0; shape < ARRAY_LENGTH(loads); shape++) {
        uint32_t first;
        trees_t tree;
        trees_even(&tree, (trees_shape_t)shape, 4, 8, HP_PLACEMENT_BLOCK);
        assert_int_equal(load_in_rounds(&tree, "recursive_doubling", HP_PATTERN_ALLGATHER, &first),
                         loads[shape]);
        assert_int_equal(load_in_rounds(&tree, "depth_first_ring", HP_PATTERN_ALLGATHER, &first), 31);
        trees_fini(&tree);
    }
}

/* ---- random trees ---- */

/* The busiest link of the network, or of the positions, in an all-to-all: found by counting every message. */
static uint32_t busiest(const trees_t *tree)
{
    uint32_t most = tree->placement.count - 1;
    loads_t loads;

    loads_init(&loads, tree);
    for (uint32_t a = 0; a < tree->placement.count; a++)
        for (uint32_t b = 0; b < tree->placement.count; b++) {
            const uint32_t now = a == b ? 0 : loads_add(&loads, a, b, 1);
            most = now > most ? now : most;
        }
    loads_fini(&loads);
    return most;
}

/* No phase has more messages on a link, and of a position, than there is room for. */
static void check_phases(const trees_t *tree, const hp_phases_t *phases, const hp_paths_t *paths)
{
    const uint32_t count = phases->count;
    uint16_t *used = calloc((size_t)phases->phases * paths->links, sizeof *used);
    uint32_t *path = calloc(paths->path_most, sizeof *path);
    assert_true(used && path);

    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++) {
            if (a == b)
                continue;
            const uint32_t phase = hp_phases_at(phases, a, b);
            assert_true(phase < phases->phases);
            const uint32_t links = hp_paths_links(paths, a, b, path);
            for (uint32_t i = 0; i < links; i++) {
                const bool inside =
                    path[i] >= 2 * tree->network.node_count && path[i] < hp_network_links(&tree->network);
                if (!inside && ++used[(size_t)phase * paths->links + path[i]] > paths->capacity[path[i]])
                    fail_msg("phase %u: link %u carries more than %u", phase, path[i],
                             paths->capacity[path[i]]);
            }
        }
    free(used);
    free(path);
}

static void verify(const hp_generator_t *generator, hp_problem_t problem)
{
    hp_fault_t fault;

    hp_generator_usual(generator, &problem);
    if (hp_generator_verify(generator, &problem, &fault) != HP_OK)
        fail_msg("%s %s, %u positions: %s", hp_pattern_name(problem.pattern), generator->name, problem.count,
                 fault.text);
}

/* In as many phases as the busiest link has messages; the schedule has them in the order of their phases. */
static void check_exact(const trees_t *tree)
{
    const hp_problem_t problem = problem_on(tree, HP_PATTERN_ALLTOALL);
    const hp_generator_t *generator = hp_generator_find("contention_free");
    hp_phases_t phases;
    hp_paths_t paths;

    assert_int_equal(hp_paths_init(&paths, &problem), HP_OK);
    assert_true(paths.is_equal);
    assert_int_equal(hp_phases_init(&phases, &paths), HP_OK);
    assert_int_equal(hp_phases_exact(&phases, &paths), HP_OK);
    assert_int_equal(phases.phases, busiest(tree));
    assert_int_equal(phases.phases, paths.bound);
    check_phases(tree, &phases, &paths);

    hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
    assert_non_null(schedules);
    for (uint32_t p = 0; p < problem.count; p++) {
        uint32_t before = 0, i = 0;
        const hp_step_t *step;
        for (; (step = nth_send(&schedules[p], p, i)); i++) {
            const uint32_t phase = hp_phases_at(&phases, p, (uint32_t)step->to);
            assert_true(i == 0 || phase > before);
            before = phase;
        }
        assert_int_equal(i, problem.count - 1);
    }
    hp_schedules_free(schedules, problem.count);
    hp_phases_fini(&phases);
    hp_paths_fini(&paths);
}

static void every_tree_in_the_fewest_phases(void **state)
{
    check_random_t random = check_random_start("phases");
    (void)state;

    for (uint32_t i = 0; i < tree_count(); i++) {
        trees_t tree;
        trees_random(&tree, &random, 64, one_rate, 1);
        check_exact(&tree);
        verify(hp_generator_find("contention_free"), problem_on(&tree, HP_PATTERN_ALLTOALL));
        if (i % 20 == 0) {
            const phased_t found = phased(&tree);
            assert_int_equal(found.phases, busiest(&tree));
            assert_int_equal(found.load, found.phases);
        }
        trees_fini(&tree);
    }
}

static void rings_cross_each_link_once(void **state)
{
    check_random_t random = check_random_start("rings");
    (void)state;

    for (uint32_t i = 0; i < tree_count() / 4; i++) {
        uint32_t first;
        trees_t tree;
        trees_random(&tree, &random, 64, one_rate, 1);
        const uint32_t sum = load_in_rounds(&tree, "depth_first_ring", HP_PATTERN_ALLGATHER, &first);
        assert_true(first <= 1 && sum <= tree.placement.count - 1);
        assert_true(load_in_rounds(&tree, "depth_first_chain", HP_PATTERN_BCAST, &first) <= 1);
        trees_fini(&tree);
    }
}

/* Eight hosts each on four switches in a chain: of the lines between switches the middle link carries 2 x 2 x 8 messages of
 * one block, wherever the ranks are. Neighbours first, it would carry 8 blocks of each. */
static void meshes_send_far_what_is_short(void **state)
{
    (void)state;
    for (int order = HP_PLACEMENT_BLOCK; order < HP_PLACEMENT_ORDERS; order++) {
        trees_t tree;
        trees_even(&tree, TREES_CHAIN, 4, 8, (hp_placement_order_t)order);
        const hp_cost_setting_t setting = {
            .network = &tree.network, .machines = tree.machines, .bytes = 1, .no_run = true};
        const hp_problem_t problem = problem_on(&tree, HP_PATTERN_ALLGATHER);
        hp_cost_t far, near;
        verify(hp_generator_find("depth_first_mesh2d"), problem);
        verify(hp_generator_find("depth_first_mesh3d"), problem);
        assert_int_equal(hp_generator_cost(hp_generator_find("depth_first_mesh2d"), &problem, &setting, &far),
                         HP_OK);
        assert_int_equal(hp_generator_cost(hp_generator_find("mesh2d"), &problem, &setting, &near), HP_OK);
        assert_true(far.link_bytes == 2 * 2 * 8);
        assert_true(order != HP_PLACEMENT_BLOCK || near.link_bytes == 8 * 2 * 2 * 8);
        trees_fini(&tree);
    }
}

/* Every message of a chain at a time, whatever the root: no link has two. */
static void chains_share_no_link(void **state)
{
    check_random_t random = check_random_start("chains");
    (void)state;

    for (uint32_t i = 0; i < tree_count() / 10; i++) {
        trees_t tree;
        loads_t loads;
        trees_random(&tree, &random, 32, one_rate, 1);
        hp_problem_t problem = problem_on(&tree, HP_PATTERN_BCAST);
        const hp_generator_t *generator = hp_generator_find("depth_first_chain");
        hp_generator_usual(generator, &problem);
        problem.root = check_random_below(&random, problem.count);
        verify(generator, problem);
        hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
        assert_non_null(schedules);
        loads_init(&loads, &tree);
        for (uint32_t p = 0; p < problem.count; p++) {
            const hp_step_t *step = nth_send(&schedules[p], p, 0);
            assert_null(nth_send(&schedules[p], p, 1));
            if (step)
                assert_true(loads_add(&loads, p, (uint32_t)step->to, 1) <= 1);
        }
        loads_fini(&loads);
        hp_schedules_free(schedules, problem.count);
        trees_fini(&tree);
    }
}

/* ---- links that differ ---- */

static void unequal_links_are_filled(void **state)
{
    static const double rates[] = {125, 250, 300, 375, 625, 1250};
    check_random_t random = check_random_start("unequal");
    double sum = 0, worst = 0;
    uint32_t fewer = 0; /* trees on which fast links save phases */
    const uint32_t trees = tree_count() / 10;
    (void)state;

    for (uint32_t i = 0; i < trees; i++) {
        trees_t tree;
        hp_phases_t phases = {.phase = NULL};
        hp_paths_t paths;
        trees_random(&tree, &random, 40, rates, ARRAY_LENGTH(rates));
        const hp_problem_t problem = problem_on(&tree, HP_PATTERN_ALLTOALL);
        assert_int_equal(hp_paths_init(&paths, &problem), HP_OK);
        assert_int_equal(hp_phases_fit(&phases, &paths), HP_OK);
        check_phases(&tree, &phases, &paths);
        const double more = phases.phases / (double)paths.bound;
        sum += more;
        worst = more > worst ? more : worst;
        fewer += paths.bound < busiest(&tree);
        verify(hp_generator_find("contention_free"), problem);
        hp_phases_fini(&phases);
        hp_paths_fini(&paths);
        trees_fini(&tree);
    }
    printf("unequal links: %.3f times the bound on average, %.3f at worst\n", sum / trees, worst);
    assert_true(worst <= 1.1 && fewer > trees / 4);
}

/* ---- what keeps phases apart ---- */

/* A run in which each message takes a time of its own, whatever else is on its links, and a position goes on to its next
 * step when all of the one before is over. */
typedef struct {
    uint32_t from, to;
    double start, end;
} timed_t;

typedef struct {
    timed_t *messages;
    uint32_t count;
    uint32_t *first,
        *next; /* [from * count + to] of those not received yet, 1 + their number; [message] the next one */
    uint32_t *last;
} timed_run_t;

static void start_message(timed_run_t *run, uint32_t pair, timed_t message)
{
    const uint32_t number = ++run->count;

    run->messages[number - 1] = message;
    run->next[number - 1] = 0;
    if (run->first[pair] == 0)
        run->first[pair] = number;
    else
        run->next[run->last[pair] - 1] = number;
    run->last[pair] = number;
}

static uint32_t all_steps(const hp_schedule_t *schedules, uint32_t count)
{
    uint32_t steps = 0;
    for (uint32_t p = 0; p < count; p++)
        steps += schedules[p].step_count;
    return steps;
}

/* The messages with blocks, and when they were on their way; *count of them. */
static timed_t *run_timed(const hp_schedule_t *schedules, uint32_t positions, check_random_t *random,
                          uint32_t *count)
{
    const uint32_t steps = all_steps(schedules, positions);
    timed_run_t run = {.messages = calloc(steps, sizeof *run.messages),
                       .first = calloc((size_t)positions * positions, sizeof *run.first),
                       .last = calloc((size_t)positions * positions, sizeof *run.last),
                       .next = calloc(steps, sizeof *run.next)};
    uint32_t *step = calloc(positions, sizeof *step), kept = 0;
    double *now = calloc(positions, sizeof *now), *sent = calloc(positions, sizeof *sent);
    bool *begun = calloc(positions, sizeof *begun);
    assert_true(run.messages && run.first && run.last && run.next && step && now && sent && begun);

    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t p = 0; p < positions; p++)
            while (step[p] < schedules[p].step_count) {
                const hp_step_t *at = &schedules[p].steps[step[p]];
                const bool local = at->to == (int32_t)p;
                if (!begun[p] && at->to >= 0 && !local) {
                    const double takes = at->sync ? 0.01 : 1 + check_random_below(random, 1000) / 100.0;
                    start_message(
                        &run, p * positions + (uint32_t)at->to,
                        (timed_t){at->sync ? UINT32_MAX : p, (uint32_t)at->to, now[p], now[p] + takes});
                    sent[p] = now[p] + takes;
                }
                begun[p] = true;
                const uint32_t pair = at->from >= 0 ? (uint32_t)at->from * positions + p : 0;
                if (at->from >= 0 && !local && run.first[pair] == 0)
                    break;
                if (at->from >= 0 && !local) {
                    const double end = run.messages[run.first[pair] - 1].end;
                    now[p] = end > now[p] ? end : now[p];
                    run.first[pair] = run.next[run.first[pair] - 1];
                }
                now[p] = sent[p] > now[p] ? sent[p] : now[p];
                step[p]++;
                begun[p] = false;
                moved = true;
            }
    }
    for (uint32_t p = 0; p < positions; p++)
        assert_int_equal(step[p], schedules[p].step_count);
    for (uint32_t i = 0; i < run.count; i++)
        if (run.messages[i].from != UINT32_MAX)
            run.messages[kept++] = run.messages[i];
    *count = kept;
    free(run.first);
    free(run.last);
    free(run.next);
    free(step);
    free(now);
    free(sent);
    free(begun);
    return run.messages;
}

/* Pairs of messages that are on one link at a time. */
static uint32_t meetings(const trees_t *tree, const char *name, check_random_t *random)
{
    hp_problem_t problem = problem_on(tree, HP_PATTERN_ALLTOALL);
    const hp_generator_t *generator = hp_generator_find(name);
    const uint32_t links = hp_network_links(&tree->network);
    uint32_t count, met = 0;

    hp_generator_usual(generator, &problem);
    hp_schedule_t *schedules = hp_schedules_make(generator, &problem);
    assert_non_null(schedules);
    timed_t *messages = run_timed(schedules, problem.count, random, &count);
    bool *crosses = calloc((size_t)count * links, sizeof *crosses);
    uint32_t *path = calloc(hp_network_path_most(&tree->network), sizeof *path);
    assert_true(crosses && path);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t on = hp_network_path(&tree->network, tree->machines[messages[i].from],
                                            tree->machines[messages[i].to], path);
        for (uint32_t k = 0; k < on && tree->machines[messages[i].from] != tree->machines[messages[i].to];
             k++)
            crosses[(size_t)i * links + path[k]] = true;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (messages[i].start >= messages[k].end || messages[k].start >= messages[i].end)
                continue;
            bool meet = messages[i].from == messages[k].from || messages[i].to == messages[k].to;
            for (uint32_t l = 0; l < links && !meet; l++)
                meet = crosses[(size_t)i * links + l] && crosses[(size_t)k * links + l];
            met += meet;
        }
    free(crosses);
    free(path);
    free(messages);
    hp_schedules_free(schedules, problem.count);
    return met;
}

static void phases_are_kept_apart(void **state)
{
    check_random_t random = check_random_start("apart");
    uint32_t met = 0;
    (void)state;

    for (uint32_t i = 0; i < 20; i++) {
        trees_t tree;
        trees_random(&tree, &random, 20, one_rate, 1);
        verify(hp_generator_find("contention_free_pairwise"), problem_on(&tree, HP_PATTERN_ALLTOALL));
        verify(hp_generator_find("contention_free_barriers"), problem_on(&tree, HP_PATTERN_ALLTOALL));
        met += meetings(&tree, "contention_free", &random);
        assert_int_equal(meetings(&tree, "contention_free_pairwise", &random), 0);
        assert_int_equal(meetings(&tree, "contention_free_barriers", &random), 0);
        trees_fini(&tree);
    }
    assert_true(met > 0); /* so that this run could tell */
}

static void pairs_of_fast_links_wait_too(void **state)
{
    static const double rates[] = {125, 250, 1250};
    check_random_t random = check_random_start("lanes");
    (void)state;

    for (uint32_t i = 0; i < 20; i++) {
        trees_t tree;
        trees_random(&tree, &random, 16, rates, ARRAY_LENGTH(rates));
        verify(hp_generator_find("contention_free_pairwise"), problem_on(&tree, HP_PATTERN_ALLTOALL));
        verify(hp_generator_find("contention_free_barriers"), problem_on(&tree, HP_PATTERN_ALLTOALL));
        trees_fini(&tree);
    }
}

static uint32_t syncs_of(const trees_t *tree, const char *name, uint32_t parameter)
{
    hp_problem_t problem = problem_on(tree, HP_PATTERN_ALLTOALL);
    uint32_t syncs = 0;

    problem.parameter[0] = parameter;
    hp_schedule_t *schedules = hp_schedules_make(hp_generator_find(name), &problem);
    assert_non_null(schedules);
    for (uint32_t p = 0; p < problem.count; p++)
        for (uint32_t i = 0; i < schedules[p].step_count; i++) {
            const hp_step_t *step = &schedules[p].steps[i];
            syncs += step->sync && step->to >= 0 && step->to != (int32_t)p;
        }
    hp_schedules_free(schedules, problem.count);
    return syncs;
}

/* Most of what is on a link before is implied: 992 messages, each of 2 to 6 links. */
static void few_messages_keep_apart(void **state)
{
    enum { RANKS = 32, ROUNDS = 5 };
    trees_t tree;
    (void)state;

    trees_even(&tree, TREES_CHAIN, 4, 8, HP_PLACEMENT_BLOCK);
    const uint32_t syncs = syncs_of(&tree, "contention_free_pairwise", 0);
    printf("chain of 4 x 8: %u empty messages keep %u apart\n", syncs, RANKS * (RANKS - 1));
    assert_true(syncs > 0 && syncs < 2 * RANKS * (RANKS - 1));
    assert_int_equal(syncs_of(&tree, "contention_free", 0), 0);
    for (uint32_t n = 1; n < 300; n += 20)
        assert_int_equal(syncs_of(&tree, "contention_free_barriers", n),
                         (n < 255 ? n : 255) * ROUNDS * RANKS);
    trees_fini(&tree);
}

/* ---- patterns of sizes ---- */

/* The sum over phases of the largest message, and the check that messages with bytes share no link in a phase. */
static uint64_t bytes_in_phases(const trees_t *tree, const hp_phases_t *phases, const hp_paths_t *paths,
                                const uint64_t *sizes)
{
    const uint32_t count = phases->count;
    uint64_t *most = calloc(phases->phases, sizeof *most), sum = 0;
    uint8_t *used = calloc((size_t)phases->phases * paths->links, sizeof *used);
    uint32_t *path = calloc(paths->path_most, sizeof *path);
    assert_true(most && used && path);

    for (uint32_t m = 0; m < count * count; m++) {
        const uint32_t from = m / count, to = m % count, phase = phases->phase[m];
        if (from == to || sizes[m] == 0)
            continue;
        most[phase] = sizes[m] > most[phase] ? sizes[m] : most[phase];
        const uint32_t links = hp_paths_links(paths, from, to, path);
        for (uint32_t i = 0; i < links; i++) {
            const bool inside =
                path[i] >= 2 * tree->network.node_count && path[i] < hp_network_links(&tree->network);
            assert_true(inside || ++used[(size_t)phase * paths->links + path[i]] == 1);
        }
    }
    for (uint32_t i = 0; i < phases->phases; i++)
        sum += most[i];
    free(most);
    free(used);
    free(path);
    return sum;
}

static void patterns_are_cut_down(void **state)
{
    check_random_t random = check_random_start("sizes");
    uint64_t whole = 0, cut = 0, greedy = 0;
    (void)state;

    for (uint32_t i = 0; i < 60; i++) {
        trees_t tree;
        hp_phases_t phases;
        hp_paths_t paths;
        trees_random(&tree, &random, 32, one_rate, 1);
        hp_problem_t problem = problem_on(&tree, HP_PATTERN_ALLTOALL);
        uint64_t *sizes = calloc((size_t)problem.count * problem.count, sizeof *sizes);
        assert_non_null(sizes);
        for (uint32_t m = 0; m < problem.count * problem.count; m++)
            sizes[m] = check_random_below(&random, 3) ? 0 : 1u << check_random_below(&random, 16);
        assert_int_equal(hp_paths_init(&paths, &problem), HP_OK);
        assert_int_equal(hp_phases_init(&phases, &paths), HP_OK);
        assert_int_equal(hp_phases_exact(&phases, &paths), HP_OK);
        whole += bytes_in_phases(&tree, &phases, &paths, sizes);
        problem.sizes = sizes;
        assert_int_equal(hp_phases_cut_down(&phases, &paths), HP_OK);
        cut += bytes_in_phases(&tree, &phases, &paths, sizes);
        hp_phases_fini(&phases);
        assert_int_equal(hp_phases_init(&phases, &paths), HP_OK);
        assert_int_equal(hp_phases_greedy(&phases, &paths), HP_OK);
        greedy += bytes_in_phases(&tree, &phases, &paths, sizes);
        hp_phases_fini(&phases);
        hp_paths_fini(&paths);
        verify(hp_generator_find("greedy"), problem);
        verify(hp_generator_find("contention_free"), problem);
        free(sizes);
        trees_fini(&tree);
    }
    printf("bytes one after the other: all phases %llu, cut down %llu, greedy %llu\n",
           (unsigned long long)whole, (unsigned long long)cut, (unsigned long long)greedy);
    assert_true(cut < whole && greedy < whole);
}

/* ---- who needs a network says so; what rules ask for ---- */

static void without_a_network_there_is_none(void **state)
{
    hp_problem_t problem = {.pattern = HP_PATTERN_ALLTOALL, .count = 300};
    char why[128];
    trees_t tree;
    (void)state;

    assert_false(hp_generator_serves(hp_generator_find("contention_free"), &problem, why, sizeof why));
    assert_string_equal(why, "it needs a network");
    trees_any(&tree, problem.count);
    problem.placement = &tree.placement;
    assert_true(hp_generator_serves(hp_generator_find("contention_free"), &problem, NULL, 0));
    assert_false(hp_generator_serves(hp_generator_find("greedy"), &problem, why, sizeof why));
    assert_string_equal(why, "it is for 256 positions at most");
    trees_fini(&tree);
}

static void networks_have_traits(void **state)
{
    char first[HP_NETWORK_FINGERPRINT_BYTES], second[HP_NETWORK_FINGERPRINT_BYTES];
    hp_network_traits_t traits;
    trees_t tree;
    (void)state;

    trees_even(&tree, TREES_CHAIN, 4, 8, HP_PLACEMENT_BLOCK);
    assert_int_equal(hp_network_traits(&tree.network, &traits), HP_OK);
    assert_int_equal(traits.hosts_per_switch, 8);
    assert_true(traits.blocking == 16); /* half of the hosts over the link in the middle */
    hp_network_fingerprint(&tree.network, first, sizeof first);
    assert_memory_equal(first, "tree-32hosts-4switches-", 23);
    trees_fini(&tree);

    trees_even(&tree, TREES_STAR, 4, 8, HP_PLACEMENT_BLOCK);
    assert_int_equal(hp_network_traits(&tree.network, &traits), HP_OK);
    assert_true(traits.hosts_per_switch == 8 && traits.blocking == 8);
    assert_string_not_equal(first, hp_network_fingerprint(&tree.network, second, sizeof second));
    tree.network.nodes[0].up.rate = tree.network.nodes[1].up.rate = 1;
    assert_string_not_equal(second, hp_network_fingerprint(&tree.network, first, sizeof first));
    trees_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_loads),
        cmocka_unit_test(golden_loads_of_doubling),
        cmocka_unit_test(every_tree_in_the_fewest_phases),
        cmocka_unit_test(rings_cross_each_link_once),
        cmocka_unit_test(meshes_send_far_what_is_short),
        cmocka_unit_test(chains_share_no_link),
        cmocka_unit_test(unequal_links_are_filled),
        cmocka_unit_test(phases_are_kept_apart),
        cmocka_unit_test(pairs_of_fast_links_wait_too),
        cmocka_unit_test(few_messages_keep_apart),
        cmocka_unit_test(patterns_are_cut_down),
        cmocka_unit_test(without_a_network_there_is_none),
        cmocka_unit_test(networks_have_traits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
