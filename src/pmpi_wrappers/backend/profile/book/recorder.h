/* recorder: whether calls are recorded, and what is kept of all of them.
 *
 * Threads: any; with MPI_THREAD_MULTIPLE under the lock of recording.h. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_RECORDER_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_RECORDER_H

#include "pmpi_wrappers/backend/profile/book/book.h"

/* A thread of the program. */
typedef struct {
    bool inside;      /* a recorded call */
    bool accelerated; /* it was */
    bool is_known;
} hp_recorder_thread_t;

/* What each call looks at is in the first line of the cache. */
typedef struct {
    bool exists; /* between start and stop */
    bool is_paused;
    /* One thread, nothing watched, no sequence, no Python: a call like the last one may be counted and no more. */
    bool is_plain;
    hp_recorder_thread_t only_thread; /* where there is but one */
    uint32_t threads, in_calls;
    uint64_t mpi_ns, calls;
    uint64_t start_ns, end_ns;  /* when it began; when it ended: 0: it has not */
    void (*on_abort)(int code); /* MPI_Abort is called */
    hp_book_t book;
} __attribute__((aligned(64))) hp_recorder_t;

extern hp_recorder_t hp_recorder;

#endif
