/* groups: programs that hold several named tests and run those named on the command line.
 * A test that cannot run here returns through hp_group_skip; when nothing else ran, the program's exit code
 * is HP_SKIP. */
#ifndef HP_TESTS_MPI_GROUPS_H
#define HP_TESTS_MPI_GROUPS_H

#include "mpi_check.h"

typedef struct {
    const char *name;
    void (*run)(void);
} hp_group_t;

/* Says why the running group cannot run; call it and return. All ranks must come to the same end. */
void hp_group_skip(const char *why);

/* Runs the groups that argv names, or all; prints a line for each on rank 0. Returns the program's exit code.
 */
int hp_groups_run(int argc, char **argv, const hp_group_t *groups, size_t count);

#endif
