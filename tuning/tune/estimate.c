#include "estimate.h"

#include <math.h>

/* Setting the hints, results to rank 0: a few collectives. */
enum { COLLECTIVES_A_MEASUREMENT = 6, BARRIERS_A_CALL = 2 };

tune_rates_t tune_rates_default(const tune_layout_t *layout)
{
    return (tune_rates_t){.layout = *layout,
                          .between_us = 20,
                          .inside_us = 1,
                          .link_bytes_per_us = 1250,
                          .copy_bytes_per_us = 10000};
}

static double rounds(int ranks)
{
    return ceil(log2(ranks > 1 ? ranks : 2));
}

/* Hops to the last node, and how often the busiest node sends a segment. */
static void path(const tune_config_t *config, int nodes, double *hops, double *sends)
{
    *hops = rounds(nodes);
    *sends = 2;
    switch (config->way) {
    case TUNE_WAY_chain:
    case TUNE_WAY_ring:
        *hops = nodes - 1;
        *sends = 1;
        break;
    case TUNE_WAY_linear:
        *hops = 1;
        *sends = nodes - 1;
        break;
    case TUNE_WAY_double_tree:
    case TUNE_WAY_rabenseifner:
        *sends = 1;
        break;
    case TUNE_WAY_binomial:
    case TUNE_WAY_recursive_doubling:
        *sends = rounds(nodes);
        break;
    default:
        break;
    }
}

static double between_us(const tune_rates_t *rates, const tune_config_t *config, double bytes)
{
    double hops, sends;

    if (rates->layout.nodes == 1)
        return 0;
    if (config->algorithm == TUNE_NATIVE ||
        config->algorithm == TUNE_FLAT) /* ranks know no nodes: each round crosses the links */
        return rounds(rates->layout.ranks) * (rates->between_us + 2 * bytes / rates->link_bytes_per_us);
    const double segment = bytes < (double)config->segment_bytes ? bytes : (double)config->segment_bytes;
    const double segments = segment > 0 ? bytes / segment : 1;
    path(config, rates->layout.nodes, &hops, &sends);
    return (hops + segments - 1) * (rates->between_us + sends * segment / rates->link_bytes_per_us);
}

/* Messages one after the other: of few rounds, or one for each peer; what leaves the fullest node; what is copied on it. */
static double blocks_us(const tune_rates_t *rates, tune_collective_t collective, const tune_config_t *config,
                        double bytes)
{
    const double ranks = rates->layout.ranks, here = rates->layout.most_ranks, others = ranks - here;
    const bool rooted = collective == TUNE_GATHER || collective == TUNE_SCATTER ||
                        collective == TUNE_GATHERV || collective == TUNE_SCATTERV;
    const bool alone = tune_collective_family(collective) == TUNE_OF_ONE_BLOCK;
    const double leaving = bytes * (alone ? 1 : rooted ? others : here * others);
    const double copied = 2 * bytes * (alone ? here : rooted ? ranks : here * ranks);
    const bool all_peers = config->way < TUNE_WAYS && tune_way_is_direct(config->way, collective);
    const double messages = all_peers && !rooted ? ranks - 1 : rounds(rates->layout.ranks);
    const double between =
        rates->layout.nodes > 1 ? messages * rates->between_us + leaving / rates->link_bytes_per_us : 0;

    return between + messages * rates->inside_us + copied / rates->copy_bytes_per_us;
}

double tune_estimate_us(const tune_rates_t *rates, tune_collective_t collective, const tune_config_t *config,
                        size_t bytes)
{
    const tune_family_t family = tune_collective_family(collective);

    if (family == TUNE_OF_BLOCKS || family == TUNE_OF_ONE_BLOCK || family == TUNE_OF_OWN_SIZES)
        return blocks_us(rates, collective, config, (double)bytes);
    const double inside =
        2 * rates->inside_us + 2.0 * rates->layout.most_ranks * (double)bytes / rates->copy_bytes_per_us;
    const double us = between_us(rates, config, (double)bytes) + inside;
    return collective == TUNE_ALLREDUCE ? 2 * us : us;
}

double tune_estimate_seconds(const tune_rates_t *rates, double us, int calls)
{
    const double barrier =
        2 * rounds(rates->layout.ranks) * (rates->layout.nodes > 1 ? rates->between_us : rates->inside_us);
    return 1e-6 * (calls * (us + BARRIERS_A_CALL * barrier) + COLLECTIVES_A_MEASUREMENT * barrier);
}
