/* job_rules: what is read from files for the whole job: the rules of HANPMPI_RULES, and the probes and the wisdom that an
 * earlier run left in HANPMPI_CACHE. Rank 0 reads them, all ranks have the same.
 *
 * Threads: start inside MPI_Init, finish inside MPI_Finalize. Ownership: the rules go to the selection, the
 * probes to probe.h, the findings to wisdom.h. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_JOB_RULES_H
#define HP_PMPI_WRAPPERS_BACKEND_START_JOB_RULES_H

#include <stdbool.h>

/* Could there be anything to read? Asked on rank 0 before the ranks agree, so that the start of a job that has no files costs
 * nothing here. */
bool hp_job_rules_has_files(void);

/* Collective over MPI_COMM_WORLD, once the library is active and where hp_job.has_files. Rank 0 warns of what cannot be read or used; the run goes on
 * without it. */
void hp_job_rules_start(void);

/* Rank 0 leaves what was learned for the next run, and the process forgets it. */
void hp_job_rules_finish(void);

#endif
