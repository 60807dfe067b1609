/* host_collectives: blocking collectives of the host MPI, while non-blocking ones of ours are in flight.
 *
 * Where the MPI does not call us in its own progress (host_request.h), a rank that blocks in, say,
 * MPI_Allgather cannot move ours on, and another rank may wait for one of ours before it comes to that
 * MPI_Allgather: a deadlock. So there no rank goes in before all ranks of the communicator are about to: an
 * MPI_Ibarrier goes before, and ours move on until it is done. Behind it the collective needs nobody but those
 * who are in it.
 *
 * Either all ranks do that or none: an MPI_Ibarrier does not match an MPI_Barrier, nor nothing at all. It costs
 * a barrier, so programs without non-blocking collectives shall not pay for it; and which rank has something in
 * flight when is chance. Hence an agreement (HANPMPI_NONBLOCKING=auto). A non-blocking collective that could be
 * taken passes through, but is remembered. Blocking ones that the library takes on a communicator of all ranks
 * of the job (and the beginnings of persistent ones, which may block) come to the question, first when it is set up, then after 1, 2, 4, 8 ... of them: has any rank
 * seen such a call? From a yes on the job does as above. All ranks are in that same blocking collective then,
 * and blocking collectives of one thread come in an order without cycles, so each other one comes before it on
 * all its ranks, or behind it on all. Non-blocking ones do not: those on another communicator are taken from
 * the next blocking one on that communicator on.
 *
 * With MPI_THREAD_MULTIPLE blocking collectives have no such order, and nothing is agreed: non-blocking ones
 * pass through unless HANPMPI_NONBLOCKING=on says from the beginning that they are used, or a helper thread
 * moves them on.
 *
 * Threads: init and close inside MPI_Init and MPI_Finalize; enter and ask: any that may call collectives.
 * Ownership: none. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_COLLECTIVES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_HOST_COLLECTIVES_H

#include <stdbool.h>
#include "pmpi_wrappers/backend/comms/comm_state.h"

/* Blocking collectives of the host MPI begin with hp_host_collective_enter. The same on all ranks. */
extern bool hp_host_collectives_enter;

/* When the ranks have agreed on the knobs. is_moved_on: the host MPI or a helper thread, on all ranks, does it. */
void hp_host_collectives_init(bool is_moved_on);
/* From here on every collective passes as it is; on all ranks, in MPI_Finalize. */
void hp_host_collectives_close(void);

/* Waits until all ranks of the communicator have come, moving ours on; *entered, unless NULL, says whether it
 * did: not over communicators of one rank, of two groups, or with ranks of other jobs. Returns an MPI error
 * code; the error handler has run then. */
int hp_host_collective_enter(MPI_Comm comm, bool *entered);
/* Behind it: code is evaluated only if that was a success. */
#define HP_HOST_COLLECTIVE(comm, call)                                                                       \
    ({                                                                                                       \
        int entering_ = hp_host_collectives_enter ? hp_host_collective_enter(comm, NULL) : MPI_SUCCESS;      \
        entering_ == MPI_SUCCESS ? (call) : entering_;                                                       \
    })
int hp_host_barrier(MPI_Comm comm);

/* May the communicator come to take non-blocking ones, or does it already? The same on all ranks. */
bool hp_nonblocking_may(const hp_comm_state_t *state);
/* A non-blocking collective could be taken. Returns why it is not. */
hp_outcome_t hp_nonblocking_want(void);
/* Inside a blocking collective that all ranks of a communicator take: may non-blocking ones be taken from now
 * on? Sets state->takes_nonblocking. at_once: the ranks agree in this call, however many there were. Returns an MPI error
 * code; the communicator's error handler has run then. */
int hp_nonblocking_ask(hp_comm_state_t *state, MPI_Comm comm, bool at_once);

#endif
