/* watchdog: collectives that do not come on, and live statistics.
 *
 *   HANPMPI_STALL_SECONDS   a collective that is in execution for longer is reported: what it waits for, and what the ranks
 *                           it waits for do. Again after twice the time, and so on. The program goes on.
 *   HANPMPI_STATS_SIGNAL    a signal prints the statistics of this rank, and what is in execution.
 *
 * A tick of the event loop does it all:
 *
 *      survey (survey.h) --> stalled? --> questions to the ranks that are waited for, and to those that these wait for
 *                                         (watch_talk.h) --> answers, or a second is over --> report (stall_report.h)
 *
 * and it answers the questions of others, from the same surveys. Without MPI_THREAD_MULTIPLE it asks nobody.
 *
 * Threads: open and close inside MPI_Init and MPI_Finalize, start, and stop when the loop has ended; the rest is the library's thread.
 * Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_OBSERVE_WATCHDOG_H
#define HP_PMPI_WRAPPERS_BACKEND_OBSERVE_WATCHDOG_H

#include <stdbool.h>

struct ev_loop;

/* Collective over MPI_COMM_WORLD: all ranks, whatever came of their thread. may_call_mpi: it may. */
void hp_watchdog_open(bool may_call_mpi);
void hp_watchdog_close(void);

/* What the loop has to do, where hp_job.watches. */
void hp_watchdog_start(struct ev_loop *loop);
void hp_watchdog_stop(struct ev_loop *loop);

#endif
