/* channel: a communicator's communicator for one persistent collective, which may be started in another order on each rank: the
 * n-th start there is the n-th start on all ranks. With MPI_THREAD_MULTIPLE a state and tags, as if it had one.
 *
 * Threads: any; those of a communicator that get one at a time. Ownership: a channel is in use from get to put, and goes when its
 * communicator goes, or in MPI_Finalize. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_CALLS_CHANNEL_H
#define HP_PMPI_WRAPPERS_BACKEND_CALLS_CHANNEL_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

typedef struct hp_channel {
    MPI_Comm comm;                  /* MPI_COMM_NULL where communicators share one (shared_comm.h) */
    hp_comm_state_t *state;         /* of comm, or one that no lookup finds */
    bool is_used;                   /* by this rank */
    uint64_t id;                    /* of its communicator, and which of its channels this is: the same on */
    uint32_t number;                /* all ranks */
    struct hp_channel *next;        /* of the same communicator, oldest first: the same on all ranks */
    struct hp_channel *next_of_all; /* oldest first */
} hp_channel_t;

/* A channel for a collective that is ready on this rank. *out stays NULL where some rank is not, or cannot have a channel:
 * on all ranks. Returns an MPI code. */
int hp_channel_get(hp_comm_state_t *state, MPI_Comm comm, bool is_ready, hp_channel_t **out);
/* On this rank it is used no more. */
void hp_channel_put(hp_channel_t *channel);

/* The program frees the communicator, on all its ranks, before its state goes: frees those of its channels that no rank
 * uses any more. comm may name no communicator. */
void hp_channels_leave(MPI_Comm comm);
/* In MPI_Finalize, behind hp_comm_states_fini: frees the channels that are left. */
void hp_channels_fini(void);

#endif
