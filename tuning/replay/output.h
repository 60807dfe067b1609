/* output: what a replay found: a table with a row for each kind of call, the line of the result, and all figures as
 * JSON.
 *
 * Threads: one, rank 0's. Ownership: borrows everything. */
#ifndef HP_REPLAY_OUTPUT_H
#define HP_REPLAY_OUTPUT_H

#include <stdio.h>

#include "run.h"

/* What the ranks did, by name of the call and altogether. Seconds: the mean of the ranks, the median of the passes. */
typedef struct {
    double calls; /* a rank, in one pass */
    double bytes; /* of a vector or a block, the mean of the calls */
    double recorded_s, side_s[BENCH_SIDES];
    double taken; /* share of the library side's calls that it ran */
} replay_row_t;

typedef struct {
    replay_row_t *rows; /* by name */
    replay_row_t all;
    double recorded_wall_s, wall_s[BENCH_SIDES];
    double first_s[BENCH_SIDES], first_wall_s[BENCH_SIDES]; /* of the very first pass */
    /* Shares of the host MPI's time; < 0 in the program: not known. */
    double gain_collectives, gain_program;
} replay_result_t;

typedef struct {
    const bench_job_t *job;
    const replay_options_t *options;
    const replay_plan_t *plan;
    const replay_run_t *run;
    const replay_pass_t *passes[BENCH_SIDES]; /* warmup + repeat */
    const uint64_t *taken; /* by name: calls of its collective that the library ran, in all passes */
    char **argv;
} replay_output_t;

void replay_result_init(replay_result_t *result, const replay_output_t *output);
void replay_result_fini(replay_result_t *result);

void replay_output_text(const replay_output_t *output, const replay_result_t *result, FILE *file);
/* false: it cannot be written, and why was said. */
bool replay_output_json(const replay_output_t *output, const replay_result_t *result, const char *name);

#endif
