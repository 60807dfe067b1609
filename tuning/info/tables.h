/* tables: the library's tables as hanpmpi_info prints them: settings, algorithms, backends, probes of this machine.
 *
 * json.h has the same in JSON. Threads: one. Ownership: nothing is kept. */
#ifndef HANPMPI_INFO_TABLES_H
#define HANPMPI_INFO_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/knobs.h"
#include "hier/call/collective.h"
#include "hier/planning/model/probes_cache.h"

typedef struct {
    const char *name, *description;
} info_word_t;

typedef void (*info_word_fn_t)(void *context, const char *name, const char *description);

/* For hp_knobs_read: a line on standard error. */
void info_print_problem(void *context, const char *line);

void info_print_knobs(void);
/* The forms that the manual page and docs/KNOBS.md are made of at build time. */
void info_print_knobs_man(void);
void info_print_knobs_markdown(void);

bool info_find_collective(const char *name, hp_collective_t *out);
/* All of them, for messages. */
const char *info_collective_names(void);
void info_print_algorithms(void);
const info_word_t *info_modules(size_t *count);
/* The variable that names the algorithm of the collective. */
const char *info_variable_of(hp_collective_t collective);

/* Returns the exit status: 1 where there are none. */
int info_print_backends(void);
/* The folder of the backends, PATH_MAX characters. false: there is none, which was said. */
bool info_backends_folder(char *folder);
void info_backends_each(const char *folder, info_word_fn_t each, void *context);

void info_print_machine_name(void);
void info_print_probes(void);
/* The cache that HANPMPI_CACHE means, for any MPI. */
void info_find_cache(hp_cache_t *out);

#endif
