/* phase_steps: the steps of a position that sends and receives in phases (phases.h), and what keeps the phases apart.
 *
 *   none       nothing: each position takes its messages in the order of their phases
 *   pairwise   a message may leave when those of earlier phases that share a link with it have arrived: who received the
 *              last one on each link sends an empty message to who sends the next. Left out is what others imply: the
 *              sender's own messages before, and what the empty messages to it, and those that came before, tell it
 *   barriers   so many dissemination barriers of all positions, as even as may be between the phases, at most one
 *              between two of them
 *
 * For generators. Threads: pure. Ownership: init and fini. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_PHASE_STEPS_H
#define HP_SCHEDULE_GENERATORS_PARTS_PHASE_STEPS_H

#include "schedule/generators/parts/phases.h"
#include "schedule/schedule.h"

/* An empty message before a phase. */
typedef struct {
    uint32_t phase, from, to;
} hp_phase_sync_t;

typedef struct {
    hp_phase_sync_t *entries; /* by phase; those of a phase in the order in which all positions take them */
    uint32_t count, room;
} hp_phase_syncs_t;

/* The empty messages of pairwise. HP_OK or HP_ERR_NO_MEM; fini in any case. */
hp_status_t hp_phase_syncs_init(hp_phase_syncs_t *syncs, const hp_phases_t *phases, const hp_paths_t *paths);
void hp_phase_syncs_fini(hp_phase_syncs_t *syncs);

/* The steps of an alltoall, behind those there are. syncs: of pairwise, else NULL; barriers: how many. */
void hp_phase_steps(hp_schedule_t *schedule, const hp_phases_t *phases, const hp_phase_syncs_t *syncs,
                    uint32_t barriers, uint32_t me);

#endif
