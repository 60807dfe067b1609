/* around: the ranks of a communicator that habitually come late (planning/arrival.h), and what the others are without them:
 * collectives are run around them, so that nobody waits for them who need not.
 *
 * Threads: as comm.h. Ownership: create allocates, destroy frees; a communicator owns its own (hp_comm_set_around). */
#ifndef HP_HIER_COMM_AROUND_H
#define HP_HIER_COMM_AROUND_H

#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"
#include "topo_tree/hierarchy.h"

typedef struct {
    uint32_t count;
    uint32_t *ranks;           /* the late ones */
    hp_hierarchy_t *hierarchy; /* without them */
    bool *members;             /* of the own node, by their number in its memory: is it a late one? */
    /* Steps of the node's memory in which the late ones take no part: those of the last collectives around them. */
    uint64_t first_step, end_step;
} hp_around_t;

/* h: of the communicator. first_place, node_size: the ranks of the own node among the places of h. The late ranks are different
 * ones, and not all. Returns HP_OK with *out, HP_ERR_NO_MEM, or HP_ERR_ARG: there is no way around them. */
hp_status_t hp_around_create(const hp_hierarchy_t *h, uint32_t first_place, uint32_t node_size,
                             const uint32_t *late, uint32_t count, hp_around_t **out);
void hp_around_destroy(hp_around_t *around); /* NULL is allowed */

bool hp_around_is_late(const hp_around_t *around, uint32_t rank);

/* A collective around them takes these steps of the node's memory. */
void hp_around_take_steps(hp_around_t *around, uint64_t first_step, uint64_t end_step);
/* The step before which the member must have finished, of those that others wait for before they go on with `step`. */
static inline uint64_t hp_around_waited_for(const hp_around_t *around, uint32_t member, uint64_t step)
{
    return around && around->members[member] && step > around->first_step ? around->first_step : step;
}

#endif
