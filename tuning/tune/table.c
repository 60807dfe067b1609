/* The table on standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "call_sites.h"

static void print_choices(const tune_report_t *report, int collective)
{
    const tune_lab_t *lab = report->lab;
    const tune_sizes_t *sizes = tune_sizes(lab->options, (tune_collective_t)collective);

    printf("\n%s\n%12s  %-40s %12s %12s %8s\n", tune_collective_name((tune_collective_t)collective), "size",
           "choice", "us", "host us", "ratio");
    for (int size = 0; size < sizes->count; size++) {
        const tune_choice_t *choice = &report->results->decided.choices[collective][size];
        const double host = report->results->host_us[collective][size];
        char text[32];
        if (choice->config < 0)
            continue;
        if (tune_collective_family((tune_collective_t)collective) == TUNE_OF_OWN_SIZES)
            strcpy(text, "all");
        else
            tune_bytes_text(sizes->bytes[size], text);
        printf("%12s  %-40s %12.1f", text, lab->lists[collective].configs[choice->config].id, choice->us);
        if (host > 0)
            printf(" %12.1f %8.2f", host, host / choice->us);
        putchar('\n');
    }
}

/* For each pattern what was chosen for all that share its rule, and what would have been the best for it alone. */
static void print_patterns(const tune_report_t *report)
{
    const tune_lab_t *lab = report->lab;
    const tune_patterns_t *patterns = lab->options->patterns;

    if (!patterns || patterns->count == 0)
        return;
    printf("\n%-15s %10s %10s %6s  %-28s %10s  %-28s %10s %10s\n", "pattern", "mean", "calls", "alike",
           "choice", "us", "alone", "us", "host us");
    for (int i = 0; i < patterns->count; i++) {
        const tune_pattern_t *pattern = &patterns->list[i];
        const int chosen =
            report->results->decided.choices[pattern->collective][tune_pattern_size(lab->options, pattern)]
                .config;
        const int alone = tune_pattern_best(lab, i);
        char text[32];
        if (chosen < 0 || alone < 0)
            continue;
        const tune_config_t *configs = lab->lists[pattern->collective].configs;
        tune_bytes_text(tune_pattern_bytes(pattern), text);
        printf("%-15s %10s %10.0f %6d  %-28s %10.1f  %-28s %10.1f %10.1f\n",
               tune_collective_name(pattern->collective), text, pattern->calls, pattern->alike,
               configs[chosen].id, tune_pattern_us(lab, i, chosen), configs[alone].id,
               tune_pattern_us(lab, i, alone), tune_pattern_us(lab, i, 0));
    }
}

/* Of each place that calls such collectives, what is the best for its calls alone. */
static void print_call_sites(const tune_report_t *report)
{
    const tune_lab_t *lab = report->lab;
    tune_call_site_t site;

    for (int i = 0; lab->options->patterns && tune_call_site(lab, &report->results->decided, i, &site); i++) {
        char hints[TUNE_HINTS_BYTES];
        if (i == 0)
            printf("\n%-15s %-30s %10s %10s %10s %10s  %s\n", "call site", "", "calls", "best us", "rules us",
                   "host us", "best, as hints");
        if (site.config >= 0)
            printf(
                "%-15s %-30s %10.0f %10.1f %10.1f %10.1f  %s\n", tune_collective_name(site.collective),
                site.place, site.calls, site.us, site.rule_us, site.host_us,
                tune_config_hints(site.collective, &lab->lists[site.collective].configs[site.config], hints));
    }
}

static void print_searches(const tune_report_t *report)
{
    const tune_options_t *options = report->lab->options;
    const double whole = report->results->searches[TUNE_SEARCH_EXHAUSTIVE].cost.seconds;

    printf("\n%-16s %10s %14s", "search", "seconds", "measurements");
    if (options->compare)
        printf(" %12s", "of the first");
    putchar('\n');
    for (int id = 0; id < TUNE_SEARCHES; id++) {
        const tune_search_t *search = &report->results->searches[id];
        if (!options->searches[id])
            continue;
        printf("%-16s %10.1f %14d", tune_search_name((tune_search_id_t)id), search->cost.seconds,
               search->cost.measurements);
        if (options->compare && whole > 0)
            printf(" %11.1f%%", 100 * search->cost.seconds / whole);
        puts(search->complete ? "" : "  (ended before it was done)");
    }
}

/* ---- --compare ---- */

/* How many choices of a search are within 5% of the best, and how far off the worst one is. */
static void print_quality(const tune_report_t *report, int id, int collective)
{
    double worst = 0;
    int near = 0, all = 0;

    for (int size = 0; size < tune_sizes(report->lab->options, (tune_collective_t)collective)->count;
         size++) {
        const double us = report->results->evaluated[id][collective][size].us;
        const double best = report->results->evaluated[id][collective][size].best_us;
        if (best <= 0)
            continue;
        all++;
        near += us <= 1.05 * best;
        worst = us / best - 1 > worst ? us / best - 1 : worst;
    }
    if (all > 0)
        printf("%-16s %-20s within 5%% of the best at %d of %d sizes, at most %.0f%% off\n",
               tune_search_name((tune_search_id_t)id), tune_collective_name((tune_collective_t)collective),
               near, all, 100 * worst);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_errors(const char *model, const char *collective, double *errors, int count)
{
    if (count == 0)
        return;
    qsort(errors, (size_t)count, sizeof *errors, by_value);
    printf("%-16s %-20s median error %.1f%%, three quarters within %.1f%%, of %d predictions\n", model,
           collective, 100 * errors[count / 2], 100 * errors[count * 3 / 4], count);
}

static double error_of(double predicted, double measured)
{
    return predicted > measured ? predicted / measured - 1 : 1 - predicted / measured;
}

/* Both models against what the exhaustive search measured. */
static void print_models(const tune_report_t *report, int collective)
{
    const tune_lab_t *lab = report->lab;
    double *events = malloc((size_t)lab->book.count * sizeof *events + 1);
    double *lockstep = malloc((size_t)lab->book.count * sizeof *lockstep + 1);
    int event_count = 0, lockstep_count = 0;

    for (int i = 0; i < lab->book.count && events && lockstep; i++) {
        const tune_record_t *record = &lab->book.records[i];
        const tune_key_t *key = &record->key;
        if (key->kind != TUNE_KIND_DIRECT || (int)key->collective != collective || !record->count ||
            !tune_has_segments(&lab->lists[collective].configs[key->config]))
            continue;
        const double event = tune_predict_us(&report->results->curves[TUNE_SEARCH_TASK], lab->lists,
                                             key->collective, key->config, key->bytes);
        const double step = tune_lockstep_predict(lab, key->collective, key->config, key->bytes);
        if (event >= 0)
            events[event_count++] = error_of(event, record->us[0]);
        if (step >= 0)
            lockstep[lockstep_count++] = error_of(step, record->us[0]);
    }
    const char *name = tune_collective_name((tune_collective_t)collective);
    print_errors("events", name, events, event_count);
    print_errors("lock-step", name, lockstep, lockstep_count);
    free(events);
    free(lockstep);
}

void tune_report_table(const tune_report_t *report)
{
    const tune_options_t *options = report->lab->options;

    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        if (options->collectives[collective])
            print_choices(report, collective);
    print_patterns(report);
    print_call_sites(report);
    print_searches(report);
    if (!options->compare)
        return;
    putchar('\n');
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        for (int id = TUNE_SEARCH_HEURISTIC; id < TUNE_SEARCHES; id++)
            print_quality(report, id, collective);
        print_models(report, collective);
    }
    if (report->results->lockstep.measurements)
        printf("\nThe lock-step model's tasks took %.1f s more.\n", report->results->lockstep.seconds);
}
