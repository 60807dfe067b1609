/* deny_threads: an MPI that gives MPI_THREAD_SINGLE whatever it is asked for. Preloaded behind the library, linked with the MPI:
 * the library takes it for the MPI, and finds everything else in the one behind it. */
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

static int (*of_mpi(const char *name))(int *, char ***)
{
    int (*function)(int *, char ***);
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

int PMPI_Init(int *argc, char ***argv)
{
    return of_mpi("PMPI_Init")(argc, argv);
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)required;
    *provided = MPI_THREAD_SINGLE;
    return of_mpi("PMPI_Init")(argc, argv);
}

int PMPI_Query_thread(int *provided)
{
    *provided = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}
