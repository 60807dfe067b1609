/* stand_in: datatypes in the place of those that the host MPI packs wrongly.
 *
 * Open MPI 5.0.11 packs complex numbers wrongly whose distance is no multiple of their bytes: it rounds it down to one. (Of its
 * messages only the long ones are as wrong.) Whether a host MPI does so is probed once. What stands in for a derived type of complex
 * numbers is made as that was, with as many bytes in the place of each number.
 *
 * Threads: any. Ownership: the caller's, who frees the datatype. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_STAND_IN_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_STAND_IN_H

#include "pmpi_wrappers/backend/glue/datatypes.h"

/* *out: a committed datatype whose data lies where that of datatype does, in the same order; MPI_DATATYPE_NULL: none is needed, or
 * it was made with large counts, which no MPI with such an error has. Returns an MPI error code, nothing reported. */
int hp_stand_in_make(MPI_Datatype datatype, MPI_Datatype *out);

#endif
