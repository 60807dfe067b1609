#include "pmpi_wrappers/backend/comms/comm_registry.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"

/* Lookup: a direct-mapped table in front of the attribute. An entry that belongs to another communicator
 * costs one MPI_Comm_get_attr, nothing more. */
enum { LOOKUP_SLOTS = 256 };
static hp_comm_state_t *_Atomic lookup[LOOKUP_SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static hp_comm_state_t *states;                          /* in use, newest first */
static hp_comm_state_t *unused;

static int attribute_key = MPI_KEYVAL_INVALID;
static void (*on_release)(hp_comm_state_t *state);

/* The communicators that this thread is freeing, and what their last collectives find. */
static _Thread_local const hp_dying_t *dying;
static hp_comm_state_t dying_state = {.always = HP_OUTCOME_INACTIVE};

/* What a call finds on a communicator whose state cannot be made. */
static hp_comm_state_t failed_state = {.always = HP_OUTCOME_FAILED};

static hp_comm_state_t *_Atomic *slot_of(hp_handle_t key)
{
    return &lookup[(unsigned)((key * 0x9e3779b97f4a7c15u) >> 56) % LOOKUP_SLOTS];
}

/* The communicator is being freed (or its attribute deleted at MPI_Finalize). */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    on_release(value);
    return MPI_SUCCESS;
}

bool hp_comm_registry_init(void (*release)(hp_comm_state_t *state))
{
    on_release = release;
    return P(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, on_delete, &attribute_key, NULL) == MPI_SUCCESS;
}

void hp_comm_registry_fini(void)
{
    if (attribute_key != MPI_KEYVAL_INVALID)
        P(Comm_free_keyval)(&attribute_key);
}

/* The caller holds the lock, unless nobody knows of the state. */
static void give_back(hp_comm_state_t *state)
{
    state->next = unused;
    unused = state;
}

static hp_comm_state_t *take_memory(void)
{
    pthread_mutex_lock(&lock);
    hp_comm_state_t *state = unused;
    if (state)
        unused = state->next;
    pthread_mutex_unlock(&lock);
    return state ? state : calloc(1, sizeof *state);
}

/* is_found: lookups of comm find it. NULL: no memory, or an MPI error. */
static hp_comm_state_t *create(MPI_Comm comm, bool is_found)
{
    hp_comm_state_t *state = take_memory();
    if (!state)
        return NULL;
    const bool made = hp_comm_state_init(state, comm) &&
                      (!is_found || P(Comm_set_attr)(comm, attribute_key, state) == MPI_SUCCESS);

    pthread_mutex_lock(&lock);
    if (!made) {
        give_back(state);
        state = NULL;
    } else {
        atomic_store_explicit(&state->key, is_found ? HP_HANDLE(comm) : 0, memory_order_release);
        state->previous = NULL;
        state->next = states;
        if (states)
            states->previous = state;
        states = state;
    }
    pthread_mutex_unlock(&lock);
    return state;
}

static bool is_dying(hp_handle_t key)
{
    const hp_dying_t *frame = dying;

    while (frame && frame->key != key)
        frame = frame->outer;
    return frame;
}

hp_comm_state_t *hp_comm_state_find(MPI_Comm comm)
{
    const hp_handle_t key = HP_HANDLE(comm);
    hp_comm_state_t *_Atomic *slot = slot_of(key);
    hp_comm_state_t *state = atomic_load_explicit(slot, memory_order_acquire);
    int found;

    /* A state that has our key is ours: nobody frees a communicator while a collective runs on it. */
    if (state && atomic_load_explicit(&state->key, memory_order_acquire) == key)
        return state;
    if (comm == MPI_COMM_NULL || P(Comm_get_attr)(comm, attribute_key, &state, &found) != MPI_SUCCESS)
        return NULL;
    if (!found && is_dying(key))
        return &dying_state;
    if (!found && !(state = create(comm, true)))
        return &failed_state;
    atomic_store_explicit(slot, state, memory_order_release);
    return state;
}

hp_comm_state_t *hp_comm_registry_add(MPI_Comm comm)
{
    return create(comm, false);
}

hp_comm_state_t *hp_comm_registry_known(MPI_Comm comm)
{
    const hp_handle_t key = HP_HANDLE(comm);

    if (comm == MPI_COMM_NULL || !key || attribute_key == MPI_KEYVAL_INVALID)
        return NULL;
    pthread_mutex_lock(&lock);
    hp_comm_state_t *state = states;
    while (state && state->key != key)
        state = state->next;
    pthread_mutex_unlock(&lock);
    return state;
}

hp_comm_state_t *hp_comm_registry_first(void)
{
    pthread_mutex_lock(&lock);
    hp_comm_state_t *first = states;
    for (hp_comm_state_t *state = states; state && first->id; state = state->next)
        if (state->id < first->id)
            first = state;
    pthread_mutex_unlock(&lock);
    return first;
}

void hp_comm_registry_delete(hp_comm_state_t *state)
{
    const hp_handle_t key = atomic_load_explicit(&state->key, memory_order_relaxed);

    if (!key) {
        on_release(state);
        return;
    }
    if (P(Comm_delete_attr)(HP_UNHANDLE(MPI_Comm, key), attribute_key) == MPI_SUCCESS)
        return;
    hp_warn("the MPI does not delete an attribute: what the library holds for a communicator is not freed");
    hp_comm_registry_remove(state);
}

void hp_comm_registry_begin_dying(hp_dying_t *frame, MPI_Comm comm)
{
    const bool is_known = comm != MPI_COMM_NULL && attribute_key != MPI_KEYVAL_INVALID;

    *frame = (hp_dying_t){.key = is_known ? HP_HANDLE(comm) : 0, .outer = dying};
    dying = frame;
}

void hp_comm_registry_end_dying(const hp_dying_t *frame)
{
    dying = frame->outer;
}

void hp_comm_registry_hide(hp_comm_state_t *state)
{
    pthread_mutex_lock(&lock); /* a visitor has it: not before it has gone */
    atomic_store_explicit(&state->is_watched, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void hp_comm_registry_remove(hp_comm_state_t *state)
{
    hp_comm_state_t *expected = state;

    pthread_mutex_lock(&lock);
    const hp_handle_t key = atomic_load_explicit(&state->key, memory_order_relaxed);
    atomic_compare_exchange_strong(slot_of(key), &expected, NULL);
    atomic_store_explicit(&state->key, 0, memory_order_relaxed);
    if (state->previous)
        state->previous->next = state->next;
    else
        states = state->next;
    if (state->next)
        state->next->previous = state->previous;
    give_back(state);
    pthread_mutex_unlock(&lock);
}

void hp_comm_state_each(void (*visit)(hp_comm_state_t *state, void *context), void *context)
{
    pthread_mutex_lock(&lock);
    for (hp_comm_state_t *state = states; state; state = state->next)
        if (atomic_load_explicit(&state->is_watched, memory_order_acquire))
            visit(state, context);
    pthread_mutex_unlock(&lock);
}

void hp_comm_state_resources(hanpmpi_resources_t *out)
{
    pthread_mutex_lock(&lock);
    for (const hp_comm_state_t *state = states; state; state = state->next) {
        out->communicators++;
        out->requests += (uint64_t)state->transport.in_flight;
        if (atomic_load_explicit(&state->is_watched, memory_order_acquire)) /* else it may be on its way out */
            out->buffers += state->comm->pool.live;
    }
    pthread_mutex_unlock(&lock);
    out->duplicates = hp_private_comm_count() + hp_shared_comm_count();
}
