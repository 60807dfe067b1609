/* host_mpi: finds the MPI library under us, its ABI and its functions.
 *
 * Threads: called once, by the first wrapped function. Ownership: nothing to free; libraries stay loaded. */
#ifndef HP_PMPI_WRAPPERS_FRONT_HOST_MPI_H
#define HP_PMPI_WRAPPERS_FRONT_HOST_MPI_H

#include <stdbool.h>
#include "pmpi_wrappers/backend_api.h"

typedef struct {
    bool local;       /* loaded with RTLD_LOCAL (as under mpi4py): found by handle, not by search order */
    void *handle;     /* of the library that defines PMPI_Init */
    const char *path; /* its file */
    const char *abi;  /* "openmpi", "mpich", "mpiabi"; NULL: not recognised */
} hp_host_mpi_t;

/* Finds the MPI. false: there is none in this process. */
bool hp_host_mpi_find(hp_host_mpi_t *host);
/* PMPI_<name> of the MPI that was found, or NULL. */
hp_function_t hp_host_mpi_function(const hp_host_mpi_t *host, const char *pmpi_name);
/* MPI_<name> of a profiling library that sits between us and the MPI, or NULL when there is none. */
hp_function_t hp_host_mpi_profiler(const hp_host_mpi_t *host, const char *mpi_name);
/* Makes the MPI's data symbols (Open MPI's handles) visible to libraries loaded later. */
void hp_host_mpi_make_global(const hp_host_mpi_t *host);

#endif
