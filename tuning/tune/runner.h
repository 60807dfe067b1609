/* runner: the meter on the machine. Rank 0 gives orders, the others follow; only rank 0 searches, so
 * nothing has to be agreed on.
 *
 * Two duplicates of MPI_COMM_WORLD get the hints of configurations, again and again. Every call is started
 * by the same barrier of the host MPI and timed on every rank; a call's time is the slowest rank's, a
 * measurement the median of its calls; where half of them took much longer than the fastest there are up to
 * three times as many; where a few calls tell that it is far behind it is not called more often. What comes first, a call that warms up and is validated, is left out; long messages
 * have it only when their configuration was not validated yet.
 *
 * Threads: one. Ownership: tune_runner_fini gives everything back. */
#ifndef HP_TUNE_RUNNER_H
#define HP_TUNE_RUNNER_H

#include "bench/collectives.h"
#include "bench/job.h"
#include "options.h"

enum { TUNE_SIDES = 2 };

typedef struct {
    const bench_job_t *job;
    const tune_options_t *options;
    const tune_list_t *lists;
    struct {
        MPI_Comm comm;
        int collective, config; /* whose hints it has; -1: none */
    } sides[TUNE_SIDES];
    bench_values_t values[BENCH_BELOW_RANK + 1]; /* by who contributes */
    bench_layout_t layout;                       /* of the blocks of the measurement in hand */
    double enough_us;                            /* likewise, see tune_record_t */
    char *send, *recv;
    size_t buffer_bytes;
    bool *validated[TUNE_COLLECTIVES]; /* by configuration */
    uint64_t calls;
    bool wrong; /* this rank got a wrong result */
} tune_runner_t;

/* Collective, as is _fini. */
void tune_runner_init(tune_runner_t *runner, const bench_job_t *job, const tune_options_t *options,
                      const tune_list_t *lists);
void tune_runner_fini(tune_runner_t *runner);

/* Rank 0: a tune_meter_fn_t, whose context is the runner. Ends the job when a result is wrong. */
void tune_runner_measure(void *runner, tune_record_t *record);
/* Rank 0: the others return from _follow. */
void tune_runner_dismiss(tune_runner_t *runner);
/* The others: does what rank 0 orders. */
void tune_runner_follow(tune_runner_t *runner);

/* Can it measure the lock-step model's tasks? */
bool tune_runner_has_lockstep(void);

#endif
