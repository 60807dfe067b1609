/* node_setup: gives the ranks of a communicator on one node their shared memory, or finds out that they
 * cannot have it.
 *
 * Threads: one thread a communicator (it is collective). Ownership: the memory belongs to the hp_comm_t
 * afterwards. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_NODE_SETUP_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_NODE_SETUP_H

#include "hier/comm/comm.h"
#include "pmpi_wrappers/backend/glue/route.h"

/* What a rank tells the others of itself: by it they find out whether they can read its memory. */
typedef struct {
    uint64_t pid;
    uint64_t probe_address, probe_value;
    int64_t pool_file; /* the number of its file of rings (slot_pool.h); -1: there is none */
} hp_process_t;

void hp_node_setup_introduce(hp_process_t *out);

/* Collective over the program's communicator, whose ranks are comm's. route: of the messages. all: every rank's process.
 * Sets what comm knows of its node's memory; shares_memory and reads_peers come out the same on all ranks. Returns an MPI
 * error code. */
int hp_node_setup(hp_comm_t *comm, MPI_Comm users, const hp_route_t *route, const hp_process_t *all,
                  size_t stride);

#endif
