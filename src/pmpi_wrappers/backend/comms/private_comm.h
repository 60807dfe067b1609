/* private_comm: communicators of the library's own.
 *
 * MPI_Comm_create, unlike MPI_Comm_dup, copies no attributes: the program's copy callbacks must not see them. Their errors
 * return.
 *
 * Threads: any; one a communicator. Ownership: the caller's. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_PRIVATE_COMM_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_PRIVATE_COMM_H

#include <stdbool.h>
#include <stdint.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* A communicator of the same ranks. Collective over comm. Returns whether it was made; *twin is MPI_COMM_NULL if not. */
bool hp_comm_twin(MPI_Comm comm, MPI_Comm *twin);

/* The private communicator of a state, which counts towards HANPMPI_MAX_COMMS. group: that of comm. users: the error
 * handler of comm, which does not see an error of this; MPI_ERRHANDLER_NULL: SMPI's answer where the program has set none.
 * Collective over comm; *out likewise. */
bool hp_private_comm_create(MPI_Comm comm, MPI_Group group, MPI_Errhandler users, MPI_Comm *out);
/* *comm may be MPI_COMM_NULL. */
void hp_private_comm_free(MPI_Comm *comm);
/* How many there are. */
uint64_t hp_private_comm_count(void);

#endif
