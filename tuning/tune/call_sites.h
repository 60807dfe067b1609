/* call_sites: for each place in a recorded program that calls a collective of blocks that differ, what is the best for its calls
 * alone, from what was measured on patterns. A rule cannot ask where a call comes from: ranks may come to one collective from
 * different places. A program can, by a communicator of its own for the place, with these hints.
 *
 * Threads: one, rank 0's. Ownership: nothing is kept. */
#ifndef HP_TUNE_CALL_SITES_H
#define HP_TUNE_CALL_SITES_H

#include "search_patterns.h"

typedef struct {
    tune_collective_t collective;
    const char *place;           /* the pattern's */
    double calls;                /* from there, on patterns that were measured */
    int config;                  /* the best for them all */
    double us, rule_us, host_us; /* of the mean call: with that; by the rules; < 0: not measured */
} tune_call_site_t;

/* The number-th; false: past the last. */
bool tune_call_site(const tune_lab_t *lab, const tune_search_t *decided, int number, tune_call_site_t *site);

enum { TUNE_HINTS_BYTES = 512 };

/* "hanpmpi_alltoallv=flat hanpmpi_between_nodes=pairwise". Returns text. */
const char *tune_config_hints(tune_collective_t collective, const tune_config_t *config,
                              char text[TUNE_HINTS_BYTES]);

#endif
