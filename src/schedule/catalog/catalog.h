/* catalog: all algorithms there are, by name: the built-in generators and the schedules in the files of a directory.
 *
 * Threads: pure, but for the file system. Ownership: the catalog owns what it has read; fini frees it. */
#ifndef HP_SCHEDULE_CATALOG_CATALOG_H
#define HP_SCHEDULE_CATALOG_CATALOG_H

#include "schedule/generator.h"

enum { HP_CATALOG_FILES_MAX = 256, HP_CATALOG_NAME_BYTES = 64 };

typedef struct {
    hp_generator_t *files[HP_CATALOG_FILES_MAX];
    unsigned file_count;
    /* Names of the first files that cannot be used. */
    char broken[HP_CATALOG_FILES_MAX][HP_CATALOG_NAME_BYTES];
    unsigned broken_count;
} hp_catalog_t;

/* Receives a line for each file that is left out. */
typedef void (*hp_catalog_problem_fn_t)(void *context, const char *line);

/* The built-in ones alone. */
void hp_catalog_init(hp_catalog_t *catalog);
void hp_catalog_fini(hp_catalog_t *catalog);

/* Adds the files of the directory whose names end in ".json", in the order of their names; those that begin with a dot
 * are not looked at. What cannot be used, or has a built-in one's name, is left out and reported. */
void hp_catalog_read(hp_catalog_t *catalog, const char *directory, hp_catalog_problem_fn_t problem,
                     void *context);

/* The i-th, the built-in ones first; NULL past the last. */
const hp_generator_t *hp_catalog_generator(const hp_catalog_t *catalog, unsigned i);
/* The one of that name, or NULL. */
const hp_generator_t *hp_catalog_find(const hp_catalog_t *catalog, const char *name);

#endif
