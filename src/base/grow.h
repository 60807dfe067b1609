/* grow: room in an array for one entry more, twice as much each time.
 *
 * Threads: pure. Ownership: the array is its owner's, who frees it; where there is no memory it stays as it was. */
#ifndef HP_BASE_GROW_H
#define HP_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* entries: the address of the pointer to the array, which has room for *room entries of so many bytes, of which count are
 * used; first: its room when it is new. False: no memory. */
static inline bool hp_grow(void *entries, uint32_t *room, uint32_t count, size_t bytes, uint32_t first)
{
    void *array; /* entries points to a pointer of any type */

    if (count < *room)
        return true;
    const uint32_t wanted = *room ? 2 * *room : first;
    memcpy(&array, entries, sizeof array);
    void *more = realloc(array, wanted * bytes);
    if (!more)
        return false;
    memcpy(entries, &more, sizeof more);
    *room = wanted;
    return true;
}

#endif
