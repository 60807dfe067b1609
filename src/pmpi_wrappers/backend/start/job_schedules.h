/* job_schedules: the ways to join nodes that HANPMPI_SCHEDULES adds, the same on all ranks: those that rank 0 finds.
 *
 * Threads: start inside MPI_Init, finish inside MPI_Finalize. Ownership: what is read lives until finish. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_JOB_SCHEDULES_H
#define HP_PMPI_WRAPPERS_BACKEND_START_JOB_SCHEDULES_H

/* Collective over MPI_COMM_WORLD, once the library is active, before anybody reads rules. Rank 0 reads the directory, warns of
 * what cannot be used, and sends the others what it found right. What asks for something else takes the tree. */
void hp_job_schedules_start(void);

/* When nobody asks for words any more. */
void hp_job_schedules_finish(void);

#endif
