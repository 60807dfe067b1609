/* slot_pool: the rings of slots that a process lends to its communicators (node_memory.h), and other processes' of this node.
 *
 * Each process has a file of them, which it keeps open: peers open it through /proc. A process maps each file once, however
 * many communicators it shares with its owner.
 *
 * Threads: any. Ownership: files and mappings stay as long as the process. */
#ifndef HP_EVENT_ENGINE_MEM_SLOT_POOL_H
#define HP_EVENT_ENGINE_MEM_SLOT_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number of this process's file, which has so many bytes and begins with the mark; -1: there is none. The first call
 * makes it. */
int hp_slot_pool_own(size_t bytes, uint64_t mark);
/* Where the process pid's file of that number, size and mark is mapped; NULL: it cannot be. */
char *hp_slot_pool_map(pid_t pid, int fd, size_t bytes, uint64_t mark);

#endif
