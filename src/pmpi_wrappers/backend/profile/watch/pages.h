/* pages: when pages of memory are touched, by taking away the right to.
 *
 * A touch is a fault, and the handler of SIGSEGV takes its time and gives the right back. What must never happen is
 * that the program sees anything of it:
 *
 * - A system call that is given such memory would fail with EFAULT. So while pages are watched every system call of
 *   the thread comes to a handler of SIGSYS first (syscall user dispatch, Linux 5.11): it ends the watch, which is a
 *   touch where the call reads or writes these pages, and the call is made. A few that can harm nothing and return at
 *   once (memory from and to the kernel, the time) are made there, and the watch goes on. Fork, exec, sigaction and
 *   the making of threads are system calls, too: when they happen nothing is watched.
 * - Faults and signals that are not ours go to the handler that was there before, or that the program has installed
 *   since: it is put back, and the instruction runs again, or the signal is sent again.
 * - A signal that comes while it is blocked would end the process. So nothing is watched while SIGSEGV or SIGSYS is
 *   blocked, or would be in any handler of the program.
 *
 * Threads: one arms and disarms; any may touch. Those that make system calls on the pages must not be there: who arms
 * sees to that. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_PAGES_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_PAGES_H

#include "pmpi_wrappers/backend/profile/watch/memory.h"
#include <stdint.h>

enum { HP_PAGES_RANGES = 2 };

typedef struct {
    uint64_t first, last; /* ticks; 0: there was no touch */
    uint64_t ns;          /* that the program has lost to faults and signals */
    bool is_cut;          /* a system call ended the watch: what came later was not seen */
} hp_pages_hits_t;

/* False: not on this processor or kernel; errno says why. */
bool hp_pages_open(void);
/* The handlers are given back. */
void hp_pages_fini(void);

/* ranges: whole pages, private, readable and writable ones (hp_memory_is_private). reads_allowed: of the first range.
 * until_first: it ends with the first touch; else touches are followed, piece by piece, so that last is near the last
 * one. False: not now. */
bool hp_pages_arm(const hp_memory_range_t ranges[HP_PAGES_RANGES], bool reads_allowed, bool until_first);
hp_pages_hits_t hp_pages_disarm(void);

#endif
