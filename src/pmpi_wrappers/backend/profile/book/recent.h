/* recent: numbers of rows of a table that were found last, by two words in which the caller has all that tells rows
 * apart. Mostly a call is like one a moment before, and to put a key together in memory and to read it again as words
 * takes longer than to find it.
 *
 * Threads: as the table's. Ownership: plain data; zero: nothing was found. A table whose rows are kept here keeps
 * them. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_RECENT_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_RECENT_H

#include <stdint.h>

enum { HP_RECENT_BITS = 8 };

typedef struct {
    struct {
        uint64_t one, other;
        uint32_t next; /* number of the row + 1; 0: not known */
    } place[1 << HP_RECENT_BITS];
} hp_recent_t;

/* Where the number, plus 1, of the row with these words stands; 0 there: the caller finds the row, and may put it
 * there. */
static inline uint32_t *hp_recent_row(hp_recent_t *recent, uint64_t one, uint64_t other)
{
    const uint64_t hash = (one ^ other * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    const unsigned at = (unsigned)(hash >> (64 - HP_RECENT_BITS));

    if (__builtin_expect(recent->place[at].one != one || recent->place[at].other != other, 0)) {
        recent->place[at].one = one;
        recent->place[at].other = other;
        recent->place[at].next = 0;
    }
    return &recent->place[at].next;
}

#endif
