/* machine_setup: what a communicator knows of the machine it is on, for the model and the wisdom.
 *
 * At set-up it takes what some rank has learned: on other communicators, or from an earlier run's file. Measuring takes some
 * milliseconds, on slow networks tens of them, and on nodes of more ranks than cores a hundred, so it waits until the calls on the
 * communicator have taken as long (HANPMPI_PROBE_AFTER_US): a program of few short calls never pays for it. What an earlier run has
 * found, and need only be compared, waits four times as long. So that not all the columns of a grid measure at a time, and each
 * what the others leave of a link, communicators without rank 0 of the job, which leaves it to the next run, wait eight times as long
 * for what is between nodes.
 *
 * Threads: as comm_setup.h. Ownership: plain data. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_MACHINE_SETUP_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_MACHINE_SETUP_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* What each rank tells the others when a communicator is set up. */
typedef struct {
    hp_probes_t probes;
    uint64_t is_fresh; /* measured, or compared, in this run */
    uint64_t keeps;    /* it leaves them to the next run */
} hp_machine_introduction_t;

void hp_machine_introduce(hp_machine_introduction_t *out);

/* Takes what the introductions (of all ranks, in their order, stride bytes apart) say; state->lacks_probes: something is still
 * to be measured. Measures it now where nothing shall be waited for. Returns an MPI error code. */
int hp_machine_setup(hp_comm_state_t *state, MPI_Comm users, const hp_machine_introduction_t *all, size_t stride);

/* Calls have taken so many microseconds more, as all ranks know. true: to measure is worth it now. */
bool hp_machine_spend(hp_comm_state_t *state, double us);
/* Collective: learns what is still to be measured; *learned: the model can go by it now. Returns an MPI error code. */
int hp_machine_learn(hp_comm_state_t *state, MPI_Comm users, bool *learned);

#endif
