/* job_network: the network of HANPMPI_NETWORK: read by rank 0, the same on all ranks.
 *
 * Threads: start and finish in MPI_Init and MPI_Finalize; the rest any. Ownership: the network is kept until finish. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_JOB_NETWORK_H
#define HP_PMPI_WRAPPERS_BACKEND_START_JOB_NETWORK_H

#include "topo_tree/network.h"

/* Collective over MPI_COMM_WORLD. */
void hp_job_network_start(void);
void hp_job_network_finish(void);

/* NULL: none is known; the same answer on all ranks. */
const hp_network_t *hp_job_network(void);
/* The same in jobs that have the same network, of which a communicator may join some; 0: none is known. */
uint64_t hp_job_network_hash(void);
/* The machine of this rank; -1: none is known. */
int32_t hp_job_network_machine(void);

#endif
