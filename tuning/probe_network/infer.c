#include "infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fair.h"

/* Shares of what would be there, tried on made-up measurements with noise and stalls
 * (tests/unit/test_probe_network.c). */
#define ALIKE      0.83 /* two hosts on one switch reach at least that */
#define BRANCH     1.25 /* a set of groups is a branch from this shortfall on */
#define LIMITING   1.2  /* a link is one from this shortfall on */
#define SAME_RATES 0.1  /* by which the rates of two hosts may differ that are meant to be the same */

static int compare_rates(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The value that the given share of all lie below. */
static double quantile(double *values, uint32_t count, double share)
{
    qsort(values, count, sizeof *values, compare_rates);
    return count ? values[(uint32_t)(share * (count - 1) + 0.5)] : 0;
}

/* ---- hosts ---- */

/* What each pair reached, in all rounds: of the pair (a, b), from a to b, values[first[a * hosts + b]] on. */
typedef struct {
    uint32_t *first;
    double *values;
} samples_t;

static void samples_init(samples_t *samples, const probe_rounds_t *rounds)
{
    const uint64_t pairs = (uint64_t)rounds->hosts * rounds->hosts;
    const uint64_t entries = (uint64_t)rounds->count * rounds->hosts;
    uint32_t *next = probe_memory(NULL, pairs + 1, sizeof *next);

    samples->first = probe_memory(NULL, pairs + 1, sizeof *samples->first);
    samples->values = probe_memory(NULL, entries, sizeof *samples->values);
    memset(samples->first, 0, (pairs + 1) * sizeof *samples->first);
    for (uint64_t i = 0; i < entries; i++)
        if (rounds->to[i] != PROBE_NOBODY)
            samples->first[i % rounds->hosts * rounds->hosts + (uint32_t)rounds->to[i] + 1]++;
    for (uint64_t pair = 0; pair < pairs; pair++)
        samples->first[pair + 1] += samples->first[pair];
    memcpy(next, samples->first, (pairs + 1) * sizeof *next);
    for (uint64_t i = 0; i < entries; i++)
        if (rounds->to[i] != PROBE_NOBODY)
            samples->values[next[i % rounds->hosts * rounds->hosts + (uint32_t)rounds->to[i]]++] =
                rounds->rates[i];
    free(next);
}

static void samples_fini(samples_t *samples)
{
    free(samples->first);
    free(samples->values);
}

/* The value of a pair; samples of it are sorted. */
static double of_pair(const samples_t *samples, uint64_t pair, double share)
{
    return quantile(samples->values + samples->first[pair], samples->first[pair + 1] - samples->first[pair],
                    share);
}

/* What the pair reached of the rate that it could have, on average, none of more than that. */
static double mean_share(const samples_t *samples, uint64_t pair, double rate)
{
    const uint32_t count = samples->first[pair + 1] - samples->first[pair];
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += fmin(1, samples->values[samples->first[pair] + i] / rate);
    return count ? sum / count : 0;
}

/* A host's rate is the largest median that it reached with anybody. */
static void find_rates(const samples_t *samples, uint32_t hosts, double *up, double *down)
{
    for (uint32_t h = 0; h < hosts; h++)
        up[h] = down[h] = 0;
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = 0; b < hosts; b++) {
            const double median = of_pair(samples, (uint64_t)a * hosts + b, 0.5);
            up[a] = fmax(up[a], median);
            down[b] = fmax(down[b], median);
        }
}

/* Joins the two most alike until none are alike enough. alike: hosts x hosts, changed. */
static uint32_t join_alike(double *alike, uint32_t hosts, uint32_t *group)
{
    uint32_t *size = probe_memory(NULL, hosts, sizeof *size), *into = probe_memory(NULL, hosts, sizeof *into);
    uint32_t groups = 0;

    for (uint32_t h = 0; h < hosts; h++) {
        size[h] = 1;
        into[h] = h;
    }
    for (;;) {
        uint32_t a = 0, b = 0;
        double most = ALIKE;
        for (uint32_t i = 0; i < hosts; i++)
            for (uint32_t j = i + 1; j < hosts && size[i]; j++)
                if (size[j] && alike[(uint64_t)i * hosts + j] >= most) {
                    most = alike[(uint64_t)i * hosts + j];
                    a = i;
                    b = j;
                }
        if (a == b)
            break;
        for (uint32_t k = 0; k < hosts; k++)
            alike[(uint64_t)a * hosts + k] = alike[(uint64_t)k * hosts + a] =
                (size[a] * alike[(uint64_t)a * hosts + k] + size[b] * alike[(uint64_t)b * hosts + k]) /
                (size[a] + size[b]);
        size[a] += size[b];
        size[b] = 0;
        for (uint32_t h = 0; h < hosts; h++)
            if (into[h] == b)
                into[h] = a;
    }
    for (uint32_t h = 0; h < hosts; h++)
        if (into[h] == h)
            group[h] = groups++;
    for (uint32_t h = 0; h < hosts; h++)
        group[h] = group[into[h]];
    free(size);
    free(into);
    return groups;
}

uint32_t probe_find_groups(const probe_rounds_t *rounds, uint32_t *group)
{
    const uint32_t hosts = rounds->hosts;
    double *alike = probe_memory(NULL, (uint64_t)hosts * hosts, sizeof *alike);
    double *up = probe_memory(NULL, hosts, sizeof *up), *down = probe_memory(NULL, hosts, sizeof *down);
    samples_t samples;

    samples_init(&samples, rounds);
    find_rates(&samples, hosts, up, down);
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = 0; b < hosts; b++)
            alike[(uint64_t)a * hosts + b] =
                (mean_share(&samples, (uint64_t)a * hosts + b, fmin(up[a], down[b])) +
                 mean_share(&samples, (uint64_t)b * hosts + a, fmin(up[b], down[a]))) /
                2;
    const uint32_t groups = join_alike(alike, hosts, group);
    samples_fini(&samples);
    free(alike);
    free(up);
    free(down);
    return groups;
}

/* ---- the tree of groups ---- */

/* A node of the tree so far: a group, or what was made of several; node 0 is the top. in: for each group, whether it is
 * below. Its link to the node above has rates; INFINITY: it limits nothing, and the two are one switch. */
typedef struct {
    int32_t above; /* -1: the top */
    bool *in;
    double up, down;
} node_t;

typedef struct {
    const probe_rounds_t *rounds;
    const uint32_t *group;
    uint32_t groups;
    const double *host_up, *host_down;
    node_t *nodes;
    uint32_t count;
    double *predicted; /* of each round and host, as rounds->rates */
} model_t;

static uint32_t add_node(model_t *model, int32_t above)
{
    node_t *node = &model->nodes[model->count];

    *node = (node_t){above, probe_memory(NULL, model->groups, sizeof *node->in), INFINITY, INFINITY};
    memset(node->in, 0, model->groups * sizeof *node->in);
    return model->count++;
}

static void model_init(model_t *model)
{
    const uint64_t entries = (uint64_t)model->rounds->count * model->rounds->hosts;

    model->nodes = probe_memory(NULL, 2 * (uint64_t)model->groups + 1, sizeof *model->nodes);
    model->predicted = probe_memory(NULL, entries, sizeof *model->predicted);
    add_node(model, -1);
    memset(model->nodes[0].in, 1, model->groups * sizeof *model->nodes[0].in);
    for (uint32_t g = 0; g < model->groups; g++)
        model->nodes[add_node(model, 0)].in[g] = true;
}

static void model_fini(model_t *model)
{
    for (uint32_t i = 0; i < model->count; i++)
        free(model->nodes[i].in);
    free(model->nodes);
    free(model->predicted);
}

/* Links of the model: of each node up and down, then of each host. Those of a message; returns how many. */
static uint32_t links_of(const model_t *model, uint32_t from, uint32_t to, uint32_t *links)
{
    const uint32_t hosts = model->rounds->hosts, a = model->group[from], b = model->group[to];
    uint32_t count = 0;

    for (uint32_t i = 1; i < model->count; i++) {
        if (model->nodes[i].in[a] && !model->nodes[i].in[b])
            links[count++] = 2 * i;
        if (model->nodes[i].in[b] && !model->nodes[i].in[a])
            links[count++] = 2 * i + 1;
    }
    links[count++] = 2 * model->count + from;
    links[count++] = 2 * model->count + hosts + to;
    return count;
}

/* What each flow of each round would reach; left_out: a node whose link is taken to limit nothing, 0: none. */
static void predict(model_t *model, uint32_t left_out)
{
    const uint32_t hosts = model->rounds->hosts, link_count = 2 * model->count + 2 * hosts;
    uint32_t *first = probe_memory(NULL, hosts + 1, sizeof *first),
             *flows = probe_memory(NULL, hosts, sizeof *flows);
    uint32_t *links = probe_memory(NULL, (uint64_t)hosts * (2 * model->count + 2), sizeof *links);
    uint32_t *users = probe_memory(NULL, link_count, sizeof *users);
    double *rate = probe_memory(NULL, link_count, sizeof *rate),
           *left = probe_memory(NULL, link_count, sizeof *left);
    double *shares = probe_memory(NULL, hosts, sizeof *shares);

    for (uint32_t i = 0; i < model->count; i++) {
        rate[2 * i] = i == left_out ? INFINITY : model->nodes[i].up;
        rate[2 * i + 1] = i == left_out ? INFINITY : model->nodes[i].down;
    }
    memcpy(rate + 2 * model->count, model->host_up, hosts * sizeof *rate);
    memcpy(rate + 2 * model->count + hosts, model->host_down, hosts * sizeof *rate);
    for (uint32_t round = 0; round < model->rounds->count; round++) {
        const uint64_t at = (uint64_t)round * hosts;
        uint32_t count = 0, used = 0;
        for (uint32_t h = 0; h < hosts; h++) {
            if (model->rounds->to[at + h] == PROBE_NOBODY)
                continue;
            flows[count] = h;
            first[count++] = used;
            used += links_of(model, h, (uint32_t)model->rounds->to[at + h], links + used);
        }
        first[count] = used;
        fair_share(&(fair_t){first, links, count, rate, link_count, left, users}, shares);
        for (uint32_t f = 0; f < count; f++)
            model->predicted[at + flows[f]] = shares[f];
    }
    free(first);
    free(flows);
    free(links);
    free(users);
    free(rate);
    free(left);
    free(shares);
}

/* Of what crosses from a set of groups to the rest, or back: what was seen and what was predicted, a value a round. */
static void cross(const model_t *model, const bool *in, bool out, double *seen, double *predicted)
{
    const uint32_t hosts = model->rounds->hosts;

    for (uint32_t round = 0; round < model->rounds->count; round++) {
        seen[round] = predicted[round] = 0;
        for (uint64_t i = (uint64_t)round * hosts; i < (uint64_t)(round + 1) * hosts; i++) {
            if (model->rounds->to[i] == PROBE_NOBODY)
                continue;
            const bool from = in[model->group[i % hosts]], to = in[model->group[model->rounds->to[i]]];
            if (from == to || from != out)
                continue;
            seen[round] += model->rounds->rates[i];
            predicted[round] += model->predicted[i];
        }
    }
}

/* One direction of a link around a set of groups. Measurements stall more often than they exceed a link: of what was seen
 * the largest counts (of 3600 random trees of tests/unit/test_probe_network.c none is wrong then, with the second largest
 * 10 are); of what was predicted the third, so that one odd round decides nothing. */
typedef struct {
    double seen, predicted; /* what crossed at most, and what would */
    double rate;            /* its rate, if it limits: the median of the rounds that fill it */
} crossing_t;

/* n: from 1 on. */
static double nth_largest(double *values, uint32_t count, uint32_t n)
{
    qsort(values, count, sizeof *values, compare_rates);
    return values[count > n ? count - n : 0];
}

static crossing_t measure(const model_t *model, const bool *in, bool out)
{
    const uint32_t count = model->rounds->count;
    double *seen = probe_memory(NULL, count, sizeof *seen),
           *predicted = probe_memory(NULL, count, sizeof *predicted);
    double *full = probe_memory(NULL, count, sizeof *full);
    uint32_t fills = 0;
    crossing_t crossing;

    cross(model, in, out, seen, predicted);
    memcpy(full, seen, count * sizeof *full);
    crossing.seen = nth_largest(full, count, 1);
    for (uint32_t i = 0; i < count; i++)
        if (predicted[i] >= LIMITING * crossing.seen)
            full[fills++] = seen[i];
    crossing.rate = fills > 0 ? quantile(full, fills, 0.5) : crossing.seen;
    crossing.predicted = nth_largest(predicted, count, 3);
    free(seen);
    free(predicted);
    free(full);
    return crossing;
}

/* By how much what crossed falls short of what is predicted, in the direction where that is more. */
static double shortfall(const model_t *model, const bool *in)
{
    const crossing_t out = measure(model, in, true), back = measure(model, in, false);

    return fmax(out.seen > 0 ? out.predicted / out.seen : 1, back.seen > 0 ? back.predicted / back.seen : 1);
}

static void limit(model_t *model, uint32_t node)
{
    model->nodes[node].up = measure(model, model->nodes[node].in, true).seen;
    model->nodes[node].down = measure(model, model->nodes[node].in, false).seen;
}

/* Two nodes on the top, whose sets are to be a branch; false: none falls short enough. */
static bool find_branch(const model_t *model, uint32_t *one, uint32_t *other)
{
    bool *both = probe_memory(NULL, model->groups, sizeof *both);
    double most = BRANCH;
    bool found = false;

    for (uint32_t a = 1; a < model->count; a++)
        for (uint32_t b = a + 1; b < model->count && model->nodes[a].above == 0; b++) {
            if (model->nodes[b].above != 0)
                continue;
            for (uint32_t g = 0; g < model->groups; g++)
                both[g] = model->nodes[a].in[g] || model->nodes[b].in[g];
            const double short_by = shortfall(model, both);
            if (short_by < most)
                continue;
            most = short_by;
            *one = a;
            *other = b;
            found = true;
        }
    free(both);
    return found;
}

static void find_branches(model_t *model)
{
    uint32_t on_top = model->groups, a = 0, b = 0;

    for (predict(model, 0); on_top > 3 && find_branch(model, &a, &b); predict(model, 0), on_top--) {
        const uint32_t branch = add_node(model, 0);
        for (uint32_t g = 0; g < model->groups; g++)
            model->nodes[branch].in[g] = model->nodes[a].in[g] || model->nodes[b].in[g];
        model->nodes[a].above = model->nodes[b].above = (int32_t)branch;
        limit(model, branch);
    }
}

/* Links that limit nothing, the least limiting first: without one, those in a row with it may limit. */
static void drop_links(model_t *model)
{
    for (;;) {
        double least = LIMITING;
        uint32_t drop = 0;
        for (uint32_t i = 1; i < model->count; i++) {
            if (isinf(model->nodes[i].up))
                continue;
            predict(model, i);
            const double short_by = shortfall(model, model->nodes[i].in);
            if (short_by < least) {
                least = short_by;
                drop = i;
            }
        }
        if (!drop)
            return;
        model->nodes[drop].up = model->nodes[drop].down = INFINITY;
    }
}

/* The rates of those that are left. */
static void find_trunk_rates(model_t *model)
{
    for (uint32_t i = 1; i < model->count; i++) {
        if (isinf(model->nodes[i].up))
            continue;
        predict(model, i);
        model->nodes[i].up = measure(model, model->nodes[i].in, true).rate;
        model->nodes[i].down = measure(model, model->nodes[i].in, false).rate;
    }
}

/* ---- what comes out ---- */

/* The node whose switch a node's is. */
static uint32_t switch_of(const model_t *model, uint32_t node)
{
    while (node > 0 && isinf(model->nodes[node].up))
        node = (uint32_t)model->nodes[node].above;
    return node;
}

static void fill_tree(const model_t *model, probe_tree_t *tree)
{
    uint32_t *number = probe_memory(NULL, model->count, sizeof *number);

    for (uint32_t i = 0; i < model->count; i++)
        if (switch_of(model, i) == i)
            number[i] = tree->switches++;
    tree->above = probe_memory(NULL, tree->switches, sizeof *tree->above);
    tree->up = probe_memory(NULL, tree->switches, sizeof *tree->up);
    tree->down = probe_memory(NULL, tree->switches, sizeof *tree->down);
    for (uint32_t i = 0; i < model->count; i++) {
        if (switch_of(model, i) != i)
            continue;
        const uint32_t s = number[i];
        tree->above[s] = i == 0 ? -1 : (int32_t)number[switch_of(model, (uint32_t)model->nodes[i].above)];
        tree->up[s] = model->nodes[i].up;
        tree->down[s] = model->nodes[i].down;
    }
    for (uint32_t h = 0; h < tree->hosts; h++)
        tree->on[h] = number[switch_of(model, model->group[h] + 1)]; /* groups are the nodes behind the top */
    free(number);
}

/* Hosts of a switch whose rates hardly differ have the same: their median. */
static void even_out(const probe_tree_t *tree, double *rates)
{
    double *near = probe_memory(NULL, tree->hosts, sizeof *near),
           *even = probe_memory(NULL, tree->hosts, sizeof *even);

    for (uint32_t h = 0; h < tree->hosts; h++) {
        uint32_t count = 0;
        for (uint32_t other = 0; other < tree->hosts; other++)
            if (tree->on[other] == tree->on[h] && fabs(rates[other] - rates[h]) <= SAME_RATES * rates[h])
                near[count++] = rates[other];
        even[h] = quantile(near, count, 0.5);
    }
    memcpy(rates, even, tree->hosts * sizeof *rates);
    free(near);
    free(even);
}

void probe_find_tree(const probe_rounds_t *rounds, const uint32_t *group, uint32_t groups, probe_tree_t *tree)
{
    *tree = (probe_tree_t){.hosts = rounds->hosts,
                           .on = probe_memory(NULL, rounds->hosts, sizeof *tree->on),
                           .host_up = probe_memory(NULL, rounds->hosts, sizeof *tree->host_up),
                           .host_down = probe_memory(NULL, rounds->hosts, sizeof *tree->host_down)};
    model_t model = {rounds, group, groups, tree->host_up, tree->host_down, NULL, 0, NULL};
    samples_t samples;

    samples_init(&samples, rounds);
    find_rates(&samples, rounds->hosts, tree->host_up, tree->host_down);
    samples_fini(&samples);
    model_init(&model);
    if (groups > 1) {
        predict(&model, 0);
        for (uint32_t g = 0; g < groups; g++)
            limit(&model, g + 1);
        find_branches(&model);
        drop_links(&model);
        find_trunk_rates(&model);
    }
    fill_tree(&model, tree);
    even_out(tree, tree->host_up);
    even_out(tree, tree->host_down);
    model_fini(&model);
}

void probe_tree_fini(probe_tree_t *tree)
{
    free(tree->on);
    free(tree->host_up);
    free(tree->host_down);
    free(tree->above);
    free(tree->up);
    free(tree->down);
}
