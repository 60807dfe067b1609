#include "schedules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tasks/hanpmpi_tasks.h"

enum { PATH_BYTES = 4096 };

static int fail(const char *name, const char *why)
{
    fprintf(stderr, "hanpmpi_tune: cannot write %s: %s; give another directory with --schedules\n", name,
            why);
    return -1;
}

/* Is it one algorithm among all ranks, or among the nodes? Blocks that go through nodes take two. */
static bool has_schedule(tune_collective_t collective, const tune_config_t *config)
{
    return config->way < TUNE_WAYS &&
           (config->algorithm == TUNE_FLAT || tune_collective_family(collective) == TUNE_OF_SEGMENTS);
}

/* ---- which ---- */

/* The fastest at a size of those that have schedules; -1: none was measured. */
static int fastest(const tune_lab_t *lab, tune_collective_t collective, size_t bytes)
{
    int best = -1;
    double best_us = 0;

    for (int config = 0; config < lab->lists[collective].count; config++) {
        const double us = has_schedule(collective, &lab->lists[collective].configs[config])
                              ? tune_report_measured_us(lab, collective, config, bytes)
                              : -1;
        if (us < 0 || (best >= 0 && us >= best_us))
            continue;
        best = config;
        best_us = us;
    }
    return best;
}

static bool is_wanted(const tune_report_t *report, tune_collective_t collective, int config)
{
    const tune_rules_t *rules = &report->results->rules;
    const tune_sizes_t *sizes = tune_sizes(report->lab->options, collective);
    bool wanted = false;

    for (int i = 0; i < rules->count; i++)
        wanted |= rules->rules[i].collective == collective && rules->rules[i].config == config;
    for (int size = 0; size < sizes->count && !wanted; size++)
        wanted = fastest(report->lab, collective, sizes->bytes[size]) == config;
    return wanted && has_schedule(collective, &report->lab->lists[collective].configs[config]);
}

/* ---- files ---- */

/* What a rule calls it, or what it is and for how many: the same for all sizes of a segment. */
static void name_file(const tune_report_t *report, tune_collective_t collective, const tune_config_t *config,
                      const char *directory, char path[PATH_BYTES])
{
    const int count = config->algorithm == TUNE_FLAT ? report->layout.ranks : report->layout.nodes;

    if (config->words[0])
        snprintf(path, PATH_BYTES, "%s/%s.json", directory, config->routine);
    else
        snprintf(path, PATH_BYTES, "%s/%s_%s_%d.json", directory, tune_collective_name(collective),
                 tune_way_name(config->way), count);
}

/* Those of a collective, each once. Returns how many; -1: as tune_schedules_write. */
static int write_of(const tune_report_t *report, tune_collective_t collective, MPI_Comm comm,
                    const char *directory)
{
    const hanpmpi_make_routine_fn_t make_routine = hanpmpi_find_make_routine();
    const tune_list_t *list = &report->lab->lists[collective];
    char path[PATH_BYTES], before[PATH_BYTES] = "";
    int written = 0;

    for (int i = 0; i < list->count && make_routine; i++) {
        const tune_config_t *config = &list->configs[i];
        if (!is_wanted(report, collective, i))
            continue;
        name_file(report, collective, config, directory, path);
        if (strcmp(path, before) == 0) /* they follow each other */
            continue;
        strcpy(before, path);
        errno = 0;
        if (make_routine(&comm, tune_collective_name(collective),
                         config->words[0] ? config->words : tune_way_name(config->way), config->routine,
                         path) != 0)
            return fail(path, errno ? strerror(errno) : "the library does not make it");
        written++;
    }
    return written;
}

int tune_schedules_write(const tune_report_t *report, MPI_Comm comm, const char *directory)
{
    int written = 0;

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return fail(directory, strerror(errno));
    for (unsigned c = 0; c < TUNE_COLLECTIVES; c++) {
        const int count = tune_is_searched(report->lab->options, c)
                              ? write_of(report, (tune_collective_t)c, comm, directory)
                              : 0;
        if (count < 0)
            return -1;
        written += count;
    }
    return written;
}
