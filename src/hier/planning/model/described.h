/* described: probes of a machine that nobody has probed, from the network that is described (HANPMPI_NETWORK): latency and
 * rate of its links, and of all else what is usual. What runs on a network depends on its links before all.
 *
 * Threads: pure. Ownership: plain data. */
#ifndef HP_HIER_PLANNING_MODEL_DESCRIBED_H
#define HP_HIER_PLANNING_MODEL_DESCRIBED_H

#include "hier/comm/layout.h"
#include "hier/comm/probes.h"

/* false: no network is known, or there is one node. The same for the same network and places, on all ranks. */
bool hp_probes_described(const hp_layout_t *layout, hp_probes_t *out);

#endif
