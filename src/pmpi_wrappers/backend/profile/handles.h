/* handles: what a recording has to know of the program's communicators, datatypes and operations; asked of the MPI
 * when one is seen for the first time.
 *
 * A handle that is freed may come again for something else: who frees one says so (forget).
 *
 * Threads: one at a time. Ownership: kept until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_HANDLES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_HANDLES_H

#include "pmpi_wrappers/backend/glue/mpi_glue.h"
#include "pmpi_wrappers/backend/profile/book/book.h"

typedef struct hp_seen_comm {
    hp_handle_t handle;
    uint64_t known; /* a number of its own, until it is forgotten or has another name; 0: it was forgotten */
    uint64_t calls; /* blocking collectives so far */
    /* The same on all of its ranks, unlike that of any other communicator: its ranks, and the how manieth it is of
     * these ranks. 0: not known. */
    uint64_t id;
    uint32_t sampled_first; /* so many calls are all sampled (book/arrival.h) */
    uint16_t row;           /* in the book */
    bool is_inter;
    int rank, size, remote_size; /* remote_size: of the ranks that it talks to: size, unless is_inter */
    int sources, destinations;   /* of a topology; else 0 */
    uint32_t *world_ranks;       /* of the ranks that it talks to; NULL: not known */
    struct hp_seen_comm *next;   /* of those with the same hash, or that were forgotten */
} hp_seen_comm_t;

typedef struct {
    hp_handle_t handle;
    uint64_t bytes;
    uint16_t row;
    bool is_used;
    bool is_derived; /* the program may free it */
} hp_seen_type_t;

/* How many times datatypes were freed or named anew: [0]: some that are not derived, [1]: any. */
extern uint32_t hp_types_changed[2];

/* book: where names go to. False: no memory. */
bool hp_handles_init(hp_book_t *book);
void hp_handles_fini(void);

static inline hp_handle_t hp_comm_handle(uintptr_t argument)
{
    return HP_HANDLE((MPI_Comm)argument);
}

/* NULL: it is not known: MPI_COMM_NULL, no memory. Where it lies stays memory of such a row until fini. */
hp_seen_comm_t *hp_handles_comm(hp_handle_t handle);
/* What is not known has row 0 and no bytes. */
hp_seen_type_t hp_handles_type(hp_handle_t handle);
/* "user": one of the program's. */
uint16_t hp_handles_op(hp_handle_t handle);

void hp_handles_forget_comm(hp_handle_t handle);
/* It has another name from now on. */
void hp_handles_rename_comm(hp_handle_t handle);
void hp_handles_forget_type(hp_handle_t handle);
void hp_handles_rename_type(hp_handle_t handle);

#endif
