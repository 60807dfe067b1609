/* job_selection: what the whole job knows before the first choice: the rules of HANPMPI_RULES and the probes that
 * an earlier run left in HANPMPI_CACHE. Rank 0 reads both, all ranks have the same.
 *
 * Threads: start inside MPI_Init, finish inside MPI_Finalize; learn and known from any. Ownership: static; the
 * rules go to the selection. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_JOB_SELECTION_H
#define HP_PMPI_WRAPPERS_BACKEND_JOB_SELECTION_H

#include "hier/selection/probes.h"

/* Collective over MPI_COMM_WORLD. What cannot be read or used is said by rank 0; the run goes on without it. */
void hp_job_selection_start(void);

/* What this rank knows of the machine by now. */
hp_probes_t hp_job_probes(void);
/* A communicator's probes found this. */
void hp_job_probes_learn(const hp_probes_t *found);

/* Rank 0 leaves what was learned for the next run. */
void hp_job_selection_finish(void);

#endif
