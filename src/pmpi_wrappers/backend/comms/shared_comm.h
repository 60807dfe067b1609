/* shared_comm: one communicator of the library's own for all messages, with MPI_THREAD_MULTIPLE.
 *
 * Setting a communicator up happens inside one of the program's collectives, so with threads on several communicators at
 * once, in an order that differs from rank to rank. Open MPI 4.1 cannot make communicators like that: by MPI_Comm_create,
 * MPI_Comm_dup or MPI_Comm_create_group, it hangs. So where some rank of the job has the level, a communicator of all
 * ranks is made in MPI_Init, and no other later. A communicator that is set up gets a block of tags on it, each rank one of
 * its own choice for what is sent to it: what comes to a rank with a tag of a block is for the communicator that it took the
 * block for, whatever the others chose. So nothing has to be agreed on but the table that the ranks exchange anyway.
 *
 * The channel of a persistent collective (calls/persistent.h) gets a block likewise. What needs more than messages is not to
 * be had then: the module native.
 *
 * Threads: init and fini inside MPI_Init and MPI_Finalize; the others any. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_SHARED_COMM_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_SHARED_COMM_H

#include <stdbool.h>
#include <stdint.h>
#include "pmpi_wrappers/backend/glue/route.h"

/* Collective over MPI_COMM_WORLD. false: it could not be made, on all ranks. */
bool hp_shared_comm_init(void);
void hp_shared_comm_fini(void);

/* Is there one? The same answer on all ranks. */
bool hp_shared_comm_exists(void);

/* A block of HP_ROUTE_TAGS tags for messages to this rank: the first of them, -1 if all are taken. */
int hp_shared_comm_take_tags(void);
/* Nothing will be sent to this rank with one of them any more. */
void hp_shared_comm_return_tags(int first_tag);
/* How many blocks are taken. */
uint64_t hp_shared_comm_count(void);

/* To the ranks with these ends, which the caller keeps; rank: this rank's. */
hp_route_t hp_shared_comm_route(const hp_route_end_t *ends, int rank);

#endif
