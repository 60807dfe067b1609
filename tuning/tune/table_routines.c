/* The table of --routines on standard output: for each collective the time of every algorithm at every size, as Faraj and
 * Yuan's (ICS 2005), what was chosen in which range, and how long it took to find out. */
#include <stdio.h>

#include "report.h"

double tune_report_measured_us(const tune_lab_t *lab, tune_collective_t collective, int config, size_t bytes)
{
    for (int kind = TUNE_KIND_DIRECT; kind <= TUNE_KIND_TASK; kind++) {
        const tune_key_t key = {(tune_kind_t)kind, collective, config, -1, bytes};
        const tune_record_t *record = tune_book_find(&lab->book, &key);
        if (record && record->count)
            return record->us[0];
    }
    return -1;
}

static bool is_measured(const tune_lab_t *lab, tune_collective_t collective, int config)
{
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);

    for (int size = 0; size < sizes->count; size++)
        if (tune_report_measured_us(lab, collective, config, sizes->bytes[size]) >= 0)
            return true;
    return false;
}

static void print_us(double us)
{
    if (us < 0)
        printf(" %9s", "-");
    else
        printf(" %9.0f", us);
}

static void print_sizes(const tune_sizes_t *sizes)
{
    char word[32];

    for (int size = 0; size < sizes->count; size++) {
        tune_bytes_word(sizes->bytes[size], word);
        printf(" %9s", word);
    }
    putchar('\n');
}

static void print_ranges(const tune_report_t *report, tune_collective_t collective)
{
    const tune_rules_t *rules = &report->results->rules;

    for (int i = 0; i < rules->count; i++)
        if (rules->rules[i].collective == collective)
            printf("  %zu to %zu: %s\n", rules->rules[i].from, rules->rules[i].to,
                   report->lab->lists[collective].configs[rules->rules[i].config].id);
}

/* All measurements of the collective, crossing points among them. */
static void print_effort(const tune_lab_t *lab, tune_collective_t collective)
{
    double seconds = 0;
    int count = 0;

    for (int i = 0; i < lab->book.count; i++)
        if (lab->book.records[i].key.collective == collective) {
            seconds += lab->book.records[i].seconds;
            count++;
        }
    printf("  tuned in %.1f s with %d measurements\n", seconds, count);
}

static void print_routines(const tune_report_t *report, tune_collective_t collective)
{
    const tune_lab_t *lab = report->lab;
    const tune_sizes_t *sizes = tune_sizes(lab->options, collective);

    printf("\n%-34s", tune_collective_name(collective));
    print_sizes(sizes);
    printf("%-34s", "tuned");
    for (int size = 0; size < sizes->count; size++) {
        const tune_choice_t *choice = &report->results->decided.choices[collective][size];
        print_us(choice->config < 0 ? -1 : choice->us);
    }
    putchar('\n');
    for (int config = 0; config < lab->lists[collective].count; config++) {
        if (!is_measured(lab, collective, config))
            continue;
        printf("%-34s", lab->lists[collective].configs[config].id);
        for (int size = 0; size < sizes->count; size++)
            print_us(tune_report_measured_us(lab, collective, config, sizes->bytes[size]));
        putchar('\n');
    }
    print_ranges(report, collective);
    print_effort(lab, collective);
}

void tune_report_routines(const tune_report_t *report)
{
    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++)
        if (tune_is_searched(report->lab->options, c))
            print_routines(report, (tune_collective_t)c);
}
