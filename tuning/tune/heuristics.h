/* heuristics: which configurations are worth a measurement, by what is known of algorithms (HAN, III.C).
 *
 * Each rule is a row of a table; a configuration is kept for a size when every row keeps it. The rows look at
 * sizes, segments and nodes, at what an inter-node message costs, and at nothing that was measured of the
 * configuration. Threads: pure. Ownership: plain data. */
#ifndef HP_TUNE_HEURISTICS_H
#define HP_TUNE_HEURISTICS_H

#include "space.h"

typedef struct {
    tune_layout_t layout;
    /* A message between two nodes (on one node: between two ranks); both above 0. */
    double latency_us, bytes_per_us;
    const tune_choices_t *choices;
} tune_knowledge_t;

bool tune_heuristics_keep(const tune_knowledge_t *knowledge, tune_collective_t collective,
                          const tune_config_t *config, size_t bytes);

/* What the i-th row keeps, in words; NULL past the last. */
const char *tune_heuristics_text(int i);

/* The segment with which a pipeline of so many hops after the first is fastest: sqrt(m a b / hops), of m
 * bytes, a the latency, b the bandwidth. */
double tune_best_segment(double bytes, double latency_us, double bytes_per_us, int hops);

#endif
