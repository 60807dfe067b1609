/* kept: what the selections of communicators that have gone came to, for who reports on the run (explain.h, savings.h).
 *
 * A communicator's bins (select.h) are kept when it goes or gets other knobs; those of communicators of one kind
 * (nodes and ranks on them) are put together where the same was chosen.
 * Threads: keep from any thread; the rest when no communicator is left. Ownership: one static list a process; hp_kept_fini
 * frees it. */
#ifndef HP_HIER_PLANNING_KEPT_H
#define HP_HIER_PLANNING_KEPT_H

#include "hier/planning/select.h"

typedef struct hp_kept {
    hp_layout_t layout;
    hp_collective_t collective;
    unsigned number; /* of the bin */
    unsigned communicators;
    hp_bin_t bin;
    double bound_us; /* 0: not known */
    struct hp_kept *next;
} hp_kept_t;

/* Remembers what the communicator's selection came to. Without memory some are missing: hp_kept_lacks. */
void hp_kept_add(const hp_comm_t *comm);

/* The first, in the order of layout, collective, bin. */
const hp_kept_t *hp_kept_first(void);
bool hp_kept_lacks(void);
void hp_kept_fini(void);

/* Settled or not: what would run next. */
unsigned hp_kept_chosen(const hp_bin_t *bin);

/* Were several candidates tried, here or by whom it was taken from? */
bool hp_kept_was_tried(const hp_bin_t *bin);

hp_decider_t hp_kept_decider(const hp_bin_t *bin);

/* Of the slot's calls, on this rank; < 0: none. */
double hp_kept_mean_us(const hp_bin_t *bin, unsigned slot);

int hp_kept_compare_layouts(const hp_layout_t *a, const hp_layout_t *b);

#endif
