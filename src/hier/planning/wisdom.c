#include "hier/planning/wisdom.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

/* Two networks, or one that was probed twice: a stream's rate hardly differs from day to day, a latency may. */
static const double same_rate = 1.4, same_latency = 2.5;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static hp_finding_t *store;                              /* room for HP_FINDINGS_MAX */
static size_t stored;

_Static_assert(sizeof(hp_finding_t) == sizeof(hp_wisdom_place_t) + 2 * sizeof(uint32_t) + HP_SLOTS * 16 +
                                           4 * sizeof(uint32_t) + HP_FINDING_TEXT,
               "findings have no padding");

hp_wisdom_place_t hp_wisdom_place(const hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    const bool several = layout.nodes > 1;

    return (hp_wisdom_place_t){.nodes = layout.nodes,
                               .least_ranks = layout.least_ranks,
                               .most_ranks = layout.most_ranks,
                               .cores = comm->cores,
                               .slot_bytes = layout.slot_bytes,
                               .shares_memory = layout.shares_memory,
                               .reads_peers = layout.reads_peers,
                               .between_us = several ? comm->probes.between_us : 0,
                               .between_rate = several ? comm->probes.between_rate : 0,
                               .placement = layout.network_hash & UINT32_MAX};
}

static bool are_close(double a, double b, double factor)
{
    return (a == 0 && b == 0) || (a > 0 && b > 0 && a <= factor * b && b <= factor * a);
}

static bool is_same_place(const hp_wisdom_place_t *a, const hp_wisdom_place_t *b)
{
    return a->nodes == b->nodes && a->least_ranks == b->least_ranks && a->most_ranks == b->most_ranks &&
           a->cores == b->cores && a->slot_bytes == b->slot_bytes && a->shares_memory == b->shares_memory &&
           a->reads_peers == b->reads_peers && a->placement == b->placement &&
           are_close(a->between_us, b->between_us, same_latency) &&
           are_close(a->between_rate, b->between_rate, same_rate);
}

const hp_finding_t *hp_wisdom_find(const hp_comm_t *comm, hp_collective_t collective, unsigned bin)
{
    for (size_t i = 0; i < comm->finding_count; i++)
        if (comm->findings[i].collective == collective && comm->findings[i].bin == bin)
            return &comm->findings[i];
    return NULL;
}

size_t hp_wisdom_at(hp_finding_t *list, size_t count, const hp_wisdom_place_t *place)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (is_same_place(&list[i].place, place))
            list[kept++] = list[i];
    return kept;
}

/* ---- the store ---- */

/* Do they answer the same question? */
static bool is_same(const hp_finding_t *a, const hp_finding_t *b)
{
    return a->collective == b->collective && a->bin == b->bin && is_same_place(&a->place, &b->place);
}

static bool has_news_of(const hp_finding_t *finding)
{
    for (size_t i = 0; i < stored; i++)
        if (is_same(&store[i], finding) && store[i].is_news)
            return true;
    return false;
}

/* Where the finding goes: the place of one for the same, a free one, or that of the oldest. */
static hp_finding_t *place_for(const hp_finding_t *finding)
{
    hp_finding_t *oldest = store;

    for (size_t i = 0; i < stored; i++) {
        if (is_same(&store[i], finding))
            return &store[i];
        if (store[i].day < oldest->day)
            oldest = &store[i];
    }
    return stored < HP_FINDINGS_MAX ? &store[stored++] : oldest;
}

static void learn(const hp_finding_t *finding, bool is_rough)
{
    pthread_mutex_lock(&lock);
    if (!store)
        store = malloc(HP_FINDINGS_MAX * sizeof *store); /* without memory nothing is remembered */
    if (store && !(is_rough && has_news_of(finding)))
        *place_for(finding) = *finding;
    pthread_mutex_unlock(&lock);
}

void hp_wisdom_learn(const hp_finding_t *finding)
{
    learn(finding, false);
}

void hp_wisdom_learn_rough(const hp_finding_t *finding)
{
    learn(finding, true);
}

static bool has(const hp_finding_t *list, size_t count, const hp_finding_t *finding)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(&list[i], finding))
            return true;
    return false;
}

void hp_wisdom_adopt(const hp_finding_t *list, size_t count)
{
    hp_finding_t *adopted = malloc(HP_FINDINGS_MAX * sizeof *adopted);
    size_t filled = count;

    if (!adopted)
        return;
    memcpy(adopted, list, count * sizeof *list);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < stored && filled < HP_FINDINGS_MAX; i++)
        if (!has(list, count, &store[i]))
            adopted[filled++] = store[i];
    free(store);
    store = adopted;
    stored = filled;
    pthread_mutex_unlock(&lock);
}

size_t hp_wisdom_copy(hp_finding_t *out, uint64_t *hash)
{
    pthread_mutex_lock(&lock);
    const size_t count = stored;
    if (count)
        memcpy(out, store, count * sizeof *out);
    pthread_mutex_unlock(&lock);
    *hash = hp_hash_add(HP_HASH_BASIS, out, count * sizeof *out);
    return count;
}

bool hp_wisdom_has_news(void)
{
    bool news = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < stored && !news; i++)
        news = store[i].is_news;
    pthread_mutex_unlock(&lock);
    return news;
}

void hp_wisdom_forget(void)
{
    pthread_mutex_lock(&lock);
    free(store);
    store = NULL;
    stored = 0;
    pthread_mutex_unlock(&lock);
}
