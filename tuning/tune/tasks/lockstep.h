/* lockstep: a hierarchical collective as its paper runs it, for hanpmpi_tune, which measures the tasks by
 * themselves (X. Luo et al., HAN: a Hierarchical AutotuNed Collective Communication Framework, CLUSTER 2020,
 * section III, figures 1 and 5).
 *
 * An iteration is one task of each kind, on neighbouring segments. With u segments:
 *
 *      iteration    0      1      2      3     ...    u-1    u     u+1   u+2
 *      bcast        ib 0   ib 1   ib 2   ib 3         ib u-1
 *                          sb 0   sb 1   sb 2         sb u-2 sb u-1
 *      reduce       sr 0   sr 1   sr 2   sr 3         sr u-1
 *                          ir 0   ir 1   ir 2         ir u-2 ir u-1
 *      allreduce    sr 0   sr 1   sr 2   sr 3         sr u-1
 *                          ir 0   ir 1   ir 2         ir u-2 ir u-1
 *                                 ib 0   ib 1         ib u-3 ib u-2 ib u-1
 *                                        sb 0         sb u-4 sb u-3 sb u-2 sb u-1
 *
 * The tasks of an iteration are in flight together. A rank begins the next one when its own tasks are
 * complete, whatever the others do: so each iteration starts with the skew that the one before has left.
 * Nothing in an iteration waits for a later one of another rank. Where ir and ib are one exchange
 * (modules/schedule_steps.h) it counts as ir. Between two tasks of a segment a leader's value lies in the buffer for
 * the result.
 *
 * It is the pipeline's plan (pipeline_plan.h) with another function that emits: what the engine takes for a
 * segment is one task of one here. Threads: as comm.h. Ownership: the caller's, borrowed by start->request
 * while it is in execution; what it points to lies in start->arena until the collective is done. */
#ifndef HANPMPI_TUNE_TASKS_LOCKSTEP_H
#define HANPMPI_TUNE_TASKS_LOCKSTEP_H

#include "hier/collectives/pipeline_plan.h"

enum { HP_LOCKSTEP_TASKS = 4 };

/* One task of one segment. sr and sb take a step of the node's memory: steps count up from 0 in the order in
 * which these tasks are begun, on all ranks alike. */
typedef struct {
    uint64_t segment;
    hp_label_t task;
    uint64_t step;
} hp_part_t;

typedef struct {
    hp_pipeline_plan_t *plan;
    const hp_label_t *order; /* of the tasks of a segment */
    uint32_t task_count;
    uint64_t segments, iterations;
    uint64_t next;       /* iteration to start */
    uint64_t steps;      /* of the node's memory, so far */
    uint32_t part_count; /* of the iteration that was started last */
    hp_part_t parts[HP_LOCKSTEP_TASKS];
} hp_lockstep_t;

/* Prepares call on start->request. HP_ERR_ARG: it takes more than so many iterations, or the call is not one of
 * these three or cannot be divided: it is without data, its operands are kept in order, or send and recv are
 * one buffer (recv is given on all ranks); nothing has happened then, on no rank. HP_OK: all iterations must
 * run. */
hp_status_t hp_lockstep_prepare(hp_lockstep_t *lockstep, const hp_start_t *start, const hp_call_t *call,
                                const hp_setting_t *setting, uint64_t iterations_max);
/* Starts the next iteration, when the one before is done and lockstep->next < iterations. */
hp_status_t hp_lockstep_start(hp_lockstep_t *lockstep);
/* Is it an intra-node task? */
bool hp_lockstep_is_intra_node(hp_label_t task);

#endif
