/* job_state: what a job is made of: for job.c and job_inflight.c alone.
 *
 * Threads: single-threaded. Ownership: job.c. */
#ifndef HP_TESTS_SIM_JOB_STATE_H
#define HP_TESTS_SIM_JOB_STATE_H

#include "sim/job.h"
#include "tune/tasks/lockstep.h"

/* The memory of one node. Mapped, not allocated: most of it is never touched. */
typedef struct {
    void *base; /* NULL: none, or each rank has mapped the file */
    size_t bytes;
    bool locked; /* what is touched stays resident */
    int file;    /* while its ranks map it */
} node_t;

struct job {
    sim_t *sim;
    uint32_t rank_count;
    hp_network_t network; /* that the nodes are on */
    hp_comm_t **comms;
    hp_setting_t
        setting; /* of which N, M and the window hold for all collectives: the network watches them */
    exchange_t *exchanges;
    uint32_t exchange_count;
    uint32_t *current;        /* per rank: the exchange it is at */
    hp_lockstep_t *locksteps; /* per rank: where it is in it, when it is one of those */
    node_t *nodes;            /* by the node's lowest rank */
    uint64_t result;
    inflight_seen_t seen;
    problem_t problem;
};

/* A run: begin makes the exchanges; the ranks' program; collect, when none of them failed or was left waiting, checks
 * what has come out and that nothing is left. finish frees the exchanges when there was no problem, and says so. */
void job_begin(job_t *job, const collective_t *collectives, uint32_t count);
void job_collect(job_t *job, const sim_outcome_t *outcomes);
bool job_finish(job_t *job);

/* The rank's setting for a collective. */
hp_setting_t job_setting(const job_t *job, const collective_t *c);
/* What the rank has done since job_sets() was so many may be what others of its node wait for. */
void job_wake_node(job_t *job, uint32_t rank, uint64_t sets_before);
/* What the rank has in execution fails; afterwards there is nothing. rubbish: what it reads of others, large enough. */
void job_abandon_executions(job_t *job, uint32_t rank, void *rubbish);
/* Whatever the rank waits for in the memory of its node comes; what it then reads there is rubbish. */
void job_release_from_waits(hp_comm_t *comm, void *rubbish);

#endif
