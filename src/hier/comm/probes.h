/* probes: what is measured of a machine before a model can say what would be fast on it.
 *
 * Measured by pmpi_wrappers/backend/start/probe.h, kept from run to run by probes_cache.h, used by model.h.
 * Threads: plain data. Ownership: the caller's; they travel between ranks as bytes. */
#ifndef HP_HIER_COMM_PROBES_H
#define HP_HIER_COMM_PROBES_H

#include <stdbool.h>

/* X(field, unit, largest believable value, text). Zero: not known. Rates in bytes per microsecond, which are
 * MB/s. */
#define HP_PROBE_TABLE(X)                                                                                    \
    X(flag_us, "us", 1e5, "one rank of a node sees what another has stored in shared memory")                \
    X(cached_us, "us", 1e5, "16 KiB from one rank of a node to another through shared memory")              \
    X(streamed_us, "us", 1e5, "the same, written past the caches")                                           \
    X(inside_us, "us", 1e6, "intra-node message: half a round trip of 8 bytes")                              \
    X(inside_rate, "MB/s", 1e7, "stream of messages between two ranks of a node")                            \
    X(between_us, "us", 1e6, "inter-node message: half a round trip of 8 bytes")                             \
    X(between_rate, "MB/s", 1e7, "stream of messages between two nodes")                                     \
    X(between_cpu_us, "us", 1e5, "processor time that an inter-node message takes at each end")              \
    X(copy_rate, "MB/s", 1e7, "one rank's memcpy")                                                           \
    X(node_copy_rate, "MB/s", 1e9, "memcpy of all ranks of a node at a time, together")                      \
    X(reduce_rate, "MB/s", 1e7, "one rank's sum of doubles, bytes of one operand")                           \
    X(overlap, "of 1", 1, "share of a copy's time that hides behind an inter-node stream")                   \
    X(cores, "", 1 << 20, "cores of a node: more ranks than these take turns")

typedef struct {
#define X(field, unit, most, text) double field;
    HP_PROBE_TABLE(X)
#undef X
} hp_probes_t;

/* Can these be values of a machine? None negative, none absurd, no NaN. */
bool hp_probes_are_sane(const hp_probes_t *probes);

/* What found knows goes over what *known knew. Was any of it not known so before? */
bool hp_probes_learn(hp_probes_t *known, const hp_probes_t *found);

#endif
