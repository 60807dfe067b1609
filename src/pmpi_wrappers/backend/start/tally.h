/* tally: how many ranks of a job there are of each kind: on each node, or with each affinity mask. Plain data, which travels
 * as bytes.
 *
 * Threads: one. Ownership: the caller's structures. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_TALLY_H
#define HP_PMPI_WRAPPERS_BACKEND_START_TALLY_H

#include <stdint.h>

/* No rule asks whether there are more nodes; and a node with more masks has a core a rank. */
enum { HP_TALLY_KINDS = 64, HP_TALLY_MANY = INT32_MAX };

/* All zero: no ranks. */
typedef struct {
    uint64_t kinds; /* HP_TALLY_MANY: more than there is room for, of which the first ones are here */
    struct {
        uint64_t id, ranks;
    } of[HP_TALLY_KINDS];
} hp_tally_t;

void hp_tally_add(hp_tally_t *tally, uint64_t id, uint64_t ranks);
void hp_tally_join(hp_tally_t *tally, const hp_tally_t *other);

/* The ranks of that kind; 0: not known, as there are more kinds than were counted. */
uint32_t hp_tally_ranks(const hp_tally_t *tally, uint64_t id);

#endif
