#include "lab.h"

#include <stddef.h>

void tune_lab_init(tune_lab_t *lab, const tune_options_t *options, const tune_list_t *lists,
                   const tune_knowledge_t *knowledge)
{
    *lab = (tune_lab_t){.options = options, .lists = lists, .knowledge = *knowledge};
    tune_book_init(&lab->book);
}

void tune_lab_fini(tune_lab_t *lab)
{
    tune_book_fini(&lab->book);
}

void tune_lab_share(tune_lab_t *lab, int parts)
{
    if (lab->share)
        lab->share(lab->watcher, parts);
}

static const tune_record_t *measure(tune_lab_t *lab, const tune_key_t *key)
{
    tune_record_t record = {.key = *key, .enough_us = lab->enough_us};

    if (lab->may_go_on && !lab->may_go_on(lab->watcher))
        return NULL;
    lab->measure(lab->meter, &record);
    return tune_book_add(&lab->book, &record);
}

const tune_record_t *tune_lab_get(tune_lab_t *lab, const tune_key_t *key, tune_cost_t *cost)
{
    const tune_record_t *record = tune_book_find(&lab->book, key);
    const bool is_new = !record;

    if (is_new && !(record = measure(lab, key)))
        return NULL;
    if (lab->measured)
        lab->measured(lab->watcher, record, is_new);
    if (cost) {
        cost->seconds += record->seconds;
        cost->measurements++;
    }
    return record;
}
