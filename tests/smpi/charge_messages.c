/* charge_messages: preloaded into the simulator, makes every message cost processor time at both ends.
 *
 * SMPI's own settings for that (smpi/os, smpi/or, smpi/ois) leave out messages of no bytes, blocking sends that wait
 * for their receive, and receives of such messages; and they know no difference between a message inside a node
 * and one between two. Here the environment says, in seconds and bytes:
 *
 *      CHARGE_BETWEEN   a send and a receive of a message between nodes
 *      CHARGE_BYTE      beside that, at each end, a byte of one that does not wait for its receive: it is copied
 *      CHARGE_INSIDE    a send and a receive of a message inside a node, where the route to itself is the copy
 *      CHARGE_WAITING   messages of so many bytes and more wait, as smpi/send-is-detached-thresh says
 *
 * The functions are SimGrid's, by their names in the C++ ABI; the library calls its own through its dynamic symbols. A
 * version that has other names would charge nothing: test_compare.py measures one message of each kind.
 * Threads: one, as the simulator. Ownership: a table of the receives that are under way, static. */
#include <dlfcn.h>
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* class simgrid::smpi::Host */
double _ZN7simgrid4smpi4Host5orecvEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from, sg_host_t to);
double _ZN7simgrid4smpi4Host5osendEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from, sg_host_t to);
double _ZN7simgrid4smpi4Host6oisendEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from,
                                                       sg_host_t to);
/* class simgrid::smpi::Request */
void _ZN7simgrid4smpi7Request4sendEPKviPNS0_8DatatypeEiiPNS0_4CommE(const void *buffer, int count,
                                                                    MPI_Datatype type, int to, int tag,
                                                                    MPI_Comm comm);
MPI_Request _ZN7simgrid4smpi7Request5irecvEPviPNS0_8DatatypeEiiPNS0_4CommE(void *buffer, int count,
                                                                           MPI_Datatype type, int from,
                                                                           int tag, MPI_Comm comm);
MPI_Request _ZN7simgrid4smpi7Request10irecv_initEPviPNS0_8DatatypeEiiPNS0_4CommE(void *buffer, int count,
                                                                                 MPI_Datatype type, int from,
                                                                                 int tag, MPI_Comm comm);
void _ZN7simgrid4smpi7Request11finish_waitEPPS1_P10MPI_Status(MPI_Request *request, MPI_Status *status);

/* Receives under way that may be of a message that waits. Open addressing by the request; a slot that was given back
 * keeps REMOVED, so that searches go on past it. */
enum { RECEIVES_MAX = 1 << 18 };
static struct {
    const void *request;
    bool inside;
} receives[RECEIVES_MAX];
static char removed;

static double seconds(const char *name)
{
    const char *text = getenv(name);
    return text ? strtod(text, NULL) : 0;
}

static double between, inside, byte;
static size_t waiting;

__attribute__((constructor)) static void read_charges(void)
{
    between = seconds("CHARGE_BETWEEN");
    inside = seconds("CHARGE_INSIDE");
    byte = seconds("CHARGE_BYTE");
    waiting = (size_t)seconds("CHARGE_WAITING");
}

static double charge(size_t bytes, bool is_inside)
{
    return is_inside ? inside : between + (bytes < waiting ? byte * (double)bytes : 0);
}

/* Is a rank of the communicator on the node of the one that asks? Ranks of the job follow each other as actors. */
static bool is_here(MPI_Comm comm, int rank)
{
    MPI_Group group, world;
    int self, other;

    if (rank < 0)
        return false;
    PMPI_Comm_rank(MPI_COMM_WORLD, &self);
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &other);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    const sg_actor_t actor = sg_actor_by_pid(sg_actor_self_get_pid() + other - self);
    return actor && sg_actor_get_host(actor) == sg_host_self();
}

static size_t bytes_of(int count, MPI_Datatype type)
{
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    return (size_t)count * (size_t)bytes;
}

static size_t slot_of(const void *request)
{
    return (size_t)(((uintptr_t)request / 16 * UINT64_C(0x9e3779b97f4a7c15)) >> 46);
}

/* The slot of a receive, or -1. */
static ptrdiff_t find(const void *request)
{
    for (size_t i = slot_of(request), tries = 0; receives[i].request && tries < RECEIVES_MAX;
         tries++, i = (i + 1) % RECEIVES_MAX)
        if (receives[i].request == request)
            return (ptrdiff_t)i;
    return -1;
}

static MPI_Request record(MPI_Request request, int count, MPI_Datatype type, int from, MPI_Comm comm)
{
    if (request == MPI_REQUEST_NULL || bytes_of(count, type) < waiting)
        return request;
    size_t i = slot_of(request), tries = 0;
    while (receives[i].request && receives[i].request != &removed && receives[i].request != request &&
           tries++ < RECEIVES_MAX)
        i = (i + 1) % RECEIVES_MAX;
    if (tries >= RECEIVES_MAX)
        abort(); /* a table too small would make messages free */
    receives[i].request = request;
    receives[i].inside = is_here(comm, from);
    return request;
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

EXPORT double _ZN7simgrid4smpi4Host5orecvEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from,
                                                             sg_host_t to)
{
    (void)self;
    return charge(bytes, from == to);
}

EXPORT double _ZN7simgrid4smpi4Host5osendEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from,
                                                             sg_host_t to)
{
    (void)self;
    return charge(bytes, from == to);
}

EXPORT double _ZN7simgrid4smpi4Host6oisendEmPNS_3s4u4HostES4_(void *self, size_t bytes, sg_host_t from,
                                                              sg_host_t to)
{
    (void)self;
    return charge(bytes, from == to);
}

EXPORT void _ZN7simgrid4smpi7Request4sendEPKviPNS0_8DatatypeEiiPNS0_4CommE(const void *buffer, int count,
                                                                           MPI_Datatype type, int to, int tag,
                                                                           MPI_Comm comm)
{
    const size_t bytes = bytes_of(count, type);
    if (to != MPI_PROC_NULL && bytes >= waiting)
        sg_actor_sleep_for(charge(bytes, is_here(comm, to)));
    REAL(_ZN7simgrid4smpi7Request4sendEPKviPNS0_8DatatypeEiiPNS0_4CommE)(buffer, count, type, to, tag, comm);
}

EXPORT MPI_Request _ZN7simgrid4smpi7Request5irecvEPviPNS0_8DatatypeEiiPNS0_4CommE(void *buffer, int count,
                                                                                  MPI_Datatype type, int from,
                                                                                  int tag, MPI_Comm comm)
{
    return record(REAL(_ZN7simgrid4smpi7Request5irecvEPviPNS0_8DatatypeEiiPNS0_4CommE)(buffer, count, type,
                                                                                       from, tag, comm),
                  count, type, from, comm);
}

EXPORT MPI_Request _ZN7simgrid4smpi7Request10irecv_initEPviPNS0_8DatatypeEiiPNS0_4CommE(
    void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm)
{
    return record(REAL(_ZN7simgrid4smpi7Request10irecv_initEPviPNS0_8DatatypeEiiPNS0_4CommE)(
                      buffer, count, type, from, tag, comm),
                  count, type, from, comm);
}

/* A receive is over. The message may have been shorter than its buffer, and then its send may not have waited. */
EXPORT void _ZN7simgrid4smpi7Request11finish_waitEPPS1_P10MPI_Status(MPI_Request *request, MPI_Status *status)
{
    const ptrdiff_t i = *request == MPI_REQUEST_NULL ? -1 : find(*request);
    MPI_Status own = {0};

    if (i < 0) {
        REAL(_ZN7simgrid4smpi7Request11finish_waitEPPS1_P10MPI_Status)(request, status);
        return;
    }
    const bool is_inside = receives[i].inside;
    receives[i].request = &removed;
    MPI_Status *filled = status == MPI_STATUS_IGNORE ? &own : status;
    REAL(_ZN7simgrid4smpi7Request11finish_waitEPPS1_P10MPI_Status)(request, filled);
    const size_t bytes = (size_t)filled->count;
    if (bytes >= waiting)
        sg_actor_sleep_for(charge(bytes, is_inside));
}
