/* recorder: whether calls are recorded, and what is kept of all of them.
 *
 * Threads: any; with MPI_THREAD_MULTIPLE under the lock of recording.h. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDER_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_RECORDER_H

#include "pmpi_wrappers/backend/profile/book/book.h"

typedef struct {
    bool exists; /* between start and stop */
    bool is_paused;
    hp_book_t book;
    uint64_t start_ns, end_ns; /* when it began; when it ended: 0: it has not */
    uint64_t mpi_ns, calls;
    uint32_t threads, in_calls;
    void (*on_abort)(int code); /* MPI_Abort is called */
} hp_recorder_t;

extern hp_recorder_t hp_recorder;

/* A thread of the program. */
typedef struct {
    bool inside;      /* a recorded call */
    bool accelerated; /* it was */
    bool is_known;
} hp_recorder_thread_t;

extern hp_recorder_thread_t hp_recorder_only_thread; /* where there is but one */

#endif
