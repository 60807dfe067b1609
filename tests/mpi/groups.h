/* groups: programs that hold several named tests and run those named on the command line, one after another.
 *
 * One start of an MPI runs many groups: rank 0 prints a line for each, with the seconds that it took, and each rank has
 * a watchdog that names the group that is not finished in time, and what it was doing. Set HP_GROUP_SECONDS for another
 * limit than GROUP_SECONDS in groups.c (0: none, for a debugger).
 *
 * A test that cannot run here returns through hp_group_skip; when nothing else ran, the program's exit code is HP_SKIP.
 * The watchdog is SIGALRM's handler; one thread. */
#ifndef HP_TESTS_MPI_GROUPS_H
#define HP_TESTS_MPI_GROUPS_H

#include "mpi_check.h"

typedef struct {
    const char *name;
    void (*run)(void);
} hp_group_t;

/* Says why the running group cannot run; call it and return. All ranks must come to the same end. */
void hp_group_skip(const char *why);

/* The running group begins something that may take so many seconds and no more; what: a literal text or one that lives
 * until the next step. The time starts anew. */
void hp_group_step(unsigned seconds, const char *what, long detail);

/* Runs the groups that argv names, or all; prints a line for each on rank 0. Returns the program's exit code.
 */
int hp_groups_run(int argc, char **argv, const hp_group_t *groups, size_t count);

#endif
