/* cells: what the collectives have in common that go straight through the cells of a node's memory (flags.h, block_flags.h): a cell
 * is written once a step by its owner, then its flag says so; it is used again HP_CELLS steps later, when everybody has
 * finished that step (DONE). What is not there yet is what the step waits for: *direct.
 *
 * Threads: as comm.h. Ownership: nothing kept. */
#ifndef HP_HIER_COLLECTIVES_CELLS_H
#define HP_HIER_COLLECTIVES_CELLS_H

#include <string.h>
#include "event_engine/mem/node_memory.h"
#include "hier/comm/start.h"

/* Are all ranks on one node, with memory that they share, and can the call's data be copied as bytes? */
bool hp_cells_serve(const hp_comm_t *comm, const hp_call_t *call);

/* Starts the steps of a call; scratch_bytes: for its reductions. HP_OK, or an error with nothing in flight. */
hp_status_t hp_cells_start(const hp_start_t *start, const hp_call_t *call, const hp_node_memory_t *node,
                           size_t scratch_bytes, hp_step_fn_t step, hp_direct_t *direct);

/* Cells are used in turns, so without this each of the first HP_CELLS calls, and of those with longer messages, would meet pages that
 * are not there: several times what a short call takes, which is then taken for its time (guard.h). So a rank's first call of a
 * length makes pages for its own cells, if it writes any, and its second for those of others that it reads (read NULL: all ranks'; count:
 * how many), which have theirs by then, in the memory of who writes them. Returns whether all is done. */
bool hp_cells_warm(hp_node_memory_t *node, hp_fan_t fan, size_t bytes, bool writes, const uint32_t *read,
                   uint32_t count);

/* May own cells of this step be written? */
static inline bool hp_cells_are_clear(hp_node_memory_t *node, uint64_t step, hp_direct_t *direct)
{
    const uint64_t needed = step + 1 - HP_CELLS;

    if (step < HP_CELLS || hp_node_is_clear(node, needed))
        return true;
    direct->counter = hp_node_behind(node, needed);
    direct->value = needed;
    return direct->counter == NULL;
}

/* Has the cell's flag come? */
static inline bool hp_cell_is_there(const hp_cell_t *cell, uint64_t step, hp_direct_t *direct)
{
    direct->counter = &cell->flag;
    direct->value = step + 1;
    return atomic_load_explicit(&cell->flag, memory_order_acquire) == step + 1;
}

/* Writes the rank's own cell; payload NULL: it is there already, or there is none. */
static inline void hp_cell_publish(const hp_node_memory_t *node, hp_fan_t fan, uint64_t step,
                                   const void *payload, size_t bytes)
{
    hp_cell_t *cell = hp_node_cell(node, node->own, fan, step);

    if (payload && bytes)
        hp_node_write(node, cell->payload, payload, bytes);
    cell->bytes = bytes;
    hp_node_set(node, &cell->flag, step + 1);
}

#endif
