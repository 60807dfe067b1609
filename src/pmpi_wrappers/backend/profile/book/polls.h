/* polls: calls that test and find nothing. A program that waits by testing makes millions of them, each shorter than what
 * it takes to look at the clock twice; so of those at one place in the program all are counted and, once there were
 * many, about one in sixteen is timed. The others count for as long as the next one that is timed, so that the sum is right
 * in the mean, whatever their times are.
 *
 * Threads: one at a time. Ownership: static. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_POLLS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_POLLS_H

#include "pmpi_wrappers/backend/profile/book/book.h"

/* Where a program polls. */
typedef struct hp_poll {
    uint32_t number;  /* of its record, + 1; 0: none */
    uint32_t left;    /* so many more are not timed */
    uint32_t untimed; /* were counted here and are not in the book yet */
    uint32_t timed;
    uint64_t ticks; /* of the last one that was timed */
} hp_poll_t;

typedef struct {
    uint64_t calls, ns;
} hp_polls_sum_t;

enum { HP_POLLS_BITS = 6 };

extern hp_poll_t hp_polls[1 << HP_POLLS_BITS];
extern bool hp_polls_any; /* somewhere polls are not timed */

/* number: as above. NULL: that which comes there now is to be timed. */
static inline hp_poll_t *hp_polls_untimed(uint32_t number)
{
    hp_poll_t *poll = &hp_polls[number & ((1u << HP_POLLS_BITS) - 1)];

    return poll->number == number && poll->left > 0 ? poll : NULL;
}

static inline void hp_polls_count(hp_poll_t *poll)
{
    poll->left--;
    poll->untimed++;
}

/* It has found something: it goes to the book by itself. */
static inline void hp_polls_discount(hp_poll_t *poll)
{
    poll->untimed--;
}

/* One that found nothing was timed, and is in the book. random: any number. Returns what has come to the book for others. */
hp_polls_sum_t hp_polls_timed(hp_book_t *book, uint32_t number, uint64_t ticks, uint64_t ns, uint64_t random);

/* Enters all that were counted, for the mean time of their records. Returns as above. */
hp_polls_sum_t hp_polls_close(hp_book_t *book);

#endif
