/* profiler: the smallest PMPI tool. It counts MPI_Bcast and asks MPI's PMPI_Bcast to do the work.
 * Preloaded before or after the library it must count every call of the program once. */
#include <mpi.h>

int hp_profiler_events(void);

static int events;

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    events++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int hp_profiler_events(void)
{
    return events;
}
