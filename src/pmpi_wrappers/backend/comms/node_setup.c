#include "pmpi_wrappers/backend/comms/node_setup.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "event_engine/mem/shared_file.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"

/* Of a rank: it shares the memory; reads and writes the others'; sees their pools. */
enum { SHARES = 1, READS = 2, LENDS = 4 };
_Static_assert((SHARES | READS | LENDS) == HP_NODE_ABILITIES, "what a rank with nobody beside it can do");

static uint64_t probe_word;

/* A value that no other process has at that address. */
static void choose_word(void)
{
    probe_word = (hp_clock_ns() * 0x9e3779b97f4a7c15u) ^ (uint64_t)getpid();
}

void hp_node_setup_introduce(hp_process_t *out, int *file)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* threads may set communicators up at the same time */

    pthread_once(&once, choose_word);
    if (hp_job.knobs.read_peers)
        hp_peer_permit_access();
    const hp_node_shape_t slots = hp_comm_slots_shape(&hp_job.knobs); /* of all communicators */
    const bool may_share = hp_job.knobs.shared_memory && !hp_ranks_take_turns;
    *file = -1;
    if (may_share)
        hp_shared_file_begin(probe_word, file);
    *out = (hp_process_t){.pid = (uint64_t)getpid(),
                          .probe_address = (uint64_t)(uintptr_t)&probe_word,
                          .probe_value = probe_word,
                          .node_file = *file,
                          .pool_file = may_share ? hp_node_pool_file(&slots, probe_word) : -1};
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

/* Maps the file, which is the one of the node's first rank, at the size that the node's ranks take. */
static bool map_memory(const hp_comm_t *comm, int file, const pid_t *pids, hp_node_memory_t *memory)
{
    const hp_node_shape_t shape = hp_comm_node_shape(comm);

    return hp_shared_file_complete(file, hp_node_memory_bytes(&shape)) == HP_OK &&
           hp_node_memory_init(memory, &shape, hp_comm_node_member(comm, comm->rank), pids, file, NULL) == HP_OK;
}

static int abilities_with(hp_node_memory_t *memory, const uint32_t *ranks, const hp_process_t *all, size_t stride)
{
    return SHARES | (reaches_all(memory, ranks, all, stride) ? READS : 0) |
           (borrows(memory, ranks, all, stride) ? LENDS : 0);
}

static bool takes_part(const hp_comm_t *comm)
{
    return !hp_ranks_take_turns && hp_job.knobs.shared_memory && hp_comm_may_share(comm);
}

int hp_node_setup_map(hp_comm_t *comm, const hp_process_t *all, size_t stride, int own_file)
{
    uint32_t count;
    const uint32_t *ranks = hp_comm_node_ranks(comm, &count);
    const hp_process_t *first = process_of(all, stride, ranks[0]);
    int file = own_file, abilities = 0;

    if (!takes_part(comm) || count == 1)
        return HP_NODE_ABILITIES;
    if (comm->rank != ranks[0] &&
        hp_shared_file_open((pid_t)first->pid, (int)first->node_file, first->probe_value, &file) != HP_OK)
        return 0;
    pid_t *pids = hp_job.knobs.read_peers ? malloc(count * sizeof *pids) : NULL;
    hp_node_memory_t memory;
    for (uint32_t i = 0; i < count && pids; i++)
        pids[i] = (pid_t)process_of(all, stride, ranks[i])->pid;
    if (file >= 0 && map_memory(comm, file, pids, &memory)) {
        abilities = abilities_with(&memory, ranks, all, stride);
        hp_comm_set_node_memory(comm, &memory);
    }
    free(pids);
    if (file != own_file)
        close(file);
    return abilities;
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

void hp_node_setup_settle(hp_comm_t *comm, int common)
{
    if (!takes_part(comm))
        return;
    comm->shares_memory = common & SHARES;
    comm->reads_peers = common & READS;
    if (!(common & LENDS) && comm->has_node_memory)
        hp_node_borrow_none(&comm->node_memory);
    if ((common & (SHARES | READS)) != (SHARES | READS))
        warn_once(comm, common);
}
