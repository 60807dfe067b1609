/* draw: schedules as an SVG picture: rounds (rounds.h) as columns, ranks as rows, messages as arrows.
 *
 * Threads: writes to the given stream only. Ownership: nothing is kept. */
#ifndef HP_SCHEDULE_DRAW_H
#define HP_SCHEDULE_DRAW_H

#include <stdio.h>
#include "schedule/schedule.h"

/* A row for each rank on a page, and a width that viewers show. */
enum { HP_DRAW_RANKS_MAX = 64, HP_DRAW_ROUNDS_MAX = 256 };

/* schedules: of all positions, verified. HP_OK: whether the stream took it all, ferror tells the caller. HP_ERR_ARG:
 * why says what cannot be drawn; HP_ERR_NO_MEM; nothing has been written then. */
hp_status_t hp_draw_schedules(FILE *out, const hp_schedule_t *schedules, const hp_problem_t *problem,
                              const char *title, char *why, size_t why_bytes);

/* The blocks of a step's list: "0-3,8", "s0,2" of send, "x0-1,r3" of scratch and recv; "17 blocks" where that does not fit into
 * text_bytes. Returns text. */
const char *hp_draw_blocks(const hp_schedule_t *schedule, const hp_list_t *list, char *text,
                           size_t text_bytes);

#endif
