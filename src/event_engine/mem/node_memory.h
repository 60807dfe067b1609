/* node_memory: memory that the ranks of one communicator on one node share, and each other's own memory (peer.h).
 *
 * node_layout.h says what is in it and which store pairs with which load; node_slots.h where its slots are.
 *
 * Threads: as the communicator; what is known of the slots of all memories is guarded by a lock.
 * Ownership: init maps it, fini unmaps it; the last one to do so frees it. */
#ifndef HP_EVENT_ENGINE_MEM_NODE_MEMORY_H
#define HP_EVENT_ENGINE_MEM_NODE_MEMORY_H

#include <string.h>
#include <sys/types.h>
#include "base/status.h"
#include "event_engine/mem/node_layout.h"
#include "event_engine/mem/node_slots.h"
#include "event_engine/mem/stream.h"

/* Maps fd (borrowed), a file of hp_node_memory_bytes (shared_file.h), or, fd < 0, uses the zeroed memory at base (tests:
 * members in one process). pids: of the members, which are opened as peers (out->has_peers); 0: in this process; NULL: there
 * will be no pull and no push. *out is valid when HP_OK comes back; else HP_ERR_NO_MEM. */
hp_status_t hp_node_memory_init(hp_node_memory_t *out, const hp_node_shape_t *shape, uint32_t own,
                                const pid_t *pids, int fd, void *base);
void hp_node_memory_fini(hp_node_memory_t *memory);
/* Instead of fini where an operation that was given up may still use the slots: they stay mapped, and what is lent, lent. */
void hp_node_memory_abandon(hp_node_memory_t *memory);

/* Makes pages for the first so many bytes of the payload of all cells of a member, where the kernel can (pages.h); one's own
 * first, so that they lie in the memory of who writes them. */
void hp_node_warm(const hp_node_memory_t *memory, uint32_t member, hp_fan_t fan, size_t bytes);

/* Should a copy of so many bytes into this memory go past the caches (stream.h)? */
static inline bool hp_node_streams(const hp_node_memory_t *memory, size_t bytes)
{
    return memory->streams_from && bytes >= memory->streams_from;
}

/* Copies into this memory, where other members read it once a flag says so. */
static inline void hp_node_write(const hp_node_memory_t *memory, void *to, const void *from, size_t bytes)
{
    if (hp_node_streams(memory, bytes))
        hp_stream_copy(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

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

/* Copies bytes from the memory of a member at its address `from`. HP_OK, HP_ERR_PEER. */
hp_status_t hp_node_pull(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes);
/* The same in the other direction: to the member's address `to`. */
hp_status_t hp_node_push(const hp_node_memory_t *memory, uint32_t member, const void *from, void *to,
                         size_t bytes);

#endif
