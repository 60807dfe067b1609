/* hierarchy: the ranks of one communicator, sorted into nested groups.
 *
 * DESIGN. All ranks stand in one array, `order`, such that the members of every group of every level are
 * neighbours in it and groups stand in order of their lowest ranks. So a group is a range of `order`, and its
 * sub-groups are a range of group numbers of the next depth. Per depth we keep where each group begins and,
 * per rank, the group that it is in: every question about a group is then answered in constant time, and
 * building is two sorts.
 *
 *     ranks 0 2 on node A, 1 3 4 on node B            order     0 2 1 3 4
 *     depth 1 (node)   group 0 = [0, 2)  group 1 = [2, 5)       begin   0 2 5
 *     depth 2 (core)   group i = [i, i + 1)                     begin is not stored
 *
 * Threads and ownership: see hierarchy.h. */
#include "topo_tree/hierarchy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Levels whose ids make groups; below them are single ranks. */
#define GROUP_LEVELS HP_LEVEL_CORE

struct hp_hierarchy {
    uint32_t rank_count;
    uint32_t absent_count;   /* the last ones in `order` */
    uint32_t trailing_count; /* nodes with absent ranks: the last ones of the nodes */
    uint32_t level_count;
    hp_level_t level[HP_LEVEL_COUNT];
    bool contiguous;
    uint32_t *order;                      /* [rank_count] */
    uint32_t *group_of[HP_LEVEL_COUNT];   /* [depth - 1][rank]; the innermost is a rank's place in order */
    uint32_t *begin[GROUP_LEVELS];        /* [depth - 1][group], one entry more than groups */
    uint32_t group_count[HP_LEVEL_COUNT]; /* [depth - 1] */

    uint32_t node_count;
    uint32_t *node_of;     /* [rank] */
    uint32_t *node_leader; /* [node] */
    uint32_t node_min_ranks, node_max_ranks, fullest_node;
};

/* Scratch while building: the lowest rank of the group that each rank is in, level by level. A rank that is
 * its own leader stands for its group. */
typedef struct {
    uint32_t *sorted; /* ranks by tuple */
    uint8_t *differs; /* [i]: the outermost level on which sorted[i] differs from the one before it */
    uint32_t *leader[GROUP_LEVELS]; /* [level][rank] */
} leaders_t;

static void leaders_fini(leaders_t *leaders)
{
    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        free(leaders->leader[level]);
    free(leaders->differs);
    free(leaders->sorted);
}

static hp_status_t leaders_init(leaders_t *leaders, uint32_t count)
{
    *leaders = (leaders_t){.sorted = malloc(count * sizeof *leaders->sorted),
                           .differs = malloc(count * sizeof *leaders->differs)};
    bool ok = leaders->sorted != NULL && leaders->differs != NULL;
    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        leaders->leader[level] = malloc(count * sizeof *leaders->leader[level]);
        ok = ok && leaders->leader[level] != NULL;
    }
    if (ok)
        return HP_OK;
    leaders_fini(leaders);
    return HP_ERR_NO_MEM;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The outermost level on which two localities differ, GROUP_LEVELS when they agree on all. */
static unsigned first_difference(const hp_locality_t *a, const hp_locality_t *b)
{
    unsigned level = 0;
    while (level < GROUP_LEVELS && a->id[level] == b->id[level])
        level++;
    return level;
}

static int compare_tuples(const void *left, const void *right, void *context)
{
    const hp_locality_t *table = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    unsigned level = first_difference(&table[a], &table[b]);
    if (level < GROUP_LEVELS)
        return compare_numbers(table[a].id[level], table[b].id[level]);
    return compare_numbers(a, b);
}

/* Sorts all ranks. Most launchers number them as they are to stand here, and then there is nothing to do. */
static void sort(uint32_t *ranks, uint32_t count, int (*compare)(const void *, const void *, void *),
                 void *context)
{
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = i;
    for (uint32_t i = 1; i < count; i++)
        if (compare(&ranks[i - 1], &ranks[i], context) > 0) {
            qsort_r(ranks, count, sizeof *ranks, compare, context);
            return;
        }
}

static void find_leaders(leaders_t *leaders, uint32_t count, const hp_locality_t *table)
{
    uint32_t *sorted = leaders->sorted;
    sort(sorted, count, compare_tuples, (void *)table);

    for (uint32_t i = 1; i < count; i++)
        leaders->differs[i] = (uint8_t)first_difference(&table[sorted[i - 1]], &table[sorted[i]]);
    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        for (uint32_t begin = 0, end; begin < count; begin = end) {
            uint32_t lowest = sorted[begin];
            for (end = begin + 1; end < count && leaders->differs[end] > level; end++)
                lowest = sorted[end] < lowest ? sorted[end] : lowest;
            for (uint32_t i = begin; i < end; i++)
                leaders->leader[level][sorted[i]] = lowest;
        }
    }
}

static uint32_t count_groups(const uint32_t *leader, uint32_t count)
{
    uint32_t groups = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        groups += leader[rank] == rank;
    return groups;
}

/* Chooses the levels that are kept. leader[] becomes dense: leader[i] is that of kept level i. */
static void choose_levels(hp_hierarchy_t *h, leaders_t *leaders, uint32_t level_mask, uint32_t *kept_leader[])
{
    uint32_t outer_groups = 1;
    hp_level_t singles = HP_LEVEL_CORE; /* what single ranks differ by: with one rank a node, the node */
    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        if (!(level_mask & (1u << level)))
            continue;
        uint32_t groups = count_groups(leaders->leader[level], h->rank_count);
        if (groups == outer_groups)
            continue;
        if (groups == h->rank_count) {
            singles = (hp_level_t)level;
            break;
        }
        kept_leader[h->level_count] = leaders->leader[level];
        h->group_count[h->level_count] = groups;
        h->level[h->level_count++] = (hp_level_t)level;
        outer_groups = groups;
    }
    h->group_count[h->level_count] = h->rank_count;
    h->level[h->level_count++] = singles;
}

static hp_status_t allocate(hp_hierarchy_t *h)
{
    bool ok = (h->order = malloc(h->rank_count * sizeof *h->order)) != NULL;
    ok = ok && (h->node_of = malloc(h->rank_count * sizeof *h->node_of)) != NULL;
    ok = ok && (h->node_leader = malloc(h->node_count * sizeof *h->node_leader)) != NULL;
    for (uint32_t i = 0; i < h->level_count; i++)
        ok = ok && (h->group_of[i] = malloc(h->rank_count * sizeof *h->group_of[i])) != NULL;
    for (uint32_t i = 0; i + 1 < h->level_count; i++)
        ok = ok && (h->begin[i] = malloc((h->group_count[i] + (size_t)1) * sizeof *h->begin[i])) != NULL;
    return ok ? HP_OK : HP_ERR_NO_MEM;
}

/* Where a rank's node stands among the nodes. */
enum { PRESENT, TRAILING, ABSENT };

typedef struct {
    uint32_t level_count;
    uint32_t *const *leader;
    const uint8_t *standing; /* [rank]; NULL: all are PRESENT */
} order_context_t;

static int compare_leaders(const void *left, const void *right, void *context)
{
    const order_context_t *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (order->standing && order->standing[a] != order->standing[b])
        return compare_numbers(order->standing[a], order->standing[b]);
    for (uint32_t i = 0; i < order->level_count; i++) {
        if (order->leader[i][a] != order->leader[i][b])
            return compare_numbers(order->leader[i][a], order->leader[i][b]);
    }
    return compare_numbers(a, b);
}

static void fill_groups(hp_hierarchy_t *h, uint32_t *const kept_leader[], const uint8_t *standing)
{
    order_context_t context = {h->level_count - 1, kept_leader, standing};
    sort(h->order, h->rank_count, compare_leaders, &context);

    for (uint32_t i = 0; i + 1 < h->level_count; i++) {
        uint32_t group = 0;
        for (uint32_t place = 0; place < h->rank_count; place++) {
            uint32_t rank = h->order[place];
            if (kept_leader[i][rank] == rank) /* its group's lowest rank stands first in it */
                h->begin[i][group++] = place;
            h->group_of[i][rank] = group - 1;
        }
        h->begin[i][group] = h->rank_count;
        assert(group == h->group_count[i]);
    }

    h->contiguous = true;
    for (uint32_t place = 0; place < h->rank_count; place++) {
        h->group_of[h->level_count - 1][h->order[place]] = place;
        h->contiguous = h->contiguous && h->order[place] == place;
    }
}

/* sizes: scratch of node_count entries. */
static void fill_nodes(hp_hierarchy_t *h, const uint32_t *node_leader, uint32_t *sizes)
{
    uint32_t node = 0;
    for (uint32_t place = 0; place < h->rank_count - h->absent_count; place++) { /* leaders first */
        const uint32_t rank = h->order[place];
        if (node_leader[rank] == rank) {
            sizes[node] = 0;
            h->node_leader[node] = rank;
            h->node_of[rank] = node++;
        } else {
            h->node_of[rank] = h->node_of[node_leader[rank]];
        }
        sizes[h->node_of[rank]]++;
    }
    h->node_min_ranks = h->node_max_ranks = sizes[0];
    for (node = 1; node < h->node_count; node++) {
        h->node_min_ranks = sizes[node] < h->node_min_ranks ? sizes[node] : h->node_min_ranks;
        if (sizes[node] > h->node_max_ranks) {
            h->node_max_ranks = sizes[node];
            h->fullest_node = node;
        }
    }
}

/* standing: of each rank; NULL: none is absent. */
static hp_status_t create(uint32_t count, const hp_locality_t *table, uint32_t level_mask, bool flat,
                          const uint8_t *standing, hp_hierarchy_t **out)
{
    if (count == 0 || count > INT32_MAX || table == NULL)
        return HP_ERR_ARG;
    leaders_t leaders;
    uint32_t *kept_leader[GROUP_LEVELS];
    hp_hierarchy_t *h = calloc(1, sizeof *h);
    if (h == NULL)
        return HP_ERR_NO_MEM;
    hp_status_t status = leaders_init(&leaders, count);
    if (status != HP_OK)
        goto destroy_hierarchy;

    h->rank_count = count;
    find_leaders(&leaders, count, table);
    h->node_count = count_groups(leaders.leader[HP_LEVEL_NODE], count);
    for (uint32_t rank = 0; rank < count && standing; rank++) {
        h->absent_count += standing[rank] == ABSENT;
        h->trailing_count += standing[rank] == TRAILING && leaders.leader[HP_LEVEL_NODE][rank] == rank;
    }
    choose_levels(h, &leaders, flat ? 0 : level_mask, kept_leader);
    status = allocate(h);
    if (status != HP_OK)
        goto free_leaders;
    fill_groups(h, kept_leader, standing);
    h->node_count -= h->absent_count; /* each was one by itself */
    if (h->trailing_count == h->node_count)
        h->trailing_count = 0;
    fill_nodes(h, leaders.leader[HP_LEVEL_NODE], leaders.sorted);
    leaders_fini(&leaders);
    *out = h;
    return HP_OK;

free_leaders:
    leaders_fini(&leaders);
destroy_hierarchy:
    hp_hierarchy_destroy(h);
    return status;
}

hp_status_t hp_hierarchy_create(uint32_t count, const hp_locality_t *table, uint32_t level_mask, bool flat,
                                hp_hierarchy_t **out)
{
    return create(count, table, level_mask, flat, NULL, out);
}

/* A table of localities that has the groups of h: their numbers are the ids. */
static void describe(const hp_hierarchy_t *h, hp_locality_t *table)
{
    for (uint32_t rank = 0; rank < h->rank_count; rank++) {
        for (uint32_t i = 0; i < h->level_count; i++)
            table[rank].id[h->level[i]] = h->group_of[i][rank];
        table[rank].id[HP_LEVEL_NODE] = h->node_of[rank];
    }
}

/* Each absent rank becomes a node by itself. */
static void set_apart(const hp_hierarchy_t *h, const uint32_t *absent, uint32_t absent_count,
                      hp_locality_t *table, uint8_t *standing)
{
    for (uint32_t i = 0; i < absent_count; i++)
        for (uint32_t rank = 0; rank < h->rank_count; rank++)
            if (h->node_of[rank] == h->node_of[absent[i]])
                standing[rank] = TRAILING;
    for (uint32_t i = 0; i < absent_count; i++) {
        standing[absent[i]] = ABSENT;
        table[absent[i]].id[HP_LEVEL_NODE] = h->node_count + i;
    }
}

hp_status_t hp_hierarchy_create_without(const hp_hierarchy_t *h, const uint32_t *absent,
                                        uint32_t absent_count, hp_hierarchy_t **out)
{
    uint32_t levels = 1u << HP_LEVEL_NODE;

    if (absent_count == 0 || absent_count >= h->rank_count || h->absent_count > 0 ||
        (h->node_count > 1 && hp_hierarchy_node_depth(h) == 0))
        return HP_ERR_ARG;
    for (uint32_t i = 0; i < h->level_count; i++)
        levels |= 1u << h->level[i];
    hp_locality_t *table = calloc(h->rank_count, sizeof *table);
    uint8_t *standing = calloc(h->rank_count, sizeof *standing);
    hp_status_t status = HP_ERR_NO_MEM;
    if (table && standing) {
        describe(h, table);
        set_apart(h, absent, absent_count, table, standing);
        status = create(h->rank_count, table, levels, false, standing, out);
    }
    free(standing);
    free(table);
    return status;
}

void hp_hierarchy_destroy(hp_hierarchy_t *hierarchy)
{
    if (hierarchy == NULL)
        return;
    for (unsigned i = 0; i < GROUP_LEVELS; i++)
        free(hierarchy->begin[i]);
    for (unsigned i = 0; i < HP_LEVEL_COUNT; i++)
        free(hierarchy->group_of[i]);
    free(hierarchy->node_leader);
    free(hierarchy->node_of);
    free(hierarchy->order);
    free(hierarchy);
}

uint32_t hp_hierarchy_rank_count(const hp_hierarchy_t *h)
{
    return h->rank_count;
}

uint32_t hp_hierarchy_level_count(const hp_hierarchy_t *h)
{
    return h->level_count;
}

hp_level_t hp_hierarchy_level(const hp_hierarchy_t *h, uint32_t i)
{
    assert(i < h->level_count);
    return h->level[i];
}

uint32_t hp_hierarchy_node_count(const hp_hierarchy_t *h)
{
    return h->node_count;
}

void hp_hierarchy_node_sizes(const hp_hierarchy_t *h, uint32_t *min_ranks, uint32_t *max_ranks)
{
    *min_ranks = h->node_min_ranks;
    *max_ranks = h->node_max_ranks;
}

uint32_t hp_hierarchy_node_of(const hp_hierarchy_t *h, uint32_t rank)
{
    assert(rank < h->rank_count);
    return h->node_of[rank];
}

uint32_t hp_hierarchy_node_size(const hp_hierarchy_t *h, uint32_t node)
{
    uint32_t ranks = 0;
    for (uint32_t rank = 0; rank < h->rank_count; rank++)
        ranks += h->node_of[rank] == node;
    return ranks;
}

uint32_t hp_hierarchy_fullest_node(const hp_hierarchy_t *h)
{
    return h->fullest_node;
}

uint32_t hp_hierarchy_node_leader(const hp_hierarchy_t *h, uint32_t node)
{
    assert(node < h->node_count);
    return h->node_leader[node];
}

bool hp_hierarchy_is_absent(const hp_hierarchy_t *h, uint32_t rank)
{
    return h->absent_count > 0 && hp_hierarchy_place(h, rank) >= h->rank_count - h->absent_count;
}

uint32_t hp_hierarchy_trailing_nodes(const hp_hierarchy_t *h)
{
    return h->trailing_count;
}

bool hp_hierarchy_is_contiguous(const hp_hierarchy_t *h)
{
    return h->contiguous;
}

uint32_t hp_hierarchy_group_count(const hp_hierarchy_t *h, uint32_t depth)
{
    assert(depth <= h->level_count);
    return depth == 0 ? 1 : h->group_count[depth - 1];
}

uint32_t hp_hierarchy_group_of(const hp_hierarchy_t *h, uint32_t depth, uint32_t rank)
{
    assert(depth <= h->level_count && rank < h->rank_count);
    return depth == 0 ? 0 : h->group_of[depth - 1][rank];
}

const uint32_t *hp_hierarchy_members(const hp_hierarchy_t *h, uint32_t depth, uint32_t group, uint32_t *count)
{
    assert(group < hp_hierarchy_group_count(h, depth));
    if (depth == 0) {
        *count = h->rank_count - h->absent_count;
        return h->order;
    }
    if (depth == h->level_count) {
        *count = 1;
        return &h->order[group];
    }
    const uint32_t *begin = &h->begin[depth - 1][group];
    *count = begin[1] - begin[0];
    return &h->order[begin[0]];
}

uint32_t hp_hierarchy_place(const hp_hierarchy_t *h, uint32_t rank)
{
    return hp_hierarchy_group_of(h, h->level_count, rank);
}

const uint32_t *hp_hierarchy_starts(const hp_hierarchy_t *h, uint32_t depth)
{
    assert(depth > 0 && depth < h->level_count);
    return h->begin[depth - 1];
}

uint32_t hp_hierarchy_subgroups(const hp_hierarchy_t *h, uint32_t depth, uint32_t group, uint32_t *count)
{
    assert(depth < h->level_count);
    uint32_t member_count;
    const uint32_t *members = hp_hierarchy_members(h, depth, group, &member_count);
    uint32_t first = hp_hierarchy_group_of(h, depth + 1, members[0]);
    uint32_t last = hp_hierarchy_group_of(h, depth + 1, members[member_count - 1]);
    *count = last - first + 1;
    return first;
}

uint32_t hp_hierarchy_node_depth(const hp_hierarchy_t *h)
{
    return hp_hierarchy_level(h, 0) == HP_LEVEL_NODE ? 1 : 0;
}

const uint32_t *hp_hierarchy_node_ranks(const hp_hierarchy_t *h, uint32_t rank, uint32_t *count)
{
    const uint32_t depth = hp_hierarchy_node_depth(h);
    return hp_hierarchy_members(h, depth, hp_hierarchy_group_of(h, depth, rank), count);
}
