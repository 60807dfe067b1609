/* comm_setup: gives a communicator what accelerating its collectives takes: the localities of all ranks, a private
 * communicator, the memory of the node, what is known of the machine.
 *
 * What a rank needs by itself it gets before the ranks agree that all have it: past that point nobody may stay away from a
 * collective.
 *
 * Threads: one a communicator (it is collective). Ownership: everything goes into the state. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_SETUP_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_SETUP_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* Sets the state of a communicator up that may communicate (comm_state.h): collective over it; all ranks come to the same result: is_set_up, or
 * always set. Returns an MPI error code only when the ranks could not talk about it; the communicator's error
 * handler has run then. */
int hp_comm_state_set_up(hp_comm_state_t *state, MPI_Comm comm);

#endif
