/* faults: makes the Nth call of a kind, made by the library itself, fail on one rank.
 *
 * Preloaded behind libhanpmpi.so, and linked with the MPI: the front takes the file that defines PMPI_Init
 * for the MPI and finds there, or in what it depends on, all that it calls. Calls of the program and of the
 * MPI go through unharmed: only those count whose return address lies in a file named libhanpmpi*. What an
 * MPI call would do on an error is done too: the communicator's error handler runs.
 *
 *   FAULT=alloc|mmap|hwloc|isend|irecv|pack|setup   malloc and its kin; mmap; hwloc; MPI_Isend; MPI_Irecv; MPI_Pack;
 * what sets a communicator up
 *   FAULT=memfd|read_peer                      memfd_create; process_vm_readv, as where the kernel refuses
 * them FAULT_NTH=N        counted from 1; all: every one FAULT_RANK=R       in MPI_COMM_WORLD; all: on every
 * rank
 *
 *   FAULT_LOG=FILE     gets the line "NAME fails" when it comes to that; what a rank prints may be lost when
 * the job is aborted
 *
 * Threads: any. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static bool is_chosen_rank(void)
{
    const char *chosen = getenv("FAULT_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank)
        rank = getenv("PMI_RANK");
    return chosen && rank && (strcmp(chosen, rank) == 0 || strcmp(chosen, "all") == 0);
}

static bool is_of_library(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/libhanpmpi");
}

/* Whether this call is the one. No allocation in here. */
static bool fails(const char *kind, const char *name, const void *caller)
{
    const char *chosen = getenv("FAULT"), *nth = getenv("FAULT_NTH");
    if (!chosen || !nth || strcmp(chosen, kind) != 0 || !is_chosen_rank() || !is_of_library(caller) ||
        (atomic_fetch_add(&calls, 1) + 1 != atol(nth) && strcmp(nth, "all") != 0))
        return false;
    const char *path = getenv("FAULT_LOG");
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file < 0 || dprintf(file, "%s fails\n", name) < 0)
        abort();
    close(file);
    return true;
}

#define CALLER __builtin_return_address(0)

/* ---- memory ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool allocation_fails(const char *name, const void *caller)
{
    if (!fails("alloc", name, caller))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return allocation_fails("malloc", CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return allocation_fails("calloc", CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return allocation_fails("realloc", CALLER) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return allocation_fails("aligned_alloc", CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (fails("mmap", "mmap", CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

/* ---- what a kernel or a container may refuse ---- */

int memfd_create(const char *name, unsigned flags)
{
    if (fails("memfd", "memfd_create", CALLER)) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, name, flags);
}

#define MOVES(kind, name)                                                                                    \
    ssize_t name(pid_t pid, const struct iovec *own, unsigned long own_count, const struct iovec *others,    \
                 unsigned long others_count, unsigned long flags)                                            \
    {                                                                                                        \
        if (fails(kind, #name, CALLER)) {                                                                    \
            errno = EPERM;                                                                                   \
            return -1;                                                                                       \
        }                                                                                                    \
        return syscall(SYS_##name, pid, own, own_count, others, others_count, flags);                        \
    }
MOVES("read_peer", process_vm_readv)
MOVES("write_peer", process_vm_writev)

/* ---- hwloc and MPI: FUNCTION(kind, result, failure, name, (parameters), (arguments)) ---- */

static int mpi_failure(MPI_Comm comm)
{
    PMPI_Comm_call_errhandler(comm, MPI_ERR_INTERN);
    return MPI_ERR_INTERN;
}

#define FUNCTION(kind, result, failure, name, parameters, arguments)                                         \
    result name parameters                                                                                   \
    {                                                                                                        \
        if (fails(kind, #name, CALLER))                                                                      \
            return failure;                                                                                  \
        result(*next) parameters = (result(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);                 \
        return next arguments;                                                                               \
    }

FUNCTION("hwloc", int, -1, hwloc_topology_init, (hwloc_topology_t * topology), (topology))
FUNCTION("hwloc", int, -1, hwloc_topology_set_all_types_filter,
         (hwloc_topology_t topology, enum hwloc_type_filter_e filter), (topology, filter))
FUNCTION("hwloc", int, -1, hwloc_topology_set_type_filter,
         (hwloc_topology_t topology, hwloc_obj_type_t type, enum hwloc_type_filter_e filter),
         (topology, type, filter))
FUNCTION("hwloc", int, -1, hwloc_topology_set_flags, (hwloc_topology_t topology, unsigned long flags),
         (topology, flags))
FUNCTION("hwloc", int, -1, hwloc_topology_load, (hwloc_topology_t topology), (topology))
FUNCTION("hwloc", hwloc_bitmap_t, NULL, hwloc_bitmap_alloc, (void), ())
FUNCTION("hwloc", int, -1, hwloc_get_cpubind, (hwloc_topology_t topology, hwloc_cpuset_t set, int flags),
         (topology, set, flags))

/* A collective takes part, so that the other ranks come back from it, and then says that it failed. */
#define COLLECTIVE(name, parameters, arguments)                                                              \
    int name parameters                                                                                      \
    {                                                                                                        \
        int(*next) parameters = (int(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);                       \
        const int code = next arguments;                                                                     \
        return fails("setup", #name, CALLER) ? mpi_failure(comm) : code;                                     \
    }

/* Defined here so that the front takes this file for the MPI. */
FUNCTION("init", int, MPI_ERR_INTERN, PMPI_Init, (int *argc, char ***argv), (argc, argv))

FUNCTION("isend", int, mpi_failure(comm), PMPI_Isend,
         (const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
          MPI_Request *request),
         (buffer, count, type, peer, tag, comm, request))
FUNCTION("irecv", int, mpi_failure(comm), PMPI_Irecv,
         (void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request),
         (buffer, count, type, peer, tag, comm, request))
FUNCTION("pack", int, mpi_failure(comm), PMPI_Pack,
         (const void *data, int count, MPI_Datatype type, void *packed, int bytes, int *position,
          MPI_Comm comm),
         (data, count, type, packed, bytes, position, comm))
COLLECTIVE(PMPI_Allgather,
           (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
            MPI_Datatype recv_type, MPI_Comm comm),
           (send, send_count, send_type, recv, recv_count, recv_type, comm))
COLLECTIVE(PMPI_Allreduce,
           (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (send, recv, count, type, op, comm))
COLLECTIVE(PMPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *created), (comm, group, created))
FUNCTION("setup", int, mpi_failure(comm), PMPI_Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
FUNCTION("setup", int, mpi_failure(comm), PMPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *handler),
         (comm, handler))
FUNCTION("setup", int, mpi_failure(comm), PMPI_Comm_set_attr, (MPI_Comm comm, int key, void *value),
         (comm, key, value))
FUNCTION("setup", int, mpi_failure(comm), PMPI_Comm_test_inter, (MPI_Comm comm, int *inter), (comm, inter))
FUNCTION("setup", int, mpi_failure(MPI_COMM_WORLD), PMPI_Group_translate_ranks,
         (MPI_Group from, int count, const int *ranks, MPI_Group to, int *translated),
         (from, count, ranks, to, translated))
