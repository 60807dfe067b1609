/* gather: what the ranks do together for a recording: comparing their clocks, and putting their books together,
 * along a tree of messages (binomial, root 0): a rank talks to at most as many others as the number of ranks has
 * bits.
 *
 * Threads: one, inside MPI_Init or MPI_Finalize; collective over MPI_COMM_WORLD. Ownership: the caller's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_GATHER_GATHER_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_GATHER_GATHER_H

#include "event_engine/trace_json.h"
#include "pmpi_wrappers/backend/profile/book/book.h"

/* Tag on MPI_COMM_WORLD; beside that of the traces. Every message is received before MPI_Init or MPI_Finalize goes
 * on. */
enum { HP_PROFILE_TAG = 32013 };

enum { HP_GATHER_CHILDREN = 32 };

/* The ranks below this one, the one with the largest part of the tree last. Returns how many; *parent: -1 on rank 0. */
int hp_gather_tree(int *parent, int children[HP_GATHER_CHILDREN]);

/* False: the MPI reports an error. */
bool hp_gather_clocks_begin(void);
/* *clock: of this rank, against rank 0's. */
bool hp_gather_clocks_end(hp_trace_clock_t *clock);

/* Rank 0's book is that of all ranks then. */
bool hp_gather_books(hp_book_t *book);

#endif
