/* signature: the basic types that a datatype consists of, in their order, as one number.
 *
 * Gaps, and how the type was made, do not count: what MPI says must be the same on all ranks. Threads: any. Ownership:
 * nothing kept. Costs several calls of the MPI: for debugging. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_SIGNATURE_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_SIGNATURE_H

#include <stdint.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Of count elements. 0: not known, as with MPI_PACKED, which may stand for anything. */
uint64_t hp_signature(MPI_Datatype datatype, uint64_t count);

#endif
