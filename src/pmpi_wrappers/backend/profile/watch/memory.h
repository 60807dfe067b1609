/* memory: may the pages of a buffer be protected for a while? Only those that nobody but this process has: anonymous
 * and private ones, readable and writable, which are not a stack.
 *
 * Threads: any. Ownership: nothing is kept. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_MEMORY_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_WATCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* What a watch is about. NULL, 0: nothing. */
typedef struct {
    char *start;
    size_t bytes;
} hp_memory_range_t;

/* The whole pages inside a range: no byte of them is anybody else's. */
hp_memory_range_t hp_memory_pages(hp_memory_range_t range);

/* Are all of these pages such pages? Asks the kernel for the mappings that have them (PROCMAP_QUERY), 5 us and 2 us for
 * each; before Linux 6.11 /proc/self/maps is read: 0.3 us for each mapping of the process. False: not, or not known. */
bool hp_memory_is_private(hp_memory_range_t pages);

/* Threads of this process; 0: not known. */
unsigned hp_memory_threads(void);

static inline bool hp_memory_overlaps(hp_memory_range_t a, hp_memory_range_t b)
{
    return a.bytes && b.bytes && a.start < b.start + b.bytes && b.start < a.start + a.bytes;
}

#endif
