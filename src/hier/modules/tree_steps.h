/* tree_steps: one segment on its way along a tree of messages: fan-in, a reduction, and fan-out, a broadcast.
 *
 * Threads: as comm.h. Ownership: everything here is part of an algorithm's plan. */
#ifndef HP_HIER_MODULES_TREE_STEPS_H
#define HP_HIER_MODULES_TREE_STEPS_H

#include "hier/call/setting.h"
#include "hier/comm/start.h"

/* The lanes of one rank in one tree, in one direction of the data. children[i] is the lane of
 * neighbors->children[i]. */
typedef struct {
    uint32_t child_count;
    int32_t parent;    /* lane, -1 at the root */
    int32_t *children; /* in memory given by the plan */
} hp_tree_lanes_t;

/* Makes the lanes of one direction: HP_STREAM_UP receives from children and sends to the parent,
 * HP_STREAM_DOWN the opposite. shared: other trees of this collective may have lanes to the same peers (then
 * they are found and used together). HP_ERR_NO_MEM. */
hp_status_t hp_tree_lanes_make(hp_tree_lanes_t *out, int32_t *children, const hp_start_t *start,
                               const hp_setting_t *setting, const hp_neighbors_t *neighbors, uint32_t stream,
                               bool shared);

/* What a rank contributes to one segment of a reduction, and where it wants the result. */
typedef struct {
    hp_operand_t own; /* contribution; never written unless it is also result */
    hp_task_t *ready; /* made it; NULL: it was there from the start */
    bool has_result;  /* the subtree's result must end up in result, else anywhere */
    char *result;
    hp_task_t *result_free; /* result may not be written before; NULL: it may */
    size_t count;
    bool commutative;
    /* A piece of a segment: where it begins in it, in bytes, and for each child the receive of the first
     * piece that went to a scratch buffer: the other pieces go to the same one. NULL: there is one piece. */
    size_t piece_offset;
    hp_task_t **holders;
} hp_contribution_t;

/* Emits one segment's fan-in: receives from all children, reduces them and the own contribution in tree order.
 * *own_read: the task after which own may be overwritten (NULL: own is not read by any task emitted here).
 * Returns the operand that holds the subtree's result, and in *done the task that made it (NULL at a leaf:
 * the result is own, as it came). */
hp_operand_t hp_tree_emit_reduce(hp_segment_t *segment, const hp_tree_lanes_t *lanes,
                                 const hp_contribution_t *contribution, hp_task_t **done,
                                 hp_task_t **own_read);

/* Emits one segment's fan-out: receives it from the parent into address (after the task `before`), sends it
 * to all children. At the root: sends after `before`. Returns the receive, NULL at the root. */
hp_task_t *hp_tree_emit_down(hp_segment_t *segment, const hp_tree_lanes_t *lanes, char *address, size_t count,
                             hp_task_t *before);

/* Tasks and edges that the two emit for one segment at most. */
uint32_t hp_tree_reduce_tasks(const hp_neighbors_t *neighbors);
uint32_t hp_tree_reduce_edges(const hp_neighbors_t *neighbors);
uint32_t hp_tree_down_tasks(const hp_neighbors_t *neighbors);
uint32_t hp_tree_down_edges(const hp_neighbors_t *neighbors);

#endif
