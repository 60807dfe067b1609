#include "event_engine/mem/node_slots.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "event_engine/mem/pages.h"

enum { PAGE = HP_NODE_PAGE };

/* ---- where a slot is ---- */

static inline char *slot_behind(const hp_node_memory_t *memory, const hp_counter_t *counter, uint32_t member,
                                uint64_t lent, uint64_t step)
{
    char *ring = lent ? hp_node_lent_ring(memory, member, lent)
                      : hp_node_own_ring(memory, member, hp_node_ring(memory, member, counter));
    return ring + step % memory->shape.slots * memory->shape.slot_bytes;
}

char *hp_node_slot_behind(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step)
{
    const uint64_t lent = atomic_load_explicit(hp_node_lent(counter), memory_order_relaxed);

    return slot_behind(memory, counter, hp_node_owner(memory, counter), lent, step);
}

/* Of all slots of a ring, the first so many bytes. */
static void make_pages(const hp_node_memory_t *memory, const char *ring, size_t bytes, bool writes)
{
    for (uint32_t slot = 0; slot < memory->shape.slots; slot++)
        if (!hp_pages_make(ring + slot * memory->shape.slot_bytes, bytes, writes))
            return;
}

/* The first collective of a length that finds a slot of that ring there. Its owner has made pages before, in the memory where it
 * runs. */
static void make_read_pages(const hp_node_memory_t *memory, uint32_t member, uint64_t lent, size_t bytes)
{
    atomic_store_explicit(&memory->pools[member]->read[lent - 1], bytes, memory_order_relaxed);
    make_pages(memory, hp_node_lent_ring(memory, member, lent), bytes, false);
}

char *hp_node_find_slot(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step)
{
    const uint64_t lent =
        hp_node_borrows(memory) ? atomic_load_explicit(hp_node_lent(counter), memory_order_relaxed) : 0;
    const uint32_t member = hp_node_owner(memory, counter);
    const size_t bytes = memory->slots.most;

    if (lent && atomic_load_explicit(&memory->pools[member]->read[lent - 1], memory_order_relaxed) < bytes)
        make_read_pages(memory, member, lent, bytes);
    return slot_behind(memory, counter, member, lent, step);
}

/* ---- pages ---- */

/* A ring of this process's pool. */
typedef struct {
    hp_node_memory_t *borrower; /* NULL: none */
    size_t number;              /* of the borrower's ring that it is */
    size_t backed;              /* bytes of each slot that have pages */
} ring_t;

/* Slots of a process that keep their pages while their communicators are idle: those of eight communicators with
 * the slots that are usual on one level of the node. */
enum { KEPT_BYTES = 8 << 20 };
/* Up to such a part of a slot messages are small, 1 KiB usually: a page or two of each slot, 64 to 128 KiB of a communicator with
 * two rings of eight. */
enum { SMALL_SHARE = 128 };
static pthread_mutex_t slots_lock =
    PTHREAD_MUTEX_INITIALIZER;       /* guards what follows, and the fields slots of all memories */
static hp_node_memory_t *slots_used; /* memories whose own slots have pages, the last used first */
static ring_t rings[HP_POOL_RINGS_MAX];
static uint64_t turns;
static hp_node_usage_t usage;

/* A few milliseconds do not matter, the time that a finer clock takes does. */
static uint64_t coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t ring_count(const hp_node_memory_t *memory)
{
    return memory->shape.levels * HP_FAN_COUNT;
}

static hp_counter_t *lent_to(const hp_node_memory_t *memory, size_t ring)
{
    return hp_node_lent(hp_node_counter(memory, memory->own, (uint32_t)(ring / HP_FAN_COUNT),
                                        (hp_fan_t)(ring % HP_FAN_COUNT)));
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

/* The next collective asks for rings of the pool where none were left. */
static void leave_own_rings(hp_node_memory_t *memory)
{
    for (size_t ring = 0; ring < ring_count(memory); ring++)
        if (atomic_load_explicit(lent_to(memory, ring), memory_order_relaxed) == 0)
            memory->slots.ready[ring] = 0;
}

static void forget_slots(hp_node_memory_t *memory)
{
    unlist(memory);
    usage.slot_bytes -= memory->slots.backed_bytes;
    memory->slots.backed_bytes = 0;
    memset(memory->slots.backed, 0, ring_count(memory) * sizeof *memory->slots.backed);
    leave_own_rings(memory);
}

/* Has everybody, this rank too, finished the last collective that used the slots? Only their owner fills them, so
 * nobody touches them before this rank uses them again, which needs the lock. */
static bool slots_are_idle(const hp_node_memory_t *memory)
{
    if (memory->slots.is_held)
        return false;
    for (uint32_t member = 0; member < memory->shape.members; member++)
        if (atomic_load_explicit(hp_node_done(memory, member), memory_order_acquire) < memory->slots.end_step)
            return false;
    return true;
}

static void give_pages_back(const hp_node_memory_t *memory)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE); /* the kernel's may be larger than the layout's */
    const uintptr_t first = (uintptr_t)hp_node_own_ring(memory, memory->own, 0);
    const uintptr_t from = (first + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)hp_node_part(memory, memory->own) + memory->member_bytes) / page * page;

    if (from < to)
        madvise((void *)from, to - from, MADV_REMOVE);
}

/* The least recently used first. The pool keeps its pages. */
static void trim_slots(const hp_node_memory_t *in_use)
{
    while (usage.slot_bytes > 0 && usage.slot_bytes + usage.pool_bytes > KEPT_BYTES) {
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

/* What init and borrow made. */
static void free_fields(hp_node_memory_t *memory)
{
    hp_node_borrow_none(memory);
    free(memory->slots.ready);
    free(memory->slots.backed);
    free(memory->slots.filled);
}

static bool borrows_any(const hp_node_memory_t *memory)
{
    for (unsigned i = 0; i < HP_POOL_RINGS_MAX; i++)
        if (rings[i].borrower == memory)
            return true;
    return false;
}

/* A communicator that has gone had left it behind, and nobody reads in it any more. */
static void bury(hp_node_memory_t *memory)
{
    munmap(memory->base, memory->bytes);
    memory->slots.remains = NULL; /* that is what it is itself */
    free_fields(memory);
    free(memory);
}

static void take_back(ring_t *ring)
{
    hp_node_memory_t *memory = ring->borrower;

    atomic_store_explicit(lent_to(memory, ring->number), 0, memory_order_relaxed);
    memory->slots.ready[ring->number] = 0;
    ring->borrower = NULL;
    usage.rings_lent--;
    if (memory->slots.has_gone && !borrows_any(memory))
        bury(memory);
}

static void take_back_what_was_left(void)
{
    for (unsigned i = 0; i < HP_POOL_RINGS_MAX; i++) {
        const hp_node_memory_t *memory = rings[i].borrower;
        if (memory && memory->slots.has_gone && slots_are_idle(memory))
            take_back(&rings[i]);
    }
}

/* The ring that the least recently used memory borrows, of those used after that turn; NULL: there is none. */
static ring_t *least_recent(uint32_t count, uint64_t after)
{
    ring_t *found = NULL;

    for (unsigned i = 0; i < count; i++) {
        const uint64_t turn = rings[i].borrower->slots.turn;
        if (turn > after && (!found || turn < found->borrower->slots.turn))
            found = &rings[i];
    }
    return found;
}

/* One of the first so many, which nobody borrows any more; NULL: all are in use. */
static ring_t *find_ring(uint32_t count)
{
    ring_t *found = NULL;
    uint64_t after = 0;

    take_back_what_was_left();
    for (unsigned i = 0; i < count; i++) /* that has pages, rather than another */
        if (!rings[i].borrower && (!found || rings[i].backed > found->backed))
            found = &rings[i];
    if (found)
        return found;
    while ((found = least_recent(count, after)) && !slots_are_idle(found->borrower))
        after = found->borrower->slots.turn;
    if (found)
        take_back(found);
    return found;
}

/* The ring of the pool that the memory's ring is from now on; NULL: it is in the memory. */
static ring_t *lend(hp_node_memory_t *memory, size_t ring)
{
    hp_counter_t *lent = lent_to(memory, ring);
    const uint64_t number = atomic_load_explicit(lent, memory_order_relaxed);

    if (number)
        return &rings[number - 1];
    if (!hp_node_is_clear(memory, memory->slots.filled[ring])) /* else it is read where it is */
        return NULL;
    ring_t *found = find_ring(memory->shape.pool_rings);
    if (!found)
        return NULL;
    found->borrower = memory;
    found->number = ring;
    if (++usage.rings_lent > usage.rings_lent_peak)
        usage.rings_lent_peak = usage.rings_lent;
    atomic_store_explicit(lent, (uint64_t)(found - rings) + 1, memory_order_relaxed);
    return found;
}

/* ---- use ---- */

void hp_node_hold_slots(hp_node_memory_t *memory, bool holds)
{
    pthread_mutex_lock(&slots_lock);
    memory->slots.is_held = holds;
    pthread_mutex_unlock(&slots_lock);
}

void hp_node_use_slots(hp_node_memory_t *memory, size_t bytes, size_t most, uint64_t end_step)
{
    memory->slots.in_place = most <= PAGE && most <= memory->shape.slot_bytes / SMALL_SHARE;
    memory->slots.wanted = bytes < memory->shape.slot_bytes ? bytes : memory->shape.slot_bytes;
    memory->slots.most = most < memory->shape.slot_bytes ? most : memory->shape.slot_bytes;
    if (!memory->bytes || !bytes)
        return;
    pthread_mutex_lock(&slots_lock);
    if (slots_used != memory) {
        unlist(memory);
        memory->slots.next_used = slots_used;
        slots_used = memory;
    }
    memory->slots.end_step = end_step;
    memory->slots.used_ns = coarse_ns();
    memory->slots.turn = ++turns;
    if (hp_node_borrows(memory) && memory->slots.backed_bytes)
        leave_own_rings(memory);
    trim_slots(memory);
    pthread_mutex_unlock(&slots_lock);
}

void hp_node_back_slots_slowly(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan)
{
    const size_t number = level * HP_FAN_COUNT + fan, bytes = memory->slots.wanted;

    pthread_mutex_lock(&slots_lock);
    ring_t *ring = hp_node_borrows(memory) ? lend(memory, number) : NULL;
    size_t *backed = ring ? &ring->backed : &memory->slots.backed[number];
    const size_t more = bytes > *backed ? bytes - *backed : 0;
    *backed += more;
    if (ring) {
        usage.pool_bytes += memory->shape.slots * more;
    } else {
        add_slot_bytes(memory, memory->shape.slots * more);
        memory->slots.filled[number] = memory->slots.end_step;
    }
    if (!memory->slots.in_place)
        memory->slots.ready[number] = *backed;
    trim_slots(memory);
    pthread_mutex_unlock(&slots_lock);
    if (more)
        make_pages(memory, hp_node_slot(memory, memory->own, level, fan, 0), bytes, true);
}

hp_node_usage_t hp_node_usage(void)
{
    pthread_mutex_lock(&slots_lock);
    const hp_node_usage_t now = usage;
    pthread_mutex_unlock(&slots_lock);
    return now;
}

/* ---- begin and end ---- */

static void count_memory(const hp_node_memory_t *memory, int sign)
{
    usage.memories += (uint32_t)sign;
    usage.bytes += (size_t)sign * memory->member_bytes;
    if (usage.memories > usage.memories_peak)
        usage.memories_peak = usage.memories;
    if (usage.bytes > usage.bytes_peak)
        usage.bytes_peak = usage.bytes;
}

hp_status_t hp_node_slots_init(hp_node_memory_t *memory)
{
    const size_t count = ring_count(memory);

    memory->slots.ready = calloc(count, sizeof *memory->slots.ready);
    memory->slots.backed = calloc(count, sizeof *memory->slots.backed);
    memory->slots.filled = calloc(count, sizeof *memory->slots.filled);
    if (!memory->slots.ready || !memory->slots.backed || !memory->slots.filled) {
        free_fields(memory);
        return HP_ERR_NO_MEM;
    }
    pthread_mutex_lock(&slots_lock);
    count_memory(memory, 1);
    pthread_mutex_unlock(&slots_lock);
    return HP_OK;
}

int hp_node_pool_file(const hp_node_shape_t *shape, uint64_t mark)
{
    return shape->pool_rings ? hp_slot_pool_own(hp_node_pool_bytes(shape), mark) : -1;
}

hp_status_t hp_node_borrow(hp_node_memory_t *memory, const hp_slot_pool_t *pools)
{
    const uint32_t members = memory->shape.members;

    if (!memory->shape.pool_rings)
        return HP_ERR_NOT_FOUND;
    memory->slots.remains = malloc(sizeof *memory->slots.remains);
    memory->pools = calloc(members, sizeof *memory->pools);
    if (!memory->slots.remains || !memory->pools) {
        hp_node_borrow_none(memory);
        return HP_ERR_NO_MEM;
    }
    for (uint32_t member = 0; member < members; member++)
        if (!(memory->pools[member] = hp_slot_pool_map(&pools[member], hp_node_pool_bytes(&memory->shape)))) {
            hp_node_borrow_none(memory);
            return HP_ERR_NOT_FOUND;
        }
    return HP_OK;
}

void hp_node_borrow_none(hp_node_memory_t *memory)
{
    for (uint32_t member = 0; memory->pools && member < memory->shape.members; member++)
        if (memory->pools[member])
            hp_slot_pool_unmap(memory->pools[member]);
    free(memory->pools);
    free(memory->slots.remains);
    memory->pools = NULL;
    memory->slots.remains = NULL;
}

/* What others may still read in its rings is nobody else's: until then its counters stay, which say so. */
static void leave_behind(hp_node_memory_t *memory)
{
    hp_node_memory_t *gone = memory->slots.remains;

    *gone = *memory;
    gone->slots.has_gone = true;
    for (unsigned i = 0; i < HP_POOL_RINGS_MAX; i++)
        if (rings[i].borrower == memory)
            rings[i].borrower = gone;
}

void hp_node_slots_fini(hp_node_memory_t *memory, bool may_be_used)
{
    pthread_mutex_lock(&slots_lock);
    forget_slots(memory);
    count_memory(memory, -1);
    if (may_be_used)
        memory->slots.end_step = UINT64_MAX; /* never idle */
    if (borrows_any(memory) && !slots_are_idle(memory)) {
        leave_behind(memory);
    } else {
        for (unsigned i = 0; i < HP_POOL_RINGS_MAX; i++)
            if (rings[i].borrower == memory)
                take_back(&rings[i]);
        if (!may_be_used)
            munmap(memory->base, memory->bytes);
        free_fields(memory);
    }
    take_back_what_was_left();
    pthread_mutex_unlock(&slots_lock);
}
