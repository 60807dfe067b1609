#include "schedule/catalog/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schedule/file.h"
#include "schedule/generators/generators.h"

void hp_catalog_init(hp_catalog_t *catalog)
{
    catalog->file_count = catalog->broken_count = 0;
}

void hp_catalog_fini(hp_catalog_t *catalog)
{
    while (catalog->file_count > 0)
        hp_schedule_file_free(catalog->files[--catalog->file_count]);
}

const hp_generator_t *hp_catalog_generator(const hp_catalog_t *catalog, unsigned i)
{
    unsigned built_in = 0;

    while (built_in <= i && hp_generator(built_in))
        built_in++;
    if (i < built_in)
        return hp_generator(i);
    return i - built_in < catalog->file_count ? catalog->files[i - built_in] : NULL;
}

const hp_generator_t *hp_catalog_find(const hp_catalog_t *catalog, const char *name)
{
    const hp_generator_t *generator;

    for (unsigned i = 0; (generator = hp_catalog_generator(catalog, i)); i++)
        if (strcmp(generator->name, name) == 0)
            return generator;
    return NULL;
}

/* ---- a directory ---- */

/* The name as which others may ask for it: without ".json". */
static void add_broken(hp_catalog_t *catalog, const char *file)
{
    const char *name = strrchr(file, '/') + 1;
    const size_t length = strlen(name) - strlen(".json");

    if (catalog->broken_count < HP_CATALOG_FILES_MAX && length < HP_CATALOG_NAME_BYTES)
        snprintf(catalog->broken[catalog->broken_count++], HP_CATALOG_NAME_BYTES, "%.*s", (int)length, name);
}

/* file: "directory/name.json". */
static void add_file(hp_catalog_t *catalog, const char *file, hp_catalog_problem_fn_t problem, void *context)
{
    char why[HP_SCHEDULE_FILE_WHY_BYTES], line[HP_SCHEDULE_FILE_WHY_BYTES];
    hp_generator_t *generator;

    if (hp_schedule_file_read(file, &generator, why, sizeof why) != HP_OK) {
        problem(context, why);
        add_broken(catalog, file);
        return;
    }
    if (hp_generator_find(generator->name)) {
        snprintf(line, sizeof line, "%.300s: \"%s\" is the name of a built-in algorithm", file,
                 generator->name);
        problem(context, line);
        hp_schedule_file_free(generator);
        return;
    }
    catalog->files[catalog->file_count++] = generator;
}

static int is_json(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* The same in every locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

void hp_catalog_read(hp_catalog_t *catalog, const char *directory, hp_catalog_problem_fn_t problem,
                     void *context)
{
    char file[PATH_MAX + NAME_MAX + 2], line[HP_SCHEDULE_FILE_WHY_BYTES];
    struct dirent **entries;
    const int count = scandir(directory, &entries, is_json, compare_names);

    if (count < 0) {
        snprintf(line, sizeof line, "%.300s: %s", directory, strerror(errno));
        problem(context, line);
        return;
    }
    int left_out = 0;
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%.*s/%s", PATH_MAX - 1, directory, entries[i]->d_name);
        if (catalog->file_count < HP_CATALOG_FILES_MAX)
            add_file(catalog, file, problem, context);
        else
            left_out++;
        free(entries[i]);
    }
    free(entries);
    if (left_out > 0) {
        snprintf(line, sizeof line, "%.300s: the last %d files are left out: %d schedules are the limit",
                 directory, left_out, HP_CATALOG_FILES_MAX);
        problem(context, line);
    }
}
