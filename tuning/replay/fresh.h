/* fresh: memory that a program used for the first time in a call. The kernel gives a page when it is first written to, and what that takes
 * was part of the recorded call: an alltoall of 16 MiB into new memory takes twice as long as one into the memory of the last.
 *
 * Threads: any; page faults are those of the thread that asks. Ownership: none. */
#ifndef HP_REPLAY_FRESH_H
#define HP_REPLAY_FRESH_H

#include <stddef.h>
#include <stdint.h>

/* Until now. */
uint64_t replay_fresh_faults(void);

/* Gives pages back to the kernel, those of received first: they are zero, and will be used for the first time again. Both buffers have so
 * many bytes, and begin with a page. Returns how many pages. */
uint64_t replay_fresh_make(char *received, char *sent, size_t bytes, uint64_t pages);

#endif
