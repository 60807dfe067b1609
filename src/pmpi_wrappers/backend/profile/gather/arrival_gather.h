/* arrival_gather: who waited for whom in the collectives that were sampled.
 *
 * What the ranks of one call have to know of each other (who came last, when, and the root) goes up the tree of
 * ranks and down again; then each rank knows how much of its own call it waited.
 *
 * Threads: one, inside MPI_Finalize; collective over MPI_COMM_WORLD. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_GATHER_ARRIVAL_GATHER_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_GATHER_ARRIVAL_GATHER_H

#include "event_engine/trace_json.h"
#include "pmpi_wrappers/backend/profile/book/arrival.h"

/* clock: of this rank. Enters this rank's part in the book. False: the MPI reports an error. */
bool hp_arrivals_gather(hp_book_t *book, const hp_trace_clock_t *clock);

#endif
