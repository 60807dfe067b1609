/* probe: measures what the model needs to know of the machine, inside a collective on a communicator (comms/machine_setup.h).
 *
 * One rank of a node with most ranks leads; its neighbour on the node, one rank of another node, and for
 * the node's memory all ranks of the node serve it (probe_link.h). The others sleep until the results
 * come.
 *
 *      one node     round trip, stream, flag, memcpy alone and of all ranks, reduction  about 5 ms
 *      two nodes    round trip, burst of short messages, stream, stream with copies  about 20 ms at 1 Gbit/s
 *
 * What an earlier run has left of the inter-node way may be of another network, or have been measured under load: the
 * first communicator of several nodes compares it with a round trip and a stream, and measures anew what is far off.
 *
 * Everything is bounded by time: on a slow machine there are fewer repetitions. Threads: one a
 * communicator; what the process knows is guarded. Ownership: nothing kept but the figures. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_START_PROBE_H
#define HP_PMPI_WRAPPERS_BACKEND_START_PROBE_H

#include "hier/planning/model/model.h"
#include "pmpi_wrappers/backend/glue/route.h"

/* Collective over the program's communicator, whose ranks are comm's. route: of the messages. Measures what the layout needs and *inout of the
 * rank that leads lacks, or, where `checks`, what is not so any more of the inter-node way; *inout comes out the same on
 * all ranks. It may still not cover the layout: without memory for buffers on some rank, where ranks take turns (SMPI).
 * Returns an MPI error code. */
int hp_probe(MPI_Comm users, const hp_route_t *route, hp_comm_t *comm, bool checks, hp_probes_t *inout);
/* The same, of how a rank writes what others of its node read alone, if that is not known: takes a third of a millisecond. */
int hp_probe_stores(MPI_Comm users, const hp_route_t *route, hp_comm_t *comm, hp_probes_t *inout);

/* What this process knows, for the table that ranks exchange. *is_fresh: the inter-node way was measured, or compared,
 * in this run. */
void hp_probe_known(hp_probes_t *out, bool *is_fresh);
/* It knows that too now. kept: it is in the cache already. */
void hp_probe_learn(const hp_probes_t *found, bool kept);
/* Is there something that the cache has not? */
bool hp_probe_is_news(void);

#endif
