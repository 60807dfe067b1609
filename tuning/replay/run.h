/* run: the parts of all ranks, played on both sides in turns.
 *
 * A pass is the whole sequence once: each rank waits as long as it did in the recording, makes its next call, and so
 * on; what a call takes is summed up by the call's name. Passes of the two sides follow each other behind barriers.
 * Before them each call is made once with values that are validated, on both sides; the timed passes send zeros.
 *
 * Buffers: all blocking calls use the same two; each non-blocking one that is under way has two of its own. A call in
 * which the program used memory for the first time does so here: before it, so many pages are given back (fresh.h), less
 * those that it would use for the first time anyway, which the pass before tells.
 *
 * Threads: one. Ownership: replay_run_fini gives everything back. */
#ifndef HP_REPLAY_RUN_H
#define HP_REPLAY_RUN_H

#include "bench/calls.h"
#include "bench/compute.h"
#include "options.h"
#include "part.h"
#include "substitute.h"

/* The buffers of a non-blocking call, or those of all blocking ones. */
typedef struct {
    char *send, *recv;
    size_t bytes; /* of each */
    MPI_Request request;
    int call;        /* under way; -1: none */
    bool is_checked; /* its result is to be validated */
} replay_slot_t;

typedef struct {
    const bench_job_t *job;
    const replay_options_t *options;
    const replay_part_t *part;
    bench_compute_t compute;
    MPI_Comm *comms[BENCH_SIDES]; /* by communicator of the part; MPI_COMM_NULL where the rank is no member */
    replay_substitute_t *substitutes;
    const bench_collective_t **collectives; /* by call */
    bench_values_t *types;                  /* by call: the type alone, for the timed passes */
    bench_layout_t *layouts;                /* by call, where blocks differ */
    replay_slot_t *slots;                   /* 0: of the blocking calls */
    int *slot_of;                           /* by step of a non-blocking call */
    uint64_t *own_faults[BENCH_SIDES];      /* by step: of pages that nobody gave back, in the last pass */
    int slot_count;
    int wrong; /* this rank got a wrong result */
} replay_run_t;

/* One pass. Rank 0's are filled in with what all ranks had; elsewhere they are scratch. */
typedef struct {
    double wall_s;     /* of the slowest rank */
    double *by_name_s; /* in calls of each name, the mean of the ranks */
} replay_pass_t;

/* Collective, like all of these. false: the buffers do not fit into memory, which was said. */
bool replay_run_init(replay_run_t *run, const bench_job_t *job, const replay_options_t *options,
                     const replay_part_t *part);
void replay_run_fini(replay_run_t *run);

/* Each call once, validated, on each side. Ends the job when a result is wrong. */
void replay_run_check(replay_run_t *run);
void replay_run_pass(replay_run_t *run, bench_side_t side, replay_pass_t *pass);

/* On rank 0, over all ranks: how many calls of the name's collective the library has run until now. */
uint64_t replay_run_taken(const replay_run_t *run, int name);

#endif
