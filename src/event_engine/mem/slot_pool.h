/* slot_pool: the file of slots that a process lends to its communicators (node_slots.h), and those of the other processes of
 * this node.
 *
 * Each process makes one file and keeps it open: peers open it through /proc. A process maps each file once, however
 * many communicators it shares with its owner.
 *
 * Threads: any. Ownership: the own file stays as long as the process; a mapping until its last user gives it back. */
#ifndef HP_EVENT_ENGINE_MEM_SLOT_POOL_H
#define HP_EVENT_ENGINE_MEM_SLOT_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { HP_POOL_RINGS_MAX = 64 }; /* in a pool */

/* A process's file: its number there (-1: there is none), and what it begins with. */
typedef struct {
    pid_t pid;
    int fd;
    uint64_t mark;
} hp_slot_pool_t;

/* The number of this process's file, which has so many bytes and begins with the mark; -1: there is none. The first call
 * makes it, and has the only say in bytes and mark. */
int hp_slot_pool_own(size_t bytes, uint64_t mark);

/* Where a file is mapped. */
typedef struct {
    char *base;
    _Atomic size_t read[HP_POOL_RINGS_MAX]; /* of each ring: bytes of each slot that have pages here */
} hp_slot_pool_view_t;

/* The process's file, mapped; NULL: it cannot be, is not marked so, or has not so many bytes. */
hp_slot_pool_view_t *hp_slot_pool_map(const hp_slot_pool_t *pool, size_t bytes);
/* One user less. */
void hp_slot_pool_unmap(hp_slot_pool_view_t *view);

#endif
