/* test_probe_network: what hanpmpi_probe_network makes of measurements: made-up ones, with noise, of random trees,
 * chains and stars. */
#include <math.h>
#include "check.h"
#include "probe_network/fair.h"
#include "probe_network/infer.h"

enum { HOSTS_MAX = 32, SWITCHES_MAX = 8 };

/* The truth: a tree as probe_tree_t has it. */
typedef struct {
    uint32_t hosts, switches, on[HOSTS_MAX];
    int32_t above[SWITCHES_MAX];
    double up[SWITCHES_MAX], down[SWITCHES_MAX], host_rate;
} truth_t;

static bool is_below(const int32_t *above, uint32_t at, uint32_t node)
{
    for (int32_t i = (int32_t)at; i >= 0; i = above[i])
        if (i == (int32_t)node)
            return true;
    return false;
}

/* What each flow of each round reaches, and up to so much more or less. Where there is noise, one flow in ten stalls
 * for up to two thirds of its window, as TCP does and processes on a busy machine do. */
static void make_up(const truth_t *truth, probe_rounds_t *rounds, uint32_t from_round, double noise,
                    check_random_t *random)
{
    const uint32_t link_count = 2 * SWITCHES_MAX + 2 * HOSTS_MAX;
    double rate[2 * SWITCHES_MAX + 2 * HOSTS_MAX], left[2 * SWITCHES_MAX + 2 * HOSTS_MAX], shares[HOSTS_MAX];
    uint32_t users[2 * SWITCHES_MAX + 2 * HOSTS_MAX], first[HOSTS_MAX + 1],
        links[HOSTS_MAX * (2 * SWITCHES_MAX + 2)], flows[HOSTS_MAX];

    for (uint32_t l = 0; l < link_count; l++)
        rate[l] = truth->host_rate;
    for (uint32_t s = 0; s < truth->switches; s++) {
        rate[2 * s] = truth->up[s];
        rate[2 * s + 1] = truth->down[s];
    }
    for (uint32_t round = from_round; round < rounds->count; round++) {
        const int32_t *to = rounds->to + (size_t)round * truth->hosts;
        uint32_t count = 0, used = 0;
        for (uint32_t h = 0; h < truth->hosts; h++) {
            if (to[h] == PROBE_NOBODY)
                continue;
            first[count] = used;
            for (uint32_t s = 0; s < truth->switches; s++) {
                const bool here = is_below(truth->above, truth->on[h], s),
                           there = is_below(truth->above, truth->on[to[h]], s);
                if (truth->above[s] >= 0 && here != there)
                    links[used++] = 2 * s + there;
            }
            links[used++] = 2 * SWITCHES_MAX + h;
            links[used++] = 2 * SWITCHES_MAX + HOSTS_MAX + (uint32_t)to[h];
            flows[count++] = h;
        }
        first[count] = used;
        fair_share(&(fair_t){first, links, count, rate, link_count, left, users}, shares);
        for (uint32_t f = 0; f < count; f++) {
            const bool stalls = noise > 0 && check_random_below(random, 10) == 0;
            const double sends = stalls ? 1 - check_random_below(random, 667) / 1000.0 : 1;
            rounds->rates[(size_t)round * truth->hosts + flows[f]] =
                sends * shares[f] * (1 + noise * (check_random_below(random, 2001) / 1000.0 - 1));
        }
    }
}

static void probe(const truth_t *truth, double noise, check_random_t *random, probe_tree_t *tree)
{
    uint32_t group[HOSTS_MAX];
    probe_rounds_t rounds;

    probe_rounds_init(&rounds, truth->hosts);
    probe_rounds_of_hosts(&rounds, check_random_below(random, 1000));
    make_up(truth, &rounds, 0, noise, random);
    const uint32_t groups = probe_find_groups(&rounds, group), of_hosts = rounds.count;
    probe_rounds_of_groups(&rounds, group, groups, check_random_below(random, 1000));
    make_up(truth, &rounds, of_hosts, noise, random);
    probe_find_tree(&rounds, group, groups, tree);
    probe_rounds_fini(&rounds);
}

/* The hosts below a switch, as bits; the top's link is none. */
static uint32_t hosts_below(const uint32_t *on, const int32_t *above, uint32_t hosts, uint32_t node)
{
    uint32_t bits = 0;

    for (uint32_t h = 0; h < hosts; h++)
        bits |= (uint32_t)is_below(above, on[h], node) << h;
    return bits;
}

/* Two trees are the same if their links part the hosts alike, wherever the top is. rate: of the found link, in the
 * truth's direction. */
static bool is_found(const truth_t *truth, const probe_tree_t *tree, uint32_t trunk, double *up, double *down)
{
    const uint32_t all = (uint32_t)((1ull << truth->hosts) - 1),
                   wanted = hosts_below(truth->on, truth->above, truth->hosts, trunk);

    for (uint32_t s = 0; s < tree->switches; s++) {
        const uint32_t below = hosts_below(tree->on, tree->above, tree->hosts, s);
        if (tree->above[s] < 0 || (below != wanted && below != (all & ~wanted)))
            continue;
        *up = below == wanted ? tree->up[s] : tree->down[s];
        *down = below == wanted ? tree->down[s] : tree->up[s];
        return true;
    }
    return false;
}

/* The number of things that are wrong with it. */
static unsigned compare(const truth_t *truth, const probe_tree_t *tree, double tolerance)
{
    unsigned wrong = tree->switches != truth->switches;

    for (uint32_t s = 0; s < truth->switches; s++) {
        double up, down;
        if (truth->above[s] < 0)
            continue;
        if (!is_found(truth, tree, s, &up, &down))
            wrong++;
        else
            wrong += fabs(up / truth->up[s] - 1) > tolerance || fabs(down / truth->down[s] - 1) > tolerance;
    }
    for (uint32_t h = 0; h < truth->hosts; h++)
        wrong += fabs(tree->host_up[h] / truth->host_rate - 1) > tolerance ||
                 fabs(tree->host_down[h] / truth->host_rate - 1) > tolerance;
    return wrong;
}

static void describe(const char *name, uint32_t hosts, const uint32_t *on, uint32_t switches,
                     const int32_t *above, const double *up)
{
    printf("%s: ", name);
    for (uint32_t h = 0; h < hosts; h++)
        printf("%u", on[h]);
    for (uint32_t s = 0; s < switches; s++)
        printf("  %u on %d (%.4g)", s, above[s], up[s]);
    printf("\n");
}

static unsigned check(const truth_t *truth, double noise, check_random_t *random)
{
    probe_tree_t tree;

    probe(truth, noise, random, &tree);
    const unsigned wrong = compare(truth, &tree, noise > 0 ? 0.15 : 0.001);
    if (wrong) {
        describe("truth", truth->hosts, truth->on, truth->switches, truth->above, truth->up);
        describe("found", tree.hosts, tree.on, tree.switches, tree.above, tree.up);
    }
    probe_tree_fini(&tree);
    return wrong;
}

/* sizes: hosts on each switch. */
static truth_t make(uint32_t switches, const uint32_t *sizes, const int32_t *above, double trunk)
{
    truth_t truth = {.switches = switches, .host_rate = 30};

    for (uint32_t s = 0; s < switches; s++) {
        truth.above[s] = above[s];
        truth.up[s] = truth.down[s] = above[s] < 0 ? INFINITY : trunk;
        for (uint32_t i = 0; i < sizes[s]; i++)
            truth.on[truth.hosts++] = s;
    }
    return truth;
}

static void known_trees(void **state)
{
    check_random_t random = check_random_start("known_trees");
    static const struct {
        uint32_t switches, sizes[SWITCHES_MAX];
        int32_t above[SWITCHES_MAX];
    } trees[] = {
        {1, {4}, {-1}},       /* one switch */
        {2, {2, 2}, {-1, 0}}, /* chains */
        {2, {3, 5}, {-1, 0}},
        {3, {2, 2, 2}, {-1, 0, 1}},
        {3, {4, 4, 4}, {-1, 0, 1}},
        {4, {4, 4, 4, 4}, {-1, 0, 1, 2}},
        {4, {4, 4, 4, 4}, {-1, 0, 0, 0}}, /* a star with hosts in the middle */
        {4, {0, 3, 3, 3}, {-1, 0, 0, 0}}, /* and without */
        {7,
         {0, 0, 0, 3, 3, 3, 3},
         {-1, 0, 0, 1, 1, 2, 2}}, /* two levels: 0 is no switch of its own, see below */
    };
    unsigned wrong = 0;
    (void)state;

    for (unsigned i = 0; i < ARRAY_LENGTH(trees); i++)
        for (unsigned noisy = 0; noisy < 3; noisy++) {
            truth_t truth = make(trees[i].switches, trees[i].sizes, trees[i].above, 30);
            if (i == 8) { /* the two pods' trunks in a row are one link */
                static const int32_t above[] = {-1, 0, 0, 0, 1, 1};
                truth = make(6, (uint32_t[]){0, 0, 3, 3, 3, 3}, above, 30);
            }
            wrong += check(&truth, 0.1 * noisy / 2, &random);
        }
    assert_int_equal(wrong, 0);
}

/* Any tree; what a trunk carries is less than half of what the hosts on its smaller side send, and differs by
 * direction. */
static truth_t random_tree(check_random_t *random)
{
    truth_t truth = {.switches = 2 + check_random_below(random, 4), .host_rate = 30};

    for (uint32_t s = 0; s < truth.switches; s++) {
        truth.above[s] = s == 0 ? -1 : (int32_t)check_random_below(random, s);
        for (uint32_t i = 3 + check_random_below(random, 3); i > 0; i--)
            truth.on[truth.hosts++] = s;
    }
    for (uint32_t s = 0; s < truth.switches; s++) {
        truth.up[s] = s == 0 ? INFINITY : 20 + check_random_below(random, 21);
        truth.down[s] = s == 0 ? INFINITY : 20 + check_random_below(random, 21);
    }
    return truth;
}

static void random_trees(void **state)
{
    check_random_t random = check_random_start("random_trees");
    unsigned wrong = 0;
    (void)state;

    for (unsigned i = 0; i < 60; i++) {
        const truth_t truth = random_tree(&random);
        wrong += check(&truth, 0.08, &random) > 0;
    }
    printf("%u of 60 random trees are wrong\n", wrong);
    assert_int_equal(wrong, 0);
}

static void shares(void **state)
{
    /* 3 flows over a link of 30, one of them also over one of 4, which leaves 13 for each other; one alone on 7. */
    static const uint32_t first[] = {0, 1, 2, 4, 5}, links[] = {0, 0, 0, 1, 2};
    static const double rate[] = {30, 4, 7};
    double left[3], flows[4];
    uint32_t users[3];
    (void)state;

    fair_share(&(fair_t){first, links, 4, rate, 3, left, users}, flows);
    assert_true(flows[0] == 13 && flows[1] == 13 && flows[2] == 4 && flows[3] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares), cmocka_unit_test(known_trees),
                                       cmocka_unit_test(random_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
