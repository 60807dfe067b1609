/* progress: what moves non-blocking collectives on.
 *
 * A communicator that has non-blocking collectives in execution is on a list. hp_progress_poll goes through it, and is
 * called
 *   - by the host MPI, in all its calls, where it lets us in (host_request.h);
 *   - by the calls we intercept, where it does not (host_calls.h);
 *   - by whoever waits for a blocking collective;
 *   - by the helper thread (HANPMPI_PROGRESS=thread).
 * A poll calls the MPI, which may call the poll again: whoever finds somebody at it, or itself, leaves it to that one.
 *
 * Threads: any. Ownership: the list borrows the states. */
#ifndef HP_PMPI_WRAPPERS_BACKEND_PROGRESS_PROGRESS_H
#define HP_PMPI_WRAPPERS_BACKEND_PROGRESS_PROGRESS_H

#include "pmpi_wrappers/backend/comms/comm_state.h"

/* Non-blocking collectives of this process that are not finished. */
extern _Atomic uint32_t hp_in_flight;

static inline bool hp_progress_is_due(void)
{
    return atomic_load_explicit(&hp_in_flight, memory_order_relaxed) != 0;
}

/* Moves on all that is in flight, without blocking. Returns whether anything moved. */
bool hp_progress_poll(void);
/* How often that was done so far, by whomever. */
uint64_t hp_progress_polls(void);

/* Answers a survey of what is in execution on a communicator (observe/survey.h): called by who has locked the state and
 * waits, when state->is_asked. Set inside MPI_Init. */
extern void (*hp_progress_answer)(hp_comm_state_t *state);
static inline void hp_progress_help(hp_comm_state_t *state)
{
    if (__builtin_expect(atomic_load_explicit(&state->is_asked, memory_order_relaxed), 0))
        hp_progress_answer(state);
}

/* Called when something is in flight after nothing was; NULL: nobody wants to know. Set inside MPI_Init. */
extern void (*hp_progress_wake)(void);

/* One more is in flight on the communicator: before it is submitted. */
void hp_progress_begin(hp_comm_state_t *state);
/* One is done, and its request complete: the last thing that touches the state. */
void hp_progress_end(hp_comm_state_t *state);

/* Waits until all collectives of the communicator, which the caller has locked, are done. */
void hp_progress_finish(hp_comm_state_t *state);
/* The communicator goes: waits for what is in execution on it. All its ranks are about to free it, so all have called it. */
void hp_progress_leave(hp_comm_state_t *state);

/* From MPI_Init on. */
void hp_progress_init(void);

#endif
