#include "hier/call/inter_node_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const hp_catalog_t *catalog;
    const char *directory;
    hp_catalog_problem_fn_t problem;
    void *context;
} taking_t;

enum { LINE_BYTES = 512 };

void hp_inter_node_ahead(void)
{
    const char *directory = getenv("HANPMPI_SCHEDULES"), *word = getenv("HANPMPI_BETWEEN_NODES");

    if (directory && *directory && word)
        hp_inter_node_add(word); /* or it is a word already, or none that could be one */
}

static bool is_broken(const hp_catalog_t *catalog, const char *name)
{
    unsigned i = 0;
    while (i < catalog->broken_count && strcmp(catalog->broken[i], name) != 0)
        i++;
    return i < catalog->broken_count;
}

/* Somebody asked for it before the files were read. No built-in algorithm has the name of a slot. */
static void fill_known(const taking_t *t, hp_inter_node_t slot)
{
    const char *name = hp_inter_node_name(slot);
    const hp_generator_t *generator = hp_catalog_find(t->catalog, name);
    const char *why = generator ? hp_inter_node_refusal(generator) : "there is no such file";
    char line[LINE_BYTES];

    if (!why)
        hp_inter_node_fill(slot, generator);
    if (!why || is_broken(t->catalog, name)) /* that was said */
        return;
    snprintf(line, sizeof line,
             "%.300s/%s.json: %s; what asks for the inter-node algorithm %s takes the tree", t->directory,
             name, why, name);
    t->problem(t->context, line);
}

void hp_inter_node_take(const hp_catalog_t *catalog, const char *directory, hp_catalog_problem_fn_t problem,
                        void *context)
{
    const taking_t t = {catalog, directory, problem, context};
    unsigned left_out = 0;
    char line[LINE_BYTES];

    for (unsigned i = HP_INTER_NODE_FILES; hp_inter_node_is_word((hp_inter_node_t)i); i++)
        fill_known(&t, (hp_inter_node_t)i);
    for (unsigned i = 0; i < catalog->file_count; i++)
        if (!hp_inter_node_refusal(catalog->files[i])) {
            const hp_inter_node_t slot = hp_inter_node_add(catalog->files[i]->name);
            hp_inter_node_fill(slot, catalog->files[i]);
            left_out += slot == HP_INTER_NODE_NONE;
        }
    for (unsigned i = 0; i < catalog->broken_count; i++)
        hp_inter_node_add(catalog->broken[i]);
    if (left_out == 0)
        return;
    snprintf(line, sizeof line, "%.300s: the last %u schedules do not join nodes: %d are the limit",
             directory, left_out, HP_INTER_NODE_FILES_MAX);
    problem(context, line);
}
