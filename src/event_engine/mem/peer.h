/* peer: another process of this node whose memory this one reads and writes (process_vm_readv, process_vm_writev).
 *
 * The kernel is told a process by its number, and the number of one that has died may soon be another's. So a peer is
 * held by a descriptor that stays with the process: a pidfd, or its folder in /proc where the kernel (before Linux 5.3)
 * or a container has no pidfds. Before every access the descriptor says whether the process still lives.
 *
 * Threads: any. Ownership: each open needs its close. All users of a process share one descriptor. */
#ifndef HP_EVENT_ENGINE_MEM_PEER_H
#define HP_EVENT_ENGINE_MEM_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/status.h"

typedef struct hp_peer hp_peer_t;

/* NULL: there is no such process, or no memory or descriptor for it. */
hp_peer_t *hp_peer_open(pid_t pid);
void hp_peer_close(hp_peer_t *peer); /* NULL is allowed */

/* Copies bytes from the peer's address `from`, or to its address `to`. HP_OK, HP_ERR_PEER. */
hp_status_t hp_peer_read(const hp_peer_t *peer, const void *from, void *to, size_t bytes);
hp_status_t hp_peer_write(const hp_peer_t *peer, const void *from, void *to, size_t bytes);

/* May this process read and write that one's memory? expected: what lies at address there, and is written back.
 * Each is asked for by itself: a filter of system calls may refuse one of them. As no other process has that value
 * there, the peer is the process that is meant, and not one with its number in another namespace. */
bool hp_peer_is_reachable(const hp_peer_t *peer, const uint64_t *address, uint64_t expected);

/* Lets other processes of this user read and write this one's memory, where Yama restricts that to a process's parents
 * (ptrace_scope 1). It holds as long as the process lives, or until the program itself calls prctl(PR_SET_PTRACER): Yama
 * asks at every access and takes one process, or any. */
void hp_peer_permit_access(void);

#endif
