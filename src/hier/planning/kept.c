#include "hier/planning/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include "hier/planning/model/model_blocks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static hp_kept_t *rows;
static bool lacks_memory;

unsigned hp_kept_chosen(const hp_bin_t *bin)
{
    return bin->guard.open || !(bin->candidates.offered & (1u << bin->guard.chosen)) ? HP_SLOT_RULE
                                                                                     : bin->guard.chosen;
}

bool hp_kept_was_tried(const hp_bin_t *bin)
{
    return (bin->guard.offered & (bin->guard.offered - 1)) && bin->guard.took[HP_SLOT_RULE].median >= 0;
}

hp_decider_t hp_kept_decider(const hp_bin_t *bin)
{
    if (bin->guard.is_found)
        return HP_DECIDER_WISDOM;
    return hp_kept_was_tried(bin) && !bin->guard.open ? HP_DECIDER_GUARD
                                                      : bin->candidates.slot[hp_kept_chosen(bin)].by;
}

double hp_kept_mean_us(const hp_bin_t *bin, unsigned slot)
{
    return bin->calls[slot] ? bin->us[slot] / (double)bin->calls[slot] : -1;
}

static uint64_t all_calls(const hp_bin_t *bin)
{
    uint64_t calls = 0;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++)
        calls += bin->calls[slot];
    return calls;
}

int hp_kept_compare_layouts(const hp_layout_t *a, const hp_layout_t *b)
{
    if (a->nodes != b->nodes)
        return a->nodes < b->nodes ? -1 : 1;
    if (a->most_ranks != b->most_ranks)
        return a->most_ranks < b->most_ranks ? -1 : 1;
    if (a->least_ranks != b->least_ranks)
        return a->least_ranks < b->least_ranks ? -1 : 1;
    if (a->network_hash != b->network_hash)
        return a->network_hash < b->network_hash ? -1 : 1;
    return a->shares_memory - b->shares_memory;
}

static int compare(const hp_kept_t *a, const hp_kept_t *b)
{
    const int layouts = hp_kept_compare_layouts(&a->layout, &b->layout);
    if (layouts)
        return layouts;
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

/* Was the same chosen, from the same? */
static bool is_alike(const hp_bin_t *a, const hp_bin_t *b)
{
    bool alike = hp_kept_chosen(a) == hp_kept_chosen(b) && hp_kept_decider(a) == hp_kept_decider(b) &&
                 a->candidates.offered == b->candidates.offered;
    for (unsigned slot = 0; slot < HP_SLOTS && alike; slot++)
        alike = !(a->candidates.offered & (1u << slot)) ||
                (a->candidates.slot[slot].algorithm == b->candidates.slot[slot].algorithm &&
                 hp_setting_same(&a->candidates.slot[slot].setting, &b->candidates.slot[slot].setting));
    return alike;
}

static void put_together(hp_kept_t *row, const hp_bin_t *bin)
{
    row->communicators++;
    for (unsigned slot = 0; slot < HP_SLOTS; slot++) {
        row->bin.calls[slot] += bin->calls[slot];
        row->bin.us[slot] += bin->us[slot];
    }
    row->bin.guard.reopened += bin->guard.reopened;
    row->bin.agreements += bin->agreements;
    row->bin.agreements_us += bin->agreements_us;
}

static void keep_bin(void *context, hp_collective_t collective, unsigned number, const hp_bin_t *bin)
{
    const hp_comm_t *comm = context;
    const uint64_t bytes = number ? 1ull << (number - 1) : 0;
    hp_kept_t like = {.layout = hp_comm_layout(comm), .collective = collective, .number = number};
    hp_kept_t **place = &rows;

    if (!all_calls(bin))
        return;
    while (*place && compare(*place, &like) < 0)
        place = &(*place)->next;
    for (hp_kept_t *row = *place; row && compare(row, &like) == 0; row = row->next)
        if (is_alike(&row->bin, bin)) {
            put_together(row, bin);
            return;
        }
    hp_kept_t *row = malloc(sizeof *row);
    if (!row) {
        lacks_memory = true;
        return;
    }
    like.communicators = 1;
    like.bin = *bin;
    like.bound_us = hp_model_bound_us(&comm->probes, &like.layout, collective, bytes);
    like.layout.network = NULL; /* which goes with the communicator */
    like.next = *place;
    *row = like;
    *place = row;
}

void hp_kept_add(const hp_comm_t *comm)
{
    pthread_mutex_lock(&lock);
    hp_select_each(comm, keep_bin, (void *)comm);
    pthread_mutex_unlock(&lock);
}

const hp_kept_t *hp_kept_first(void)
{
    return rows;
}

bool hp_kept_lacks(void)
{
    return lacks_memory;
}

void hp_kept_fini(void)
{
    while (rows) {
        hp_kept_t *row = rows;
        rows = row->next;
        free(row);
    }
    lacks_memory = false;
}
