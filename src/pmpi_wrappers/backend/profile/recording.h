/* recording: what happens before and after a recorded call (recorded_call.h).
 *
 * Nothing is recorded of a call that is made inside another one (a callback, the MPI itself), while the program has
 * switched recordings off (MPI_Pcontrol), or outside of MPI_Init and MPI_Finalize. Handles that are freed are heard
 * of all the same.
 *
 * Threads: any; with MPI_THREAD_MULTIPLE one lock guards the book. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDING_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDING_H

#include "pmpi_wrappers/backend/profile/book/recorder.h"

void hp_recording_set_accelerated(void);

/* The collective that this thread is in was run by the library. */
static inline void hp_recording_accelerated(void)
{
    if (__builtin_expect(hp_recorder.exists, 0))
        hp_recording_set_accelerated();
}

/* For who reads the book while the program may still run. */
void hp_recording_lock(void);
void hp_recording_unlock(void);

#endif
