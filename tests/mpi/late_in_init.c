/* late_in_init: preloaded behind the library, into one rank, which comes out of the MPI's own MPI_Init LATE_SECONDS later, as one that a
 * debugger has stopped there. Linked with the MPI: the library takes the file that defines PMPI_Init for the MPI, and finds there, or in
 * what it depends on, all that it calls. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void be_late(void)
{
    const char *seconds = getenv("LATE_SECONDS");
    if (seconds)
        sleep((unsigned)atoi(seconds));
}

int PMPI_Init(int *argc, char ***argv)
{
    int (*const next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
    const int code = next(argc, argv);
    be_late();
    return code;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*const next)(int *, char ***, int, int *) =
        (int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, "PMPI_Init_thread");
    const int code = next(argc, argv, required, provided);
    be_late();
    return code;
}
