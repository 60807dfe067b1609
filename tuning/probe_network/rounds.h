/* rounds: which hosts send to which at the same time, and how fast each was. In a round each host sends to at most
 * one other; several may send to one.
 *
 * Threads: pure. Ownership: init and fini. */
#ifndef HANPMPI_PROBE_NETWORK_ROUNDS_H
#define HANPMPI_PROBE_NETWORK_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROBE_NOBODY = -1 };

typedef struct {
    uint32_t hosts, count, room;
    int32_t *to;   /* round by round, of each host: to whom it sends, or PROBE_NOBODY */
    double *rates; /* the same: MB/s that arrived */
} probe_rounds_t;

/* Memory for the tool: says so and ends the process where there is none. */
void *probe_memory(void *old, uint64_t count, uint64_t bytes);

void probe_rounds_init(probe_rounds_t *rounds, uint32_t hosts);
void probe_rounds_fini(probe_rounds_t *rounds);

/* Every pair of hosts, in either direction and among others at random: each host sends to one and receives from one. */
void probe_rounds_of_hosts(probe_rounds_t *rounds, uint64_t seed);
/* Groups of hosts, group[h] < groups: whole groups send to whole groups, one to all others and all others to one,
 * and each two alone. */
void probe_rounds_of_groups(probe_rounds_t *rounds, const uint32_t *group, uint32_t groups, uint64_t seed);

#endif
