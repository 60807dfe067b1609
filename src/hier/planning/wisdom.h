/* wisdom: what guards have found, for other communicators of the same kind and for later runs.
 *
 * A finding is the end of a guard's trial: which candidates there were, what they took, which was chosen. It holds for a
 * collective, a bin of sizes and a place: a layout of nodes and ranks, their cores, and the inter-node network as
 * the probes found it, so that two networks do not share. Each process has a store of findings. Ranks may have found
 * different things, on different communicators: those of a new communicator first come to one list (comm_setup.c), which is
 * then all that it asks. A file keeps rank 0's store for the next run (wisdom_file.h). The word is FFTW's (M. Frigo,
 * S. Johnson, The Design and Implementation of FFTW3, 2005).
 *
 * Threads: the store is guarded. Ownership: lists are the caller's. */
#ifndef HP_HIER_PLANNING_WISDOM_H
#define HP_HIER_PLANNING_WISDOM_H

#include "hier/comm/comm.h"
#include "hier/call/collective.h"
#include "hier/planning/guard.h"

/* Where a finding holds. The network: 0, 0 on one node, or where there are no probes. */
typedef struct {
    uint32_t nodes, least_ranks, most_ranks, cores;
    uint64_t slot_bytes;
    uint32_t shares_memory, reads_peers;
    double between_us, between_rate; /* of a message, in MB/s, as in probes.h */
    uint64_t
        placement; /* a hash of HANPMPI_NETWORK and of where the ranks are on it; 0: no network is known */
} hp_wisdom_place_t;

enum { HP_FINDING_TEXT = 64 };

/* No padding: ranks compare the bytes. */
typedef struct hp_finding {
    hp_wisdom_place_t place;
    uint32_t collective, bin;
    uint64_t id[HP_SLOTS]; /* of the candidates; 0: the host MPI, or none */
    double us[HP_SLOTS];   /* that they took, as the guard counts; < 0: not tried */
    uint32_t chosen, second;
    uint32_t day;               /* since 1970, of the last run that found it */
    uint32_t is_news;           /* that run is this one */
    char text[HP_FINDING_TEXT]; /* the chosen one, for people */
} hp_finding_t;

hp_wisdom_place_t hp_wisdom_place(const hp_comm_t *comm);

/* Of the communicator's list (comm.h); NULL: there is none. */
const hp_finding_t *hp_wisdom_find(const hp_comm_t *comm, hp_collective_t collective, unsigned bin);

/* What a store can have; the oldest go. */
enum { HP_FINDINGS_MAX = 1024 };

/* The store has it from now on, in place of what it had for the same. */
void hp_wisdom_learn(const hp_finding_t *finding);
/* Likewise, of a trial that was broken off: unless another communicator has ended one in this run. */
void hp_wisdom_learn_rough(const hp_finding_t *finding);
/* The store has the list from now on, in this order, and behind it what it had for other places, collectives and sizes. */
void hp_wisdom_adopt(const hp_finding_t *list, size_t count);
/* Copies what the store has, HP_FINDINGS_MAX at most; returns how many. *hash: the same for the same in the same order. */
size_t hp_wisdom_copy(hp_finding_t *out, uint64_t *hash);
/* Has this process learned anything? */
bool hp_wisdom_has_news(void);
void hp_wisdom_forget(void);

/* Keeps those of the list that hold at the place; returns how many. */
size_t hp_wisdom_at(hp_finding_t *list, size_t count, const hp_wisdom_place_t *place);

#endif
