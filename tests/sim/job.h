/* job: the ranks of one communicator in the simulated world, and collectives on it whose results are checked.
 *
 * Every rank has its own hp_comm_t, made by hp_comm_create, and runs the library's own algorithms. Ranks of a
 * node share memory where the knobs shared_memory and read_peers say so. From a barrier nobody may come back
 * before all have entered it. Threads: single-threaded.
 * Ownership: job_create allocates, job_destroy frees; case and table are borrowed. */
#ifndef HP_TESTS_SIM_JOB_H
#define HP_TESTS_SIM_JOB_H

#include "sim/exchange.h"
#include "sim/sim_random.h"
#include "sim/transport_sim.h"

typedef struct job job_t;

/* The settings that nobody changed. */
hp_knobs_t job_knobs(void);

/* N, M and the window of all its collectives are those of the rules, or the knobs over them;
 * config->send_limit and recv_limit follow. */
job_t *job_create(const sim_config_t *config, const hp_knobs_t *knobs);
/* False when the job could not be made for lack of memory; *out is then NULL. (job_create: the test ends.) */
bool job_try_create(const sim_config_t *config, const hp_knobs_t *knobs, job_t **out);
void job_destroy(job_t *job);

sim_t *job_sim(job_t *job);
/* The request that runs the collectives of job_run. */
hp_request_t *job_request(const job_t *job, uint32_t rank);
hp_comm_t *job_comm(job_t *job, uint32_t rank);

/* Runs collectives one after the other: each rank starts the next one when it has finished the one before.
 * True when all ranks finished and everything is right; else job_problem tells. outcomes: one a rank or
 * NULL. */
bool job_run(job_t *job, const collective_t *collectives, uint32_t count, sim_outcome_t *outcomes);

/* Many collectives at a time (execution.h): each rank calls them in their order, at random times, and between the calls
 * looks, computes, or waits for any of them. */
typedef struct {
    uint32_t most_in_flight; /* a rank calls no other one with so many not done */
    uint64_t pause_ns;       /* a rank computes so long at most, and does not look */
    bool waits_at_the_end;   /* and nowhere else */
    uint64_t seed;           /* of what the ranks do */
} inflight_t;
/* As job_run. A rank on which something failed calls nothing more, and finishes what it has: then what it was told is
 * done is checked all the same. */
bool job_run_inflight(job_t *job, const collective_t *collectives, uint32_t count, const inflight_t *how,
                      sim_outcome_t *outcomes);
/* What was seen in the last such run, on any rank. */
typedef struct {
    uint32_t running, in_flight; /* at a time, at most */
    uint32_t alone;              /* that run alone */
    uint32_t queued;             /* that could not start at once */
    uint32_t failed;             /* ended with an error */
    uint32_t again;              /* that were started again, with a plan of an equal one */
    bool sound;                  /* nothing was wrong, but for these */
} inflight_seen_t;
const inflight_seen_t *job_inflight_seen(const job_t *job);

const char *job_problem(const job_t *job);
/* A number that stands for the bits of the last run's last result: at the root, or everywhere. */
uint64_t job_result(const job_t *job);

/* What the rank holds although nothing is in execution, in words; NULL: nothing. */
const char *job_holds(const job_t *job, uint32_t rank);

/* How often the ranks of all jobs have set a counter or a flag in the memory of their node. */
uint64_t job_sets(void);

/* After a run in which some ranks failed or were left waiting: ends what they had begun. The nodes' memory is
 * as new: what the ranks have counted in it differs. */
void job_abandon(job_t *job);

#endif
