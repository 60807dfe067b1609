/* start: whether the library runs in this process, and with which backend.
 *
 * Threads: called inside MPI_Init. Ownership: the backend stays loaded until the process ends. */
#ifndef HP_PMPI_WRAPPERS_FRONT_START_H
#define HP_PMPI_WRAPPERS_FRONT_START_H

#include "pmpi_wrappers/front/host_mpi.h"

/* False for HANPMPI_ENABLE=0. (The backend reads all knobs with their checks; this one is needed before.) */
bool hp_start_is_enabled(void);
/* HANPMPI_PROFILE is set: a backend is wanted also where nothing is to be accelerated. */
bool hp_start_records(void);

/* The thread level that MPI_Init and MPI_Init_thread have to ask for, whatever the program asks for: a thread of
 * the library is wanted (HANPMPI_PROGRESS=thread, HANPMPI_STALL_SECONDS). -1: the program's. What comes of a
 * setting is the backend's to say; a level that was not needed costs the MPI's locks. */
int hp_start_thread_level(const hp_host_mpi_t *host);

/* Loads the backend for the host's ABI from hanpmpi/ beside this library. NULL after one warning that names
 * what was detected and what is installed. */
const hp_backend_t *hp_start_open_backend(const hp_host_mpi_t *host, const hp_function_t *mpi_calls,
                                          hp_find_fn_t find);

/* HANPMPI_REQUIRE=1: ends this process, and so the job, where the library is not active at the end of MPI_Init. */
void hp_start_require(bool active);

/* The program has opened a session of MPI 4 without MPI_Init: rank 0 says once, where somebody wants to know
 * (HANPMPI_VERBOSE, HANPMPI_STATS), that its collectives pass through. */
void hp_start_explain_session(void);

/* Did an MPI launcher start this process as a rank? */
bool hp_start_is_rank(void);
/* Rank 0 by the launcher's word, or not a rank: warnings that come before MPI can be asked are given by this
 * process alone. */
bool hp_start_speaks_for_job(void);

#endif
