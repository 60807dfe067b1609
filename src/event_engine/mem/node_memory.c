#include "event_engine/mem/node_memory.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "event_engine/mem/pages.h"

static hp_node_head_t *head_of(const hp_node_memory_t *memory)
{
    return (hp_node_head_t *)memory->base;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static void wake(const hp_node_memory_t *memory, uint32_t member, uint64_t offset)
{
    hp_bell_t *bell = hp_node_bell(memory, member);
    const uint64_t waits_for = atomic_load_explicit(&bell->waits_for, memory_order_relaxed);

    if (waits_for != offset && waits_for != HP_WAITS_FOR_ANY)
        return;
    atomic_fetch_add_explicit(&bell->rings, 1, memory_order_release);
    futex(&bell->rings, FUTEX_WAKE, 1, NULL);
}

void hp_node_set(const hp_node_memory_t *memory, hp_counter_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_release);
    if (!memory->wakes) /* the fence would wait until the line is ours: most of a short message's time */
        return;
    atomic_thread_fence(memory_order_seq_cst);
    const uint64_t offset = (uint64_t)((const char *)counter - memory->base);
    for (uint32_t word = 0; word < hp_node_sleeper_words(&memory->shape); word++)
        for (uint64_t bits = atomic_load_explicit(&head_of(memory)->sleepers[word], memory_order_relaxed);
             bits; bits &= bits - 1)
            wake(memory, word * HP_SLEEPERS_A_WORD + (uint32_t)__builtin_ctzll(bits), offset);
}

void hp_node_skip(hp_node_memory_t *memory, uint64_t steps)
{
    if (!steps)
        return;
    memory->step += steps;
    for (uint32_t level = 0; level < memory->shape.levels; level++)
        for (unsigned fan = 0; fan < HP_FAN_COUNT; fan++)
            hp_node_set(memory, hp_node_counter(memory, memory->own, level, (hp_fan_t)fan), memory->step);
    hp_node_set(memory, hp_node_done(memory, memory->own), memory->step);
}

static _Atomic uint64_t *own_sleeper_word(const hp_node_memory_t *memory)
{
    return &head_of(memory)->sleepers[memory->own / HP_SLEEPERS_A_WORD];
}

static uint64_t own_sleeper_bit(const hp_node_memory_t *memory)
{
    return UINT64_C(1) << memory->own % HP_SLEEPERS_A_WORD;
}

uint32_t hp_node_sleep_begin(const hp_node_memory_t *memory, const hp_counter_t *counter)
{
    hp_bell_t *bell = hp_node_bell(memory, memory->own);
    const uint32_t rings = atomic_load_explicit(&bell->rings, memory_order_relaxed);

    atomic_store_explicit(&bell->waits_for,
                          counter ? (uint64_t)((const char *)counter - memory->base) : HP_WAITS_FOR_ANY,
                          memory_order_relaxed);
    atomic_fetch_or_explicit(own_sleeper_word(memory), own_sleeper_bit(memory), memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    return rings;
}

void hp_node_sleep_cancel(const hp_node_memory_t *memory)
{
    atomic_fetch_and_explicit(own_sleeper_word(memory), ~own_sleeper_bit(memory), memory_order_relaxed);
    atomic_store_explicit(&hp_node_bell(memory, memory->own)->waits_for, 0, memory_order_relaxed);
}

void hp_node_sleep_wait(const hp_node_memory_t *memory, uint32_t rings, uint64_t timeout_ns)
{
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                     .tv_nsec = (long)(timeout_ns % 1000000000u)};
    futex(&hp_node_bell(memory, memory->own)->rings, FUTEX_WAIT, rings, &timeout);
    hp_node_sleep_cancel(memory);
}

/* ---- init, fini ---- */

static bool open_peers(hp_node_memory_t *memory, const pid_t *pids)
{
    bool all = true;
    for (uint32_t member = 0; member < memory->shape.members && all; member++)
        if (pids[member] && member != memory->own) {
            memory->peers[member] = hp_peer_open(pids[member]);
            all = memory->peers[member] != NULL;
        }
    return all;
}

static hp_status_t map(hp_node_memory_t *memory, int fd)
{
    const size_t bytes = hp_node_memory_bytes(&memory->shape);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return HP_ERR_NO_MEM;
    memory->base = base;
    memory->bytes = bytes;
    if (hp_node_slots_init(memory) == HP_OK)
        return HP_OK;
    munmap(base, bytes);
    return HP_ERR_NO_MEM;
}

hp_status_t hp_node_memory_init(hp_node_memory_t *out, const hp_node_shape_t *shape, uint32_t own,
                                const pid_t *pids, int fd, void *base)
{
    *out = (hp_node_memory_t){.shape = *shape,
                              .own = own,
                              .base = base,
                              .head_bytes = hp_node_head_bytes(shape),
                              .member_bytes = hp_node_member_bytes(shape),
                              .slots_at = hp_node_slots_at(shape),
                              .ring_bytes = shape->slots * shape->slot_bytes,
                              .pool_ring_bytes = hp_node_pool_ring_bytes(shape)};
    out->peers = calloc(shape->members, sizeof(hp_peer_t *));
    if (!out->peers)
        return HP_ERR_NO_MEM;
    if (fd >= 0 && map(out, fd) != HP_OK) {
        free(out->peers);
        return HP_ERR_NO_MEM;
    }
    out->has_peers = pids && open_peers(out, pids);
    return HP_OK;
}

static void end(hp_node_memory_t *memory, bool may_be_used)
{
    if (memory->bytes)
        hp_node_slots_fini(memory, may_be_used);
    else
        hp_node_borrow_none(memory);
    for (uint32_t member = 0; member < memory->shape.members; member++)
        hp_peer_close(memory->peers[member]);
    free(memory->peers);
}

void hp_node_memory_fini(hp_node_memory_t *memory)
{
    end(memory, false);
}

void hp_node_memory_abandon(hp_node_memory_t *memory)
{
    end(memory, true);
}

/* ---- pages ---- */

void hp_node_warm(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, size_t bytes)
{
    for (uint64_t step = 0; step < HP_CELLS && memory->bytes; step++)
        if (!hp_pages_make(hp_node_cell(memory, member, fan, step), offsetof(hp_cell_t, payload) + bytes,
                           member == memory->own))
            return;
}

/* ---- the members' own memory ---- */

hp_status_t hp_node_pull(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes)
{
    const hp_peer_t *peer = memory->peers[member];

    assert(memory->has_peers);
    if (peer)
        return hp_peer_read(peer, from, to, bytes);
    memcpy(to, from, bytes);
    return HP_OK;
}

hp_status_t hp_node_push(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes)
{
    const hp_peer_t *peer = memory->peers[member];

    assert(memory->has_peers);
    if (peer)
        return hp_peer_write(peer, from, to, bytes);
    memcpy(to, from, bytes);
    return HP_OK;
}
