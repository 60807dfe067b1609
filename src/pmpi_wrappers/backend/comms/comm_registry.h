/* comm_registry: finds the state of a communicator, and knows all of them.
 *
 * The state hangs on the communicator as an attribute; a direct-mapped table stands in front of that. When the host MPI
 * deletes the attribute, the registry calls back whoever releases states (comm_release). Calls on a communicator that is
 * being freed find a state that passes every call (docs/pitfalls.md 20, 21).
 *
 * Threads: any. The memory of a state is never returned to the heap but used for the next one, so that a racing lookup of
 * another communicator reads valid memory. Ownership: this file owns all states. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_REGISTRY_H
#define HP_PMPI_WRAPPERS_BACKEND_COMMS_COMM_REGISTRY_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* Makes the attribute key. release: called with a state whose attribute is deleted; it ends with
 * hp_comm_registry_remove. false: the library cannot work. */
bool hp_comm_registry_init(void (*release)(hp_comm_state_t *state));
/* When hp_comm_registry_first has none any more, in MPI_Finalize. */
void hp_comm_registry_fini(void);

/* The communicator's state, made if need be. NULL: MPI_COMM_NULL, or an error that the host MPI will report.
 * Without memory for it: one whose `always` is HP_OUTCOME_FAILED. To pass such a call through would be wrong:
 * the other ranks count it towards setting the communicator up. */
hp_comm_state_t *hp_comm_state_find(MPI_Comm comm);

/* One more state for the ranks of comm, which no lookup finds (persistent.h). NULL: no memory, or an MPI error. */
hp_comm_state_t *hp_comm_registry_add(MPI_Comm comm);

/* The state, if there is one. comm may name no communicator. */
hp_comm_state_t *hp_comm_registry_known(MPI_Comm comm);
/* The state with the lowest id, which all ranks agree on where it was set up; NULL: there is none. */
hp_comm_state_t *hp_comm_registry_first(void);
/* Releases the state: has the host MPI delete its attribute, if it has one. */
void hp_comm_registry_delete(hp_comm_state_t *state);
/* Communicators that this thread is freeing: what the callbacks of one free is further in. */
typedef struct hp_dying {
    hp_handle_t key;
    const struct hp_dying *outer;
} hp_dying_t;

/* This thread frees the communicator: until the end no state is made for it. frame: the caller's until then. */
void hp_comm_registry_begin_dying(hp_dying_t *frame, MPI_Comm comm);
void hp_comm_registry_end_dying(const hp_dying_t *frame);

/* From here on hp_comm_state_each does not visit the state. */
void hp_comm_registry_hide(hp_comm_state_t *state);
/* The state holds nothing any more: its memory may serve for another one. */
void hp_comm_registry_remove(hp_comm_state_t *state);

/* Visits all states that are set up, where somebody watches. None of them goes meanwhile; the visitor locks what it looks
 * at, and calls no MPI. */
void hp_comm_state_each(void (*visit)(hp_comm_state_t *state, void *context), void *context);

void hp_comm_state_resources(hanpmpi_resources_t *out);

#endif
