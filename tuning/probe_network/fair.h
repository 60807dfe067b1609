/* fair: how flows that run at the same time share links, each as much as any other where they meet (max-min fair).
 *
 * Threads: pure. Ownership: the caller's. */
#ifndef HANPMPI_PROBE_NETWORK_FAIR_H
#define HANPMPI_PROBE_NETWORK_FAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Links of flow f: links[first[f]] up to links[first[f + 1] - 1]. rate: of each link, INFINITY: no limit; every flow
 * has one that is limited, or its rate is infinite. scratch: link_count doubles and as many uint32_t. */
typedef struct {
    const uint32_t *first, *links;
    uint32_t flow_count;
    const double *rate;
    uint32_t link_count;
    double *left;
    uint32_t *users;
} fair_t;

void fair_share(const fair_t *fair, double *flow_rates);

#endif
