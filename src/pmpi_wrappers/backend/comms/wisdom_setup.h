/* wisdom_setup: the ranks of a new communicator come to one list of what is known of communicators like it; what its guards
 * find is kept for others.
 *
 * Each has a store of findings (hier/planning/wisdom.h), of the communicators that it took part in. Mostly all have the same.
 * Where they have not, the one with most sends its own to the others.
 *
 * Threads: one a communicator. Ownership: the list goes to the communicator. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_WISDOM_SETUP_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_WISDOM_SETUP_H

#include "hier/planning/select.h"
#include "hier/planning/wisdom.h"
#include "pmpi_wrappers/backend/glue/mpi_glue.h"

/* What a rank tells the others. */
typedef struct {
    uint64_t hash, count;
} hp_wisdom_introduction_t;

/* Does the job use it? The same on all ranks. */
bool hp_wisdom_is_used(void);

/* A copy of this rank's store, for the time of the set-up; malloc'ed, NULL: no memory. */
hp_finding_t *hp_wisdom_introduce(hp_wisdom_introduction_t *out);

/* Collective over the program's communicator, whose ranks are comm's. all: of each rank, stride bytes apart; list: what
 * hp_wisdom_introduce returned, which goes to comm. Returns an MPI error code. */
int hp_wisdom_setup(hp_comm_t *comm, MPI_Comm users, const hp_wisdom_introduction_t *all, size_t stride,
                    hp_finding_t *list);

/* For other communicators, and later runs: what the guards of a communicator have found, or one of them. */
void hp_wisdom_keep(hp_comm_t *comm);
void hp_wisdom_keep_one(const hp_comm_t *comm, hp_collective_t collective, const hp_bin_t *bin);
/* At the communicator's end: what its trials that are not over speak for. */
void hp_wisdom_keep_open(hp_comm_t *comm);

#endif
