#include "pmpi_wrappers/backend/comms/node_setup.h"

#include <unistd.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "event_engine/mem/shared_file.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"

/* Tag of the leader's message, above the tags of hp_start_tag and of the transport. */
enum { FILE_TAG = 32766 };
/* Of a rank: it shares the memory; reads and writes the others'; sees their pools. */
enum { SHARES = 1, READS = 2, LENDS = 4 };

static uint64_t probe_word;

void hp_node_setup_introduce(hp_process_t *out)
{
    if (!probe_word) /* a value that no other process has at that address */
        probe_word = (hp_clock_ns() * 0x9e3779b97f4a7c15u) ^ (uint64_t)getpid();
    if (hp_job.knobs.read_peers)
        hp_peer_permit_access();
    const hp_node_shape_t slots = hp_comm_slots_shape(&hp_job.knobs); /* of all communicators */
    const bool has_pool = hp_job.knobs.shared_memory && !hp_ranks_take_turns;
    *out = (hp_process_t){.pid = (uint64_t)getpid(),
                          .probe_address = (uint64_t)(uintptr_t)&probe_word,
                          .probe_value = probe_word,
                          .pool_file = has_pool ? hp_node_pool_file(&slots, probe_word) : -1};
}

static const hp_process_t *process_of(const hp_process_t *all, size_t stride, uint32_t rank)
{
    return (const hp_process_t *)((const char *)all + rank * stride);
}

static bool reaches_all(const hp_node_memory_t *memory, const uint32_t *ranks, const hp_process_t *all,
                        size_t stride)
{
    bool reaches = memory->has_peers;
    for (uint32_t i = 0; i < memory->shape.members && reaches; i++) {
        const hp_process_t *process = process_of(all, stride, ranks[i]);
        reaches = i == memory->own ||
                  hp_peer_is_reachable(memory->peers[i], (const uint64_t *)(uintptr_t)process->probe_address,
                                       process->probe_value);
    }
    return reaches;
}

/* Can this rank see the rings of all members? Then it borrows. */
static bool borrows(hp_node_memory_t *memory, const uint32_t *ranks, const hp_process_t *all, size_t stride)
{
    hp_slot_pool_t *pools = malloc(memory->shape.members * sizeof *pools);

    if (!pools)
        return false;
    for (uint32_t i = 0; i < memory->shape.members; i++) {
        const hp_process_t *process = process_of(all, stride, ranks[i]);
        pools[i] = (hp_slot_pool_t){
            .pid = (pid_t)process->pid, .fd = (int)process->pool_file, .mark = process->probe_value};
    }
    const bool can = hp_node_borrow(memory, pools) == HP_OK;
    free(pools);
    return can;
}

/* The node's first rank makes the file and tells the others its number: *fd, -1 when there is none. */
static int make_file(hp_comm_t *comm, const hp_route_t *route, const uint32_t *ranks, uint32_t count,
                     const hp_node_shape_t *shape, const hp_process_t *leader, int *fd)
{
    int code = MPI_SUCCESS, made = -1;

    *fd = -1;
    if (comm->rank != ranks[0]) {
        code = P(Recv)(&made, 1, MPI_INT, hp_route_rank(route, (int)ranks[0]),
                       hp_route_recv_tag(route, FILE_TAG), route->comm, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && made >= 0)
            hp_shared_file_open((pid_t)leader->pid, made, leader->probe_value, fd);
        return code;
    }
    hp_shared_file_create(hp_node_memory_bytes(shape), leader->probe_value, fd);
    for (uint32_t i = 1; i < count && code == MPI_SUCCESS; i++)
        code = P(Send)(fd, 1, MPI_INT, hp_route_rank(route, (int)ranks[i]),
                       hp_route_send_tag(route, (int)ranks[i], FILE_TAG), route->comm);
    return code;
}

/* Maps the memory. *abilities: what this rank can do. *fd stays open: peers open it through this process. */
static int map_memory(hp_comm_t *comm, const hp_route_t *route, const hp_process_t *all, size_t stride,
                      int *fd, int *abilities)
{
    const hp_node_shape_t shape = hp_comm_node_shape(comm);
    uint32_t count;
    const uint32_t *ranks = hp_comm_node_ranks(comm, &count);

    if (count == 1) {
        *abilities = SHARES | READS | LENDS;
        return MPI_SUCCESS;
    }
    int code = make_file(comm, route, ranks, count, &shape, process_of(all, stride, ranks[0]), fd);
    if (code != MPI_SUCCESS || *fd < 0)
        return code;
    const bool wants_peers = hp_job.knobs.read_peers;
    pid_t *pids = wants_peers ? malloc(count * sizeof *pids) : NULL;
    hp_node_memory_t memory;
    for (uint32_t i = 0; i < count && pids; i++)
        pids[i] = (pid_t)process_of(all, stride, ranks[i])->pid;
    if (hp_node_memory_init(&memory, &shape, hp_comm_node_member(comm, comm->rank), pids, *fd, NULL) ==
        HP_OK) {
        *abilities |= SHARES;
        if (reaches_all(&memory, ranks, all, stride))
            *abilities |= READS;
        if (borrows(&memory, ranks, all, stride))
            *abilities |= LENDS;
        hp_comm_set_node_memory(comm, &memory);
    }
    free(pids);
    return MPI_SUCCESS;
}

static void warn_once(const hp_comm_t *comm, int abilities)
{
    static bool said;

    if (said || comm->rank != 0)
        return;
    said = true;
    if (!(abilities & SHARES))
        hp_warn("the ranks of a node cannot share memory (memfd_create, or /proc of the other processes, is "
                "refused): "
                "the module p2p takes the place of shm and single_copy");
    else if (hp_job.knobs.read_peers)
        hp_warn("the ranks of a node may not read each other's memory (process_vm_readv or process_vm_writev "
                "is refused; see "
                "/proc/sys/kernel/yama/ptrace_scope and the container's capability SYS_PTRACE): the module "
                "shm takes "
                "the place of single_copy");
}

int hp_node_setup(hp_comm_t *comm, MPI_Comm users, const hp_route_t *route, const hp_process_t *all,
                  size_t stride)
{
    int fd = -1, abilities = 0, common = 0;

    if (hp_ranks_take_turns || !hp_job.knobs.shared_memory || !hp_comm_may_share(comm))
        return MPI_SUCCESS;
    int code = map_memory(comm, route, all, stride, &fd, &abilities);
    if (code == MPI_SUCCESS) /* after it everybody has opened the file */
        code = P(Allreduce)(&abilities, &common, 1, MPI_INT, MPI_BAND, users);
    if (fd >= 0)
        close(fd);
    if (code != MPI_SUCCESS)
        return code;
    comm->shares_memory = common & SHARES;
    comm->reads_peers = common & READS;
    if (!(common & LENDS) && comm->has_node_memory)
        hp_node_borrow_none(&comm->node_memory);
    if ((common & (SHARES | READS)) != (SHARES | READS))
        warn_once(comm, common);
    return MPI_SUCCESS;
}
