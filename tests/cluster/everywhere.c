/* everywhere: does every rank on every host run with the library and the user's settings?
 *
 * Prints one line from rank 0 and fails unless on all ranks the library is loaded and active and
 * HANPMPI_SEGMENT_BYTES has the value that is given as argument. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, mine, with_library, with_settings;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *(*backend)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "hanpmpi_backend");
    mine = backend && strcmp(backend(), "none") != 0;
    PMPI_Allreduce(&mine, &with_library, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const char *value = getenv("HANPMPI_SEGMENT_BYTES");
    mine = argc > 1 && value && strcmp(value, argv[1]) == 0;
    PMPI_Allreduce(&mine, &with_settings, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d with the library, %d with the settings\n", size, with_library, with_settings);
    MPI_Finalize();
    return with_library == size && with_settings == size ? 0 : 1;
}
