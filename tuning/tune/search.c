#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_BYTES = 1 << 20 };

/* So much slower than the best is far behind. */
static const double LOST = 1.5;

static const struct {
    const char *name;
    bool tasks, heuristic;
} kinds[] = {
#define X(id, name, tasks, heuristic, text) {name, tasks, heuristic},
    TUNE_SEARCH_TABLE(X)
#undef X
};

const char *tune_search_name(tune_search_id_t id)
{
    return kinds[id].name;
}

bool tune_search_has_heuristic(tune_search_id_t id)
{
    return kinds[id].heuristic;
}

void tune_priority(int count, int order[])
{
    bool taken[count > 0 ? count : 1];
    int stride = 1, used = 0;

    memset(taken, 0, sizeof taken);
    while (2 * stride < count)
        stride *= 2;
    if (count > 0) {
        order[used++] = count - 1;
        taken[count - 1] = true;
    }
    for (; stride > 0; stride /= 2)
        for (int i = 0; i < count; i += stride)
            if (!taken[i]) {
                order[used++] = i;
                taken[i] = true;
            }
}

bool tune_is_itself(const tune_list_t *list, int config, size_t bytes)
{
    return tune_space_representative(list, config, bytes) == config;
}

static tune_kind_t kind_of(tune_search_id_t id)
{
    return kinds[id].tasks ? TUNE_KIND_TASK : TUNE_KIND_DIRECT;
}

/* Is it a part of one of the allreduces of two algorithms? */
static bool is_part_of_some(const tune_lab_t *lab, tune_collective_t collective, tune_way_t way)
{
    const tune_list_t *list = &lab->lists[TUNE_ALLREDUCE];

    for (int config = 0; config < list->count; config++) {
        const tune_config_t *pair = &list->configs[config];
        if (pair->is_joined && way == (collective == TUNE_ALLGATHER ? pair->way : pair->reduces))
            return true;
    }
    return false;
}

/* The fastest way among the ranks for blocks of so many bytes, or of the next smaller size that was measured, of those that
 * are part of an allreduce. TUNE_WAYS: none was measured. */
static tune_way_t fastest_part(const tune_lab_t *lab, tune_search_id_t id, tune_collective_t collective,
                               size_t bytes)
{
    const tune_list_t *list = &lab->lists[collective];
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);
    tune_way_t fastest = TUNE_WAYS;
    double least_us = 0;
    int size = 0;

    while (size + 1 < sizes->count && sizes->bytes[size + 1] <= bytes)
        size++;
    for (int config = 0; config < list->count; config++) {
        const tune_config_t *tried = &list->configs[config];
        const tune_key_t key = {kind_of(id), collective, config, -1, sizes->bytes[size]};
        if (tried->algorithm != TUNE_FLAT || tried->words[0])
            continue;
        const tune_record_t *record = tune_book_find(&lab->book, &key);
        if (!record || !record->count || (fastest < TUNE_WAYS && record->us[0] >= least_us) ||
            !is_part_of_some(lab, collective, tried->way))
            continue;
        fastest = tried->way;
        least_us = record->us[0];
    }
    return fastest;
}

/* An allreduce of two algorithms is worth a look where both are the fastest there are for its blocks (Faraj and Yuan 2005:
 * Rab-1 has the tuned allgather in it, Rab-2 the tuned alltoall, too). */
static bool has_tuned_parts(const tune_lab_t *lab, tune_search_id_t id, const tune_config_t *config,
                            size_t bytes)
{
    const size_t block = bytes / (size_t)lab->knowledge.layout.nodes;

    return config->way == fastest_part(lab, id, TUNE_ALLGATHER, block) &&
           (!tune_way_is_part(config->reduces, TUNE_ALLTOALL) ||
            config->reduces == fastest_part(lab, id, TUNE_ALLTOALL, block));
}

/* Does the search consider the configuration at that size? */
static bool is_candidate(const tune_lab_t *lab, tune_search_id_t id, tune_collective_t collective, int config,
                         size_t bytes)
{
    const tune_list_t *list = &lab->lists[collective];
    return tune_is_itself(list, config, bytes) &&
           (!list->configs[config].is_joined || has_tuned_parts(lab, id, &list->configs[config], bytes)) &&
           (!kinds[id].heuristic ||
            tune_heuristics_keep(&lab->knowledge, collective, &list->configs[config], bytes));
}

static const tune_record_t *get(tune_lab_t *lab, tune_search_t *search, tune_kind_t kind,
                                tune_collective_t collective, int config, size_t bytes)
{
    const tune_key_t key = {kind, collective, config, -1, bytes};
    return tune_lab_get(lab, &key, &search->cost);
}

/* The best of many noisy figures is too good. */
bool tune_is_near(double native_us, double us)
{
    return native_us <= 1.25 * us;
}

tune_choice_t tune_confirmed(int config, const double us[2])
{
    return us[0] > 1.02 * us[1] ? (tune_choice_t){config, us[1]} : (tune_choice_t){0, us[0]};
}

static void consider(tune_choice_t *best, int config, double us)
{
    if (best->config < 0 || us < best->us)
        *best = (tune_choice_t){config, us};
}

/* ---- one size after the other ---- */

/* The nearest size on the left (step -1) or right of `size` for which there is a choice, if it is close: what is known further away
 * tells nothing. -1: there is none. */
static int neighbor(const tune_lab_t *lab, const tune_search_t *search, tune_collective_t collective,
                    int size, int step)
{
    enum { CLOSE = 16 }; /* times as long */
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);
    int i = size + step;

    while (i >= 0 && i < sizes->count && search->choices[collective][i].config < 0)
        i += step;
    if (i < 0 || i >= sizes->count)
        return -1;
    const size_t shorter = sizes->bytes[step < 0 ? i : size], longer = sizes->bytes[step < 0 ? size : i];
    return longer <= CLOSE * shorter ? i : -1;
}

/* Was it behind by half there, or left out because it was hopeless there, too? */
static bool has_lost(const tune_lab_t *lab, tune_search_id_t id, const tune_search_t *search,
                     tune_collective_t collective, int config, int size)
{
    const size_t bytes = tune_size(lab->options, collective, size);
    const tune_key_t key = {TUNE_KIND_TASK, collective, config, -1, bytes};
    const tune_record_t *record = tune_book_find(&lab->book, &key);

    if (!record)
        return is_candidate(lab, id, collective, config, bytes);
    return !record->count || record->us[0] > LOST * search->choices[collective][size].us;
}

/* Behind at the sizes on both sides: it is not measured between them. The host MPI's always is. */
static bool is_hopeless(const tune_lab_t *lab, tune_search_id_t id, const tune_search_t *search,
                        tune_collective_t collective, int config, int size)
{
    const int left = neighbor(lab, search, collective, size, -1);
    const int right = neighbor(lab, search, collective, size, 1);

    return kinds[id].tasks && config > 0 && left >= 0 && right >= 0 &&
           has_lost(lab, id, search, collective, config, left) &&
           has_lost(lab, id, search, collective, config, right);
}

/* Where the host MPI's comes near, both are measured in turns, and the host MPI's stays unless the other one is faster then, too.
 * false: no time is left. */
static bool confirm(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_collective_t collective,
                    size_t bytes, tune_choice_t *best)
{
    const tune_key_t native = {kind_of(id), collective, 0, -1, bytes};
    const tune_key_t pair = {TUNE_KIND_PAIR, collective, 0, best->config, bytes};
    const tune_record_t *record = tune_book_find(&lab->book, &native);

    if (best->config <= 0 || !record || !record->count || !tune_is_near(record->us[0], best->us))
        return true;
    record = tune_lab_get(lab, &pair, &search->cost);
    if (!record)
        return false;
    if (record->count == 2)
        *best = tune_confirmed(best->config, record->us);
    return true;
}

/* false: no time is left; then nothing is chosen. */
static bool measure_size(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search,
                         tune_collective_t collective, int size)
{
    const tune_kind_t kind = kind_of(id);
    const size_t bytes = tune_size(lab->options, collective, size);
    tune_choice_t best = {-1, 0};

    for (int config = 0; config < lab->lists[collective].count; config++) {
        if (!is_candidate(lab, id, collective, config, bytes) ||
            is_hopeless(lab, id, search, collective, config, size))
            continue;
        lab->enough_us = kinds[id].tasks && best.config >= 0 ? LOST * best.us : 0;
        const tune_record_t *record = get(lab, search, kind, collective, config, bytes);
        lab->enough_us = 0;
        if (!record)
            return false;
        if (record->count)
            consider(&best, config, record->us[0]);
    }
    if ((kinds[id].tasks || lab->options->routines) && !confirm(lab, id, search, collective, bytes, &best))
        return false;
    search->choices[collective][size] = best;
    return true;
}

/* Every collective from `first` to `last` that is wanted. */
static bool measure_sizes(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, int first, int last)
{
    for (int i = 0; i < TUNE_SIZES_MAX; i++)
        for (int collective = first; collective <= last; collective++) {
            const int count = tune_size_count(lab->options, collective);
            int order[TUNE_SIZES_MAX];
            tune_priority(count, order);
            if (i < count && tune_is_searched(lab->options, (unsigned)collective) &&
                !measure_size(lab, id, search, (tune_collective_t)collective, order[i]))
                return false;
        }
    return true;
}

/* ---- curves ---- */

static tune_curve_t *allocate(int count)
{
    tune_curve_t *curves = calloc((size_t)count, sizeof *curves);
    if (!curves) {
        fputs("hanpmpi_tune: no memory for the curves: take fewer configurations\n", stderr);
        exit(EXIT_FAILURE);
    }
    return curves;
}

void tune_curves_init(tune_curves_t *curves, const tune_list_t *lists)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        curves->pipelines[collective] = allocate(lists[collective].count);
        curves->segments[collective] = allocate(lists[collective].count);
    }
}

void tune_curves_fini(tune_curves_t *curves)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        free(curves->pipelines[collective]);
        free(curves->segments[collective]);
    }
}

/* The curve within one segment: all segment sizes and turns share it. */
static tune_curve_t *within_segment(const tune_curves_t *curves, const tune_list_t *lists,
                                    tune_collective_t collective, int config)
{
    return &curves->segments[collective][tune_space_representative(&lists[collective], config, 1)];
}

double tune_predict_us(const tune_curves_t *curves, const tune_list_t *lists, tune_collective_t collective,
                       int config, size_t bytes)
{
    const tune_curve_t *curve = bytes <= lists[collective].configs[config].segment_bytes
                                    ? within_segment(curves, lists, collective, config)
                                    : &curves->pipelines[collective][config];
    return curve->count ? tune_curve_us(curve, (double)bytes) : -1;
}

typedef enum { POINT_TAKEN, POINT_NONE, POINT_NO_TIME } point_t;

static point_t add_point(tune_lab_t *lab, tune_search_t *search, tune_collective_t collective, int config,
                         size_t bytes, tune_curve_t *curve)
{
    const int stands = tune_space_representative(&lab->lists[collective], config, bytes);
    const tune_record_t *record = get(lab, search, TUNE_KIND_TASK, collective, stands, bytes);

    if (!record)
        return POINT_NO_TIME;
    if (!record->count)
        return POINT_NONE; /* the library does not run it */
    tune_curve_add(curve, (double)bytes, record->us[0]);
    return POINT_TAKEN;
}

/* The largest size at which the search considers the configuration; 0: none. */
static size_t most_bytes(const tune_lab_t *lab, tune_search_id_t id, tune_collective_t collective, int config)
{
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);

    for (int i = sizes->count - 1; i >= 0; i--)
        if (is_candidate(lab, id, collective, config, sizes->bytes[i]))
            return sizes->bytes[i];
    return 0;
}

/* false: no time is left. */
static bool measure_curve(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_curves_t *curves,
                          tune_collective_t collective, int config)
{
    const size_t segment = lab->lists[collective].configs[config].segment_bytes;
    const size_t most = most_bytes(lab, id, collective, config);
    tune_curve_t *within = within_segment(curves, lab->lists, collective, config), whole = {.count = 0};
    point_t point = POINT_TAKEN;

    if (most == 0)
        return true;
    if (within->count == 0)
        point = add_point(lab, search, collective, config, tune_size(lab->options, collective, 0), within);
    if (point == POINT_TAKEN)
        point = add_point(lab, search, collective, config, segment < most ? segment : most, within);
    while (point == POINT_TAKEN && most > segment) {
        const size_t next = tune_curve_next(&whole, segment, most);
        if (next == 0)
            break;
        point = add_point(lab, search, collective, config, next, &whole);
    }
    if (point == POINT_TAKEN && most > segment)
        curves->pipelines[collective][config] = whole;
    return point != POINT_NO_TIME;
}

static bool measure_curves(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_curves_t *curves,
                           tune_collective_t collective)
{
    for (int i = 0; i < lab->lists[collective].count; i++)
        if (tune_has_segments(&lab->lists[collective].configs[i]) &&
            !measure_curve(lab, id, search, curves, collective, i))
            return false;
    return true;
}

/* ---- finalists ---- */

typedef struct {
    tune_lab_t *lab;
    tune_search_id_t id;
    tune_search_t *search;
    const tune_curves_t *curves;
    tune_collective_t collective;
    int lost
        [TUNE_HAN]; /* each algorithm without segments: at so many sizes in succession it was far behind */
    bool no_time;
} final_t;

/* The best by prediction that is not among the `count` of taken; -1: none. */
static int best_predicted(const final_t *final, size_t bytes, const tune_choice_t *taken, int count,
                          double *us)
{
    const tune_lab_t *lab = final->lab;
    tune_choice_t best = {-1, 0};

    for (int config = 0; config < lab->lists[final->collective].count; config++) {
        bool is_taken = !tune_has_segments(&lab->lists[final->collective].configs[config]);
        for (int i = 0; i < count; i++)
            is_taken |= taken[i].config == config;
        if (is_taken || !is_candidate(lab, final->id, final->collective, config, bytes))
            continue;
        const double now = tune_predict_us(final->curves, lab->lists, final->collective, config, bytes);
        if (now >= 0)
            consider(&best, config, now);
    }
    *us = best.us;
    return best.config;
}

/* Measures the configuration and considers it. Returns its time; < 0: none. */
static double run_off(final_t *final, size_t bytes, int config, tune_choice_t *best)
{
    const tune_record_t *record =
        final->no_time ? NULL
                       : get(final->lab, final->search, TUNE_KIND_TASK, final->collective, config, bytes);

    final->no_time |= !record;
    if (!record || !record->count)
        return -1;
    consider(best, config, record->us[0]);
    return record->us[0];
}

/* What has no segments has no curve either: it is measured at every size until it has lost twice in
 * succession by half. */
static void run_off_whole(final_t *final, size_t bytes, tune_choice_t *best)
{
    const tune_list_t *list = &final->lab->lists[final->collective];

    for (int config = 0; config < list->count && !tune_has_segments(&list->configs[config]); config++) {
        int *lost = &final->lost[list->configs[config].algorithm];
        if (*lost >= 2)
            continue;
        const double us = run_off(final, bytes, config, best);
        *lost = us > LOST * best->us ? *lost + 1 : 0;
    }
}

/* The finalists come in the order of what is predicted for them, and are measured until none is left that is
 * predicted to be faster than the best one measured: so a prediction that is too low costs a measurement and nothing
 * more. Of short messages, whose times lie close together and whose measurements cost little, all finalists are. */
static void choose(final_t *final, int size)
{
    const int finalists = final->lab->options->finalists, wanted = finalists > 1 ? finalists : 1;
    const size_t bytes = tune_size(final->lab->options, final->collective, size);
    tune_choice_t taken[wanted], best = {-1, 0};
    int count = 0;

    run_off_whole(final, bytes, &best);
    while (count < wanted) {
        double us;
        const int config = best_predicted(final, bytes, taken, count, &us);
        if (config < 0 || (bytes >= LONG_BYTES && best.config >= 0 && us >= best.us))
            break;
        taken[count++] = (tune_choice_t){config, us};
        if (finalists > 0)
            run_off(final, bytes, config, &best);
    }
    if (count > 0 && (best.config < 0 || (finalists == 0 && taken[0].us < best.us)))
        best = taken[0];
    /* Without time to ask what the MPI itself takes nobody knows. */
    if (!final->no_time || final->lost[0] >= 2)
        final->search->choices[final->collective][size] = best;
}

/* Without time for all curves, those that are there decide. */
static bool search_segments(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search,
                            tune_curves_t *curves, tune_collective_t collective)
{
    const bool complete = measure_curves(lab, id, search, curves, collective);
    final_t final = {lab, id, search, curves, collective, {0, 0}, false};

    for (int size = 0; size < tune_size_count(lab->options, collective); size++)
        choose(&final, size);
    return complete && !final.no_time;
}

/* ---- all ---- */

static bool search_one(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_curves_t *curves,
                       tune_collective_t collective)
{
    return kinds[id].tasks && tune_collective_family(collective) == TUNE_OF_SEGMENTS
               ? search_segments(lab, id, search, curves, collective)
               : measure_sizes(lab, id, search, (int)collective, (int)collective);
}

static void forget_choices(tune_search_t *search, int collective)
{
    for (int size = 0; size < TUNE_SIZES_MAX; size++)
        search->choices[collective][size].config = -1;
}

/* The i-th to be searched. With --routines blocks come first: allreduces are made of what was found for them. */
static int in_order(const tune_options_t *options, int i)
{
    return options->routines ? TUNE_COLLECTIVES - 1 - i : i;
}

/* What time there is, is shared out: each collective may use one part of what is left. What the cheap ones have left over the
 * others get in a second round, in which nothing is measured again. */
static bool search_in_shares(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search,
                             tune_curves_t *curves)
{
    bool complete[TUNE_COLLECTIVES], all = true;
    int left = 0;

    for (int c = 0; c < TUNE_COLLECTIVES; c++) {
        complete[c] = !tune_is_searched(lab->options, (unsigned)c);
        left += !complete[c];
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < TUNE_COLLECTIVES; i++) {
            const int c = in_order(lab->options, i);
            const tune_cost_t before = search->cost;
            if (complete[c])
                continue;
            tune_lab_share(lab, round == 0 ? left-- : 1);
            forget_choices(search, c);
            complete[c] = search_one(lab, id, search, curves, (tune_collective_t)c);
            if (!complete[c] && round == 0)
                search->cost = before; /* the second round pays */
        }
    tune_lab_share(lab, 1);
    for (int c = 0; c < TUNE_COLLECTIVES; c++)
        all &= complete[c];
    return all;
}

void tune_search_run(tune_lab_t *lab, tune_search_id_t id, tune_search_t *search, tune_curves_t *curves)
{
    memset(search, 0, sizeof *search);
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        forget_choices(search, collective);
    search->complete = kinds[id].tasks || lab->options->routines
                           ? search_in_shares(lab, id, search, curves)
                           : measure_sizes(lab, id, search, 0, TUNE_COLLECTIVES - 1);
}

/* ---- lock-step ---- */

static const tune_record_t *lockstep_record(const tune_lab_t *lab, tune_collective_t collective, int config)
{
    const tune_key_t key = {TUNE_KIND_LOCKSTEP, collective, config, -1,
                            lab->lists[collective].configs[config].segment_bytes};
    const tune_record_t *record = tune_book_find(&lab->book, &key);
    return record && record->count ? record : NULL;
}

void tune_lockstep_measure(tune_lab_t *lab, tune_cost_t *cost)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        for (int i = 0; i < lab->lists[collective].count; i++) {
            const tune_config_t *config = &lab->lists[collective].configs[i];
            const tune_key_t key = {TUNE_KIND_LOCKSTEP, (tune_collective_t)collective, i, -1,
                                    config->segment_bytes};
            const tune_sizes_t *sizes = tune_sizes(lab->options, (unsigned)collective);
            if (tune_is_searched(lab->options, (unsigned)collective) && tune_has_segments(config) &&
                config->segment_bytes <= sizes->bytes[sizes->count - 1] && !tune_lab_get(lab, &key, cost))
                return;
        }
}

double tune_lockstep_predict(const tune_lab_t *lab, tune_collective_t collective, int config, size_t bytes)
{
    const double segment = (double)lab->lists[collective].configs[config].segment_bytes;
    const tune_record_t *record = lockstep_record(lab, collective, config);

    if (!record || (double)bytes < segment)
        return -1;
    return tune_lockstep_us(collective, record->us, record->count / TUNE_TASKS_MAX, (double)bytes / segment);
}
