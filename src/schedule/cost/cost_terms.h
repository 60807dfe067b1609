/* cost_terms: what cost.h asks for, and what it answers. Threads: plain data. Ownership: the caller's. */
#ifndef HP_SCHEDULE_COST_TERMS_H
#define HP_SCHEDULE_COST_TERMS_H

#include "topo_tree/network.h"

/* What a position does, and how long its processor is busy with it. */
typedef struct {
    uint64_t sent, received; /* messages */
    double sent_bytes, received_bytes, reduced_bytes, copied_bytes;
    double processor_us;
} hp_cost_load_t;

/* Times in us, rates in bytes per us; 0: it costs nothing. */
typedef struct {
    double send_us, recv_us; /* of a message */
    double message_rate;     /* at which the processors at both ends move its bytes */
    double reduce_rate, copy_rate;
} hp_cost_processor_t;

typedef struct {
    const hp_network_t *network;
    const uint32_t *machines; /* of each position; NULL: HP_NETWORK_BLOCK */
    hp_cost_processor_t processor;
    double bytes;              /* of the vector where the pattern has one, else of a block */
    uint32_t segments, window; /* 0 segments are 1; window 0: all at a time */
    uint32_t in_flight;        /* steps with messages of a position that may be under way; 0: any number */
    bool no_run;               /* the figures alone */
    /* Filled unless NULL: a load for each position, bytes for each link. */
    hp_cost_load_t *loads;
    double *link_bytes;
} hp_cost_setting_t;

/* Where the time went: X(field, text). */
#define HP_COST_SHARE_TABLE(X)                                                                               \
    X(latency, "latency of links")                                                                           \
    X(overhead, "sending and receiving on processors")                                                       \
    X(link, "bytes over links")                                                                              \
    X(reduce, "reductions")                                                                                  \
    X(copy, "local copies")

/* All of a message, with its segments; rounds of one segment. */
typedef struct {
    double us; /* of the run; < 0: there was none */
    struct {   /* of it, along the way that took longest; of several segments: of those that were run */
#define X(field, text) double field;
        HP_COST_SHARE_TABLE(X)
#undef X
    } share_us;
    /* Of the run: what a processor has to do for messages that wait for links together. Where links are shared fairly these end
     * together, so that it comes after the links' work and not beside it: then a run takes so much longer. */
    double shared_us;
    double estimate_us;
    double chain_us;     /* the longest chain of messages, alone, one segment */
    uint32_t rounds;     /* messages in the longest chain */
    hp_cost_load_t most; /* of each entry the largest that a position has */
    uint32_t link;       /* that is used longest: */
    double link_bytes, link_us;
} hp_cost_t;

#endif
