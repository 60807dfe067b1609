#include "space.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE_LEVELS "package:%1$s numa:%1$s l3:%1$s core:%1$s"

static const struct {
    const char *name, *between, *shape; /* shape: also where it cannot be had */
    int does[TUNE_ALLREDUCE + 1];       /* 0: not, 1: whole segments, 2: in parts */
    bool is_tree;
    int least_nodes;
    bool is_placed; /* made for a network */
} ways[] = {
#define X(name, nodes) {#name, "tree", #name, {1, 1, 1}, true, nodes, false},
    TUNE_SHAPE_TABLE(X)
#undef X
#define X(name, bcast, reduce, allreduce, tree, nodes, network)                                              \
    {#name, #name, tree ? "binary" : "binomial", {bcast, reduce, allreduce}, tree, nodes, network},
        BETWEEN_NODES_TABLE(X)
#undef X
};

/* What a collective of blocks can go through, beside the trees of gather and scatter. */
static const struct {
    tune_collective_t collective;
    tune_way_t way;
    int multiple; /* of which the number of positions has to be one; 0: a power of two */
    bool is_direct;
    int least; /* positions */
    bool one_leads, all_lead, is_placed, is_plain;
} block_ways[] = {
#define X(collective, way, multiple, direct, positions, leader, leaders, network, plain)                     \
    {TUNE_##collective, TUNE_WAY_##way, multiple, direct, positions, leader, leaders, network, plain},
    BLOCK_WAYS_TABLE(X)
#undef X
};

enum { BLOCK_WAYS = sizeof block_ways / sizeof *block_ways };

static const struct {
    tune_collective_t collective;
    tune_way_t way;
    const char *name;
    unsigned least, most, usual; /* most 0: as many as positions */
} block_parameters[] = {
#define X(collective, way, name, least, most, usual)                                                         \
    {TUNE_##collective, TUNE_WAY_##way, #name, least, most, usual},
    BLOCK_PARAMETERS_TABLE(X)
#undef X
};

enum { BLOCK_PARAMETERS = sizeof block_parameters / sizeof *block_parameters };

static const struct {
    const char *name;
    tune_family_t family;
    bool is_rooted;
} collectives[] = {
#define X(id, name, family, rooted) {#name, TUNE_OF_##family, rooted},
    TUNE_COLLECTIVE_TABLE(X)
#undef X
};

const char *tune_collective_name(tune_collective_t collective)
{
    return collectives[collective].name;
}

tune_collective_t tune_collective_find(const char *name)
{
    int i = 0;
    while (i < TUNE_COLLECTIVES && strcmp(name, collectives[i].name) != 0)
        i++;
    return (tune_collective_t)i;
}

tune_family_t tune_collective_family(tune_collective_t collective)
{
    return collectives[collective].family;
}

const char *tune_way_name(unsigned way)
{
    return way < TUNE_WAYS ? ways[way].name : NULL;
}

bool tune_way_splits(tune_way_t way, tune_collective_t collective)
{
    return collective <= TUNE_ALLREDUCE && ways[way].does[collective] > 1;
}

bool tune_way_is_tree(tune_way_t way)
{
    return ways[way].is_tree;
}

/* Of block_ways; -1: the way has none of this collective. */
static int block_row(tune_way_t way, tune_collective_t collective)
{
    int row = BLOCK_WAYS - 1;

    while (row >= 0 && (block_ways[row].collective != collective || block_ways[row].way != way))
        row--;
    return row;
}

bool tune_way_is_direct(tune_way_t way, tune_collective_t collective)
{
    const int row = block_row(way, collective);
    return row < 0 ? way == TUNE_WAY_linear : block_ways[row].is_direct;
}

bool tune_way_is_placed(tune_way_t way, tune_collective_t collective)
{
    const int row = block_row(way, collective);
    return row >= 0 && block_ways[row].is_placed;
}

bool tune_way_is_part(tune_way_t way, tune_collective_t collective)
{
    const int row = block_row(way, collective);
    return row >= 0 && block_ways[row].is_plain &&
           (collective == TUNE_ALLGATHER || block_ways[row].is_direct);
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
    static const char *const names[] = {[TUNE_NATIVE] = "native",
                                        [TUNE_FLAGS] = "flags",
                                        [TUNE_COPIES] = "single_copy",
                                        [TUNE_FLAT] = "flat",
                                        [TUNE_HAN] = "han"};
    return names[config->algorithm];
}

__attribute__((format(printf, 4, 5))) static void add_setting(tune_setting_t *settings, int *count,
                                                              const char *key, const char *format, ...)
{
    tune_setting_t *setting = &settings[(*count)++];
    va_list values;

    setting->key = key;
    setting->is_number = strcmp(format, "%zu") == 0;
    va_start(values, format);
    vsnprintf(setting->text, sizeof setting->text, format, values);
    va_end(values);
}

static bool has_modules(const tune_config_t *config)
{
    return config->inside != TUNE_INSIDE_MESSAGES;
}

static bool is_along_tree(const tune_config_t *config)
{
    return config->way < TUNE_WAYS && strcmp(ways[config->way].between, "tree") == 0;
}

static void write_shapes(const tune_config_t *config, char text[TUNE_TEXT_BYTES])
{
    int used = 0;

    text[0] = '\0';
    if (is_along_tree(config) || (has_modules(config) && config->way < TUNE_WAYS))
        used = snprintf(text, TUNE_TEXT_BYTES, "node:%s ", ways[config->way].shape);
    if (has_modules(config))
        snprintf(text + used, TUNE_TEXT_BYTES - (size_t)used, INSIDE_LEVELS, config->core_shape);
    else if (config->algorithm == TUNE_HAN)
        snprintf(text + used, TUNE_TEXT_BYTES - (size_t)used, "core:%s", config->core_shape);
    else if (used > 0)
        text[used - 1] = '\0';
}

int tune_config_settings(const tune_config_t *config, tune_setting_t settings[TUNE_SETTINGS_MAX])
{
    char shapes[TUNE_TEXT_BYTES];
    int count = 0;

    if (config->algorithm != TUNE_FLAT && config->algorithm != TUNE_HAN)
        return 0;
    if (tune_has_segments(config))
        add_setting(settings, &count, "segment_bytes", "%zu", config->segment_bytes);
    write_shapes(config, shapes);
    if (shapes[0])
        add_setting(settings, &count, "shapes", "%s", shapes);
    if (has_modules(config))
        add_setting(settings, &count, "modules", "node:p2p " INSIDE_LEVELS, tune_inside_name(config->inside));
    if (config->way < TUNE_WAYS)
        add_setting(settings, &count, "between_nodes", "%s",
                    config->words[0] ? config->routine : ways[config->way].between);
    if (tune_has_segments(config))
        add_setting(settings, &count, "trees", "%zu", (size_t)config->trees);
    if (config->algorithm == TUNE_HAN)
        add_setting(settings, &count, "leaders", "%zu", (size_t)config->leaders);
    return count;
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

/* "han-chain-t16-shm-l4-32K", "han-circulant+ring-shm-64K": what is one is left out; one node has no way between
 * nodes. */
static void name_segments(tune_config_t *config, bool several_nodes)
{
    char segment[32], way[80] = "", trees[16] = "", leaders[16] = "";

    tune_bytes_word(config->segment_bytes, segment);
    if (several_nodes)
        snprintf(way, sizeof way, "%s%s%s-", config->is_joined ? ways[config->reduces].name : "",
                 config->is_joined ? "+" : "", ways[config->way].name);
    if (config->trees > 1)
        snprintf(trees, sizeof trees, "t%d-", config->trees);
    if (config->leaders > 1)
        snprintf(leaders, sizeof leaders, "l%d-", config->leaders);
    snprintf(config->id, sizeof config->id, "han-%s%s%s-%s%s", way, trees, tune_inside_name(config->inside),
             leaders, segment);
}

/* "han-bruck-l16-knomial4", "flat-pairwise": what is one, and direct messages inside, are left out. */
static void name_blocks(tune_config_t *config)
{
    char leaders[16] = "";

    if (config->leaders > 1)
        snprintf(leaders, sizeof leaders, "-l%d", config->leaders);
    const bool direct = strcmp(config->core_shape, "linear") == 0;
    snprintf(config->id, sizeof config->id, "%s-%s%s%s%s", tune_config_algorithm(config),
             ways[config->way].name, leaders, direct ? "" : "-", direct ? "" : config->core_shape);
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
        name_segments(&config, several_nodes);
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

/* With each module inside; nor is there an inside where each rank is alone. */
static void add_insides(tune_list_t *list, tune_config_t config, tune_collective_t collective,
                        const tune_choices_t *choices, const tune_layout_t *layout)
{
    for (int inside = 0; inside < TUNE_INSIDES; inside++)
        if (layout->most_ranks == 1 ? inside == TUNE_INSIDE_P2P : choices->insides[inside]) {
            config.inside = (tune_inside_t)inside;
            add_turns(list, config, collective, choices, layout);
        }
}

static void add_han(tune_list_t *list, tune_collective_t collective, const tune_choices_t *choices,
                    const tune_layout_t *layout)
{
    for (int way = 0; way < TUNE_WAYS; way++) {
        /* On one node the first way stands for all. */
        const bool fits = layout->nodes == 1 ? way == 0 : choices->ways[way];
        if (!fits || layout->nodes < ways[way].least_nodes || !ways[way].does[collective] ||
            (ways[way].is_placed && !choices->network))
            continue;
        add_insides(list,
                    (tune_config_t){.algorithm = TUNE_HAN, .way = (tune_way_t)way, .core_shape = "linear"},
                    collective, choices, layout);
    }
}

/* ---- barrier ---- */

/* Intra-node flags, an inter-node dissemination, of one leader each or of all ranks: two nodes take one round
 * anyway. */
static void add_barriers(tune_list_t *list, const tune_choices_t *choices, const tune_layout_t *layout)
{
    const bool may_all_lead = layout->nodes > 2 && layout->least_ranks > 1;
    tune_config_t config = {.algorithm = TUNE_HAN,
                            .way = TUNE_WAYS,
                            .core_shape = "linear",
                            .inside = layout->most_ranks == 1 ? TUNE_INSIDE_P2P : TUNE_INSIDE_SHM,
                            .trees = 1,
                            .leaders = 1};

    snprintf(config.id, sizeof config.id, "han-%s", tune_inside_name(config.inside));
    if (layout->nodes > 1 && (choices->one_leads || !may_all_lead))
        add(list, &config);
    const size_t named = strlen(config.id);
    config.leaders = 16;
    snprintf(config.id + named, sizeof config.id - named, "-l%d", config.leaders);
    if (may_all_lead && choices->all_lead)
        add(list, &config);
}

/* ---- blocks ---- */

/* The few rounds that an intra-node algorithm takes in place of direct messages: all ranks but one have to
 * be there, and two are one message anyway. Scans have none. */
static const char *few_rounds(tune_collective_t collective, bool all_lead)
{
    if (collectives[collective].family == TUNE_OF_OWN_SIZES)
        return NULL;
    if (collectives[collective].is_rooted)
        return all_lead ? NULL : "postal";
    if (!all_lead || collectives[collective].family != TUNE_OF_BLOCKS)
        return NULL;
    return collective == TUNE_REDUCE_SCATTER || collective == TUNE_REDUCE_SCATTER_BLOCK ? "binomial"
                                                                                        : "knomial4";
}

static void add_leaders(tune_list_t *list, tune_collective_t collective, tune_way_t way, bool all_lead,
                        const tune_layout_t *layout)
{
    enum { ALL_LEAD = 16 };
    tune_config_t config = {.algorithm = TUNE_HAN,
                            .way = way,
                            .core_shape = "linear",
                            .inside = TUNE_INSIDE_MESSAGES,
                            .trees = 1,
                            .leaders = all_lead ? ALL_LEAD : 1};

    name_blocks(&config);
    add(list, &config);
    config.core_shape = few_rounds(collective, all_lead);
    if (config.core_shape && layout->most_ranks > 2) {
        name_blocks(&config);
        add(list, &config);
    }
}

/* Among the nodes, where there are several and it is not the same as among the ranks. All ranks lead where nodes are
 * of one size. */
static void add_among_nodes(tune_list_t *list, tune_collective_t collective, tune_way_t way, bool one_leads,
                            bool all_lead, const tune_layout_t *layout)
{
    if (layout->nodes == 1 || layout->most_ranks == 1)
        return;
    if (one_leads)
        add_leaders(list, collective, way, false, layout);
    if (all_lead && layout->least_ranks == layout->most_ranks)
        add_leaders(list, collective, way, true, layout);
}

static tune_config_t among_ranks(tune_way_t way)
{
    tune_config_t config = {.algorithm = TUNE_FLAT,
                            .way = way,
                            .core_shape = "linear",
                            .inside = TUNE_INSIDE_MESSAGES,
                            .trees = 1,
                            .leaders = 1};
    name_blocks(&config);
    return config;
}

static void add_among_ranks(tune_list_t *list, tune_way_t way)
{
    const tune_config_t config = among_ranks(way);
    add(list, &config);
}

/* "flat-bruck-radix4", made of "bruck radix=4". */
static void add_with_parameter(tune_list_t *list, int row, unsigned value, int ranks)
{
    const tune_collective_t collective = block_parameters[row].collective;
    const char *way = ways[block_parameters[row].way].name, *parameter = block_parameters[row].name;
    tune_config_t config = among_ranks(block_parameters[row].way);
    const size_t named = strlen(config.id);

    snprintf(config.id + named, sizeof config.id - named, "-%s%u", parameter, value);
    snprintf(config.words, sizeof config.words, "%s %s=%u", way, parameter, value);
    snprintf(config.routine, sizeof config.routine, "%s_%s_%s%u_%d", collectives[collective].name, way,
             parameter, value, ranks);
    add(list, &config);
}

/* Its parameters: the least, and twice as much again and again, up to as many as ranks, but what is usual. */
static void add_parameters(tune_list_t *list, tune_collective_t collective, tune_way_t way, int ranks)
{
    const unsigned largest = ranks < 64 ? (unsigned)ranks : 64;

    for (int row = 0; row < BLOCK_PARAMETERS; row++) {
        if (block_parameters[row].collective != collective || block_parameters[row].way != way)
            continue;
        const unsigned most = block_parameters[row].most ? block_parameters[row].most : largest;
        for (unsigned value = block_parameters[row].least; value <= most && value <= largest; value *= 2)
            if (value != block_parameters[row].usual)
                add_with_parameter(list, row, value, ranks);
    }
}

/* Is it no other one among so many positions, and does it know so many? */
static bool fits(int multiple, int least, int count)
{
    return count >= least && (multiple ? count % multiple == 0 : (count & (count - 1)) == 0);
}

static void add_block_way(tune_list_t *list, int row, const tune_choices_t *choices,
                          const tune_layout_t *layout)
{
    const tune_collective_t collective = block_ways[row].collective;
    const int multiple = block_ways[row].multiple, least = block_ways[row].least;

    if (block_ways[row].is_placed && !choices->network)
        return;
    if (fits(multiple, least, layout->ranks)) {
        add_among_ranks(list, block_ways[row].way);
        if (choices->routines)
            add_parameters(list, collective, block_ways[row].way, layout->ranks);
    }
    if (fits(multiple, least, layout->nodes))
        add_among_nodes(list, collective, block_ways[row].way,
                        block_ways[row].one_leads && choices->one_leads,
                        block_ways[row].all_lead && choices->all_lead, layout);
}

static void add_blocks(tune_list_t *list, tune_collective_t collective, const tune_choices_t *choices,
                       const tune_layout_t *layout)
{
    const bool own_sizes = collectives[collective].family == TUNE_OF_OWN_SIZES;

    for (int way = 0; way < TUNE_WAYS && collectives[collective].is_rooted; way++) {
        if (!choices->ways[way] || strcmp(ways[way].between, "tree") != 0)
            continue;
        if (own_sizes) { /* no other rank can carry a block of which it does not know the size */
            if (way == TUNE_WAY_linear)
                add_among_ranks(list, (tune_way_t)way);
            continue;
        }
        if (fits(1, ways[way].least_nodes, layout->ranks))
            add_among_ranks(list, (tune_way_t)way);
        if (fits(1, ways[way].least_nodes, layout->nodes))
            add_among_nodes(list, collective, (tune_way_t)way, choices->one_leads, false, layout);
    }
    for (int row = 0; row < BLOCK_WAYS; row++)
        if (block_ways[row].collective == collective && choices->ways[block_ways[row].way])
            add_block_way(list, row, choices, layout);
}

/* ---- allreduces of two algorithms ---- */

/* Of the allreduce algorithms those that leave a reduced block with each position on their way. */
static bool leaves_a_block(tune_way_t way, int nodes)
{
    return way == TUNE_WAY_circulant || (way == TUNE_WAY_rabenseifner && fits(0, 1, nodes));
}

/* Can the row's way be the part of an allreduce among the nodes? */
static bool is_part(int row, tune_collective_t collective, const tune_choices_t *choices, int nodes)
{
    return block_ways[row].collective == collective && choices->ways[block_ways[row].way] &&
           (choices->network || !block_ways[row].is_placed) &&
           fits(block_ways[row].multiple, block_ways[row].least, nodes) &&
           tune_way_is_part(block_ways[row].way, collective);
}

static void add_pair(tune_list_t *list, tune_way_t reduces, tune_way_t gathers, const tune_choices_t *choices,
                     const tune_layout_t *layout)
{
    tune_config_t config = {
        .algorithm = TUNE_HAN, .way = gathers, .core_shape = "linear", .is_joined = true, .reduces = reduces};

    snprintf(config.words, sizeof config.words, "%s + %s", ways[reduces].name, ways[gathers].name);
    snprintf(config.routine, sizeof config.routine, "allreduce_%s_%s_%d", ways[reduces].name,
             ways[gathers].name, layout->nodes);
    add_insides(list, config, TUNE_ALLREDUCE, choices, layout);
}

/* Among two nodes all of them are one exchange. */
static void add_joined(tune_list_t *list, const tune_choices_t *choices, const tune_layout_t *layout)
{
    for (int second = 0; second < BLOCK_WAYS && layout->nodes > 2; second++) {
        const tune_way_t gathers = block_ways[second].way;
        if (!is_part(second, TUNE_ALLGATHER, choices, layout->nodes))
            continue;
        for (int way = 0; way < TUNE_WAYS; way++)
            if (choices->ways[way] && way != (int)gathers && leaves_a_block((tune_way_t)way, layout->nodes))
                add_pair(list, (tune_way_t)way, gathers, choices, layout);
        for (int first = 0; first < BLOCK_WAYS; first++)
            if (is_part(first, TUNE_ALLTOALL, choices, layout->nodes))
                add_pair(list, block_ways[first].way, gathers, choices, layout);
    }
}

/* A vector as a whole among all ranks of several nodes. */
static void add_whole(tune_list_t *list, tune_collective_t collective, const tune_choices_t *choices,
                      const tune_layout_t *layout)
{
    for (int way = 0; way < TUNE_WAYS && layout->nodes > 1; way++)
        if (ways[way].does[collective] == 1 && !ways[way].is_tree && !ways[way].is_placed &&
            choices->ways[way] && layout->ranks >= ways[way].least_nodes)
            add_among_ranks(list, (tune_way_t)way);
}

/* ---- all ---- */

static void add_plain(tune_list_t *list, tune_algorithm_t algorithm)
{
    tune_config_t config = {
        .algorithm = algorithm, .way = TUNE_WAYS, .core_shape = "linear", .trees = 1, .leaders = 1};
    snprintf(config.id, sizeof config.id, "%s", tune_config_algorithm(&config));
    add(list, &config);
}

static void add_all(tune_list_t *list, tune_collective_t collective, const tune_choices_t *choices,
                    const tune_layout_t *layout)
{
    const tune_family_t family = collectives[collective].family;

    add_plain(list, TUNE_NATIVE);
    if (layout->nodes == 1 && family != TUNE_OF_OWN_SIZES)
        add_plain(list, TUNE_FLAGS);
    /* In a scan the last rank would read all. */
    if (layout->nodes == 1 && (family == TUNE_OF_BLOCKS || family == TUNE_OF_OWN_SIZES))
        add_plain(list, TUNE_COPIES);
    if (collective == TUNE_ALLREDUCE)
        add_whole(list, collective, choices, layout);
    if (family == TUNE_OF_SEGMENTS)
        add_han(list, collective, choices, layout);
    if (collective == TUNE_ALLREDUCE && choices->routines)
        add_joined(list, choices, layout);
    if (family == TUNE_OF_NOTHING)
        add_barriers(list, choices, layout);
    if (family != TUNE_OF_SEGMENTS && family != TUNE_OF_NOTHING)
        add_blocks(list, collective, choices, layout);
}

void tune_space_init(tune_list_t lists[TUNE_COLLECTIVES], const tune_choices_t *choices,
                     const tune_layout_t *layout)
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++) {
        lists[collective] = (tune_list_t){0};
        add_all(&lists[collective], (tune_collective_t)collective, choices, layout);
    }
}

void tune_space_fini(tune_list_t lists[TUNE_COLLECTIVES])
{
    for (int collective = 0; collective < TUNE_COLLECTIVES; collective++)
        free(lists[collective].configs);
}

static bool same_path(const tune_config_t *a, const tune_config_t *b)
{
    return a->algorithm == b->algorithm && a->way == b->way && a->inside == b->inside &&
           strcmp(a->words, b->words) == 0;
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

    if (bytes > self->segment_bytes) /* also what has none */
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
