#include "schedule/generators/parts/phases.h"

#include <stdlib.h>
#include <string.h>

hp_status_t hp_phases_init(hp_phases_t *phases, const hp_paths_t *paths)
{
    *phases = (hp_phases_t){.count = paths->count, .one_each = true};
    for (uint32_t p = 0; p < paths->count; p++) {
        const uint32_t own = paths->links - 2 * paths->count + 2 * p;
        phases->one_each = phases->one_each && paths->capacity[own] == 1 && paths->capacity[own + 1] == 1;
    }
    phases->phase = calloc((size_t)paths->count * paths->count, sizeof *phases->phase);
    return phases->phase ? HP_OK : HP_ERR_NO_MEM;
}

void hp_phases_fini(hp_phases_t *phases)
{
    free(phases->phase);
    phases->phase = NULL;
}

/* ---- the root and its branches ---- */

/* Positions, branch by branch, the largest branch first. */
typedef struct {
    uint32_t *members, *first; /* first[i] to first[i + 1] - 1 are those of branch i */
    uint32_t count;            /* branches */
} branches_t;

/* The network's node all of whose branches have at most half of the positions. A position is a branch of its machine. */
static uint32_t find_root(const hp_paths_t *paths)
{
    const hp_network_t *network = paths->problem->placement->network;
    uint32_t root = 0, best = UINT32_MAX;

    /* Of the nodes that have more than half below them the one that has fewest. */
    for (uint32_t i = 0; i < network->node_count; i++)
        if (2 * paths->below[i] > paths->count && paths->below[i] <= best) {
            if (paths->below[i] == best && network->nodes[i].depth < network->nodes[root].depth)
                continue;
            best = paths->below[i];
            root = i;
        }
    return root;
}

typedef struct {
    uint32_t branch, size, position;
} member_t;

static int by_branch(const void *a, const void *b)
{
    const member_t *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->branch != y->branch)
        return x->branch < y->branch ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The branch of the root that the position is on: a node below the root; node_count: the rest of the tree; beyond it:
 * a branch of its own, on the root. */
static uint32_t branch_of(const hp_paths_t *paths, uint32_t root, uint32_t position)
{
    const hp_network_t *network = paths->problem->placement->network;
    uint32_t at = network->machines[hp_problem_machine(paths->problem, position)];

    if (at == root)
        return network->node_count + 1 + position;
    while (network->nodes[at].parent >= 0 && network->nodes[at].parent != (int32_t)root)
        at = (uint32_t)network->nodes[at].parent;
    return network->nodes[at].parent >= 0 ? at : network->node_count;
}

static void list_branches(branches_t *branches, const member_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || members[i].branch != members[i - 1].branch)
            branches->first[branches->count++] = i;
        branches->members[i] = members[i].position;
    }
    branches->first[branches->count] = count;
}

static hp_status_t find_branches(branches_t *branches, const hp_paths_t *paths)
{
    const uint32_t count = paths->count, nodes = paths->problem->placement->network->node_count;
    const uint32_t root = find_root(paths);
    member_t *members = calloc(count, sizeof *members);
    uint32_t *sizes = calloc((size_t)nodes + 1 + count, sizeof *sizes);

    branches->members = calloc(count, sizeof *branches->members);
    branches->first = calloc((size_t)count + 1, sizeof *branches->first);
    const bool has_room = members && sizes && branches->members && branches->first;
    for (uint32_t p = 0; p < count && has_room; p++) {
        members[p].position = p;
        members[p].branch = branch_of(paths, root, p);
        sizes[members[p].branch]++;
    }
    for (uint32_t p = 0; p < count && has_room; p++)
        members[p].size = sizes[members[p].branch];
    if (has_room) {
        qsort(members, count, sizeof *members, by_branch);
        list_branches(branches, members, count);
    }
    free(members);
    free(sizes);
    return has_room ? HP_OK : HP_ERR_NO_MEM;
}

/* ---- the exact phases ---- */

typedef struct {
    hp_phases_t *phases;
    branches_t branches;
    uint32_t *senders; /* [phase] of branch 0, which sends in every phase */
    bool *has;         /* [from * count + to] the message has its phase */
} exact_t;

static uint32_t size_of(const exact_t *x, uint32_t branch)
{
    return x->branches.first[branch + 1] - x->branches.first[branch];
}

/* Member i of a branch. */
static uint32_t member(const exact_t *x, uint32_t branch, uint32_t i)
{
    return x->branches.members[x->branches.first[branch] + i];
}

static void put(exact_t *x, uint32_t phase, uint32_t from, uint32_t to)
{
    const size_t at = (size_t)from * x->phases->count + to;

    if (x->has[at])
        return;
    x->has[at] = true;
    x->phases->phase[at] = phase;
}

/* The first phase of the messages from branch i to branch j. */
static uint32_t start_of(const exact_t *x, uint32_t i, uint32_t j)
{
    const uint32_t *first = x->branches.first;

    return i < j ? size_of(x, i) * (first[j] - first[i + 1])
                 : x->phases->phases - size_of(x, j) * (first[i + 1] - first[j + 1]);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Of branch i > 0: the member that receives from other branches in the phase, if one does. */
static uint32_t receiver(const exact_t *x, uint32_t branch, uint32_t phase)
{
    const uint32_t size = size_of(x, branch);
    return (phase + size - x->phases->phases % size) % size;
}

/* Of branch 0. */
static uint32_t receiver_of_largest(const exact_t *x, uint32_t phase)
{
    const uint32_t size = size_of(x, 0);
    return (x->senders[phase] + phase / size + 1) % size;
}

/* All messages from the largest branch to another one; and inside it where it receives and sends at the same time. */
static void send_from_largest(exact_t *x, uint32_t j)
{
    const uint32_t size = size_of(x, 0), other = size_of(x, j), start = start_of(x, 0, j);
    const uint32_t multiple = size / common_divisor(size, other) * other;

    for (uint32_t q = 0; q < size * other; q++) {
        const uint32_t phase = start + q;
        x->senders[phase] = (q + q / multiple) % size;
        put(x, phase, member(x, 0, x->senders[phase]), member(x, j, receiver(x, j, phase)));
    }
}

static void send_inside_largest(exact_t *x)
{
    const uint32_t size = size_of(x, 0);

    for (uint32_t phase = 0; phase < size * (size - 1); phase++)
        put(x, phase, member(x, 0, receiver_of_largest(x, phase)), member(x, 0, x->senders[phase]));
}

/* From branch i > 0 to branch j, where they are next to each other inside branch i, too. */
static void send_between(exact_t *x, uint32_t i, uint32_t j)
{
    const uint32_t size = size_of(x, i), other = size_of(x, j), start = start_of(x, i, j);

    for (uint32_t q = 0; q < size * other; q++) {
        const uint32_t phase = start + q, sender = q / other, own = receiver(x, i, phase);
        put(x, phase, member(x, i, sender),
            member(x, j, j > 0 ? receiver(x, j, phase) : receiver_of_largest(x, phase)));
        if (j + 1 == i && own != sender)
            put(x, phase, member(x, i, own), member(x, i, sender));
    }
}

static void send_all(exact_t *x)
{
    for (uint32_t j = 1; j < x->branches.count; j++)
        send_from_largest(x, j);
    send_inside_largest(x);
    for (uint32_t i = 1; i < x->branches.count; i++)
        for (uint32_t j = 0; j < x->branches.count; j++)
            if (i != j)
                send_between(x, i, j);
}

hp_status_t hp_phases_exact(hp_phases_t *phases, const hp_paths_t *paths)
{
    exact_t x = {.phases = phases};
    hp_status_t status = find_branches(&x.branches, paths);

    if (status == HP_OK) {
        phases->phases = size_of(&x, 0) * (paths->count - size_of(&x, 0));
        x.senders = calloc((size_t)phases->phases + 1, sizeof *x.senders);
        x.has = calloc((size_t)paths->count * paths->count, sizeof *x.has);
        status = x.senders && x.has ? HP_OK : HP_ERR_NO_MEM;
    }
    if (status == HP_OK)
        send_all(&x);
    free(x.branches.members);
    free(x.branches.first);
    free(x.senders);
    free(x.has);
    return status;
}
