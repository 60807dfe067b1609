#include "heuristics.h"

#include <math.h>
#include <string.h>

/* Latency decides below, bandwidth above (4 x 4 ranks on 1 Gbit/s: tuning/README.md). */
enum { SHORT_BYTES = 65536 };

/* What the rows look at. */
typedef struct {
    const tune_knowledge_t *knowledge;
    tune_collective_t collective;
    const tune_config_t *config;
    size_t bytes, nodes;
} try_t;

/* Is a segment cut into parts between the nodes? */
static bool splits(const try_t *try)
{
    return try->config->is_joined || tune_way_splits(try->config->way, try->collective);
}

static size_t segments_of(const try_t *try)
{
    const size_t segment = try->config->segment_bytes;
    return try->bytes <= segment ? 1 : (try->bytes + segment - 1) / segment;
}

double tune_best_segment(double bytes, double latency_us, double bytes_per_us, int hops)
{
    return sqrt(bytes * latency_us * bytes_per_us / (hops > 0 ? hops : 1));
}

/* A chain has to fill: one hop a node. */
static bool chains_are_long(const try_t *try)
{
    return try->config->way != TUNE_WAY_chain || try->nodes <= 2 || segments_of(try) >= try->nodes;
}

static bool linear_is_short(const try_t *try)
{
    return try->config->way != TUNE_WAY_linear || try->bytes <= SHORT_BYTES;
}

/* Their root sends a segment several times; chains and double trees do not. */
static bool trees_are_for_the_middle(const try_t *try)
{
    const bool tree = try->config->way == TUNE_WAY_binary || try->config->way == TUNE_WAY_binomial ||
                      try->config->way == TUNE_WAY_knomial4 || try->config->way == TUNE_WAY_knomial8 ||
                      try->config->way == TUNE_WAY_postal;
    return !tree || try->config->trees > 1 || try->bytes <= 4 * SHORT_BYTES || try->nodes > 16;
}

static bool double_trees_have_leaves(const try_t *try)
{
    return try->config->way != TUNE_WAY_double_tree || (try->nodes > 4 && segments_of(try) >= 4);
}

static bool others_have_their_sizes(const try_t *try)
{
    if (tune_way_is_tree(try->config->way))
        return true;
    return splits(try) ? try->bytes >= SHORT_BYTES / 2 : try->bytes <= SHORT_BYTES;
}

static bool single_copies_are_long(const try_t *try)
{
    const size_t segment = try->bytes < try->config->segment_bytes ? try->bytes : try->config->segment_bytes;
    return try->config->inside != TUNE_INSIDE_SINGLE_COPY || segment >= SHORT_BYTES;
}

/* Roots in turn: every root gets its segments, and where there are many nothing speaks for one root. */
static bool turns_have_segments(const try_t *try)
{
    const bool choice = try->config->way == TUNE_WAY_chain && try->collective == TUNE_ALLREDUCE &&
                        try->nodes > 1 && try->knowledge->choices->tree_count > 1;
    if (try->config->trees > 1)
        return segments_of(try) >= try->nodes;
    return !choice || segments_of(try) < 8 * try->nodes;
}

/* Two segment sizes around the best of a pipeline; for short messages also the whole message. What
 * splits a segment by itself has longer ones. */
static bool segment_is_near(const try_t *try)
{
    const tune_choices_t *choices = try->knowledge->choices;
    const double best = tune_best_segment((double)try->bytes, try->knowledge->latency_us,
                                          try->knowledge->bytes_per_us, (int)try->nodes - 1) *
                        (splits(try) ? (double)try->nodes : 1);
    size_t below = choices->segments[0], above = choices->segments[choices->segment_count - 1];

    if (try->bytes <= SHORT_BYTES && try->bytes <= try->config->segment_bytes)
        return true;
    for (int i = 0; i < choices->segment_count; i++)
        if ((double)choices->segments[i] <= best)
            below = choices->segments[i];
    for (int i = choices->segment_count - 1; i >= 0; i--)
        if ((double)choices->segments[i] >= best)
            above = choices->segments[i];
    return try->config->segment_bytes == below || try->config->segment_bytes == above;
}

/* ---- blocks ---- */

/* What a rank writes has to fit a cell (src/hier/collectives/flags.h); else it is flat. */
static bool flags_are_short(const try_t *try)
{
    enum { CELL_BYTES = 16384 };
    const bool own = try->collective == TUNE_ALLGATHER || try->collective == TUNE_ALLGATHERV ||
                     try->collective == TUNE_GATHER ||
                     tune_collective_family(try->collective) == TUNE_OF_ONE_BLOCK;
    const size_t blocks = own ? 1 : (size_t)try->knowledge->layout.ranks;
    return try->config->algorithm != TUNE_FLAGS || try->bytes * blocks <= CELL_BYTES;
}

/* A system call for each block (tuning/README.md). */
static bool copies_are_long(const try_t *try)
{
    return try->config->algorithm != TUNE_COPIES || try->bytes >= SHORT_BYTES / 32;
}

/* Carried on, an alltoall's block passes several links. */
static bool carried_blocks_are_short(const try_t *try)
{
    return try->collective != TUNE_ALLTOALL || try->config->way >= TUNE_WAYS ||
           try->bytes <= SHORT_BYTES / 2 || tune_way_is_direct(try->config->way, try->collective);
}

/* Where the number of messages counts, not the bytes. */
static bool few_rounds_are_short(const try_t *try)
{
    return strcmp(try->config->core_shape, "linear") == 0 || try->bytes <= SHORT_BYTES / 8;
}

static bool blocks_are_no_chain(const try_t *try)
{
    const size_t positions =
        try->config->algorithm == TUNE_HAN ? try->nodes : (size_t)try->knowledge->layout.ranks;
    return try->config->way != TUNE_WAY_chain || positions <= 2;
}

static const struct {
    const char *text;
    bool (*keeps)(const try_t *try);
    bool of_segments; /* else of blocks */
} rows[] = {
    {"chains: at least as many segments as nodes", chains_are_long, true},
    {"linear: up to 64 KiB", linear_is_short, true},
    {"one binary, binomial, k-nomial or postal tree: up to 256 KiB on up to 16 nodes",
     trees_are_for_the_middle, true},
    {"double trees: from 5 nodes and 4 segments on", double_trees_have_leaves, true},
    {"no trees: whole segments, and vectors among all ranks, up to 64 KiB; parts of them from 32 KiB on",
     others_have_their_sizes, true},
    {"single_copy: segments from 64 KiB on", single_copies_are_long, true},
    {"roots in turn: at least as many segments as nodes; one chain in an allreduce: less than eight times as "
     "many",
     turns_have_segments, true},
    {"segments: the two around the square-root law's; whole messages up to 64 KiB", segment_is_near, true},
    {"blocks, flags: what a rank writes up to 16 KiB", flags_are_short, false},
    {"blocks, single_copy: from 2 KiB on", copies_are_long, false},
    {"blocks of an alltoall that other ranks carry: up to 32 KiB", carried_blocks_are_short, false},
    {"blocks, another intra-node algorithm: up to 8 KiB", few_rounds_are_short, false},
    {"blocks: no chains", blocks_are_no_chain, false},
};

bool tune_heuristics_keep(const tune_knowledge_t *knowledge, tune_collective_t collective,
                          const tune_config_t *config, size_t bytes)
{
    const try_t try = {knowledge, collective, config, bytes, (size_t)knowledge->layout.nodes};

    const tune_family_t family = tune_collective_family(collective);

    if (config->algorithm == TUNE_NATIVE || family == TUNE_OF_NOTHING)
        return true;
    if (family == TUNE_OF_SEGMENTS && !tune_has_segments(config))
        return config->algorithm != TUNE_FLAT || bytes <= SHORT_BYTES;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].of_segments == (family == TUNE_OF_SEGMENTS) && !rows[i].keeps(&try))
            return false;
    return true;
}

const char *tune_heuristics_text(int i)
{
    return i < (int)(sizeof rows / sizeof *rows) ? rows[i].text : NULL;
}
