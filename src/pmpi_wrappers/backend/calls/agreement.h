/* agreement: what all ranks of a communicator decide together before the library accelerates calls on it.
 *
 * Set-up. Blocking and persistent collectives set a communicator up (comms/comm_setup.h); non-blocking ones do not wait for
 * other ranks, as that does.
 *
 * Non-blocking collectives. Where blocking ones of the host MPI must wait for all ranks while some of ours are in flight
 * (progress/host_collectives.h), all ranks do that or none; and which rank has something in flight when is chance. Hence an
 * agreement (HANPMPI_NONBLOCKING=auto). A non-blocking collective that could be accelerated passes through, but is
 * remembered. Blocking ones that the library accelerates on a communicator of all ranks of the job (and the beginnings of
 * persistent ones, which may block) come to the question, first when it is set up, then after 1, 2, 4, 8 ... of them: has
 * any rank seen such a call? From a yes on the job does as above. All ranks are in that same blocking collective then, and
 * blocking collectives of one thread come in an order without cycles, so each other one comes before it on all its ranks, or
 * behind it on all. Non-blocking ones do not: those on another communicator are accelerated from the next blocking one on
 * that communicator on.
 *
 * With MPI_THREAD_MULTIPLE blocking collectives have no such order, and nothing is agreed: non-blocking ones pass through
 * unless HANPMPI_NONBLOCKING=on says from the beginning that they are used, or a helper thread moves them on.
 *
 * Threads: init and close inside MPI_Init and MPI_Finalize; the others one thread a communicator. Ownership: none. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_AGREEMENT_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_AGREEMENT_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* When the ranks have agreed on the knobs. is_moved_on: the host MPI or a helper thread moves non-blocking collectives on, on
 * all ranks. */
void hp_agreement_init(bool is_moved_on);
/* From here on every collective passes as it is; on all ranks, in MPI_Finalize. */
void hp_agreement_close(void);

/* Sets the communicator up, waiting for all its ranks: state->is_set_up, or state->always says why not, the same on all
 * ranks. Returns an MPI error code; the communicator's error handler has run then. */
int hp_set_up(hp_comm_state_t *state, MPI_Comm comm);

/* May the communicator come to take non-blocking ones, or does it already? The same on all ranks. */
bool hp_nonblocking_may(const hp_comm_state_t *state);
/* A non-blocking collective could be taken. Returns why it is not. */
hp_outcome_t hp_nonblocking_want(void);
/* Inside a blocking collective that all ranks of a communicator take: may non-blocking ones be taken from now
 * on? Sets state->takes_nonblocking. at_once: the ranks agree in this call, however many there were. Returns an MPI error
 * code; the communicator's error handler has run then. */
int hp_nonblocking_ask(hp_comm_state_t *state, MPI_Comm comm, bool at_once);

#endif
