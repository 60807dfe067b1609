/* helper_thread: a thread of the library's own in an MPI process: one event loop (libev) for what has to happen while the
 * program computes.
 *
 *   HANPMPI_PROGRESS=thread   moves non-blocking collectives on: every few tens of microseconds while data comes in, every
 *                             millisecond while none does, never while nothing is in flight. Needs
 *                             MPI_THREAD_MULTIPLE, which the front asks for.
 *
 *   HANPMPI_STALL_SECONDS,    the watchdog, its guest (observe/watchdog.h)
 *   HANPMPI_STATS_SIGNAL
 *
 * Each rank moves its collectives on, or not, by its own environment: it is of no consequence to other ranks but that they wait
 * less.
 *
 * Locks: the thread takes those of progress.h and comm_state.h only as anybody may who finds them free, and calls the host
 * MPI while it holds them. Where the MPI calls us, perhaps with a lock of its own, these are only tried; so
 * neither waits for the other.
 *
 * Threads: start and stop inside MPI_Init and MPI_Finalize. The thread blocks all signals, and it stops before the
 * process exits without MPI_Finalize. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HELPER_THREAD_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HELPER_THREAD_H

#include <stdbool.h>

struct ev_loop;

/* What else lives on the thread's loop: the watchdog. */
typedef struct {
    void (*start)(struct ev_loop *loop); /* before the loop runs */
    void (*stop)(struct ev_loop *loop);  /* when it has ended */
} hp_helper_guest_t;

/* After the handshake. guest: NULL, there is none. Without anything to do there is no thread. */
void hp_helper_thread_start(const hp_helper_guest_t *guest);
/* Does it move collectives on? */
bool hp_helper_thread_moves_on(void);
/* When nothing is in flight any more. */
void hp_helper_thread_stop(void);

#endif
