/* transport_sim: a test double of event_engine/transport.h: the ranks of a job in one process, under a
 * virtual clock.
 *
 * The model
 *   link       two ranks are joined at the outermost level of their localities at which they differ; each
 * level has a latency and a bandwidth port       each rank has a send port and a receive port per level; at
 * the node level they belong to the node. A port moves one message at a time. A send port takes its flows
 * (source, destination, tag) in turns, as a network card takes its queue pairs eager      a message of at
 * most eager_bytes leaves as soon as its port is free; the send is complete when it has left rendezvous every
 * other message: the sender asks (one latency), the receive must be posted, the receiver answers (one
 * latency), the data moves, the send is complete one latency after the data is there delay      a rank whose
 * process stands still between two times: its progress is not called. Posted receives go on filling (the
 * network card or the kernel does that), unless software_matching: then a rendezvous request is answered only
 * by a running process The n-th send of a flow matches its n-th receive, always. Completions may come in any
 * order: `shuffle` draws it anew in every poll and holds some back, `jitter_ns` moves arrivals.
 *
 *   memory     ranks of a node may share plain memory, which the job gives them; the network does not see it
 *
 * What it watches (the first finding is kept, sim_problem): sizes of both sides of a message agree; a send
 * buffer is not written before the send is complete; a receive buffer belongs to the transport from the
 * moment it is posted (it is filled with rubbish then); at most so many operations of a flow in flight.
 *
 * Threads: single-threaded. Ownership: sim_create allocates, sim_destroy frees; the table is borrowed. All of
 * the test double's memory comes from reallocarray, so that tests can make malloc and its kin fail for the
 * code under test alone. */
#ifndef HP_TESTS_SIM_TRANSPORT_SIM_H
#define HP_TESTS_SIM_TRANSPORT_SIM_H

#include "event_engine/transport.h"
#include "topo_tree/locality.h"

typedef struct {
    uint64_t latency_ns;
    double ns_per_byte;
} sim_link_t;

typedef struct {
    uint32_t rank_count;
    const hp_locality_t *table;
    sim_link_t links[HP_LEVEL_COUNT];
    size_t eager_bytes; /* 0: every message is a rendezvous */
    bool shuffle;
    uint64_t jitter_ns; /* arrivals, starts and wake-ups are later by 0..jitter_ns */
    bool software_matching;
    uint32_t send_limit, recv_limit; /* of a flow in flight; 0: not watched */
    bool
        lends_slots; /* a node's memory is a file that its ranks map, as in MPI jobs; all lend from the pool of this process */
    uint64_t seed;
} sim_config_t;

typedef struct sim sim_t;

sim_t *sim_create(const sim_config_t *config); /* never NULL: without memory the test ends */
void sim_destroy(sim_t *sim);
hp_transport_t *sim_transport(sim_t *sim, uint32_t rank);

/* The rank has written to memory that the ranks of its node share: those that wait look again, a latency of
 * the innermost level later. */
void sim_wake_node(sim_t *sim, uint32_t rank);
/* What the messages that the rank posts from now on must carry: a barrier's nothing. */
typedef enum { SIM_SOMETHING, SIM_NOTHING, SIM_EITHER } sim_carried_t;
void sim_expect(sim_t *sim, uint32_t rank, sim_carried_t carried);
/* To be called in the rank's progress, which then must have moved nothing: the rank computes, and its progress is called
 * again so much later. */
void sim_compute(sim_t *sim, uint32_t rank, uint64_t ns);

uint64_t sim_now(const sim_t *sim); /* the clock goes on from run to run */
/* rank stands still from from_ns to to_ns by the clock. One delay a rank. */
void sim_delay(sim_t *sim, uint32_t rank, uint64_t from_ns, uint64_t to_ns);

typedef enum { SIM_ISEND, SIM_IRECV, SIM_POLL, SIM_REDUCE, SIM_COPY, SIM_CALL_COUNT } sim_call_t;
/* The nth (0, 1, ...) such call of rank from now on fails with HP_ERR_TRANSPORT. */
void sim_fail_call(sim_t *sim, uint32_t rank, sim_call_t call, uint64_t nth);
uint64_t sim_calls(const sim_t *sim, uint32_t rank, sim_call_t call); /* how many there were */

/* What the ranks run: the engine, or a control. */
typedef struct {
    hp_status_t (*start)(void *context, uint32_t rank);
    hp_status_t (*progress)(void *context, uint32_t rank, bool *moved);
    bool (*done)(void *context, uint32_t rank);
} sim_program_t;

typedef struct {
    bool finished;
    hp_status_t status;
    uint64_t finish_ns; /* since the start of the run */
} sim_outcome_t;

/* Runs the program on all ranks until nothing is left to happen. outcomes: one a rank, or NULL. True when all
 * ranks finished; false: those that did not wait for something that never comes. */
bool sim_run(sim_t *sim, const sim_program_t *program, void *context, sim_outcome_t *outcomes);

/* The first thing that was wrong, NULL when nothing was. */
const char *sim_problem(const sim_t *sim);
/* Sends and receives that were posted and neither completed nor cancelled. */
uint64_t sim_left_over(const sim_t *sim);
uint64_t sim_left_over_of(const sim_t *sim, uint32_t rank);

typedef struct {
    uint64_t messages[HP_LEVEL_COUNT]; /* by the level of the link */
    uint64_t bytes[HP_LEVEL_COUNT];
    uint32_t peak_sends, peak_recvs; /* of any flow in flight */
    uint64_t reductions, reduced_bytes, copies, copied_bytes;
} sim_counters_t;
const sim_counters_t *sim_counters(const sim_t *sim);
/* Bytes that left the node of rank, and that came in. */
void sim_node_bytes(const sim_t *sim, uint32_t rank, uint64_t *out, uint64_t *in);

/* Memory of the test double: zeroed, never NULL. free() gives it back. */
void *sim_alloc(size_t count, size_t bytes);
/* The same with anything in it. */
void *sim_alloc_unset(size_t count, size_t bytes);

#endif
