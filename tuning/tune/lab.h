/* lab: where searches get their measurements from: what was measured before, or a meter.
 *
 * The meter is a function: the runner on the machine, an estimate for a dry run, a made-up clock in the
 * tests. Threads: one. Ownership: borrows everything but the book, which tune_lab_fini frees. */
#ifndef HP_TUNE_LAB_H
#define HP_TUNE_LAB_H

#include "heuristics.h"
#include "options.h"

/* Measures record->key: fills us (allocated), count and seconds. */
typedef void (*tune_meter_fn_t)(void *context, tune_record_t *record);

typedef struct {
    const tune_options_t *options;
    const tune_list_t *lists;
    tune_knowledge_t knowledge;
    tune_book_t book;
    tune_meter_fn_t measure;
    void *meter;
    double enough_us; /* of the next measurements, see tune_record_t */
    /* Asked before each measurement: is there time left? NULL: yes. Told after each, also when the book had
     * it. */
    bool (*may_go_on)(void *watcher);
    /* From now on only one part of the time that is left, in so many, may be used. NULL: there is no limit. */
    void (*share)(void *watcher, int parts);
    void (*measured)(void *watcher, const tune_record_t *record, bool is_new);
    void *watcher;
} tune_lab_t;

/* What a search has used. */
typedef struct {
    double seconds;
    int measurements;
} tune_cost_t;

void tune_lab_init(tune_lab_t *lab, const tune_options_t *options, const tune_list_t *lists,
                   const tune_knowledge_t *knowledge);
void tune_lab_fini(tune_lab_t *lab);

void tune_lab_share(tune_lab_t *lab, int parts);
/* NULL: no time is left. The record is good until the next call. `cost` pays; NULL: nobody does. */
const tune_record_t *tune_lab_get(tune_lab_t *lab, const tune_key_t *key, tune_cost_t *cost);

#endif
