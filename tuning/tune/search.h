/* search: the searches for the best configuration of every collective and size (HAN, III.C).
 *
 *   exhaustive      every configuration at every size
 *   heuristic       the same without what heuristics.h leaves out
 *   task            vectors: curves of every configuration from short messages (model.h), used for all sizes; the few
 *                   that come out best are measured, the host MPI's until it has lost for good. Blocks: every
 *                   configuration at some sizes; between two sizes at which it is far behind it is not measured, and what
 *                   is far behind after a few calls is not called more often
 *   task+heuristic  the same, for what the heuristics keep
 *
 * With --routines collectives of blocks come before vectors, one after the other: of the allreduces of two algorithms those
 * are measured whose parts were the fastest for their blocks.
 *
 * Sizes come in an order in which each next one halves a gap, so that a search that is broken off has sizes
 * from everywhere, each of them complete. Where there is a limit of time, the task searches share it out among the
 * collectives. Threads: one, rank 0's. Ownership: tune_search_fini frees. */
#ifndef HP_TUNE_SEARCH_H
#define HP_TUNE_SEARCH_H

#include "lab.h"
#include "model.h"

typedef struct {
    int config; /* -1: none: the search did not get there */
    double us;  /* measured, or predicted where nothing else came near */
} tune_choice_t;

typedef struct {
    bool complete;
    tune_cost_t cost;
    tune_choice_t choices[TUNE_COLLECTIVES][TUNE_SIZES_MAX];
} tune_search_t;

/* Of the task searches: what is known of each configuration. */
typedef struct {
    tune_curve_t *pipelines[TUNE_COLLECTIVES]; /* by configuration: from one segment on */
    tune_curve_t
        *segments[TUNE_COLLECTIVES]; /* by the configuration that stands for all: within one segment */
} tune_curves_t;

void tune_curves_init(tune_curves_t *curves, const tune_list_t *lists);
void tune_curves_fini(tune_curves_t *curves);

/* < 0: not known. */
double tune_predict_us(const tune_curves_t *curves, const tune_list_t *lists, tune_collective_t collective,
                       int config, size_t bytes);

/* Fills the curves too, when it is a task search. */
void tune_search_run(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_curves_t *curves);

/* Does the host MPI's come so near to what seems to be the best that both are to be measured in turns? */
bool tune_is_near(double native_us, double us);
/* The configuration if it was faster then, else the host MPI's. us: of the host MPI's, and of the configuration. */
tune_choice_t tune_confirmed(int config, const double us[2]);

const char *tune_search_name(tune_search_id_t id);
bool tune_search_has_heuristic(tune_search_id_t id);

/* The lock-step model's tasks of every configuration that can run so. */
void tune_lockstep_measure(tune_lab_t *lab, tune_cost_t *cost);

/* < 0: not measured, or the message is shorter than a segment. */
double tune_lockstep_predict(const tune_lab_t *lab, tune_collective_t collective, int config, size_t bytes);

/* order: of 0 .. count - 1, the first and the last one first, then what halves the gaps. */
void tune_priority(int count, int order[]);

/* Is the configuration measured at that size, or is it an equal one that is? */
bool tune_is_itself(const tune_list_t *list, int config, size_t bytes);

#endif
