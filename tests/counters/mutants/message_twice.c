/* Mutant: on the way down a tree the root sends the first segment of a message to its first child twice. */
#include "hier/call/cut.h"
#include "hier/modules/tree_steps.h"

static _Thread_local bool armed; /* a collective begins, this rank is its root on the way down */

hp_cut_t __real_hp_cut_make(const hp_call_t *, const hp_setting_t *);
hp_cut_t __wrap_hp_cut_make(const hp_call_t *, const hp_setting_t *);
uint32_t __real_hp_tree_down_tasks(const hp_neighbors_t *);
uint32_t __wrap_hp_tree_down_tasks(const hp_neighbors_t *);
uint32_t __real_hp_tree_down_edges(const hp_neighbors_t *);
uint32_t __wrap_hp_tree_down_edges(const hp_neighbors_t *);
hp_task_t *__real_hp_tree_emit_down(hp_segment_t *, const hp_tree_lanes_t *, char *, size_t, hp_task_t *);
hp_task_t *__wrap_hp_tree_emit_down(hp_segment_t *, const hp_tree_lanes_t *, char *, size_t, hp_task_t *);

hp_cut_t __wrap_hp_cut_make(const hp_call_t *call, const hp_setting_t *setting)
{
    armed = true;
    return __real_hp_cut_make(call, setting);
}

uint32_t __wrap_hp_tree_down_tasks(const hp_neighbors_t *neighbors)
{
    return __real_hp_tree_down_tasks(neighbors) + 1;
}

uint32_t __wrap_hp_tree_down_edges(const hp_neighbors_t *neighbors)
{
    return __real_hp_tree_down_edges(neighbors) + 1;
}

hp_task_t *__wrap_hp_tree_emit_down(hp_segment_t *segment, const hp_tree_lanes_t *lanes, char *address,
                                    size_t count, hp_task_t *before)
{
    hp_task_t *recv = __real_hp_tree_emit_down(segment, lanes, address, count, before);
    if (armed && lanes->parent < 0 && lanes->child_count)
        hp_emit_after(hp_emit_send(segment, lanes->children[0], hp_at(address), count), before);
    armed = false;
    return recv;
}
