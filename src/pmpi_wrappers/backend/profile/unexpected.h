/* unexpected: how many messages lie with the MPI that came before their receive was posted: a variable of its tool
 * interface (MPI_T), where it has one (HANPMPI_PROFILE_UNEXPECTED).
 *
 * It is read before a receive, of the receive's communicator, now and then: a sample takes some microseconds, and the more
 * the more ranks there are.
 *
 * Threads: one at a time. Ownership: the MPI's handles are given back at once, its session by fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_UNEXPECTED_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_UNEXPECTED_H

#include "pmpi_wrappers/backend/profile/book/book.h"
#include "pmpi_wrappers/backend/profile/handles.h"

extern bool hp_unexpected_is_open;

/* False: this MPI has no such variable. Takes a quarter of a second with Open MPI 4.1, which then gets its tool interface
 * ready. */
bool hp_unexpected_open(void);
void hp_unexpected_fini(void);

/* Before a receive. */
void hp_unexpected_sample(hp_book_unexpected_t *found, hp_handle_t comm);

#endif
