/* mesh: mesh.c's two, whose allgathers go over the last dimension first: where the numbers of positions tell who is near,
 * the most goes to neighbours.
 *
 * Threads: pure. Ownership: the caller's schedule. */
#ifndef HP_SCHEDULE_GENERATORS_PARTS_MESH_H
#define HP_SCHEDULE_GENERATORS_PARTS_MESH_H

#include "schedule/schedule.h"

void hp_generate_mesh2d_far_first(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me);
void hp_generate_mesh3d_far_first(hp_schedule_t *schedule, const hp_problem_t *problem, uint32_t me);

#endif
