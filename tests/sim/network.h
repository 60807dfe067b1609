/* network: what happens to a message between the rank that sends it and the rank that receives it. Internal
 * to transport_sim, whose header tells the model.
 *
 * A message on its way, one row an event (R: rendezvous only, E: eager only):
 *
 *     isend, irecv   joined in the order of posting; whoever comes second joins
 *     READY       R  request and answer are over: the message queues at the send port (E: at once)
 *     INJECTED       it has left the send port; E: the send is complete
 *     ARRIVED        its first byte is at the receive port, which takes as long as the send port did
 *     DELIVERED      the data is there; the receive is complete when there is one
 *     ACKNOWLEDGED R the send is complete
 *     WAKE           the rank is told of completions: its progress is called
 *
 * Threads: single-threaded. Ownership: the sim owns flows and operations. */
#ifndef HP_TESTS_SIM_NETWORK_H
#define HP_TESTS_SIM_NETWORK_H

#include "sim/event_heap.h"
#include "sim/sim_random.h"
#include "sim/transport_sim.h"

enum { READY, INJECTED, ARRIVED, DELIVERED, ACKNOWLEDGED, WAKE };

typedef struct operation operation_t;

/* An eager message may wait for its receive and for its port at the same time. */
typedef enum { IN_FLOW, IN_PORT, QUEUES } queue_t;
typedef struct {
    operation_t *first, *last;
} fifo_t;

typedef struct flow flow_t;
struct flow {
    flow_t *next; /* in its hash bucket */
    uint32_t source, destination, tag;
    uint32_t level;
    fifo_t sends, recvs; /* not joined yet; one of the two is empty */
    uint32_t sends_in_flight, recvs_in_flight;
    uint64_t last_turn; /* at the send port */
};

/* A send or a receive. It lives until its rank has got it back from poll (or gave it up), and a send until
 * its message has been delivered and received as well. */
struct operation {
    operation_t *next[QUEUES];            /* in the queues it waits in */
    operation_t *live_before, *live_next; /* of its rank */
    flow_t *flow;
    uint32_t rank;
    bool is_recv, owned, travelling; /* the rank, the network holds it */
    void *cookie;
    char *buffer;
    size_t count;
    hp_type_t type;
    operation_t *peer; /* the other side, from joining to delivery; NULL too when it was given up */
    char *data;        /* of a send: as it was when it was posted */
    uint64_t posted_ns;
    uint64_t turn;
    bool joined, eager, delivered;
};

typedef struct {
    fifo_t queue;
    uint64_t turn;    /* that of the message last taken */
    uint64_t free_ns; /* receive port: when it will have taken in all that arrived */
    bool busy;
} port_t;

typedef struct {
    hp_transport_t transport;
    sim_t *sim;
    uint32_t rank, node;
    operation_t *live;
    operation_t **completed; /* since the last poll */
    uint32_t completed_count, completed_capacity;
    bool started, wake_pending;
    sim_carried_t carried; /* by its messages */
    uint64_t delay_from_ns, delay_to_ns;
    uint64_t calls[SIM_CALL_COUNT], fails_at[SIM_CALL_COUNT];
    sim_outcome_t outcome;
} rank_t;

struct sim {
    sim_config_t config;
    sim_random_t random;
    uint64_t now_ns, start_ns, ties;
    event_heap_t events;
    rank_t *ranks;
    port_t *send_ports[HP_LEVEL_COUNT],
        *recv_ports[HP_LEVEL_COUNT]; /* [node] at the node level, else [rank] */
    flow_t **buckets;
    uint32_t bucket_count, flow_count; /* a power of two */
    uint64_t operations;
    uint64_t *node_out, *node_in;
    sim_counters_t counters;
    char problem[256];
};

/* Keeps the first problem. */
__attribute__((format(printf, 2, 3))) void network_report(sim_t *sim, const char *format, ...);
uint64_t network_jitter(sim_t *sim); /* 0..jitter_ns, drawn anew */

/* The rank's progress is to be called at time_ns, or as soon after as it can run. */
void network_wake(rank_t *rank, uint64_t time_ns);
/* When rank can do what it would do at time_ns. */
uint64_t network_awake_at(const rank_t *rank, uint64_t time_ns);

/* Posts an operation: makes it, counts it, joins it with its other side if that is there. */
void network_send(rank_t *rank, const void *buffer, size_t count, const hp_type_t *type, uint32_t peer,
                  uint32_t tag, void *cookie);
void network_recv(rank_t *rank, void *buffer, size_t count, const hp_type_t *type, uint32_t peer,
                  uint32_t tag, void *cookie);
/* The rank has no more to do with it: it is complete, or given up. */
void network_disown(rank_t *rank, operation_t *operation);
/* Gives up all operations of rank. Sends go on without their buffers, as MPI's do; what was on its way to a
 * receive is dropped on arrival. */
void network_cancel(rank_t *rank);

/* Any event but WAKE. */
void network_happen(sim_t *sim, const event_t *event);
/* Frees flows and what nobody received; all operations have been cancelled. */
void network_fini(sim_t *sim);

#endif
