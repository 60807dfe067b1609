#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *names[TUNE_TASKS_MAX];
    unsigned count, steady, extra; /* extra: iterations besides one a segment */
} tasks[TUNE_COLLECTIVES] = {
    [TUNE_BCAST] = {{"ib", "sbib", "sb"}, 3, 1, 1},
    [TUNE_REDUCE] = {{"sr", "irsr", "ir"}, 3, 1, 1},
    [TUNE_ALLREDUCE] = {{"sr", "irsr", "ibirsr", "sbibirsr", "sbibir", "sbib", "sb"}, 7, 3, 3},
};

const char *tune_task_name(tune_collective_t collective, unsigned task)
{
    return task < tasks[collective].count ? tasks[collective].names[task] : NULL;
}

unsigned tune_task_count(tune_collective_t collective)
{
    return tasks[collective].count;
}

unsigned tune_task_steady(tune_collective_t collective)
{
    return tasks[collective].steady;
}

unsigned tune_iterations(tune_collective_t collective, unsigned segments)
{
    return segments + tasks[collective].extra;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
    double sorted[count];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The iterations of the steady task: from *first on; returns how many. */
static unsigned steady_iterations(tune_collective_t collective, unsigned segments, unsigned *first)
{
    *first = tasks[collective].steady;
    return segments - tasks[collective].extra;
}

void tune_tasks_from_iterations(tune_collective_t collective, const double *iteration_us, unsigned segments,
                                double task_us[TUNE_TASKS_MAX])
{
    const unsigned all = tune_iterations(collective, segments), steady = tasks[collective].steady;
    unsigned first;
    const unsigned count = steady_iterations(collective, segments, &first);

    for (unsigned t = 0; t < tasks[collective].count; t++)
        task_us[t] = t < steady ? iteration_us[t] : iteration_us[all - (tasks[collective].count - t)];
    task_us[steady] = median(iteration_us + first + count / 2, count - count / 2);
}

bool tune_iterations_are_steady(tune_collective_t collective, const double *iteration_us, unsigned segments,
                                double share)
{
    unsigned first;
    const unsigned quarter = steady_iterations(collective, segments, &first) / 4;
    const double *end = iteration_us + first + steady_iterations(collective, segments, &first);

    if (quarter == 0)
        return false;
    const double third = median(end - 2 * quarter, quarter), last = median(end - quarter, quarter);
    return fabs(third - last) <= share * last;
}

/* With fewer segments than the pipeline has tasks some iterations do not come; the paper does not say which.
 * Then the steady one is taken off, and what is left is no less than the first and the last. */
double tune_lockstep_us(tune_collective_t collective, const double *task_us, int ranks, double segments)
{
    const unsigned count = tasks[collective].count, steady = tasks[collective].steady;
    double longest = 0;

    for (int rank = 0; rank < ranks; rank++, task_us += TUNE_TASKS_MAX) {
        double sum = (segments - tasks[collective].extra) * task_us[steady];
        for (unsigned t = 0; t < count; t++)
            if (t != steady)
                sum += task_us[t];
        if (sum < task_us[0] + task_us[count - 1])
            sum = task_us[0] + task_us[count - 1];
        longest = sum > longest ? sum : longest;
    }
    return longest;
}

void tune_curve_add(tune_curve_t *curve, double bytes, double us)
{
    int at = curve->count;

    while (at > 0 && curve->points[at - 1].bytes > bytes)
        at--;
    if (curve->count == TUNE_POINTS_MAX || (at > 0 && curve->points[at - 1].bytes >= bytes))
        return;
    memmove(&curve->points[at + 1], &curve->points[at], (size_t)(curve->count - at) * sizeof(tune_point_t));
    curve->points[at] = (tune_point_t){bytes, us};
    curve->count++;
}

static double slope(const tune_point_t *a, const tune_point_t *b)
{
    const double rise = (b->us - a->us) / (b->bytes - a->bytes);
    return rise > 0 ? rise : 0; /* noise: more bytes are not faster */
}

double tune_curve_us(const tune_curve_t *curve, double bytes)
{
    int right = 1; /* the point at or behind bytes, or the last one */

    if (curve->count == 1 || bytes <= curve->points[0].bytes)
        return curve->points[0].us;
    while (right < curve->count - 1 && curve->points[right].bytes < bytes)
        right++;
    const tune_point_t *a = &curve->points[right - 1], *b = &curve->points[right];
    if (bytes > b->bytes)
        return b->us + (bytes - b->bytes) * slope(a, b);
    return a->us + (bytes - a->bytes) * (b->us - a->us) / (b->bytes - a->bytes);
}

size_t tune_curve_next(const tune_curve_t *curve, size_t segment_bytes, size_t most)
{
    /* What comes before tells nothing of later segments: shaped links let 256 KiB through at once, and TCP
     * buffers hold as much. Beyond four times that, or four segments, only more of the same comes. */
    enum { FULL_BYTES = 1 << 20, LAST_BYTES = 4 << 20 };
    const double steady = 0.15;
    const int count = curve->count;
    const size_t last = LAST_BYTES > 4 * segment_bytes ? LAST_BYTES : 4 * segment_bytes;
    const size_t limit = most < last ? most : last;

    if (count == 0)
        return segment_bytes;
    const size_t reached = (size_t)curve->points[count - 1].bytes;
    if (reached >= limit)
        return 0;
    if (count >= 3 && reached >= FULL_BYTES) {
        const double now = slope(&curve->points[count - 2], &curve->points[count - 1]);
        const double before = slope(&curve->points[count - 3], &curve->points[count - 2]);
        if (fabs(now - before) <= steady * now)
            return 0;
    }
    const size_t next = count == 1 ? 2 * segment_bytes : 4 * reached;
    return next < limit ? next : limit;
}
