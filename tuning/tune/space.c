#include "space.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE_LEVELS "package:%1$s numa:%1$s l3:%1$s core:%1$s"

static const struct {
    const char *name, *between, *shape; /* shape: also where it cannot be had */
    int does[TUNE_COLLECTIVES];         /* 0: not, 1: whole segments, 2: in parts */
    bool is_tree;
    int least_nodes;
} ways[] = {
#define X(name, nodes) {#name, "tree", #name, {1, 1, 1}, true, nodes},
    TUNE_SHAPE_TABLE(X)
#undef X
#define X(name, bcast, reduce, allreduce, tree, nodes)                                                       \
    {#name, #name, tree ? "binary" : "binomial", {bcast, reduce, allreduce}, tree, nodes},
        BETWEEN_NODES_TABLE(X)
#undef X
};

const char *tune_collective_name(tune_collective_t collective)
{
    static const char *const names[] = {
#define X(id, name) #name,
        TUNE_COLLECTIVE_TABLE(X)
#undef X
    };
    return names[collective];
}

const char *tune_way_name(unsigned way)
{
    return way < TUNE_WAYS ? ways[way].name : NULL;
}

bool tune_way_splits(tune_way_t way, tune_collective_t collective)
{
    return ways[way].does[collective] > 1;
}

bool tune_way_is_tree(tune_way_t way)
{
    return ways[way].is_tree;
}

const char *tune_inside_name(unsigned inside)
{
    static const char *const names[] = {
#define X(id, name) #name,
        TUNE_INSIDE_TABLE(X)
#undef X
    };
    return inside < TUNE_INSIDES ? names[inside] : NULL;
}

const char *tune_config_algorithm(const tune_config_t *config)
{
    return config->algorithm == TUNE_NATIVE ? "native" : config->algorithm == TUNE_FLAGS ? "flags" : "han";
}

const char *tune_config_between(const tune_config_t *config)
{
    return ways[config->way].between;
}

void tune_config_shapes(const tune_config_t *config, char text[TUNE_TEXT_BYTES])
{
    const int used = snprintf(text, TUNE_TEXT_BYTES, "node:%s ", ways[config->way].shape);
    snprintf(text + used, TUNE_TEXT_BYTES - (size_t)used, INSIDE_LEVELS, "linear");
}

void tune_config_modules(const tune_config_t *config, char text[TUNE_TEXT_BYTES])
{
    const int used = snprintf(text, TUNE_TEXT_BYTES, "node:p2p ");
    snprintf(text + used, TUNE_TEXT_BYTES - (size_t)used, INSIDE_LEVELS, tune_inside_name(config->inside));
}

/* The largest of the units in which bytes is a whole number. */
static void write_bytes(size_t bytes, char text[32], const char *const units[4])
{
    int unit = 0;
    while (unit < 3 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%zu%s", bytes, units[unit]);
}

void tune_bytes_text(size_t bytes, char text[32])
{
    write_bytes(bytes, text, (const char *const[]){" B", " KiB", " MiB", " GiB"});
}

void tune_bytes_word(size_t bytes, char text[32])
{
    write_bytes(bytes, text, (const char *const[]){"", "K", "M", "G"});
}

/* "han-chain-t16-shm-l4-32K": what is one is left out; one node has no way between nodes. */
static void name(tune_config_t *config, bool several_nodes)
{
    char segment[32], way[32] = "", trees[16] = "", leaders[16] = "";

    tune_bytes_word(config->segment_bytes, segment);
    if (several_nodes)
        snprintf(way, sizeof way, "%s-", ways[config->way].name);
    if (config->trees > 1)
        snprintf(trees, sizeof trees, "t%d-", config->trees);
    if (config->leaders > 1)
        snprintf(leaders, sizeof leaders, "l%d-", config->leaders);
    snprintf(config->id, sizeof config->id, "han-%s%s%s-%s%s", way, trees, tune_inside_name(config->inside),
             leaders, segment);
}

static void add(tune_list_t *list, const tune_config_t *config)
{
    tune_config_t *longer = realloc(list->configs, (size_t)(list->count + 1) * sizeof *longer);
    if (!longer) {
        fputs("hanpmpi_tune: no memory for the list of configurations\n", stderr);
        exit(EXIT_FAILURE);
    }
    list->configs = longer;
    list->configs[list->count++] = *config;
}

static void add_segments(tune_list_t *list, tune_config_t config, const tune_choices_t *choices,
                         bool several_nodes)
{
    for (int i = 0; i < choices->segment_count; i++) {
        config.segment_bytes = choices->segments[i];
        name(&config, several_nodes);
        add(list, &config);
    }
}

/* Roots in turn spread what the busiest node does: worth it for chains, which are one link a node, and
 * binary trees. */
static bool takes_turns(tune_collective_t collective, tune_way_t way, int nodes)
{
    return collective == TUNE_ALLREDUCE && nodes > 1 && (way == TUNE_WAY_chain || way == TUNE_WAY_binary);
}

static void add_turns(tune_list_t *list, tune_config_t config, tune_collective_t collective,
                      const tune_choices_t *choices, const tune_layout_t *layout)
{
    const int tree_count = takes_turns(collective, config.way, layout->nodes) ? choices->tree_count : 1;
    /* On one node only an allreduce has something to spread. */
    const bool led = layout->most_ranks > 1 && (layout->nodes > 1 || collective == TUNE_ALLREDUCE);
    const int leader_count = led ? choices->leader_count : 1;

    for (int t = 0; t < tree_count; t++)
        for (int l = 0; l < leader_count; l++) {
            config.trees = tree_count > 1 ? choices->trees[t] : 1;
            config.leaders = leader_count > 1 ? choices->leaders[l] : 1;
            add_segments(list, config, choices, layout->nodes > 1);
        }
}

static void add_han(tune_list_t *list, tune_collective_t collective, const tune_choices_t *choices,
                    const tune_layout_t *layout)
{
    for (int way = 0; way < TUNE_WAYS; way++) {
        /* On one node the first way stands for all. */
        const bool fits = layout->nodes == 1 ? way == 0 : choices->ways[way];
        if (!fits || layout->nodes < ways[way].least_nodes || !ways[way].does[collective])
            continue;
        for (int inside = 0; inside < TUNE_INSIDES; inside++)
            /* Nor is there an inside where each rank is alone. */
            if (layout->most_ranks == 1 ? inside == TUNE_INSIDE_P2P : choices->insides[inside])
                add_turns(list,
                          (tune_config_t){
                              .algorithm = TUNE_HAN, .way = (tune_way_t)way, .inside = (tune_inside_t)inside},
                          collective, choices, layout);
    }
}

void tune_space_init(tune_list_t lists[TUNE_COLLECTIVES], const tune_choices_t *choices,
                     const tune_layout_t *layout)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        tune_list_t *list = &lists[collective];
        *list = (tune_list_t){0};
        add(list, &(tune_config_t){.id = "native", .algorithm = TUNE_NATIVE, .trees = 1, .leaders = 1});
        if (layout->nodes == 1)
            add(list, &(tune_config_t){.id = "flags", .algorithm = TUNE_FLAGS, .trees = 1, .leaders = 1});
        add_han(list, (tune_collective_t)collective, choices, layout);
    }
}

void tune_space_fini(tune_list_t lists[TUNE_COLLECTIVES])
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        free(lists[collective].configs);
}

static bool same_path(const tune_config_t *a, const tune_config_t *b)
{
    return a->algorithm == b->algorithm && a->way == b->way && a->inside == b->inside;
}

bool tune_space_same_base(const tune_config_t *a, const tune_config_t *b)
{
    return same_path(a, b) && a->trees == b->trees && a->leaders == b->leaders;
}

/* Is a the simpler of two that run a message of one segment alike? */
static bool simpler(const tune_config_t *a, const tune_config_t *b)
{
    if (a->trees != b->trees)
        return a->trees < b->trees;
    return a->leaders != b->leaders ? a->leaders < b->leaders : a->segment_bytes < b->segment_bytes;
}

int tune_space_representative(const tune_list_t *list, int config, size_t bytes)
{
    const tune_config_t *self = &list->configs[config];
    int best = config;

    if (self->algorithm != TUNE_HAN || bytes > self->segment_bytes)
        return config;
    for (int i = 0; i < list->count; i++)
        if (same_path(&list->configs[i], self) && bytes <= list->configs[i].segment_bytes &&
            simpler(&list->configs[i], &list->configs[best]))
            best = i;
    return best;
}

int tune_space_find(const tune_list_t *list, const char *id)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->configs[i].id, id) == 0)
            return i;
    return -1;
}
