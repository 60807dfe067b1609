/* search_patterns: the best configuration for what is measured on patterns: each configuration with the blocks of each
 * pattern.
 *
 * Threads: one, rank 0's. Ownership: borrows everything. */
#ifndef HP_TUNE_SEARCH_PATTERNS_H
#define HP_TUNE_SEARCH_PATTERNS_H

#include "search.h"

/* The size, of the collective's, whose rule a pattern shares. */
int tune_pattern_size(const tune_options_t *options, const tune_pattern_t *pattern);

/* Fills the choices of the collectives that are measured on patterns, and what the host MPI's takes: the means of the
 * calls. Without time for all patterns of a size nothing is chosen for it. cost pays. */
void tune_search_patterns(tune_lab_t *lab, bool heuristic, tune_search_t *decided,
                          double host_us[TUNE_COLLECTIVES][TUNE_SIZES_MAX]);

/* The fastest one on the pattern, of those that were measured; -1: none. */
int tune_pattern_best(const tune_lab_t *lab, int pattern);
/* What is known of a configuration on a pattern; < 0: nothing. */
double tune_pattern_us(const tune_lab_t *lab, int pattern, int config);

#endif
