/* infer: which tree of switches explains what was measured in rounds (rounds.h).
 *
 * Groups. Hosts on one switch reach each other at their full rates whatever the others do; what crosses a trunk is
 * slower at times. So the average of what two hosts reached, as a share of the rate that both have with anybody,
 * tells whether they share a switch, and hosts are joined by average linkage.
 *
 * Tree. It begins as a star of the groups. Of any set of groups that is cut off from the rest by one trunk, what
 * comes out of it never exceeds that trunk, however much more the rest of the tree would let through: the set whose
 * traffic falls shortest of what the tree so far allows (fair.h) becomes a branch, and so on until there is none. In
 * the end links that limit nothing are taken out: their ends are one switch.
 *
 * What cannot be seen: a trunk that carries as much as its hosts send, which is no different from a switch; one that
 * carries more than about half of that, if the traffic of the rounds hardly ever fills it; and whether a host that
 * is alone on its switch is slow, or its switch's trunk is.
 *
 * Threads: pure. Ownership: the caller calls fini. */
#ifndef HANPMPI_PROBE_NETWORK_INFER_H
#define HANPMPI_PROBE_NETWORK_INFER_H

#include "rounds.h"

typedef struct {
    uint32_t hosts, switches;
    uint32_t *on;                /* of each host its switch */
    double *host_up, *host_down; /* MB/s */
    int32_t *above;              /* of each switch the one that it is on; -1: the top */
    double *up, *down; /* of each switch but the top: its trunk's rates, to the one above and from it */
} probe_tree_t;

/* From rounds of hosts. group: of each host, filled; returns how many groups there are. */
uint32_t probe_find_groups(const probe_rounds_t *rounds, uint32_t *group);
/* From all rounds. */
void probe_find_tree(const probe_rounds_t *rounds, const uint32_t *group, uint32_t groups,
                     probe_tree_t *tree);
void probe_tree_fini(probe_tree_t *tree);

#endif
