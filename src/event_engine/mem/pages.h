/* pages: memory that ranks share gets its pages at once, and not each of them when it is touched first.
 *
 * Threads: any. Ownership: nothing. */
#ifndef HP_EVENT_ENGINE_MEM_PAGES_H
#define HP_EVENT_ENGINE_MEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* from: in a mapping. writes: they will be written, else read. False: the kernel cannot (Linux before 5.14), or there is no room;
 * then they come when they are touched. */
bool hp_pages_make(const void *from, size_t bytes, bool writes);

#endif
