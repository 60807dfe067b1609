/* node_layout: what lies where in the memory that the ranks of one communicator on one node share.
 *
 * For every member (a rank of the node, numbered 0 .. members - 1):
 *   counters   two for each level, FAN_IN (what I contribute is there) and FAN_OUT (what I hand on is there), and one
 *              for DONE (I have read everything of the steps before). Each has one writer, its owner,
 *              and only grows. They count in steps: every segment of every collective that uses this memory
 *              is one step, on all ranks of the communicator alike. Beside each are notes of its owner, in the same
 *              cache line: how long the message is there
 *   slots      bounce buffers (node_slots.h): a ring of `slots` for each counter FAN_IN and FAN_OUT; step s uses slot s mod
 *              `slots`. In the second cache line of the counter is the number of the ring of its owner's pool that they are
 *              in now, 0: they are here
 *   buffers    where mine of the collective in execution are, and how long, for peers that read them (single copy)
 *   bell       what wakes the member when it sleeps
 *   cells      a ring of small slots with their flag inside, for messages that fit: collectives/flags.h
 *
 * Barriers: a writer fills slot or address, then stores the counter with release; a reader loads the counter
 * with acquire, then reads. A slot is filled again after the reader's DONE has passed its step: the reader
 * stores DONE with release after its last load, the writer loads it with acquire before the first store.
 *
 * Threads: as the communicator. */
#ifndef HP_EVENT_ENGINE_MEM_NODE_LAYOUT_H
#define HP_EVENT_ENGINE_MEM_NODE_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "event_engine/mem/peer.h"
#include "event_engine/mem/slot_pool.h"

typedef _Atomic uint64_t hp_counter_t;

/* Of a level's counters, slots and addresses: what goes towards the leader, and what comes from it. */
typedef enum { HP_FAN_IN, HP_FAN_OUT, HP_FAN_COUNT } hp_fan_t;

/* Shape of the memory: the same on all members. */
typedef struct {
    uint32_t members;
    uint32_t levels; /* of the hierarchy within the node, >= 1 */
    uint32_t slots;
    size_t slot_bytes; /* a multiple of 64 */
    uint32_t pool_rings; /* in each process's pool, at most HP_POOL_RINGS_MAX; 0: there is none */
} hp_node_shape_t;

/* What wakes a member that sleeps. */
typedef struct {
    _Atomic uint64_t waits_for; /* offset of a counter in the memory; HP_WAITS_FOR_ANY; 0: it is awake */
    _Atomic uint32_t rings;     /* futex */
} hp_bell_t;
enum { HP_WAITS_FOR_ANY = 1 };

/* A message's length, for who reads it; 0: nothing is noted or compared. Beside the bytes it has the low bits of the
 * collective's number, so that a note of an earlier or later one is not taken for it, and its place, in words from the
 * counter. The owner of a counter writes its note before the counter. Who is HP_NOTES collectives ahead of a reader has
 * written over what that wants to read, and the lengths are not compared. */
typedef uint64_t hp_note_t;
enum { HP_NOTES = 7, HP_NOTE_PLACE = 7, HP_NOTE_COLLECTIVE = 0xffff, HP_NOTE_BYTES_SHIFT = 16 };

static inline hp_note_t hp_note_make(uint32_t number, uint64_t bytes)
{
    return bytes << HP_NOTE_BYTES_SHIFT | (number * 8 & HP_NOTE_COLLECTIVE) | (1 + number % HP_NOTES);
}

/* Is it of the same collective, and of a longer message? */
static inline bool hp_note_is_longer(hp_note_t note, hp_note_t own)
{
    return ((note ^ own) & HP_NOTE_COLLECTIVE) == 0 && note > own;
}

static inline uint64_t hp_note_bytes(hp_note_t note)
{
    return note >> HP_NOTE_BYTES_SHIFT;
}

static inline void hp_note_write(hp_counter_t *counter, hp_note_t note)
{
    atomic_store_explicit(counter + (note & HP_NOTE_PLACE), note, memory_order_relaxed);
}

/* Behind a load of the counter with acquire. */
static inline hp_note_t hp_note_read(const hp_counter_t *counter, hp_note_t own)
{
    return atomic_load_explicit(counter + (own & HP_NOTE_PLACE), memory_order_relaxed);
}

/* A member's buffer in its own memory. */
typedef struct {
    void *address;
    uint64_t bytes;
} hp_node_buffer_t;

/* Small slots: so many a ring, with so many bytes of payload behind the flag. The payload of a cell whose
 * flag is s + 1 is that of step s. Size: up to it a copy in and a copy out are faster than anything with more
 * parts. */
enum { HP_CELLS = 8, HP_CELL_BYTES = 16384 + 64 };
typedef struct {
    _Alignas(64) hp_counter_t flag;
    uint64_t bytes; /* of the payload */
    char payload[HP_CELL_BYTES - sizeof(hp_counter_t) - sizeof(uint64_t)];
} hp_cell_t;

/* A counter has two cache lines to itself: processors fetch them in pairs. */
enum { HP_NODE_LINE = 64, HP_COUNTER_BYTES = 2 * HP_NODE_LINE, HP_NODE_PAGE = 4096 };
/* A member's counters in front of those for levels: done, buffers, bell. */
enum { HP_FIRST_RING = 3 };

/* In front of the members' parts. */
typedef struct {
    uint64_t mark;                                      /* of the file */
    _Alignas(64) _Atomic uint64_t sleepers[]; /* a bit for each member */
} hp_node_head_t;
enum { HP_SLEEPERS_A_WORD = 64 };

typedef struct hp_node_memory hp_node_memory_t;
struct hp_node_memory {
    hp_node_shape_t shape;
    uint32_t own;      /* this rank's number */
    hp_peer_t **peers; /* the members' processes; NULL: this one */
    bool has_peers;    /* else the members' own memory is out of reach: no pull, no push */
    char *base;        /* of the mapping */
    size_t head_bytes, member_bytes;
    size_t slots_at;                    /* bytes of a member's part in front of its slots */
    size_t ring_bytes, pool_ring_bytes; /* of a ring of slots: in the memory, in a pool */
    size_t bytes;  /* mapped; 0: the memory is not ours to unmap */
    bool wakes;    /* members sleep soon, and are woken; the same on all. Else they look again now and then */
    uint64_t step; /* the next one; the same on all ranks of the communicator */
    uint64_t cleared; /* all members' DONE was seen at this or beyond */
    size_t streams_from; /* what others read, of so many bytes and more, is written past the caches (stream.h); 0: nothing is */
    struct {       /* of cells with payloads of less than so many bytes: */
        size_t own;    /* this rank's have pages; */
        size_t read;   /* others' have been read, */
        size_t others; /* and have pages here, too */
    } warm[HP_FAN_COUNT];
    uint32_t noted;   /* collectives whose lengths were noted; the same on all ranks */
    hp_slot_pool_view_t **pools; /* each member's pool of rings; NULL: nothing is borrowed */
    struct {
        size_t *ready;       /* of each ring: the bytes of each slot, from its start, that may be filled now */
        size_t *backed;      /* of each own ring: those that have pages */
        size_t backed_bytes; /* of all own slots */
        size_t wanted;       /* bytes of a slot that the collective uses */
        size_t most;         /* and what no member uses more of */
        bool is_held;        /* they are used outside of a collective */
        bool in_place;       /* its slots are in the memory, whatever is lent: they are small */
        uint64_t *filled;    /* of each own ring: the end of the last collective that filled it */
        uint64_t end_step;   /* of the last collective that used them, */
        uint64_t used_ns;    /* when it began, */
        uint64_t turn;       /* and which it was of all of this process */
        hp_node_memory_t *next_used;
        hp_node_memory_t *remains; /* takes this one's place when its communicator goes before its rings are back */
        bool has_gone;             /* this one did so */
    } slots;
};

/* Bytes of the memory of that shape, and those of them that are a member's. Pages exist once they are touched: of the
 * slots those that messages were long enough for. */
size_t hp_node_memory_bytes(const hp_node_shape_t *shape);
size_t hp_node_member_bytes(const hp_node_shape_t *shape);
size_t hp_node_slot_bytes(const hp_node_shape_t *shape); /* and of a member's, those of its slots */
size_t hp_node_head_bytes(const hp_node_shape_t *shape); /* and those in front of all members' */
size_t hp_node_slots_at(const hp_node_shape_t *shape);   /* and in front of a member's slots */
/* Bytes of a process's pool, and of one of its rings; the first ring begins on the second page. */
size_t hp_node_pool_bytes(const hp_node_shape_t *shape);
size_t hp_node_pool_ring_bytes(const hp_node_shape_t *shape);

static inline uint32_t hp_node_sleeper_words(const hp_node_shape_t *shape)
{
    return (shape->members + HP_SLEEPERS_A_WORD - 1) / HP_SLEEPERS_A_WORD;
}

/* Where a member's part begins. */
static inline char *hp_node_part(const hp_node_memory_t *memory, uint32_t member)
{
    return memory->base + memory->head_bytes + member * memory->member_bytes;
}

/* level: 0 is the outermost within the node. */
hp_counter_t *hp_node_counter(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan);
hp_counter_t *hp_node_done(const hp_node_memory_t *memory, uint32_t member);
/* The member whose counter or flag it is, and which of its owner's rings stands behind a counter FAN_IN or FAN_OUT:
 * level * HP_FAN_COUNT + fan. */
uint32_t hp_node_owner(const hp_node_memory_t *memory, const hp_counter_t *counter);
static inline size_t hp_node_ring(const hp_node_memory_t *memory, uint32_t owner, const hp_counter_t *counter)
{
    return (size_t)((const char *)counter - hp_node_part(memory, owner)) / HP_COUNTER_BYTES - HP_FIRST_RING;
}
/* A member's ring of slots in this memory, and in its process's pool: the rings there are numbered from 1. */
static inline char *hp_node_own_ring(const hp_node_memory_t *memory, uint32_t member, size_t ring)
{
    return hp_node_part(memory, member) + memory->slots_at + ring * memory->ring_bytes;
}
static inline char *hp_node_lent_ring(const hp_node_memory_t *memory, uint32_t member, uint64_t number)
{
    return memory->pools[member]->base + HP_NODE_PAGE + (number - 1) * memory->pool_ring_bytes;
}
/* The number of the ring of its owner's pool that the counter's slots are in, beside it; 0: they are in the memory. Its owner
 * writes it before the counter, and only when all members have read what was in the slots: so a reader that has seen the
 * counter (acquire), and has not yet set DONE, finds the number that was valid then. */
static inline hp_counter_t *hp_node_lent(const hp_counter_t *counter)
{
    return (hp_counter_t *)counter + HP_NODE_LINE / sizeof(hp_counter_t);
}
hp_cell_t *hp_node_cell(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, uint64_t step);
/* The member's buffer for fan-in or fan-out; read it after one of its counters has said so. */
hp_node_buffer_t *hp_node_buffer(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan);
hp_bell_t *hp_node_bell(const hp_node_memory_t *memory, uint32_t member);

/* Have all members, this rank too, finished reading everything of the steps before `step`? A look, no
 * waiting. */
bool hp_node_is_clear(hp_node_memory_t *memory, uint64_t step);
/* The counter DONE of a member that has not; NULL: by now all have. */
const hp_counter_t *hp_node_behind(hp_node_memory_t *memory, uint64_t step);

#endif
