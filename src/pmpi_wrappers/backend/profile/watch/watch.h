/* watch: the slack of calls, measured: when the program first touches what a blocking call has left behind, and when it
 * last touched, before a call, what it hands over. By pages (pages.h) and by words (words.h).
 *
 * After a sampled call its buffers are watched until the first touch: of what was received by reading or writing, of
 * what was sent by writing; the next MPI call ends the watch. Before a call it is the last touch that counts; which call
 * comes next is guessed: the one that came last time after the same call.
 *
 * The first calls of a site are sampled, then one in eight, and none while watching, with the faults that it makes, has
 * taken more of the run than 1/SHARE_OF_RUN (watch.c).
 *
 * Threads: one at a time, which the recording's lock sees to; where the program has made threads since open nothing is
 * watched. Ownership: static; rows go to the book. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_WATCH_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_WATCH_H

#include "pmpi_wrappers/backend/profile/book/book.h"
#include "pmpi_wrappers/backend/profile/watch/memory.h"

typedef enum { HP_WATCH_OFF, HP_WATCH_WORDS, HP_WATCH_PAGES, HP_WATCH_ALL } hp_watch_mode_t;

/* A call that has ended. */
typedef struct {
    uint32_t site;
    uint16_t row;
    int8_t bin;
    bool is_blocking;             /* it could be made non-blocking */
    bool has_buffers;             /* these are known; only asked for where hp_watch_wants them */
    hp_memory_range_t send, recv; /* nothing: there is none, or it has gaps */
} hp_watch_call_t;

typedef struct {
    uint64_t ns; /* that watching has taken of this process's time */
    uint64_t
        left_out; /* times between two calls without a watch, since those before had taken their share of the run */
} hp_watch_cost_t;

extern bool hp_watch_is_open;
extern bool hp_watch_is_running; /* an MPI call has to stop it before anything else */

/* Says what the machine does not allow. book: where rows go. */
void hp_watch_open(hp_book_t *book, hp_watch_mode_t mode);
void hp_watch_fini(void);

void hp_watch_stop(void);

/* Since open. */
hp_watch_cost_t hp_watch_cost(void);

/* Memory of the program may be other processes' business from now on: pages are left alone. */
void hp_watch_forbid_pages(void);

/* Are the buffers of this call of interest? */
bool hp_watch_wants(const hp_watch_call_t *call);
/* The watch that ran is entered into the book, and the next is chosen. */
void hp_watch_end_call(const hp_watch_call_t *call);
/* The last thing before the program goes on. */
void hp_watch_start(void);

#endif
