/* comm_release: what ends with a communicator.
 *
 * A state goes before its communicator: collectives of the program's own delete callbacks find one that passes every call
 * through. What is in execution is waited for; all ranks of the communicator are about to free it, so all have called it.
 *
 * Threads: init and fini inside MPI_Init and MPI_Finalize; free as MPI_Comm_free. Ownership: comm_registry's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_RELEASE_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_RELEASE_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* finish: waits for what is in execution on a communicator (progress.h). false: the library cannot work. */
bool hp_comm_states_init(void (*finish)(hp_comm_state_t *state));
/* Gives up all states, in an order that all ranks agree on; before MPI_Finalize. */
void hp_comm_states_fini(void);

/* Waits for what is in execution, and gives the state up. */
void hp_comm_state_end(hp_comm_state_t *state);
/* Gives the state of *comm up, then the communicator, by MPI_Comm_free or MPI_Comm_disconnect of the host MPI. comm may be
 * NULL or name no communicator: the MPI reports that. Returns its code. */
int hp_comm_state_free(MPI_Comm *comm, int (*give_back)(MPI_Comm *comm));

#endif
