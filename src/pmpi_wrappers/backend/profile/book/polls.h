/* polls: calls that test and find nothing. A program that waits by testing makes millions of them, each shorter than what
 * it takes to look at the clock twice; so of those at one place in the program all are counted and, once there were
 * many, about one in sixteen is timed. The others count for as long as the next one that is timed, so that the sum is right
 * in the mean, whatever their times are.
 *
 * Threads: one at a time. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_POLLS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_POLLS_H

#include "pmpi_wrappers/backend/profile/book/book.h"
#include "pmpi_wrappers/backend/profile/book/shapes.h"

enum { HP_POLL_WORDS = 7 };

/* A place where a program polls. What a call looks at that is not timed is in two lines of the cache: between two of them
 * the program's and the kernel's own things have been there. */
typedef struct hp_poll {
    const void *address, *frame; /* as for hp_sites_find */
    uintptr_t comm;              /* the argument; 0: the call has none */
    uint64_t ticks;              /* of the last one that was timed */
    uint32_t number;             /* of its record, + 1; 0: nobody polls here */
    uint32_t left;               /* so many more are not timed */
    uint32_t untimed;            /* were counted here and are not in the book yet */
    uint32_t timed;
    hp_row_t row;
    int8_t comm_at, request_at, requests_at, flag_at; /* of the shape */
    uint8_t words;
    struct {
        const uintptr_t *at;
        uintptr_t is;
    } word[HP_POLL_WORDS]; /* further return addresses */
} __attribute__((aligned(64))) hp_poll_t;

typedef struct {
    uint64_t calls, ns;
} hp_polls_sum_t;

enum { HP_POLLS_BITS = 6 };

extern hp_poll_t hp_polls[1 << HP_POLLS_BITS];

/* Where those are that return to this address. */
static inline hp_poll_t *hp_polls_at(const void *address)
{
    return &hp_polls[((uintptr_t)address >> 2 ^ (uintptr_t)address >> 8) & ((1u << HP_POLLS_BITS) - 1)];
}

/* Does the call come the way that was described? */
static inline bool hp_polls_is(const hp_poll_t *poll, const void *address, const void *frame)
{
    if (poll->address != address || poll->frame != frame)
        return false;
    for (unsigned i = 0; i < poll->words; i++)
        if (*poll->word[i].at != poll->word[i].is)
            return false;
    return true;
}

/* One that found nothing was timed, and is in the book. random: any number. Returns what has come to the book for others. */
hp_polls_sum_t hp_polls_timed(hp_book_t *book, hp_poll_t *poll, uint64_t ticks, uint64_t ns, uint64_t random);

/* Enters those that were counted, for the mean time of their record, and forgets the place. Returns as above. */
hp_polls_sum_t hp_polls_leave(hp_book_t *book, hp_poll_t *poll);
hp_polls_sum_t hp_polls_leave_all(hp_book_t *book);

/* The next ones are timed, wherever they come. */
void hp_polls_stop(void);

#endif
