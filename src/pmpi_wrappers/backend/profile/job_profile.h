/* job_profile: HANPMPI_PROFILE: recording on every rank, and at MPI_Finalize one file of all of it, written by rank 0
 * (docs/hanpmpi-profile.5).
 *
 * A rank that ends without MPI_Finalize (MPI_Abort, exit, SIGTERM) leaves its own part in a file of its own.
 *
 * Threads: start inside MPI_Init, finish inside MPI_Finalize. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_JOB_PROFILE_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_JOB_PROFILE_H

#include "pmpi_wrappers/backend_api.h"

/* Both are collective over MPI_COMM_WORLD and do nothing unless HANPMPI_PROFILE is set and all ranks have the library,
 * active or not. */
void hp_job_profile_start(void);
void hp_job_profile_finish(void);

/* What is to be called instead of target (backend_api.h). */
hp_function_t hp_job_profile_record(hp_wrapped_t which, hp_function_t target);

#endif
