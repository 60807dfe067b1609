/* book: what a recording consists of (docs/hanpmpi-profile.5), of one rank or of several, and putting two together.
 *
 * Each rank fills one in. At MPI_Finalize books travel up a tree of ranks as bytes, and each rank adds those of its
 * children to its own; a row is found by what it says, so numbers of modules, sites, communicators and types are
 * translated on the way. Tables have limits: what does not fit is entered without its details, or counted as lost.
 *
 * Threads: one at a time. Ownership: fini gives everything back. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_BOOK_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_BOOK_H

#include "pmpi_wrappers/backend/profile/book/table.h"

enum {
    HP_BOOK_FRAMES = 8,
    HP_BOOK_HISTOGRAM = 42, /* of nanoseconds by powers of 2: the last one is 18 minutes and more */
    HP_BOOK_SIMULTANEOUS = 256,
    HP_BOOK_LATE = 16,
    HP_BOOK_NO_BYTES = -1 /* a bin */
};
#define HP_BOOK_NO_FRAME UINT64_MAX

typedef struct {
    char path[256];
    char build_id[48];
    char function[40]; /* of Python; the path is that of its source. Else "" */
} hp_book_module_t;

/* module << 48 | offset of the call, or line in Python's source; the innermost first. Site 0 has none: it is not known. */
typedef struct {
    uint64_t frame[HP_BOOK_FRAMES];
} hp_book_site_t;

/* All communicators of one name and size. */
typedef struct {
    char name[128];
    uint64_t size;
    uint64_t made; /* behind the key */
} hp_book_comm_t;

/* Of datatypes, operations, nodes. */
typedef struct {
    char text[64];
} hp_book_name_t;

typedef struct {
    uint16_t call, comm, type, op;
    uint32_t site;
    int8_t bin;
    uint8_t on_device;
    uint16_t zero;
    /* behind the key; what each call changes is in the first line of the cache, with the key */
    uint64_t count, bytes, accelerated;
    uint64_t ns, least_ns, most_ns;       /* of all calls of all ranks; of one call */
    uint64_t rank_least_ns, rank_most_ns; /* sum of one rank; a rank that has not closed its book: 0 */
    uint64_t ranks;
    uint32_t histogram[HP_BOOK_HISTOGRAM]; /* [k]: calls of 2^(k-1) < ns <= 2^k; the largest: or more */
} hp_book_record_t;
_Static_assert(sizeof(hp_book_record_t) % HP_TABLE_LINE == 0 &&
                   offsetof(hp_book_record_t, rank_least_ns) == HP_TABLE_LINE,
               "lines of the cache");

typedef struct {
    uint32_t source, destination;
    uint64_t messages, bytes; /* behind the key */
} hp_book_peer_t;

typedef struct {
    uint16_t post_call, wait_call;
    uint32_t post_site;
    uint64_t wait_site;
    uint64_t count, bytes, between_ns, wait_ns; /* behind the key */
} hp_book_wait_t;

typedef struct {
    uint32_t rank, times;
    uint64_t ns;
} hp_book_late_t;

typedef struct {
    uint16_t call, comm;
    uint32_t site;
    int64_t bin;
    uint64_t samples, waited_ns, transfer_ns, skew_ns; /* behind the key */
    hp_book_late_t late[HP_BOOK_LATE];
} hp_book_arrival_t;

/* How a slack is known: id, word in the file. */
#define HP_BOOK_HOW(X)                                                                                       \
    X(TOUCH, "touch") /* the touch was seen, or the next call uses the buffer */                             \
    X(UNTOUCHED,                                                                                             \
      "untouched") /* watched from one MPI call to the next, without a touch: it is at least that */         \
    X(NEXT_CALL, "next call") /* not watched, or not all of the time: it is at most that */

typedef enum {
#define X(id, word) HP_SLACK_##id,
    HP_BOOK_HOW(X)
#undef X
} hp_book_how_t;

typedef struct {
    uint16_t call;
    uint8_t how;
    int8_t bin;
    uint32_t site;
    uint64_t after, before; /* samples; behind the key */
    uint64_t after_ns, before_ns;
} hp_book_slack_t;

/* Messages that came before their receive was posted, whenever that was looked at. */
typedef struct {
    uint64_t samples, with_any, messages, most;
} hp_book_unexpected_t;

/* A rank. */
typedef struct {
    uint64_t rank;
    uint64_t run_ns, mpi_ns, calls; /* behind the key */
    int64_t clock_offset_ns;
    uint64_t clock_error_ns;
    uint64_t watch_ns,
        watches_left_out; /* HANPMPI_PROFILE_WATCH: what it took, and what it did not do for that */
    uint32_t node, threads;
} hp_book_rank_t;

/* id, row type, its key, limit, name among what is lost */
#define HP_BOOK_TABLES(X)                                                                                    \
    X(modules, hp_book_module_t, sizeof(hp_book_module_t), 1024)                                             \
    X(sites, hp_book_site_t, sizeof(hp_book_site_t), 32768)                                                  \
    X(comms, hp_book_comm_t, offsetof(hp_book_comm_t, made), 4096)                                           \
    X(types, hp_book_name_t, sizeof(hp_book_name_t), 1024)                                                   \
    X(ops, hp_book_name_t, sizeof(hp_book_name_t), 64)                                                       \
    X(nodes, hp_book_name_t, sizeof(hp_book_name_t), 1u << 20)                                               \
    X(records, hp_book_record_t, offsetof(hp_book_record_t, count), 65536)                                   \
    X(peers, hp_book_peer_t, offsetof(hp_book_peer_t, messages), 1u << 20)                                   \
    X(waits, hp_book_wait_t, offsetof(hp_book_wait_t, count), 16384)                                         \
    X(arrivals, hp_book_arrival_t, offsetof(hp_book_arrival_t, samples), 8192)                               \
    X(slacks, hp_book_slack_t, offsetof(hp_book_slack_t, after), 16384)                                      \
    X(ranks, hp_book_rank_t, offsetof(hp_book_rank_t, run_ns), 1u << 24)

/* What limits of memory have left out, in calls or operations: id, what it is. */
#define HP_BOOK_LOST(X)                                                                                      \
    X(records)  /* calls that are entered without site, communicator, type, operation */                     \
    X(sites)    /* calls whose site is not known */                                                          \
    X(comms)    /* communicators whose names are not known */                                                \
    X(peers)    /* messages that are not in the matrix */                                                    \
    X(waits)    /* operations that are not in the table of waits */                                          \
    X(requests) /* operations that were not followed to where they were waited for */                        \
    X(arrivals) /* samples of when ranks arrived */                                                          \
    X(slacks)   /* samples of how long buffers were not touched */                                           \
    X(sequence) /* collectives that are not in the sequence, because of their communicator or their kind */  \
    X(counts)   /* collectives that are there without their lists of counts */

typedef enum {
#define X(id) HP_LOST_##id,
    HP_BOOK_LOST(X)
#undef X
        HP_LOST_COUNT
} hp_lost_t;

typedef struct {
    uint64_t simultaneous[HP_BOOK_SIMULTANEOUS];
#define X(id, row, key, limit) hp_table_t id;
    HP_BOOK_TABLES(X)
#undef X
    uint64_t lost[HP_LOST_COUNT];
    hp_book_unexpected_t unexpected;
} hp_book_t;

/* False: no memory. Row 0 of sites, comms, types and ops stands for what is not known, or not there. */
bool hp_book_init(hp_book_t *book);
void hp_book_fini(hp_book_t *book);

/* Rows by what they say; 0: no room. A function of Python for which there is none is "?", in the file "?". */
uint32_t hp_book_name(hp_table_t *names, const char *text);
uint32_t hp_book_comm(hp_book_t *book, const char *name, uint64_t size);
uint32_t hp_book_module(hp_book_t *book, const char *path, const char *build_id, const char *function);
uint32_t hp_book_site(hp_book_t *book, const hp_book_site_t *site);
/* The row of another book's site. */
uint32_t hp_book_copy_site(hp_book_t *to, const hp_book_t *from, uint32_t number);

/* The record for a key. Where there is no room for it: the one of this call and size alone, and the call counts as
 * lost. NULL: no memory at all. */
hp_book_record_t *hp_book_record(hp_book_t *book, const hp_book_record_t *key);
/* calls: so many, fewer than 2^32, each with these. */
void hp_book_record_add(hp_book_record_t *record, uint64_t calls, uint64_t bytes, uint64_t ns);
/* The row of a pair of ranks, or with a wait's key. NULL: there is no room. */
hp_book_peer_t *hp_book_peer(hp_book_t *book, uint32_t source, uint32_t destination);
hp_book_wait_t *hp_book_wait(hp_book_t *book, const hp_book_wait_t *key);
void hp_book_peer_add(hp_book_t *book, uint32_t source, uint32_t destination, uint64_t messages,
                      uint64_t bytes);
void hp_book_wait_add(hp_book_t *book, const hp_book_wait_t *wait);
void hp_book_arrival_add(hp_book_t *book, const hp_book_arrival_t *arrival);
void hp_book_slack_add(hp_book_t *book, const hp_book_slack_t *slack);
const char *hp_book_how_word(hp_book_how_t how);

/* The rank is done: its sums are those of one rank. */
void hp_book_close(hp_book_t *book);

/* Adds what from has. */
void hp_book_merge(hp_book_t *to, const hp_book_t *from);

/* As bytes, for a message. NULL: no memory. The caller frees them. */
void *hp_book_pack(const hp_book_t *book, size_t *bytes);
/* False: no memory, or these are not the bytes of a book. */
bool hp_book_unpack(hp_book_t *book, const void *packed, size_t bytes);

/* Adds to a row of hp_book_peer. NULL: it is lost. */
static inline void hp_book_peer_count(hp_book_t *book, hp_book_peer_t *peer, uint64_t messages,
                                      uint64_t bytes)
{
    if (!peer) {
        book->lost[HP_LOST_peers] += messages;
        return;
    }
    peer->messages += messages;
    peer->bytes += bytes;
}

/* Adds what stands behind the key of more to a row of hp_book_wait. NULL: it is lost. */
static inline void hp_book_wait_count(hp_book_t *book, hp_book_wait_t *wait, const hp_book_wait_t *more)
{
    if (!wait) {
        book->lost[HP_LOST_waits] += more->count;
        return;
    }
    wait->count += more->count;
    wait->bytes += more->bytes;
    wait->between_ns += more->between_ns;
    wait->wait_ns += more->wait_ns;
}

/* So many calls begin while others are under way. */
static inline void hp_book_count_simultaneous(hp_book_t *book, uint32_t under_way, uint64_t calls)
{
    book->simultaneous[under_way < HP_BOOK_SIMULTANEOUS ? under_way : HP_BOOK_SIMULTANEOUS - 1] += calls;
}

/* (2^(n-1), 2^n] */
static inline int hp_book_bin(uint64_t value)
{
    return value <= 1 ? 0 : 64 - __builtin_clzll(value - 1);
}

#endif
