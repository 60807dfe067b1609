/* last_call: what the last call on a way was, and what was found of it. Mostly the next one there is the same but for what its
 * buffers hold; then the tables of communicators, datatypes, operations, peers need not be asked again, each of which has left
 * the cache where a program computes between its calls.
 *
 * Threads: as the book's. Ownership: plain data; zero: there was no call. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_LAST_CALL_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_LAST_CALL_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_LAST_ARGUMENTS = 8 };

/* What is asked each time is in the first line of the cache, the arguments are in the second. */
typedef struct {
    /* Number in the book + 1; 0: there is none. Of the last call, whether or not the rest is known. */
    uint32_t record;
    uint32_t peer;       /* likewise */
    uint32_t kind;       /* in the sequence; HP_SEQUENCE_NO_KIND: it has none */
    uint32_t types;      /* hp_types_changed[is_derived], at that time */
    uint16_t row, given; /* given: the arguments that count, a bit each; 0: nothing is known but the record */
    uint16_t type, op;
    bool has_bytes, is_root, is_derived;
    /* Its record, its peer and its communicator's number of calls are all that one more such call changes. */
    bool is_alone;
    bool arrives; /* when ranks come to it is sampled */
    uint64_t bytes, sent;
    void *comm;     /* hp_seen_comm_t; NULL: it has none */
    uint64_t known; /* comm's, at that time */
    uintptr_t x[HP_LAST_ARGUMENTS] __attribute__((aligned(64)));
} hp_last_call_t;
_Static_assert(sizeof(hp_last_call_t) == 128, "two lines of the cache");

/* Is the call one with the same arguments, as far as they count? */
static inline bool hp_last_call_is(const hp_last_call_t *last, uint16_t row, const uintptr_t *x)
{
    uint64_t difference = last->row ^ row;
    const uintptr_t *was = last->x;

    for (unsigned given = last->given; given; given &= given - 1)
        difference |= *was++ ^ x[__builtin_ctz(given)];
    return difference == 0 && last->given;
}

static inline void hp_last_call_keep(hp_last_call_t *last, uint16_t row, uint16_t given, const uintptr_t *x)
{
    uintptr_t *is = last->x;

    last->row = row;
    last->given = given;
    for (; given; given &= (uint16_t)(given - 1))
        *is++ = x[__builtin_ctz(given)];
}

#endif
