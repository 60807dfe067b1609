#include "event_engine/mem/node_memory.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A counter has two cache lines to itself: processors fetch them in pairs. */
enum { LINE = 64, COUNTER_BYTES = 2 * LINE, PAGE = 4096 };
_Static_assert((1 + HP_NOTES) * sizeof(hp_counter_t) <= LINE, "the notes are in their counter's line");

/* In front of the members' parts. */
typedef struct {
    uint64_t mark;
    _Alignas(LINE) _Atomic uint64_t sleepers[]; /* a bit for each member */
} head_t;
enum { WORD_BITS = 64 };

static uint32_t sleeper_words(const hp_node_shape_t *shape)
{
    return (shape->members + WORD_BITS - 1) / WORD_BITS;
}

static size_t head_bytes(const hp_node_shape_t *shape)
{
    return (offsetof(head_t, sleepers) + sleeper_words(shape) * sizeof(uint64_t) + PAGE - 1) / PAGE * PAGE;
}

static size_t counters_bytes(const hp_node_shape_t *shape)
{
    return COUNTER_BYTES * (3 + (size_t)shape->levels * HP_FAN_COUNT); /* done, buffers, bell, ways */
}

static size_t cells_bytes(void)
{
    return sizeof(hp_cell_t) * HP_CELLS * HP_FAN_COUNT;
}

size_t hp_node_slot_bytes(const hp_node_shape_t *shape)
{
    return (size_t)shape->levels * HP_FAN_COUNT * shape->slots * shape->slot_bytes;
}

/* A member's part begins on a page of its own, so that the pages lie in its memory when it touches them
 * first. */
size_t hp_node_member_bytes(const hp_node_shape_t *shape)
{
    const size_t bytes = counters_bytes(shape) + cells_bytes() + hp_node_slot_bytes(shape);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static char *part_of(const hp_node_memory_t *memory, uint32_t member)
{
    return memory->base + memory->head_bytes + member * memory->member_bytes;
}

size_t hp_node_memory_bytes(const hp_node_shape_t *shape)
{
    return head_bytes(shape) + shape->members * hp_node_member_bytes(shape);
}

hp_status_t hp_node_memory_file(size_t bytes, int *fd)
{
    *fd = memfd_create("hanpmpi", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0)
        return HP_ERR_NO_MEM;
    if (ftruncate(*fd, (off_t)bytes) == 0 &&
        fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
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

bool hp_node_memory_mark(int fd, uint64_t mark)
{
    return pwrite(fd, &mark, sizeof mark, offsetof(head_t, mark)) == (ssize_t)sizeof mark;
}

bool hp_node_memory_has_mark(int fd, uint64_t mark)
{
    uint64_t found = ~mark;
    return pread(fd, &found, sizeof found, offsetof(head_t, mark)) == (ssize_t)sizeof found && found == mark;
}

hp_counter_t *hp_node_done(const hp_node_memory_t *memory, uint32_t member)
{
    return (hp_counter_t *)part_of(memory, member);
}

uint32_t hp_node_owner(const hp_node_memory_t *memory, const hp_counter_t *counter)
{
    return (uint32_t)((size_t)((const char *)counter - memory->base - memory->head_bytes) /
                      memory->member_bytes);
}

hp_node_buffer_t *hp_node_buffer(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan)
{
    return (hp_node_buffer_t *)(part_of(memory, member) + COUNTER_BYTES) + fan;
}

hp_counter_t *hp_node_counter(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan)
{
    return (hp_counter_t *)(part_of(memory, member) + COUNTER_BYTES * (3 + level * HP_FAN_COUNT + fan));
}

static hp_bell_t *bell_of(const hp_node_memory_t *memory, uint32_t member)
{
    return (hp_bell_t *)(part_of(memory, member) + 2 * COUNTER_BYTES);
}

static head_t *head_of(const hp_node_memory_t *memory)
{
    return (head_t *)memory->base;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static void wake(const hp_node_memory_t *memory, uint32_t member, uint64_t offset)
{
    hp_bell_t *bell = bell_of(memory, member);
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
    for (uint32_t word = 0; word < sleeper_words(&memory->shape); word++)
        for (uint64_t bits = atomic_load_explicit(&head_of(memory)->sleepers[word], memory_order_relaxed);
             bits; bits &= bits - 1)
            wake(memory, word * WORD_BITS + (uint32_t)__builtin_ctzll(bits), offset);
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
    return &head_of(memory)->sleepers[memory->own / WORD_BITS];
}

static uint64_t own_sleeper_bit(const hp_node_memory_t *memory)
{
    return UINT64_C(1) << memory->own % WORD_BITS;
}

uint32_t hp_node_sleep_begin(const hp_node_memory_t *memory, const hp_counter_t *counter)
{
    hp_bell_t *bell = bell_of(memory, memory->own);
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
    atomic_store_explicit(&bell_of(memory, memory->own)->waits_for, 0, memory_order_relaxed);
}

void hp_node_sleep_wait(const hp_node_memory_t *memory, uint32_t rings, uint64_t timeout_ns)
{
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                     .tv_nsec = (long)(timeout_ns % 1000000000u)};
    futex(&bell_of(memory, memory->own)->rings, FUTEX_WAIT, rings, &timeout);
    hp_node_sleep_cancel(memory);
}

hp_cell_t *hp_node_cell(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, uint64_t step)
{
    hp_cell_t *cells = (hp_cell_t *)(part_of(memory, member) + counters_bytes(&memory->shape));
    return &cells[(uint64_t)fan * HP_CELLS + step % HP_CELLS];
}

static size_t pool_ring_bytes(const hp_node_shape_t *shape)
{
    return (shape->slots * shape->slot_bytes + PAGE - 1) / PAGE * PAGE;
}

size_t hp_node_pool_bytes(const hp_node_shape_t *shape)
{
    return PAGE + HP_POOL_RINGS * pool_ring_bytes(shape); /* the mark is in the first page */
}

/* Beside the counter, in its second line: the ring of its owner's pool that the slots are in now; 0: the memory's own. The
 * owner writes it before the counter, and only when all members have read what was in the slots. */
static hp_counter_t *lent_beside(const hp_counter_t *counter)
{
    return (hp_counter_t *)counter + LINE / sizeof(hp_counter_t);
}

static hp_counter_t *lent_to(const hp_node_memory_t *memory, size_t ring)
{
    return lent_beside(hp_node_counter(memory, memory->own, (uint32_t)ring / HP_FAN_COUNT,
                                       (hp_fan_t)(ring % HP_FAN_COUNT)));
}

static char *own_ring(const hp_node_memory_t *memory, uint32_t member, size_t ring)
{
    return part_of(memory, member) + counters_bytes(&memory->shape) + cells_bytes() +
           ring * memory->shape.slots * memory->shape.slot_bytes;
}

static char *slot_of(const hp_node_memory_t *memory, uint32_t member, size_t ring, uint64_t lent,
                     uint64_t step)
{
    const hp_node_shape_t *shape = &memory->shape;
    char *slots = lent ? memory->pools[member] + PAGE + (lent - 1) * pool_ring_bytes(shape)
                       : own_ring(memory, member, ring);
    return slots + step % shape->slots * shape->slot_bytes;
}

char *hp_node_slot(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan,
                   uint64_t step)
{
    const hp_counter_t *lent = lent_beside(hp_node_counter(memory, member, level, fan));
    return slot_of(memory, member, (size_t)level * HP_FAN_COUNT + fan,
                   atomic_load_explicit(lent, memory_order_relaxed), step);
}

char *hp_node_slot_behind(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step)
{
    const uint32_t member = hp_node_owner(memory, counter);
    const size_t ring = (size_t)((const char *)counter - part_of(memory, member)) / COUNTER_BYTES - 3;

    return slot_of(memory, member, ring, atomic_load_explicit(lent_beside(counter), memory_order_relaxed),
                   step);
}

/* ---- pages of the slots ---- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* of Linux 5.14 */
#endif

/* Own slots of a process that keep their pages while their communicators are idle: those of eight communicators with
 * the slots that are usual on one level of the node. */
enum { KEPT_BYTES = 8 << 20 };
static pthread_mutex_t slots_lock =
    PTHREAD_MUTEX_INITIALIZER;       /* guards what follows, and the fields slots of all memories */
static hp_node_memory_t *slots_used; /* memories whose own slots have pages, the last used first */
static hp_node_usage_t usage;
/* The rings of this process's pool. */
static struct {
    hp_node_memory_t *borrower; /* NULL: none */
    size_t ring;                /* of the borrower */
    size_t backed;              /* bytes of each slot that have pages */
    uint64_t lent_at;
} rings[HP_POOL_RINGS];
static uint64_t lendings;

/* A few milliseconds do not matter, the time that a finer clock takes does. */
static uint64_t coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_slot_bytes(hp_node_memory_t *memory, size_t bytes)
{
    memory->slots.backed_bytes += bytes;
    usage.slot_bytes += bytes;
    if (usage.slot_bytes > usage.slot_bytes_peak)
        usage.slot_bytes_peak = usage.slot_bytes;
}

/* Takes it out of the list. */
static void unlist(hp_node_memory_t *memory)
{
    hp_node_memory_t **place = &slots_used;

    while (*place && *place != memory)
        place = &(*place)->slots.next_used;
    if (*place)
        *place = memory->slots.next_used;
}

/* Where the own slots were used meanwhile. */
static void look_for_rings_again(hp_node_memory_t *memory)
{
    for (size_t ring = 0; ring < memory->shape.levels * HP_FAN_COUNT; ring++)
        if (atomic_load_explicit(lent_to(memory, ring), memory_order_relaxed) == 0)
            memory->slots.ready[ring] = 0;
}

static void forget_slots(hp_node_memory_t *memory)
{
    unlist(memory);
    usage.slot_bytes -= memory->slots.backed_bytes;
    memory->slots.backed_bytes = 0;
    memset(memory->slots.backed, 0, memory->shape.levels * HP_FAN_COUNT * sizeof *memory->slots.backed);
    look_for_rings_again(memory);
}

/* Has everybody, this rank too, finished the last collective that used the slots? Only their owner fills them, so
 * nobody touches them before this rank uses them again, which needs the lock. */
static bool slots_are_idle(const hp_node_memory_t *memory)
{
    for (uint32_t member = 0; member < memory->shape.members; member++)
        if (atomic_load_explicit(hp_node_done(memory, member), memory_order_acquire) < memory->slots.end_step)
            return false;
    return true;
}

static void give_pages_back(const hp_node_memory_t *memory)
{
    const uintptr_t first = (uintptr_t)own_ring(memory, memory->own, 0);
    const uintptr_t from = (first + PAGE - 1) / PAGE * PAGE;
    const uintptr_t to = (uintptr_t)part_of(memory, memory->own) + memory->member_bytes;

    madvise((void *)from, to - from, MADV_REMOVE);
}

/* The least recently used first. */
static void trim_slots(const hp_node_memory_t *in_use)
{
    while (usage.slot_bytes > KEPT_BYTES) {
        hp_node_memory_t *oldest = NULL;
        for (hp_node_memory_t *memory = slots_used; memory; memory = memory->slots.next_used)
            if (memory != in_use && in_use->slots.used_ns - memory->slots.used_ns >= HP_SLOTS_IDLE_NS &&
                memory->slots.backed_bytes && slots_are_idle(memory))
                oldest = memory;
        if (!oldest)
            return;
        give_pages_back(oldest);
        forget_slots(oldest);
    }
}

/* ---- rings of the pool ---- */

/* A memory whose communicator has gone, while others may still read what is in its rings. */
static void unmap(hp_node_memory_t *memory)
{
    munmap(memory->base, memory->bytes);
    free(memory->slots.ready);
    free(memory->slots.backed);
    free(memory->slots.filled);
    free(memory->pools);
    if (!memory->has_gone)
        free(memory->remains);
}

static bool borrows_any(const hp_node_memory_t *memory)
{
    for (unsigned i = 0; i < HP_POOL_RINGS; i++)
        if (rings[i].borrower == memory)
            return true;
    return false;
}

static void take_ring_back(unsigned i)
{
    hp_node_memory_t *memory = rings[i].borrower;

    atomic_store_explicit(lent_to(memory, rings[i].ring), 0, memory_order_relaxed);
    memory->slots.ready[rings[i].ring] = 0;
    rings[i].borrower = NULL;
    if (memory->has_gone && !borrows_any(memory)) {
        unmap(memory);
        free(memory);
    }
}

/* A free one, else the one that was lent first of those whose borrower is idle; HP_POOL_RINGS: all are in use. */
static unsigned find_ring(void)
{
    unsigned found = HP_POOL_RINGS;

    for (unsigned i = 0; i < HP_POOL_RINGS; i++) {
        if (!rings[i].borrower)
            return i;
        if ((found == HP_POOL_RINGS || rings[i].lent_at < rings[found].lent_at) &&
            slots_are_idle(rings[i].borrower))
            found = i;
    }
    if (found < HP_POOL_RINGS)
        take_ring_back(found);
    return found;
}

/* The ring's number beside the counter. What was in the slots before must have been read. */
static uint64_t lend_ring(hp_node_memory_t *memory, size_t ring)
{
    hp_counter_t *lent = lent_to(memory, ring);
    const uint64_t number = atomic_load_explicit(lent, memory_order_relaxed);

    if (number || !memory->pools || !hp_node_is_clear(memory, memory->slots.filled[ring]))
        return number;
    const unsigned found = find_ring();
    if (found == HP_POOL_RINGS)
        return 0;
    rings[found].borrower = memory;
    rings[found].ring = ring;
    rings[found].lent_at = ++lendings;
    atomic_store_explicit(lent, found + 1, memory_order_relaxed);
    return found + 1;
}

void hp_node_use_slots(hp_node_memory_t *memory, size_t bytes, uint64_t end_step)
{
    if (!memory->bytes)
        return;
    pthread_mutex_lock(&slots_lock);
    if (slots_used != memory) {
        unlist(memory);
        memory->slots.next_used = slots_used;
        slots_used = memory;
    }
    memory->slots.wanted = bytes < memory->shape.slot_bytes ? bytes : memory->shape.slot_bytes;
    memory->slots.end_step = end_step;
    memory->slots.used_ns = coarse_ns();
    if (memory->slots.backed_bytes)
        look_for_rings_again(memory);
    trim_slots(memory);
    pthread_mutex_unlock(&slots_lock);
}

static void populate(const hp_node_memory_t *memory, uint32_t level, hp_fan_t fan, size_t bytes)
{
    for (uint32_t slot = 0; slot < memory->shape.slots; slot++) {
        char *from = hp_node_slot(memory, memory->own, level, fan, slot);
        const size_t ahead = (uintptr_t)from % PAGE;
        if (madvise(from - ahead, bytes + ahead, MADV_POPULATE_WRITE) != 0)
            return;
    }
}

void hp_node_back_slots_slowly(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan)
{
    const size_t ring = level * HP_FAN_COUNT + fan, bytes = memory->slots.wanted;

    pthread_mutex_lock(&slots_lock);
    const uint64_t lent = lend_ring(memory, ring);
    size_t *backed = lent ? &rings[lent - 1].backed : &memory->slots.backed[ring];
    const size_t more = bytes > *backed ? memory->shape.slots * (bytes - *backed) : 0;
    if (lent)
        usage.pool_bytes += more;
    else
        add_slot_bytes(memory, more);
    if (!lent)
        memory->slots.filled[ring] = memory->slots.end_step;
    if (more)
        *backed = bytes;
    memory->slots.ready[ring] = *backed;
    trim_slots(memory);
    pthread_mutex_unlock(&slots_lock);
    if (more)
        populate(memory, level, fan, bytes);
}

hp_node_usage_t hp_node_usage(void)
{
    pthread_mutex_lock(&slots_lock);
    const hp_node_usage_t now = usage;
    pthread_mutex_unlock(&slots_lock);
    return now;
}

static void count_memory(const hp_node_memory_t *memory, int sign)
{
    usage.memories += (uint32_t)sign;
    usage.bytes += (size_t)sign * memory->member_bytes;
    if (usage.memories > usage.memories_peak)
        usage.memories_peak = usage.memories;
    if (usage.bytes > usage.bytes_peak)
        usage.bytes_peak = usage.bytes;
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

hp_status_t hp_node_memory_init(hp_node_memory_t *out, const hp_node_shape_t *shape, uint32_t own,
                                const pid_t *pids, int fd, void *base)
{
    const size_t bytes = hp_node_memory_bytes(shape);

    *out = (hp_node_memory_t){.shape = *shape,
                              .own = own,
                              .base = base,
                              .head_bytes = head_bytes(shape),
                              .member_bytes = hp_node_member_bytes(shape)};
    out->peers = calloc(shape->members, sizeof(hp_peer_t *));
    if (!out->peers)
        return HP_ERR_NO_MEM;
    if (fd >= 0) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        size_t *backed = calloc(shape->levels * HP_FAN_COUNT, sizeof *backed);
        size_t *ready = calloc(shape->levels * HP_FAN_COUNT, sizeof *ready);
        uint64_t *filled = calloc(shape->levels * HP_FAN_COUNT, sizeof *filled);
        if (mapped == MAP_FAILED || !backed || !ready || !filled) {
            if (mapped != MAP_FAILED)
                munmap(mapped, bytes);
            free(backed);
            free(ready);
            free(filled);
            free(out->peers);
            return HP_ERR_NO_MEM;
        }
        out->base = mapped;
        out->bytes = bytes;
        out->slots.backed = backed;
        out->slots.ready = ready;
        out->slots.filled = filled;
    }
    out->has_peers = pids && open_peers(out, pids);
    if (out->bytes) {
        pthread_mutex_lock(&slots_lock);
        count_memory(out, 1);
        pthread_mutex_unlock(&slots_lock);
    }
    return HP_OK;
}

void hp_node_memory_borrow_none(hp_node_memory_t *memory)
{
    free(memory->remains);
    free(memory->pools);
    memory->remains = NULL;
    memory->pools = NULL;
}

hp_status_t hp_node_memory_borrow(hp_node_memory_t *memory, char *const *pools)
{
    const size_t bytes = memory->shape.members * sizeof *pools;

    memory->remains = malloc(sizeof *memory->remains);
    memory->pools = malloc(bytes);
    if (memory->remains && memory->pools) {
        memcpy(memory->pools, pools, bytes);
        return HP_OK;
    }
    hp_node_memory_borrow_none(memory);
    return HP_ERR_NO_MEM;
}

/* Its rings are nobody else's before all members have read them: until then its counters stay. */
static void leave(hp_node_memory_t *memory)
{
    if (borrows_any(memory) && !slots_are_idle(memory)) {
        hp_node_memory_t *gone = memory->remains;
        *gone = *memory;
        gone->has_gone = true;
        for (unsigned i = 0; i < HP_POOL_RINGS; i++)
            if (rings[i].borrower == memory)
                rings[i].borrower = gone;
        return;
    }
    for (unsigned i = 0; i < HP_POOL_RINGS; i++)
        if (rings[i].borrower == memory)
            take_ring_back(i);
    unmap(memory);
}

void hp_node_memory_fini(hp_node_memory_t *memory)
{
    if (memory->bytes) {
        pthread_mutex_lock(&slots_lock);
        forget_slots(memory);
        count_memory(memory, -1);
        leave(memory);
        pthread_mutex_unlock(&slots_lock);
    }
    for (uint32_t member = 0; member < memory->shape.members; member++)
        hp_peer_close(memory->peers[member]);
    free(memory->peers);
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
