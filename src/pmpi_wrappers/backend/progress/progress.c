#include "pmpi_wrappers/backend/progress/progress.h"

#include <pthread.h>
#include "hier/executions/execution.h"
#include "hier/executions/idle.h"
#include "pmpi_wrappers/backend/progress/deferred.h"

_Atomic uint32_t hp_in_flight;
void (*hp_progress_wake)(void);
void (*hp_progress_answer)(hp_comm_state_t *state);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and is held during a poll */
static hp_comm_state_t *active;
static _Atomic uint64_t polls; /* written under the lock */

/* The program may not come by again for long, so this goes on while anything moves. The transport looks at a part of
 * what is in flight at a time: nothing moved when it has found nothing in all parts. */
static bool move_on(hp_comm_state_t *state)
{
    enum { PARTS_MAX = 8, LOOKS_MAX = 64 };
    const int parts = state->transport.in_flight / HP_TRANSPORT_MPI_TESTED + 1;
    const int enough = parts < PARTS_MAX ? parts : PARTS_MAX;
    bool any = false;

    for (int looks = 0, empty = 0; looks < LOOKS_MAX && empty < enough; looks++) {
        const bool moved = hp_executions_progress(state->comm);
        any |= moved;
        empty = moved ? 0 : empty + 1;
        if (!hp_executions_any(state->comm))
            break;
    }
    return any;
}

bool hp_progress_poll(void)
{
    bool moved = false;

    if (!hp_progress_is_due() || pthread_mutex_trylock(&lock) != 0)
        return false;
    atomic_store_explicit(&polls, hp_progress_polls() + 1, memory_order_relaxed);
    for (hp_comm_state_t **place = &active; *place;) {
        hp_comm_state_t *state = *place;
        if (!atomic_load_explicit(&state->nonblocking, memory_order_relaxed)) {
            *place = state->next_active;
            state->is_active = false;
            continue;
        }
        if (hp_comm_state_try_lock(state)) {
            moved |= move_on(state);
            hp_comm_state_unlock(state);
        }
        place = &state->next_active;
    }
    pthread_mutex_unlock(&lock);
    hp_deferred_run();
    return moved;
}

uint64_t hp_progress_polls(void)
{
    return atomic_load_explicit(&polls, memory_order_relaxed);
}

void hp_progress_begin(hp_comm_state_t *state)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add_explicit(&state->nonblocking, 1, memory_order_relaxed);
    if (!state->is_active) {
        state->is_active = true;
        state->next_active = active;
        active = state;
    }
    pthread_mutex_unlock(&lock);
    if (atomic_fetch_add_explicit(&hp_in_flight, 1, memory_order_relaxed) == 0 && hp_progress_wake)
        hp_progress_wake();
}

void hp_progress_end(hp_comm_state_t *state)
{
    atomic_fetch_sub_explicit(&state->nonblocking, 1, memory_order_release);
    atomic_fetch_sub_explicit(&hp_in_flight, 1, memory_order_relaxed);
}

void hp_progress_finish(hp_comm_state_t *state)
{
    hp_idle_t idle = {0};

    while (hp_executions_any(state->comm)) {
        if (hp_executions_progress(state->comm) || hp_progress_poll())
            hp_idle_reset(&idle);
        else
            hp_idle(&idle, state->comm, NULL);
        hp_progress_help(state);
    }
}

void hp_progress_leave(hp_comm_state_t *state)
{
    if (!state->comm || !atomic_load_explicit(&state->is_active, memory_order_relaxed))
        return;
    hp_comm_state_lock(state);
    hp_progress_finish(state);
    hp_comm_state_unlock(state);
    hp_deferred_run();
    while (atomic_load_explicit(&state->nonblocking, memory_order_acquire)) /* another thread runs its end */
        sched_yield();
    pthread_mutex_lock(&lock);
    hp_comm_state_t **place = &active;
    while (*place && *place != state)
        place = &(*place)->next_active;
    if (*place)
        *place = state->next_active;
    state->is_active = false;
    pthread_mutex_unlock(&lock);
}

/* For who waits for a blocking collective, and has locked its communicator. */
static bool elsewhere(hp_comm_t *comm)
{
    hp_progress_help(comm->owner);
    return hp_progress_poll();
}

void hp_progress_init(void)
{
    hp_execution_elsewhere = elsewhere;
}
