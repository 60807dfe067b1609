/* finder: a PMPI tool that asks for what comes next by dlsym(RTLD_NEXT), as some do, and must not be entered twice: for its
 * beginnings and ends alone. In front of the library that is the library's, behind it the MPI's own. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int depth;

static void *enter(const char *name)
{
    if (depth++ > 0) {
        fprintf(stderr, "%s: the tool is entered twice\n", name);
        abort();
    }
    return dlsym(RTLD_NEXT, name);
}

int MPI_Init(int *argc, char ***argv)
{
    const int code = ((int (*)(int *, char ***))enter("MPI_Init"))(argc, argv);
    depth--;
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int code =
        ((int (*)(int *, char ***, int, int *))enter("MPI_Init_thread"))(argc, argv, required, provided);
    depth--;
    return code;
}

int MPI_Finalize(void)
{
    const int code = ((int (*)(void))enter("MPI_Finalize"))();
    depth--;
    return code;
}
