#include "event_engine/mem/node_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* A counter has two cache lines to itself: processors fetch them in pairs. */
enum { LINE = 64, COUNTER_BYTES = 2 * LINE };

static size_t counters_bytes(const hp_node_shape_t *shape)
{
    return COUNTER_BYTES * (1 + (size_t)shape->levels * HP_WAY_COUNT + 1); /* done, ways, addresses */
}

static size_t cells_bytes(void)
{
    return sizeof(hp_cell_t) * HP_CELLS * HP_WAY_COUNT;
}

/* A member's part begins on a page of its own, so that the pages lie in its memory when it touches them
 * first. */
static size_t member_bytes(const hp_node_shape_t *shape)
{
    const size_t page = 4096;
    const size_t bytes = counters_bytes(shape) + cells_bytes() +
                         (size_t)shape->levels * HP_WAY_COUNT * shape->slots * shape->slot_bytes;
    return (bytes + page - 1) / page * page;
}

static char *part_of(const hp_node_memory_t *memory, uint32_t member)
{
    return memory->base + member * member_bytes(&memory->shape);
}

size_t hp_node_memory_bytes(const hp_node_shape_t *shape)
{
    return shape->members * member_bytes(shape);
}

hp_status_t hp_node_memory_file(size_t bytes, int *fd)
{
    *fd = memfd_create("hanpmpi", MFD_CLOEXEC);
    if (*fd < 0)
        return HP_ERR_NO_MEM;
    if (ftruncate(*fd, (off_t)bytes) == 0)
        return HP_OK;
    close(*fd);
    return HP_ERR_NO_MEM;
}

hp_status_t hp_node_memory_open(pid_t pid, int fd, int *own_fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
    *own_fd = open(path, O_RDWR | O_CLOEXEC);
    return *own_fd >= 0 ? HP_OK : HP_ERR_NOT_FOUND;
}

hp_status_t hp_node_memory_init(hp_node_memory_t *out, const hp_node_shape_t *shape, uint32_t own,
                                const pid_t *pids, int fd, void *base)
{
    const size_t bytes = hp_node_memory_bytes(shape);

    *out = (hp_node_memory_t){.shape = *shape, .own = own, .base = base};
    out->pids = malloc(shape->members * sizeof *pids);
    if (!out->pids)
        return HP_ERR_NO_MEM;
    memcpy(out->pids, pids, shape->members * sizeof *pids);
    if (fd >= 0) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) {
            free(out->pids);
            return HP_ERR_NO_MEM;
        }
        out->base = mapped;
        out->bytes = bytes;
    }
    return HP_OK;
}

void hp_node_memory_fini(hp_node_memory_t *memory)
{
    if (memory->bytes)
        munmap(memory->base, memory->bytes);
    free(memory->pids);
}

hp_counter_t *hp_node_done(const hp_node_memory_t *memory, uint32_t member)
{
    return (hp_counter_t *)part_of(memory, member);
}

void **hp_node_address(const hp_node_memory_t *memory, uint32_t member, hp_way_t way)
{
    return (void **)(part_of(memory, member) + COUNTER_BYTES) + way;
}

hp_counter_t *hp_node_counter(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_way_t way)
{
    return (hp_counter_t *)(part_of(memory, member) + COUNTER_BYTES * (2 + level * HP_WAY_COUNT + way));
}

hp_cell_t *hp_node_cell(const hp_node_memory_t *memory, uint32_t member, hp_way_t way, uint64_t step)
{
    hp_cell_t *cells = (hp_cell_t *)(part_of(memory, member) + counters_bytes(&memory->shape));
    return &cells[(uint64_t)way * HP_CELLS + step % HP_CELLS];
}

char *hp_node_slot(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_way_t way,
                   uint64_t step)
{
    const hp_node_shape_t *shape = &memory->shape;
    const size_t ring = (size_t)level * HP_WAY_COUNT + way;
    return part_of(memory, member) + counters_bytes(shape) + cells_bytes() +
           (ring * shape->slots + step % shape->slots) * shape->slot_bytes;
}

hp_status_t hp_node_pull(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes)
{
    const pid_t pid = memory->pids[member];

    if (pid == 0) {
        memcpy(to, from, bytes);
        return HP_OK;
    }
    while (bytes) {
        struct iovec local = {.iov_base = to, .iov_len = bytes},
                     remote = {.iov_base = (void *)from, .iov_len = bytes};
        const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got <= 0) {
            if (got < 0 && errno == EINTR)
                continue;
            return HP_ERR_PEER;
        }
        bytes -= (size_t)got;
        to = (char *)to + got;
        from = (const char *)from + got;
    }
    return HP_OK;
}

bool hp_node_can_pull(pid_t pid, const uint64_t *address, uint64_t expected)
{
    uint64_t found = ~expected;
    struct iovec local = {.iov_base = &found, .iov_len = sizeof found},
                 remote = {.iov_base = (void *)address, .iov_len = sizeof found};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof found && found == expected;
}

void hp_node_allow_pull(void)
{
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* an error means that there is no Yama to ask */
#endif
}

bool hp_node_is_clear(hp_node_memory_t *memory, uint64_t step)
{
    if (step <= memory->cleared)
        return true;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t member = 0; member < memory->shape.members; member++) {
        const uint64_t done = atomic_load_explicit(hp_node_done(memory, member), memory_order_acquire);
        lowest = done < lowest ? done : lowest;
    }
    memory->cleared = lowest;
    return step <= lowest;
}
