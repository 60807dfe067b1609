/* model: what a collective will take, from few measurements of its parts. Two models:
 *
 * lock-step  the paper's (HAN, equations 3 and 4): the iterations of a pipeline one after the other, each as
 *            long as its task; the longest sum over the ranks.
 *               bcast      ib + (u-1) sbib + sb
 *               reduce     sr + (u-1) irsr + ir
 *               allreduce  sr + irsr + ibirsr + (u-3) sbibirsr + sbibir + sbib + sb
 * events     ours: tasks start when what they need is there, so iterations do not exist. A configuration
 *            has a curve: the time of the collective itself for few messages, one segment to some. Between
 *            two points it is a line; beyond the last one it goes on as steep as between the last two: the
 *            time of a segment in the full pipeline.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_TUNE_MODEL_H
#define HP_TUNE_MODEL_H

#include "space.h"

enum { TUNE_TASKS_MAX = 7, TUNE_POINTS_MAX = 24 };

/* ---- lock-step ---- */

/* The tasks of a collective in the order of their first iteration; NULL past the last. */
const char *tune_task_name(tune_collective_t collective, unsigned task);
unsigned tune_task_count(tune_collective_t collective);
/* The one that is repeated once the pipeline is full. */
unsigned tune_task_steady(tune_collective_t collective);

/* How many iterations u segments take. */
unsigned tune_iterations(tune_collective_t collective, unsigned segments);

/* The tasks' times from the iterations of one run of `segments` segments (at least TUNE_LOCKSTEP_LEAST): the
 * steady one is the median of the second half of its iterations. */
enum { TUNE_LOCKSTEP_LEAST = 6 };
void tune_tasks_from_iterations(tune_collective_t collective, const double *iteration_us, unsigned segments,
                                double task_us[TUNE_TASKS_MAX]);

/* Has the steady task stopped to change: are the medians of the third and the last quarter of its iterations
 * within `share` of each other? */
bool tune_iterations_are_steady(tune_collective_t collective, const double *iteration_us, unsigned segments,
                                double share);

/* Equations 3 and 4: task_us has TUNE_TASKS_MAX times of each rank. */
double tune_lockstep_us(tune_collective_t collective, const double *task_us, int ranks, double segments);

/* ---- events ---- */

typedef struct {
    double bytes, us;
} tune_point_t;

typedef struct {
    tune_point_t points[TUNE_POINTS_MAX]; /* ascending bytes, all different */
    int count;
} tune_curve_t;

/* Keeps the order; a point that is there already or finds no room is left out. */
void tune_curve_add(tune_curve_t *curve, double bytes, double us);
double tune_curve_us(const tune_curve_t *curve, double bytes);

/* The next message worth measuring after the curve's last point: 1, 2, then four times as many segments
 * each time, until the slope is steady or the message is as long as `most`. 0: none. */
size_t tune_curve_next(const tune_curve_t *curve, size_t segment_bytes, size_t most);

#endif
