#include "heuristics.h"

#include <math.h>

/* Latency decides below, bandwidth above (4 x 4 ranks on 1 Gbit/s: tuning/README.md). */
enum { SHORT_BYTES = 65536 };

static size_t segments_of(const tune_config_t *config, size_t bytes)
{
    return bytes <= config->segment_bytes ? 1 : (bytes + config->segment_bytes - 1) / config->segment_bytes;
}

double tune_best_segment(double bytes, double latency_us, double bytes_per_us, int hops)
{
    return sqrt(bytes * latency_us * bytes_per_us / (hops > 0 ? hops : 1));
}

/* A chain has to fill: one hop a node. */
static bool chains_are_long(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes)
{
    return config->way != TUNE_WAY_CHAIN || knowledge->layout.nodes <= 2 ||
           segments_of(config, bytes) >= (size_t)knowledge->layout.nodes;
}

static bool linear_is_short(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes)
{
    (void)knowledge;
    return config->way != TUNE_WAY_LINEAR || bytes <= SHORT_BYTES;
}

/* Their root sends a segment several times; chains and double trees do not. */
static bool trees_are_for_the_middle(const tune_knowledge_t *knowledge, const tune_config_t *config,
                                     size_t bytes)
{
    const bool tree = config->way == TUNE_WAY_BINARY || config->way == TUNE_WAY_BINOMIAL ||
                      config->way == TUNE_WAY_KNOMIAL4 || config->way == TUNE_WAY_KNOMIAL8;
    return !tree || config->trees > 1 || bytes <= 4 * SHORT_BYTES || knowledge->layout.nodes > 16;
}

static bool double_trees_have_leaves(const tune_knowledge_t *knowledge, const tune_config_t *config,
                                     size_t bytes)
{
    return config->way != TUNE_WAY_DOUBLE_TREE ||
           (knowledge->layout.nodes > 4 && segments_of(config, bytes) >= 4);
}

static bool exchanges_have_their_sizes(const tune_knowledge_t *knowledge, const tune_config_t *config,
                                       size_t bytes)
{
    (void)knowledge;
    if (config->way == TUNE_WAY_RECURSIVE_DOUBLING)
        return bytes <= SHORT_BYTES;
    return (config->way != TUNE_WAY_RING && config->way != TUNE_WAY_RABENSEIFNER) || bytes >= SHORT_BYTES / 2;
}

static bool single_copies_are_long(const tune_knowledge_t *knowledge, const tune_config_t *config,
                                   size_t bytes)
{
    const size_t segment = bytes < config->segment_bytes ? bytes : config->segment_bytes;
    (void)knowledge;
    return config->inside != TUNE_INSIDE_SINGLE_COPY || segment >= SHORT_BYTES;
}

/* Roots in turn: every root gets its segments, and where there are many nothing speaks for one root. */
static bool turns_have_segments(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes)
{
    const size_t nodes = (size_t)knowledge->layout.nodes, segments = segments_of(config, bytes);
    if (config->trees > 1)
        return segments >= nodes;
    return config->way != TUNE_WAY_CHAIN || knowledge->choices->tree_count == 1 || segments < 8 * nodes;
}

/* Two segment sizes around the best of a pipeline; for short messages also the whole message. Exchanges
 * split a segment by themselves: twice and four times as long. */
static bool segment_is_near(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes)
{
    const tune_choices_t *choices = knowledge->choices;
    const bool exchange = config->way == TUNE_WAY_RING || config->way == TUNE_WAY_RABENSEIFNER;
    const double best = tune_best_segment((double)bytes, knowledge->latency_us, knowledge->bytes_per_us,
                                          knowledge->layout.nodes - 1) *
                        (exchange ? knowledge->layout.nodes : 1);
    size_t below = choices->segments[0], above = choices->segments[choices->segment_count - 1];

    if (bytes <= SHORT_BYTES && bytes <= config->segment_bytes)
        return true;
    for (int i = 0; i < choices->segment_count; i++)
        if ((double)choices->segments[i] <= best)
            below = choices->segments[i];
    for (int i = choices->segment_count - 1; i >= 0; i--)
        if ((double)choices->segments[i] >= best)
            above = choices->segments[i];
    return config->segment_bytes == below || config->segment_bytes == above;
}

static const struct {
    const char *text;
    bool (*keeps)(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes);
} rows[] = {
    {"chains: at least as many segments as nodes", chains_are_long},
    {"linear: up to 64 KiB", linear_is_short},
    {"one binary, binomial or k-nomial tree: up to 256 KiB on up to 16 nodes", trees_are_for_the_middle},
    {"double trees: from 5 nodes and 4 segments on", double_trees_have_leaves},
    {"recursive doubling: up to 64 KiB; ring and Rabenseifner: from 32 KiB on", exchanges_have_their_sizes},
    {"single_copy: segments from 64 KiB on", single_copies_are_long},
    {"roots in turn: at least as many segments as nodes; one chain: less than eight times as many",
     turns_have_segments},
    {"segments: the two around the square-root law's; whole messages up to 64 KiB", segment_is_near},
};

bool tune_heuristics_keep(const tune_knowledge_t *knowledge, const tune_config_t *config, size_t bytes)
{
    if (config->algorithm != TUNE_HAN)
        return true;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].keeps(knowledge, config, bytes))
            return false;
    return true;
}

const char *tune_heuristics_text(int i)
{
    return i < (int)(sizeof rows / sizeof *rows) ? rows[i].text : NULL;
}
