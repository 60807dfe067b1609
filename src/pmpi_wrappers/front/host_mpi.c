#include "pmpi_wrappers/front/host_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file a function is in; NULL when unknown. */
static const char *file_of(hp_function_t function)
{
    Dl_info info;
    return function && dladdr((void *)(uintptr_t)function, &info) ? info.dli_fname : NULL;
}

static hp_function_t function_in(void *where, const char *name)
{
    return (hp_function_t)(uintptr_t)dlsym(where, name);
}

enum { NAMES_MAX = 32 };
typedef struct {
    char *name[NAMES_MAX];
    int count;
} names_t;

/* Notes the loaded libmpi*.so. Nothing is opened here, where the linker holds a lock. */
static int note_libmpi(struct dl_phdr_info *object, size_t size, void *context)
{
    names_t *names = context;
    const char *base = strrchr(object->dlpi_name, '/');
    (void)size;

    base = base ? base + 1 : object->dlpi_name;
    if (strncmp(base, "libmpi", 6) == 0 && names->count < NAMES_MAX)
        names->name[names->count++] = strdup(object->dlpi_name);
    return 0;
}

/* Takes the file if it defines PMPI_Init. Fortran and C++ binding libraries find it through their dependency, so the file
 * is asked for by the function's address. */
static void try_libmpi(hp_host_mpi_t *host, const char *name)
{
    void *handle = name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    hp_function_t init = handle ? function_in(handle, "PMPI_Init") : NULL;

    if (!init)
        return;
    host->path = file_of(init);
    host->handle = dlopen(host->path, RTLD_LAZY | RTLD_NOLOAD);
}

/* The first one that is found. */
static void find_libmpi(hp_host_mpi_t *host)
{
    names_t names = {.count = 0};

    dl_iterate_phdr(note_libmpi, &names);
    for (int i = 0; i < names.count; i++) {
        if (!host->handle)
            try_libmpi(host, names.name[i]);
        free(names.name[i]);
    }
}

/* The words the standard ABI, Open MPI and the MPICH family can be told apart by. MPICH 5 has
 * MPI_Abi_get_version in its own ABI too and answers -1 there, so the answer counts, not the symbol. */
static const char *detect_abi(const hp_host_mpi_t *host)
{
    int major = -1, minor = -1;
    int (*abi_version)(int *, int *) =
        (int (*)(int *, int *))hp_host_mpi_function(host, "PMPI_Abi_get_version");
    if (!abi_version)
        abi_version = (int (*)(int *, int *))hp_host_mpi_function(host, "MPI_Abi_get_version");
    if (abi_version && abi_version(&major, &minor) == 0 && major > 0)
        return "mpiabi";
    if (dlsym(host->handle, "ompi_mpi_comm_self"))
        return "openmpi";

    int (*library_version)(char *, int *) =
        (int (*)(char *, int *))hp_host_mpi_function(host, "PMPI_Get_library_version");
    char text[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of the MPICH family */
    int length = 0;
    if (library_version && library_version(text, &length) == 0) {
        static const char *const family[] = {"MPICH", "Intel", "MVAPICH", "CRAY", "Cray", "ParaStation"};
        for (size_t i = 0; i < sizeof family / sizeof *family; i++)
            if (strstr(text, family[i]))
                return "mpich";
    }
    return NULL;
}

bool hp_host_mpi_find(hp_host_mpi_t *host)
{
    *host = (hp_host_mpi_t){0};
    host->path = file_of(function_in(RTLD_NEXT, "PMPI_Init"));
    if (host->path)
        host->handle = dlopen(host->path, RTLD_LAZY | RTLD_NOLOAD);
    if (!host->handle) {
        host->local = true;
        find_libmpi(host);
    }
    if (!host->handle)
        return false;
    host->abi = detect_abi(host);
    return true;
}

hp_function_t hp_host_mpi_function(const hp_host_mpi_t *host, const char *pmpi_name)
{
    return function_in(host->handle, pmpi_name);
}

hp_function_t hp_host_mpi_profiler(const hp_host_mpi_t *host, const char *mpi_name)
{
    hp_function_t next = host->local ? NULL : function_in(RTLD_NEXT, mpi_name);
    if (!next || next == hp_host_mpi_function(host, mpi_name))
        return NULL;
    return next;
}

void hp_host_mpi_make_global(const hp_host_mpi_t *host)
{
    dlopen(host->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}
