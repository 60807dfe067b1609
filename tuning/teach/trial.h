/* trial: measures the candidates of a plan, all of a collective and size in turns, so that what else happens on
 * the machine hits all of them.
 *
 * A candidate is a setting of the MPI's control variables, and a duplicate of MPI_COMM_WORLD made under it: some
 * MPIs look at their variables in each call, some when a communicator is made. First each runs two calls, of which
 * one is validated, every element; what returns an error or a wrong result is refused. Then come rounds, forwards
 * and backwards, with a batch of calls of each. Each call follows a barrier of this program's own, and its time is
 * that of both, of the slowest rank: how long a call takes behind a barrier depends on who leaves the barrier
 * first, so much that where ranks share cores a short broadcast may take no time at all, or ten times its own. A
 * batch's time is the median of its calls. Who is far behind the best is left out of further rounds; the first
 * candidate never is.
 *
 * Rank 0 writes a line of JSON to the standard output before each batch ("try"), so that one that hangs is known,
 * and one for each collective and size ("cell").
 *
 * Threads: one. Ownership: job and plan are the caller's. */
#ifndef HP_TEACH_TRIAL_H
#define HP_TEACH_TRIAL_H

#include "bench/job.h"
#include "plan.h"

/* Collective. */
void teach_trial_run(const bench_job_t *job, const teach_plan_t *plan);

#endif
