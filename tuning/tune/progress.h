/* progress: how far it is, on standard error: a bar where that is a terminal, else a line every ten
 * seconds. Threads: one, rank 0's. Ownership: plain data. */
#ifndef HP_TUNE_PROGRESS_H
#define HP_TUNE_PROGRESS_H

#include "space.h"

typedef struct {
    bool bar;
    int done, planned;                 /* measurements */
    double done_seconds, plan_seconds; /* as the plan has them */
    double started, said;              /* seconds of the clock */
} tune_progress_t;

void tune_progress_init(tune_progress_t *progress, int planned, double plan_seconds, double now);

/* One measurement more that the plan had `seconds` for. is_new: it was made just now; what comes out of a
 * journal took no time. */
void tune_progress_step(tune_progress_t *progress, tune_collective_t collective, size_t bytes, double seconds,
                        bool is_new, double now);
void tune_progress_end(const tune_progress_t *progress);

/* "37% 1,204 of 3,240, 2:10 left, bcast 64 KiB". seconds < 0: not known. */
void tune_progress_text(char *text, size_t room, int done, int planned, double seconds_left,
                        tune_collective_t collective, size_t bytes);
/* "2:10", "1:02:10" */
void tune_duration_text(char text[32], double seconds);

#endif
