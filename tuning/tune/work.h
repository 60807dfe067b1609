/* work: everything between the options and the files: the searches, their evaluation, the host's times, the
 * rules. The same for a real run and for a plan, which has an estimate for a meter. Threads: one, rank 0's.
 * Ownership: tune_results_fini. */
#ifndef HP_TUNE_WORK_H
#define HP_TUNE_WORK_H

#include "estimate.h"
#include "rules.h"

typedef struct {
    tune_search_t searches[TUNE_SEARCHES];
    tune_curves_t curves[TUNE_SEARCHES];
    /* --compare: each search's choice beside the best of the exhaustive one, in turns; us 0: not done */
    struct {
        double us, best_us;
    } evaluated[TUNE_SEARCHES][TUNE_COLLECTIVES][TUNE_SIZES_MAX];
    double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX]; /* 0: not measured */
    tune_search_t on_patterns;                        /* of the collectives that are measured on patterns */
    tune_search_t decided;                            /* what becomes the rules */
    tune_cost_t lockstep;
    tune_rules_t rules;
} tune_results_t;

void tune_results_init(tune_results_t *results, const tune_list_t *lists);
void tune_results_fini(tune_results_t *results);

/* has_lockstep: the lab's meter can measure the lock-step model's tasks. */
void tune_work(tune_lab_t *lab, bool has_lockstep, tune_results_t *results);

/* A meter that measures nothing: what it would take, by the rates. */
typedef struct {
    const tune_options_t *options;
    const tune_list_t *lists;
    tune_rates_t rates;
    double seconds; /* of all measurements until now */
    int measurements;
} tune_estimator_t;

void tune_estimator_measure(void *estimator, tune_record_t *record);
/* Seconds of one measurement. */
double tune_estimator_seconds(const tune_estimator_t *estimator, const tune_key_t *key);

#endif
