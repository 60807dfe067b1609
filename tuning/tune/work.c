#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search_patterns.h"

void tune_results_init(tune_results_t *results, const tune_list_t *lists)
{
    memset(results, 0, sizeof *results);
    for (int id = 0; id < TUNE_SEARCHES; id++)
        tune_curves_init(&results->curves[id], lists);
}

void tune_results_fini(tune_results_t *results)
{
    for (int id = 0; id < TUNE_SEARCHES; id++)
        tune_curves_fini(&results->curves[id]);
}

/* ---- after the searches ---- */

/* Where a search had to know it, it is there. */
static double measure_native(tune_lab_t *lab, int collective, int size)
{
    tune_key_t key = {TUNE_KIND_DIRECT, (tune_collective_t)collective, 0, -1,
                      tune_size(lab->options, collective, size)};
    const tune_record_t *record = tune_book_find(&lab->book, &key);

    key.kind = TUNE_KIND_TASK;
    if (!record)
        record = tune_book_find(&lab->book, &key);
    key.kind = TUNE_KIND_DIRECT;
    if (!record)
        record = tune_lab_get(lab, &key, NULL);
    return record && record->count ? record->us[0] : 0;
}

/* The host MPI's time at every size that was decided; where it was chosen the search knows it. */
static void measure_host(tune_lab_t *lab, tune_results_t *results)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int size = 0; size < tune_size_count(lab->options, collective); size++) {
            const tune_choice_t *choice = &results->decided.choices[collective][size];
            if (choice->config >= 0 && !lab->options->on_patterns[collective])
                results->host_us[collective][size] =
                    choice->config == 0 ? choice->us : measure_native(lab, collective, size);
        }
}

/* The minimum of many noisy figures is too good: both are measured again. */
static void evaluate_choice(tune_lab_t *lab, tune_results_t *results, int id, int collective, int size)
{
    const tune_choice_t *choice = &results->searches[id].choices[collective][size];
    const tune_choice_t *best = &results->searches[TUNE_SEARCH_EXHAUSTIVE].choices[collective][size];
    const tune_key_t key = {TUNE_KIND_PAIR, (tune_collective_t)collective, choice->config, best->config,
                            tune_size(lab->options, collective, size)};

    if (choice->config < 0 || best->config < 0)
        return;
    if (choice->config == best->config) {
        results->evaluated[id][collective][size].us = best->us;
        results->evaluated[id][collective][size].best_us = best->us;
        return;
    }
    const tune_record_t *record = tune_lab_get(lab, &key, NULL);
    if (record && record->count == 2) {
        results->evaluated[id][collective][size].us = record->us[0];
        results->evaluated[id][collective][size].best_us = record->us[1];
    }
}

static void evaluate(tune_lab_t *lab, tune_results_t *results)
{
    for (int id = 0; id < TUNE_SEARCHES; id++)
        for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
            for (int size = 0; size < tune_size_count(lab->options, collective); size++)
                evaluate_choice(lab, results, id, collective, size);
}

typedef struct {
    const tune_lab_t *lab;
    const tune_results_t *results;
} known_t;

/* What was measured, or else predicted. */
static double known_us(const void *context, tune_collective_t collective, int config, int size)
{
    const known_t *known = context;
    const tune_lab_t *lab = known->lab;
    const size_t bytes = tune_size(lab->options, collective, size);
    const int stands = tune_space_representative(&lab->lists[collective], config, bytes);

    if (lab->options->on_patterns[collective])
        return -1; /* what was chosen for them stays */
    for (int kind = TUNE_KIND_DIRECT; kind <= TUNE_KIND_TASK; kind++) {
        const tune_key_t key = {(tune_kind_t)kind, collective, stands, -1, bytes};
        const tune_record_t *record = tune_book_find(&lab->book, &key);
        if (record && record->count)
            return record->us[0];
    }
    if (!tune_has_segments(&lab->lists[collective].configs[stands]))
        return -1;
    return tune_predict_us(&known->results->curves[lab->options->rules_from], lab->lists, collective, stands,
                           bytes);
}

/* What was found on patterns belongs to the search that makes the rules. */
static void add_patterns(const tune_options_t *options, tune_search_t *search,
                         const tune_search_t *on_patterns)
{
    for (int c = 0; c < TUNE_COLLECTIVES; c++)
        if (options->on_patterns[c])
            memcpy(search->choices[c], on_patterns->choices[c], sizeof search->choices[c]);
    if (!options->patterns)
        return;
    search->complete &= on_patterns->complete;
    search->cost.seconds += on_patterns->cost.seconds;
    search->cost.measurements += on_patterns->cost.measurements;
}

/* Patterns get half of the time, unless nothing else is wanted. */
static int shares_for_patterns(const tune_options_t *options)
{
    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++)
        if (tune_is_searched(options, c))
            return 2;
    return 1;
}

void tune_work(tune_lab_t *lab, bool has_lockstep, tune_results_t *results)
{
    const tune_options_t *options = lab->options;
    const known_t known = {lab, results};

    if (options->patterns) {
        tune_lab_share(lab, shares_for_patterns(options));
        tune_search_patterns(lab, tune_search_has_heuristic(options->rules_from), &results->on_patterns,
                             results->host_us);
        tune_lab_share(lab, 1);
    }
    for (int id = 0; id < TUNE_SEARCHES; id++)
        if (options->searches[id])
            tune_search_run(lab, (tune_search_id_t)id, &results->searches[id], &results->curves[id]);
    if (options->compare) {
        evaluate(lab, results);
        if (has_lockstep)
            tune_lockstep_measure(lab, &results->lockstep);
    }
    add_patterns(options, &results->searches[options->rules_from], &results->on_patterns);
    results->decided = results->searches[options->rules_from];
    measure_host(lab, results);
    tune_rules_smooth(options, &results->decided, known_us, &known);
    tune_rules_make(&results->rules, lab, &results->decided, results->host_us);
}

/* ---- the meter of a plan ---- */

static double one_call_us(const tune_estimator_t *estimator, const tune_key_t *key, int config)
{
    return tune_estimate_us(&estimator->rates, key->collective,
                            &estimator->lists[key->collective].configs[config],
                            tune_key_bytes(estimator->options, key));
}

double tune_estimator_seconds(const tune_estimator_t *estimator, const tune_key_t *key)
{
    double us = one_call_us(estimator, key, key->config);

    if (tune_kind_is_pair(key->kind))
        us = (us + one_call_us(estimator, key, key->other)) / 2;
    const int calls =
        1 + tune_repetitions_of(estimator->options, key->kind, tune_key_bytes(estimator->options, key), us);
    if (key->kind == TUNE_KIND_LOCKSTEP) /* some runs of some segments */
        return tune_estimate_seconds(&estimator->rates, 8 * us, 3);
    return tune_estimate_seconds(&estimator->rates, us, tune_kind_is_pair(key->kind) ? 2 * calls : calls);
}

void tune_estimator_measure(void *context, tune_record_t *record)
{
    tune_estimator_t *estimator = context;

    record->us = malloc(2 * sizeof *record->us);
    if (!record->us) {
        fputs("hanpmpi_tune: no memory for the plan: take fewer sizes or configurations\n", stderr);
        exit(EXIT_FAILURE);
    }
    record->us[record->count++] = one_call_us(estimator, &record->key, record->key.config);
    if (tune_kind_is_pair(record->key.kind))
        record->us[record->count++] = one_call_us(estimator, &record->key, record->key.other);
    record->seconds = tune_estimator_seconds(estimator, &record->key);
    estimator->seconds += record->seconds;
    estimator->measurements++;
}
