/* late_ranks: the part of the ranks that habitually come late in a collective around them (comm/around.h): messages with one
 * other rank each, so that no one else waits for them.
 *
 *      fan-in    root of the rotation  <-  each late rank        behind all other values: they are there by then
 *      fan-out   leader of its node    ->  the late rank         or the leader of the node that comes last among the nodes,
 *                                                                where all ranks of its own are late
 *
 * Bytes: those that they would have sent and received anyway; those of the fan-in may cross one more link, after the others'.
 * Constraints: the operation commutes.
 *
 * Threads: as comm.h. Ownership: what is made lies in start->arena until the collective is done. */
#ifndef HP_HIER_MODULES_LATE_RANKS_H
#define HP_HIER_MODULES_LATE_RANKS_H

#include "hier/modules/module.h"

/* Of one rotation, on this rank; module NULL: it has no part in it. */
typedef struct {
    hp_stage_t up, down;
} hp_late_ranks_t;

/* leaders: of the rotation, whose root is not late. HP_OK or an error. */
hp_status_t hp_late_ranks_prepare(hp_late_ranks_t *late, const hp_around_t *around, const hp_start_t *start,
                                  const hp_leaders_t *leaders, uint32_t rotation_count, const hp_call_t *call,
                                  const hp_setting_t *setting);

/* The tasks of one segment: behind the fan-in of the others, whose value the root has then, and which becomes that of all; and
 * behind their fan-out. in_place: contribution and result lie in the same memory. */
void hp_late_ranks_reduce(const hp_late_ranks_t *late, hp_segment_t *segment, hp_flow_t *flow, bool in_place);
void hp_late_ranks_bcast(const hp_late_ranks_t *late, hp_segment_t *segment, hp_flow_t *flow);

#endif
