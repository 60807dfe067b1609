#include "search_patterns.h"

/* other: measured in turns with it; -1: alone. */
static tune_key_t key_of(const tune_options_t *options, int pattern, int config, int other)
{
    return (tune_key_t){other < 0 ? TUNE_KIND_PATTERN : TUNE_KIND_PATTERN_PAIR,
                        options->patterns->list[pattern].collective, config, other, (size_t)pattern};
}

int tune_pattern_size(const tune_options_t *options, const tune_pattern_t *pattern)
{
    const tune_sizes_t *sizes = tune_sizes(options, pattern->collective);
    const size_t bytes = tune_pattern_bytes(pattern);
    int nearest = 0;

    /* The largest size that is not above it: of many sizes only some are kept. */
    for (int size = 0; size < sizes->count; size++)
        if (sizes->bytes[size] <= bytes)
            nearest = size;
    return nearest;
}

double tune_pattern_us(const tune_lab_t *lab, int pattern, int config)
{
    const tune_key_t key = key_of(lab->options, pattern, config, -1);
    const tune_record_t *record = tune_book_find(&lab->book, &key);
    return record && record->count ? record->us[0] : -1;
}

int tune_pattern_best(const tune_lab_t *lab, int pattern)
{
    double best_us = -1;
    int best = -1;

    for (int config = 0; config < lab->lists[lab->options->patterns->list[pattern].collective].count;
         config++) {
        const double us = tune_pattern_us(lab, pattern, config);
        if (us < 0 || (best >= 0 && us >= best_us))
            continue;
        best = config;
        best_us = us;
    }
    return best;
}

typedef struct {
    tune_lab_t *lab;
    tune_collective_t collective;
    int size;
    bool heuristic, no_time;
    tune_cost_t *cost;
} group_t;

static bool is_mine(const group_t *group, const tune_pattern_t *pattern)
{
    return pattern->collective == group->collective &&
           tune_pattern_size(group->lab->options, pattern) == group->size;
}

/* Do the heuristics keep it for any of the patterns? */
static bool is_candidate(const group_t *group, int config)
{
    const tune_lab_t *lab = group->lab;
    const tune_patterns_t *patterns = lab->options->patterns;
    bool keep = !group->heuristic;

    for (int i = 0; i < patterns->count && !keep; i++)
        keep = is_mine(group, &patterns->list[i]) &&
               tune_heuristics_keep(&lab->knowledge, group->collective,
                                    &lab->lists[group->collective].configs[config],
                                    tune_pattern_bytes(&patterns->list[i]));
    return keep;
}

/* The mean call of all patterns of the group; of `other` (-1: none) likewise. false: the library does not run them so,
 * or no time is left. */
static bool mean_us(group_t *group, int config, int other, double us[2])
{
    const tune_patterns_t *patterns = group->lab->options->patterns;
    const int count = other < 0 ? 1 : 2;
    double calls = 0;

    us[0] = us[1] = 0;
    for (int i = 0; i < patterns->count; i++) {
        if (!is_mine(group, &patterns->list[i]))
            continue;
        const tune_key_t key = key_of(group->lab->options, i, config, other);
        const tune_record_t *record = tune_lab_get(group->lab, &key, group->cost);
        group->no_time |= !record;
        if (!record || record->count < count)
            return false;
        for (int k = 0; k < count; k++)
            us[k] += patterns->list[i].calls * record->us[k];
        calls += patterns->list[i].calls;
    }
    for (int k = 0; k < count && calls > 0; k++)
        us[k] /= calls;
    return calls > 0;
}

/* As in search.c. */
static void confirm(group_t *group, tune_choice_t *best, double *native_us)
{
    double us[2];

    if (best->config <= 0 || !tune_is_near(*native_us, best->us) || !mean_us(group, 0, best->config, us))
        return;
    *native_us = us[0];
    *best = tune_confirmed(best->config, us);
}

/* The host MPI's first, then what is made for the network: what is likely to matter is measured before the time is up. */
static bool is_next(const group_t *group, int config, bool is_early)
{
    const tune_way_t way = group->lab->lists[group->collective].configs[config].way;
    return (config == 0 || tune_way_is_placed(way, group->collective)) == is_early;
}

/* Of what was measured on all patterns; where there was no time for more, what is clearly faster than the host MPI's. */
static tune_choice_t choose(group_t *group, double *native_us)
{
    tune_choice_t best = {-1, 0};
    double us[2];

    *native_us = 0;
    for (int early = 1; early >= 0; early--)
        for (int config = 0; config < group->lab->lists[group->collective].count && !group->no_time;
             config++) {
            if (!is_next(group, config, early) || !is_candidate(group, config) ||
                !mean_us(group, config, -1, us))
                continue;
            if (config == 0)
                *native_us = us[0];
            if (best.config < 0 || us[0] < best.us)
                best = (tune_choice_t){config, us[0]};
        }
    if (!group->no_time)
        confirm(group, &best, native_us);
    if (group->no_time && (best.config <= 0 || tune_is_near(*native_us, best.us)))
        best.config = -1;
    return best;
}

void tune_search_patterns(tune_lab_t *lab, bool heuristic, tune_search_t *decided,
                          double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX])
{
    decided->complete = true;
    for (int c = 0; c < TUNE_COLLECTIVES; c++) {
        if (!lab->options->collectives[c] || !lab->options->on_patterns[c])
            continue;
        for (int size = 0; size < tune_size_count(lab->options, (unsigned)c); size++) {
            group_t group = {lab, (tune_collective_t)c, size, heuristic, false, &decided->cost};
            decided->choices[c][size] = choose(&group, &host_us[c][size]);
            decided->complete &= !group.no_time;
        }
    }
}
