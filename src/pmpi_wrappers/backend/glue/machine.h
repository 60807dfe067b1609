/* machine: what the backend has to know of the machine below its MPI: where a rank is, and how it may wait.
 *
 * Two implementations, one of which is linked: machine_real.c for an MPI on real machines, and
 * machine_simulated.c for SimGrid's SMPI. Threads: any. Ownership: nothing kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_MACHINE_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include "topo_tree/locality.h"

/* Ranks on one node give the same answer, others another. */
uint64_t hp_machine_node_id(void);

/* The name of the host that this rank is on, "" where it cannot be had. Returns text. */
const char *hp_machine_host(char *text, size_t text_bytes);

/* The place of this rank. On an error the node is known, and nothing else. */
hp_status_t hp_machine_locality(hp_locality_t *out);

/* The cores that this rank may use; all zero where ranks take turns. */
void hp_machine_cores(hp_cores_t *out);

/* Nanoseconds of a clock that only goes forward, with any origin: of the simulated machine where there is one. */
uint64_t hp_machine_clock_ns(void);

/* The ranks take turns on one thread, and time stands still while one of them runs: a rank that polls waits
 * for ever, so every wait must be a blocking call of the MPI. */
extern const bool hp_ranks_take_turns;

#endif
