#include "pmpi_wrappers/backend/glue/mpi_glue.h"

hp_function_t hp_mpi_calls[HP_MPI_CALL_COUNT];
