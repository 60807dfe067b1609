/* type_parts: how a datatype was made: what MPI_Type_get_envelope and MPI_Type_get_contents say, in whichever form the host MPI
 * has them.
 *
 * Threads: any. Ownership: the lists, and the handles of derived datatypes on them, are the struct's, from read to free. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_GLUE_TYPE_PARTS_H
#define HP_PMPI_WRAPPERS_BACKEND_GLUE_TYPE_PARTS_H

#include <stdbool.h>
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* Of a basic type, which is named or Fortran's by precision and range, the lists are empty; large: of one that was made with large counts. */
typedef struct {
    int combiner;
    MPI_Count integer_count, address_count, large_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *large;
    MPI_Datatype *types;
} hp_type_parts_t;

/* False: the MPI reports an error, or there is no memory; then there is nothing to free. */
bool hp_type_parts_read(MPI_Datatype datatype, hp_type_parts_t *out);
/* Another part, which becomes the struct's, in the place of part i. */
void hp_type_parts_replace(hp_type_parts_t *parts, MPI_Count i, MPI_Datatype type);
void hp_type_parts_free(hp_type_parts_t *parts);

#endif
