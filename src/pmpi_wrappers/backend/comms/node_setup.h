/* node_setup: gives the ranks of a communicator on one node their shared memory, or finds out that they
 * cannot have it. The ranks tell of themselves, each maps what it needs, and what all of them could is settled: only between
 * these steps do they wait for each other.
 *
 * Threads: one thread a communicator (it is collective). Ownership: the memory belongs to the hp_comm_t
 * afterwards. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_NODE_SETUP_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_NODE_SETUP_H

#include "hier/comm/comm.h"

/* What a rank tells the others of itself: by it they find out whether they can read its memory. */
typedef struct {
    uint64_t pid;
    uint64_t probe_address, probe_value;
    int64_t pool_file; /* the number of its file of rings (slot_pool.h); -1: there is none */
    int64_t node_file; /* of the file that is the memory of its node, should it be the first rank there; -1: there is none */
} hp_process_t;

/* *file: the one told of, or -1. The caller closes it once all ranks have mapped what they need. */
void hp_node_setup_introduce(hp_process_t *out, int *file);

/* What a rank can do with the memory of its node, as bits. */
enum { HP_NODE_ABILITIES = 7 };

/* Maps what this rank needs of its node's memory; waits for nobody. all: every rank's process. own_file: of this rank. Returns
 * this rank's abilities. */
int hp_node_setup_map(hp_comm_t *comm, const hp_process_t *all, size_t stride, int own_file);
/* Sets what comm knows of its node's memory. common: the abilities that all ranks have. */
void hp_node_setup_settle(hp_comm_t *comm, int common);

#endif
