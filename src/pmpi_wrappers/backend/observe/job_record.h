/* job_record: HANPMPI_RECORD: a file of at most 4 KiB for each job in a directory of the site's: what collectives it
 * called, how long they took, what the library did about it, and what that saved.
 *
 * Needs what HANPMPI_STATS counts, on all ranks, and three reductions at MPI_Finalize.
 *
 * Threads: inside MPI_Init and MPI_Finalize. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_JOB_RECORD_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_JOB_RECORD_H

#include "hier/planning/savings.h"

/* Rank 0 says now if the directory is none that it can write. */
void hp_job_record_start(void);
/* Collective over MPI_COMM_WORLD where the library is active; else rank 0's own. savings: of this rank; NULL: the
 * library was off. */
void hp_job_record_finish(const hp_savings_t *savings);

#endif
