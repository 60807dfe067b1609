/* schedule: an algorithm's schedules, as hanpmpi_info --schedule shows, verifies, draws and writes them; and the list
 * of all algorithms.
 *
 * Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_SCHEDULE_H
#define HANPMPI_INFO_SCHEDULE_H

#include <stdbool.h>
#include "schedule/catalog/catalog.h"

typedef struct {
    const char *text;       /* "allgather ring ranks=12", or the name of a file */
    const char *svg, *json; /* files to write; NULL: none; "-": standard output, in place of the text */
    const char *cost;       /* "network=FILE bytes=64K"; NULL: not asked for */
    bool verify;
} info_schedule_t;

/* First of all: the files of HANPMPI_SCHEDULES that can join nodes are words. says: of files that cannot be used, too. */
void info_use_schedules(bool says);

/* All algorithms by name, those of HANPMPI_SCHEDULES among them; the caller calls hp_catalog_fini. */
void info_read_catalog(hp_catalog_t *catalog);

/* Algorithms of files come from HANPMPI_SCHEDULES. Each returns the exit status. */
int info_print_schedule(const info_schedule_t *asked);
int info_print_schedules(void);
int info_json_schedules(void);

#endif
