/* arrival: when ranks enter and leave some of the blocking collectives, and at the end who waited for whom.
 *
 * Which calls of a communicator are sampled follows from their number alone, so that all its ranks take the same.
 * Where a rank's memory is full it drops every other sample, and so do all at the end.
 *
 * Threads: one at a time; finish inside MPI_Finalize, collective. Ownership: kept until fini. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_ARRIVAL_H
#define HP_PMPI_WRAPPERS_BACKEND_PROFILE_BOOK_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>
#include "pmpi_wrappers/backend/profile/book/book.h"

typedef struct {
    uint64_t comm_id, number; /* which call: the same on all ranks of the communicator */
    uint64_t enter_ns, leave_ns;
    uint32_t site, size;
    uint16_t call, comm;
    int8_t bin;
    uint8_t waiting; /* hp_waiting_t */
    bool is_root;    /* this rank is the root */
    uint32_t rank;   /* in the communicator */
} hp_arrivals_sample_t;

/* Every n-th call or so of a communicator is sampled, n = 2^HP_ARRIVALS_SHIFT, and the first ones of the first
 * communicators that its ranks have: a program may make one for every few calls. */
enum { HP_ARRIVALS_SHIFT = 3, HP_ARRIVALS_FIRST = 64, HP_ARRIVALS_COMMS = 4 };

/* Beyond so many halvings nothing more is kept. */
enum { HP_ARRIVALS_LEVELS = 24 };

typedef struct {
    hp_arrivals_sample_t *samples;
    uint32_t count;
    unsigned level; /* of 2^level samples one is kept */
} hp_arrivals_t;

extern hp_arrivals_t hp_arrivals;

/* False: no memory. */
bool hp_arrivals_init(void);
void hp_arrivals_fini(void);

/* A random number of the call, the same on all ranks. */
static inline uint32_t hp_arrivals_lot(uint64_t comm_id, uint64_t number)
{
    const uint64_t lot = (comm_id ^ (number + 1)) * 0x9e3779b97f4a7c15u;
    return (uint32_t)((lot ^ lot >> 29) * 0xbf58476d1ce4e5b9u >> 32);
}

/* first: so many calls of the communicator are all sampled. */
static inline bool hp_arrivals_is_sampled(uint64_t comm_id, uint64_t number, uint32_t first)
{
    return number < first || (hp_arrivals_lot(comm_id, number) & ((1u << HP_ARRIVALS_SHIFT) - 1)) == 0;
}

void hp_arrivals_add(const hp_arrivals_sample_t *sample);
/* Drops what is not kept on that level. */
void hp_arrivals_thin(unsigned level);

#endif
