/* node_slots: where the slots of a node's memory are (node_layout.h), and which of their pages exist.
 *
 * Each communicator has slots, but few are in use at a time. So a process has a pool (slot_pool.h) of rings as large as theirs,
 * which it lends to them:
 *   lend        when a ring of slots is going to be filled, its owner borrows one for it and writes its number beside the
 *               counter, before the counter; members map the owner's pool and read there
 *   take back   when another needs one: that of the least recently used communicator whose members have all finished the last
 *               collective that used it (DONE)
 *   none left   the ring in the communicator's memory is used, until one is left
 * A collective of small messages uses the communicator's own slots: they are few pages, and all members know in advance
 * where they are. Nobody waits for a ring. One that a communicator leaves behind stays lent until its members have finished.
 *
 * Slots outside the pool lose their pages when they have been idle for long and there are too many.
 *
 * Threads: a lock guards what is known of all memories' slots and rings. A ring is taken from an idle memory alone, which is not
 * in use before its next hp_node_use_slots, which takes the lock.
 * Ownership: init begins, fini ends it, unmaps the memory and gives the pools back. */
#ifndef HP_EVENT_ENGINE_MEM_NODE_SLOTS_H
#define HP_EVENT_ENGINE_MEM_NODE_SLOTS_H

#include "base/status.h"
#include "event_engine/mem/node_layout.h"
#include "event_engine/mem/slot_pool.h"

/* *memory is mapped. HP_OK, HP_ERR_NO_MEM. */
hp_status_t hp_node_slots_init(hp_node_memory_t *memory);
/* Unmaps *memory, at once or when its rings are back. may_be_used: it stays mapped, and keeps its rings. */
void hp_node_slots_fini(hp_node_memory_t *memory, bool may_be_used);

/* The number of this process's file of rings for slots of that shape, which begins with the mark; -1: there is none. */
int hp_node_pool_file(const hp_node_shape_t *shape, uint64_t mark);
/* From now on this rank borrows rings of its process's pool. pools: of all members. HP_OK; HP_ERR_NOT_FOUND: one of them is out of
 * reach, HP_ERR_NO_MEM: nothing has changed. */
hp_status_t hp_node_borrow(hp_node_memory_t *memory, const hp_slot_pool_t *pools);
/* Some member cannot: the slots are the memory's own. Before the first collective. */
void hp_node_borrow_none(hp_node_memory_t *memory);

/* A collective begins that takes steps before end_step and will use the first `bytes` of own slots, no member more than `most`,
 * the same for all. Until all members have finished those steps, the slots keep their pages. 0 bytes: it uses none. *memory must
 * stay where it is from now on. */
void hp_node_use_slots(hp_node_memory_t *memory, size_t bytes, size_t most, uint64_t end_step);
/* Outside of a collective, between two of them: the slots are used, on all members, until they are let go. */
void hp_node_hold_slots(hp_node_memory_t *memory, bool holds);
/* Are the rings borrowed that this collective uses? The same answer on all members. */
static inline bool hp_node_borrows(const hp_node_memory_t *memory)
{
    return memory->pools && !memory->slots.in_place;
}

/* The slot of a step by the counter that says that it has been filled. Of another member's: behind a load with acquire, before
 * DONE. */
char *hp_node_slot_behind(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step);
/* The slot of another member's that is going to be read, wherever this collective has it: where its pages are not there yet,
 * the whole ring's are made, once instead of page faults in each of the first calls. */
char *hp_node_find_slot(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step);
/* The slot of a step, where it is now; the same holds. */
static inline char *hp_node_slot(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan, uint64_t step)
{
    if (hp_node_borrows(memory))
        return hp_node_slot_behind(memory, hp_node_counter(memory, member, level, fan), step);
    return hp_node_own_ring(memory, member, level * HP_FAN_COUNT + fan) +
           step % memory->shape.slots * memory->shape.slot_bytes;
}
/* Own slots keep their pages for so long. Giving pages back and getting them again cost 2.5 to 7 ms together (measured: 512
 * KiB, 2 or 4 ranks on 2 cores), so of a communicator that is used now and then 0.7% of the time at most. */
enum { HP_SLOTS_IDLE_NS = 1000000000 };
/* The own ring of slots of that level and direction is going to be filled: it is borrowed, or stays where it is. Gives as much of it
 * pages as the collective uses: one call instead of page faults in the first calls of every size (a hint: where the kernel,
 * before 5.14, cannot, they get them when they are written). */
void hp_node_back_slots_slowly(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan);
static inline void hp_node_back_slots(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan)
{
    const size_t *there = memory->slots.in_place ? memory->slots.backed : memory->slots.ready;

    if (there && there[level * HP_FAN_COUNT + fan] < memory->slots.wanted)
        hp_node_back_slots_slowly(memory, level, fan);
}

/* This process's parts of all such memories, now and at most. */
typedef struct {
    uint32_t memories, memories_peak;
    size_t bytes, bytes_peak;
    size_t slot_bytes, slot_bytes_peak; /* with pages, of the slots outside the pool */
    size_t pool_bytes;                  /* and of the pool */
    uint32_t rings_lent, rings_lent_peak;
} hp_node_usage_t;
hp_node_usage_t hp_node_usage(void);

#endif
