#include "hier/comm/around.h"

#include <stdlib.h>
#include <string.h>

hp_status_t hp_around_create(const hp_hierarchy_t *h, uint32_t first_place, uint32_t node_size,
                             const uint32_t *late, uint32_t count, hp_around_t **out)
{
    hp_around_t *around = calloc(1, sizeof *around);
    hp_status_t status = HP_ERR_NO_MEM;

    if (around && (around->ranks = malloc(count * sizeof *around->ranks)) &&
        (around->members = calloc(node_size, sizeof *around->members)))
        status = hp_hierarchy_create_without(h, late, count, &around->hierarchy);
    if (status != HP_OK) {
        hp_around_destroy(around);
        return status;
    }
    around->count = count;
    memcpy(around->ranks, late, count * sizeof *late);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t member = hp_hierarchy_place(h, late[i]) - first_place; /* wraps where it is none */
        if (member < node_size)
            around->members[member] = true;
    }
    *out = around;
    return HP_OK;
}

void hp_around_destroy(hp_around_t *around)
{
    if (!around)
        return;
    hp_hierarchy_destroy(around->hierarchy);
    free(around->members);
    free(around->ranks);
    free(around);
}

bool hp_around_is_late(const hp_around_t *around, uint32_t rank)
{
    return hp_hierarchy_is_absent(around->hierarchy, rank);
}

void hp_around_take_steps(hp_around_t *around, uint64_t first_step, uint64_t end_step)
{
    if (around->end_step != first_step) /* there was another collective in between, in which they took part */
        around->first_step = first_step;
    around->end_step = end_step;
}
