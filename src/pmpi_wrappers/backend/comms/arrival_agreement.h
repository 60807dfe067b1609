/* arrival_agreement: what the ranks of a communicator tell each other about who comes late (hier/planning/arrival.h), and that
 * collectives go around the same ranks everywhere.
 *
 * Inside a blocking collective that all ranks make, behind it. What may fail on one rank alone, which is memory, is agreed on
 * before anything follows from it.
 * Threads: as comm_setup.h. Ownership: none. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_ARRIVAL_AGREEMENT_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_ARRIVAL_AGREEMENT_H

#include "hier/planning/arrival.h"
#include "pmpi_wrappers/backend/comms/comm_state.h"

/* The library's own allreduce, in place. Returns an MPI error code; the error handler has run then. */
typedef int (*hp_allreduce_fn_t)(hp_comm_state_t *state, double *values, size_t count, MPI_Op op,
                                 MPI_Comm comm);

/* Does the step that is due. Returns an MPI error code. */
int hp_arrival_agree(hp_comm_state_t *state, hp_arrival_step_t step, MPI_Comm comm,
                     hp_allreduce_fn_t allreduce);

#endif
