/* phases: an all-to-all among positions on a network, cut into phases: no link carries more messages of one phase than it
 * does at a time.
 *
 *   exact     where each link carries one message at a time: as many phases as the busiest link has messages, the fewest
 *             possible (A. Faraj, X. Yuan, Message Scheduling for All-to-All Personalized Communication on Ethernet
 *             Switched Clusters, IPDPS 2005): a switch is the root that has at most half of the positions on each of its
 *             branches; each pair of branches gets phases that follow each other, and the messages inside a branch fit in
 *             where its positions receive from, and send to, other branches
 *   packed    where links differ: phase after phase is filled, the messages first whose busiest link has most left
 *   greedy    where sizes differ: the largest message first, each in the first phase that has room on all of its links
 *
 * For generators. Threads: pure. Ownership: init and fini. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_PHASES_H
#define HP_SCHEDULE_GENERATORS_PARTS_PHASES_H

#include "schedule/generators/parts/paths.h"

/* Positions of which messages are packed, and placed one by one: more take too long. */
enum { HP_PHASES_PACKED_MAX = 64, HP_PHASES_PLACED_MAX = 256 };

typedef struct {
    uint32_t count, phases;
    uint32_t *phase; /* of the message from a to b: [a * count + b]; of a == b: 0 */
    /* In a phase each position sends at most one message, and receives at most one. */
    bool one_each;
} hp_phases_t;

/* HP_OK or HP_ERR_NO_MEM; fini in any case. */
hp_status_t hp_phases_init(hp_phases_t *phases, const hp_paths_t *paths);
void hp_phases_fini(hp_phases_t *phases);

static inline uint32_t hp_phases_at(const hp_phases_t *phases, uint32_t from, uint32_t to)
{
    return phases->phase[(size_t)from * phases->count + to];
}

/* The exact phases. paths->is_equal. */
hp_status_t hp_phases_exact(hp_phases_t *phases, const hp_paths_t *paths);
/* Packed, or where positions are many placed one by one; the fewest phases of several ways. Where they are too many for
 * that too, phases that are exact if all links carry one message. */
hp_status_t hp_phases_fit(hp_phases_t *phases, const hp_paths_t *paths);
/* The largest first. problem->sizes may be NULL: then all are alike. At most HP_PHASES_PLACED_MAX positions. */
hp_status_t hp_phases_greedy(hp_phases_t *phases, const hp_paths_t *paths);
/* Messages without bytes leave their phases; the phases that are left go by their largest message, those that share no
 * link become one. Messages without bytes come last. problem->sizes is there; at most HP_PHASES_PLACED_MAX positions. */
hp_status_t hp_phases_cut_down(hp_phases_t *phases, const hp_paths_t *paths);

#endif
