#include "pmpi_wrappers/backend/glue/mpi_glue.h"

hp_function_t hp_mpi_calls[HP_MPI_CALL_COUNT];

static const bool *yields_when_idle; /* Open MPI's, as it is now */

void hp_host_waiting_open(hp_find_fn_t find)
{
    yields_when_idle = (const bool *)(uintptr_t)find("opal_progress_yield_when_idle");
}

bool hp_host_yields(void)
{
    return yields_when_idle && *yields_when_idle;
}
