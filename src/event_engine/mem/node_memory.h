/* node_memory: memory that the ranks of one communicator on one node share, and each other's own memory (peer.h).
 *
 * What is in it, for every member (a rank of the node, numbered 0 .. members - 1):
 *   counters   two for each level, FAN_IN (what I contribute is there) and FAN_OUT (what I hand on is there), and one
 *              for DONE (I have read everything of the steps before). Each has one writer, its owner,
 *              and only grows. They count in steps: every segment of every collective that uses this memory
 *              is one step, on all ranks of the communicator alike. Beside each are notes of its owner, in the same
 *              cache line: how long the message is there
 *   slots      bounce buffers: a ring of `slots` for each counter FAN_IN and FAN_OUT; step s uses slot s mod `slots`
 *   buffers    where mine of the collective in execution are, and how long, for peers that read them (single copy)
 *   bell       what wakes the member when it sleeps
 *   cells      a ring of small slots with their flag inside, for messages that fit: collectives/flags.h
 *
 * Barriers: a writer fills slot or address, then stores the counter with release; a reader loads the counter
 * with acquire, then reads. A slot is filled again after the reader's DONE has passed its step: the reader
 * stores DONE with release after its last load, the writer loads it with acquire before the first store.
 *
 * The memory is anonymous (memfd): it has no name in any file system, so nothing of it stays behind however
 * the processes end, and the size of /dev/shm does not matter. Peers open it through /proc, which the kernel
 * allows for processes of one user in one PID namespace. Pages exist once they are touched.
 *
 * Threads: as the communicator; what is known of the slots of all memories is guarded by a lock.
 * Ownership: init maps it, fini unmaps it; the last one to do so frees it. */
#ifndef HP_EVENT_ENGINE_MEM_NODE_MEMORY_H
#define HP_EVENT_ENGINE_MEM_NODE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/status.h"
#include "event_engine/mem/peer.h"

typedef _Atomic uint64_t hp_counter_t;

/* Of a level's counters, slots and addresses: what goes towards the leader, and what comes from it. */
typedef enum { HP_FAN_IN, HP_FAN_OUT, HP_FAN_COUNT } hp_fan_t;

/* Shape of the memory: the same on all members. */
typedef struct {
    uint32_t members;
    uint32_t levels; /* of the hierarchy inside the node, >= 1 */
    uint32_t slots;
    size_t slot_bytes; /* a multiple of 64 */
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

/* A process's pool of rings, as large as the communicators' own: used by that of them which runs. */
enum { HP_POOL_RINGS = 8 };

typedef struct hp_node_memory hp_node_memory_t;
struct hp_node_memory {
    hp_node_shape_t shape;
    uint32_t own;      /* this rank's number */
    hp_peer_t **peers; /* the members' processes; NULL: this one */
    bool has_peers;    /* else the members' own memory is out of reach: no pull, no push */
    char *base;        /* of the mapping */
    size_t head_bytes, member_bytes;
    size_t bytes;  /* mapped; 0: the memory is not ours to unmap */
    bool wakes;    /* members sleep soon, and are woken; the same on all. Else they look again now and then */
    uint64_t step; /* the next one; the same on all ranks of the communicator */
    uint64_t cleared; /* all members' DONE was seen at this or beyond */
    uint32_t noted;   /* collectives whose lengths were noted; the same on all ranks */
    bool has_gone;             /* its communicator has */
    hp_node_memory_t *remains; /* what is kept of it then */
    char **pools; /* each member's pool of rings; NULL: there is none */
    struct {
        size_t *ready;       /* of each ring: the bytes of each slot, from its start, that may be filled now */
        size_t *backed;      /* of each own ring: those that have pages */
        size_t backed_bytes; /* of all own slots */
        size_t wanted;       /* bytes of a slot that the collective uses */
        uint64_t *filled;    /* of each own ring: the end of the last collective that filled it */
        uint64_t end_step;   /* of the last collective that used them, */
        uint64_t used_ns;    /* and when it began */
        hp_node_memory_t *next_used;
    } slots;
};

/* Bytes of the memory of that shape, and those of them that are a member's. Pages exist once they are touched: of the
 * slots those that messages were long enough for. */
size_t hp_node_memory_bytes(const hp_node_shape_t *shape);
size_t hp_node_member_bytes(const hp_node_shape_t *shape);
size_t hp_node_slot_bytes(const hp_node_shape_t *shape); /* and of a member's, those of its slots */

/* This process's parts of all such memories, now and at most. */
typedef struct {
    size_t pool_bytes; /* with pages, of the pool */
    uint32_t memories, memories_peak;
    size_t bytes, bytes_peak;
    size_t slot_bytes, slot_bytes_peak; /* with pages, of the slots */
} hp_node_usage_t;
hp_node_usage_t hp_node_usage(void);

/* A zeroed file of so many bytes without a name. It is sealed: nobody can make it shorter, which would end whoever
 * touches its memory with a SIGBUS. HP_OK and *fd, HP_ERR_NO_MEM. */
hp_status_t hp_node_memory_file(size_t bytes, int *fd);
/* The file fd of the process pid. HP_OK and *own_fd, HP_ERR_NOT_FOUND. */
hp_status_t hp_node_memory_open(pid_t pid, int fd, int *own_fd);

/* Writes a number into the file, and checks that it is there: with another PID namespace the process of that number
 * is another one, and its file must not be written to. */
bool hp_node_memory_mark(int fd, uint64_t mark);
bool hp_node_memory_has_mark(int fd, uint64_t mark);

/* Maps fd (borrowed) or, fd < 0, uses the zeroed memory at base (tests: members in one process). pids: of the
 * members, which are opened as peers (out->has_peers); 0: in this process; NULL: there will be no pull and no push.
 * *out is valid when HP_OK comes back; else HP_ERR_NO_MEM. */
hp_status_t hp_node_memory_init(hp_node_memory_t *out, const hp_node_shape_t *shape, uint32_t own,
                                const pid_t *pids, int fd, void *base);
/* From now on this rank's slots are in rings that it borrows of its process's pool, while there are any. pools: where each
 * member's is mapped; they stay there. HP_OK; HP_ERR_NO_MEM: nothing has changed. */
hp_status_t hp_node_memory_borrow(hp_node_memory_t *memory, char *const *pools);
/* Some member cannot: the slots are the memory's own. Before the first collective. */
void hp_node_memory_borrow_none(hp_node_memory_t *memory);
/* Bytes of a process's pool. */
size_t hp_node_pool_bytes(const hp_node_shape_t *shape);
void hp_node_memory_fini(hp_node_memory_t *memory);

/* Sets a counter or the flag of a cell, and (memory->wakes) wakes the members that sleep until it is. */
void hp_node_set(const hp_node_memory_t *memory, hp_counter_t *counter, uint64_t value);

/* This rank's part in a collective is over after so many steps less than another member's, as a longer message took there:
 * the next collective begins where that rank's does, and nobody waits for the steps that are left out. */
void hp_node_skip(hp_node_memory_t *memory, uint64_t steps);

/* Sleeping until a counter is set (NULL: any), or until the time is over:
 *   begin; look at the counters once more; either cancel, or wait
 * A setter stores the counter, then looks for sleepers; a sleeper says that it sleeps, then looks at the
 * counter. Both have a full fence in between, so one of them sees the other. */
uint32_t hp_node_sleep_begin(const hp_node_memory_t *memory, const hp_counter_t *counter);
void hp_node_sleep_cancel(const hp_node_memory_t *memory);
void hp_node_sleep_wait(const hp_node_memory_t *memory, uint32_t rings, uint64_t timeout_ns);

/* level: 0 is the outermost inside the node. */
hp_counter_t *hp_node_counter(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan);
hp_counter_t *hp_node_done(const hp_node_memory_t *memory, uint32_t member);
char *hp_node_slot(const hp_node_memory_t *memory, uint32_t member, uint32_t level, hp_fan_t fan,
                   uint64_t step);
/* The same by the counter that says that it has been filled. Other members': behind a load of the counter with acquire. */
char *hp_node_slot_behind(const hp_node_memory_t *memory, const hp_counter_t *counter, uint64_t step);
hp_cell_t *hp_node_cell(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, uint64_t step);
/* A collective begins that takes steps before end_step and will use the first `bytes` of own slots. Also with 0 bytes:
 * until all members have finished those steps, the slots keep their pages. *memory must stay where it is from now on.
 *
 * Slots of other memories of this process lose their pages when they have been idle for long and there are too many:
 * each communicator has slots, few are in use. */
/* For so long. Giving pages back and getting them again cost 2.5 to 7 ms together (measured: 512 KiB, 2 or 4 ranks on 2
 * cores), so of a communicator that is used now and then 0.7% of the time at most. */
enum { HP_SLOTS_IDLE_NS = 1000000000 };
void hp_node_use_slots(hp_node_memory_t *memory, size_t bytes, uint64_t end_step);
/* The own ring of slots of that level and direction is going to be filled. Gives as much of it pages as the collective
 * uses: one call instead of page faults in the first calls of every size (a hint: where the kernel, before 5.14, cannot,
 * they get them when they are written). */
void hp_node_back_slots_slowly(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan);
static inline void hp_node_back_slots(hp_node_memory_t *memory, uint32_t level, hp_fan_t fan)
{
    if (memory->slots.ready && memory->slots.ready[level * HP_FAN_COUNT + fan] < memory->slots.wanted)
        hp_node_back_slots_slowly(memory, level, fan);
}
/* The member whose counter or flag it is. */
uint32_t hp_node_owner(const hp_node_memory_t *memory, const hp_counter_t *counter);
/* The member's buffer for fan-in or fan-out; read it after one of its counters has said so. */
hp_node_buffer_t *hp_node_buffer(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan);

/* Copies bytes from the memory of a member at its address `from`. HP_OK, HP_ERR_PEER. */
hp_status_t hp_node_pull(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes);
/* The same in the other direction: to the member's address `to`. */
hp_status_t hp_node_push(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes);
/* Have all members, this rank too, finished reading everything of the steps before `step`? A look, no
 * waiting. */
bool hp_node_is_clear(hp_node_memory_t *memory, uint64_t step);

#endif
