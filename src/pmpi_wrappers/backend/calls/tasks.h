/* tasks: hanpmpi_run_tasks, the tasks of a collective in lock-step, for tools that tune.
 *
 * Threads: as a collective, one thread a communicator. Ownership: the caller's buffers are borrowed until it
 * returns. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_TASKS_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_TASKS_H

#include <stdint.h>

/* See hanpmpi.h. */
int hp_tasks_run(const void *comm, const char *collective, const void *send, void *recv, uint64_t count,
                 unsigned iterations_max, double *iteration_us, unsigned *iterations);

#endif
