#include "pmpi_wrappers/backend/comm_state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/log.h"
#include "pmpi_wrappers/backend/job.h"

/* Lookup: a direct-mapped table in front of the attribute. An entry that belongs to another communicator
 * costs one MPI_Comm_get_attr, nothing more. */
enum { LOOKUP_SLOTS = 256 };
static hp_comm_state_t *_Atomic lookup[LOOKUP_SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static hp_comm_state_t *states;                          /* in use, newest first */
static hp_comm_state_t *unused;
static int64_t duplicates;

static int attribute_key = MPI_KEYVAL_INVALID;

/* The communicator that this thread is freeing, and what its last collectives find. */
static _Thread_local hp_handle_t dying;
static hp_comm_state_t dying_state = {.always = HP_OUTCOME_INACTIVE};

/* What each rank tells the others when a communicator is set up. */
typedef struct {
    hp_locality_t locality;
    uint64_t may_duplicate;
    uint64_t gpu;
} introduction_t;

static unsigned slot_of(hp_handle_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 56) % LOOKUP_SLOTS;
}

static void release(hp_comm_state_t *state)
{
    hp_comm_destroy(state->comm);
    state->comm = NULL;
    hp_transport_mpi_fini(&state->transport);
    free(state->hinted);
    state->hinted = NULL;
    const bool had_duplicate = state->private_comm != MPI_COMM_NULL;
    if (had_duplicate)
        P(Comm_free)(&state->private_comm);

    pthread_mutex_lock(&lock);
    const hp_handle_t key = atomic_load_explicit(&state->key, memory_order_relaxed);
    hp_comm_state_t *expected = state;
    atomic_compare_exchange_strong(&lookup[slot_of(key)], &expected, NULL);
    atomic_store_explicit(&state->key, 0, memory_order_relaxed);
    if (state->previous)
        state->previous->next = state->next;
    else
        states = state->next;
    if (state->next)
        state->next->previous = state->previous;
    state->next = unused;
    unused = state;
    duplicates -= had_duplicate;
    pthread_mutex_unlock(&lock);
}

/* The communicator is being freed (or its attribute deleted at MPI_Finalize). */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    release(value);
    return MPI_SUCCESS;
}

bool hp_comm_state_init(void)
{
    return P(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, on_delete, &attribute_key, NULL) == MPI_SUCCESS;
}

void hp_comm_state_fini(void)
{
    if (attribute_key == MPI_KEYVAL_INVALID)
        return;
    /* Oldest first: communicators are created in an order all ranks agree on, so freeing in it cannot
     * deadlock. */
    hp_comm_state_t *oldest = states;
    while (oldest && oldest->next)
        oldest = oldest->next;
    while (oldest) {
        hp_comm_state_t *newer = oldest->previous;
        P(Comm_delete_attr)(HP_UNHANDLE(MPI_Comm, oldest->key), attribute_key);
        oldest = newer;
    }
    P(Comm_free_keyval)(&attribute_key);
}

static hp_comm_state_t *create(MPI_Comm comm)
{
    int inter, size, rank;

    if (P(Comm_test_inter)(comm, &inter) != MPI_SUCCESS || P(Comm_size)(comm, &size) != MPI_SUCCESS ||
        P(Comm_rank)(comm, &rank) != MPI_SUCCESS)
        return NULL;
    pthread_mutex_lock(&lock);
    hp_comm_state_t *state = unused;
    if (state)
        unused = state->next;
    pthread_mutex_unlock(&lock);
    if (!state && !(state = malloc(sizeof *state)))
        return NULL;
    state->always = inter ? HP_OUTCOME_INTERCOMM : size == 1 ? HP_OUTCOME_ONE_RANK : HP_OUTCOME_TAKEN;
    state->is_set_up = false;
    state->gpu = false;
    state->size = size;
    state->rank = rank;
    state->eligible_calls = 0;
    state->hinted = NULL;
    state->private_comm = MPI_COMM_NULL;
    state->comm = NULL;
    hp_transport_mpi_init(&state->transport, MPI_COMM_NULL, rank);
    const int code = P(Comm_set_attr)(comm, attribute_key, state);

    pthread_mutex_lock(&lock);
    if (code != MPI_SUCCESS) {
        state->next = unused;
        unused = state;
        state = NULL;
    } else {
        atomic_store_explicit(&state->key, HP_HANDLE(comm), memory_order_release);
        state->previous = NULL;
        state->next = states;
        if (states)
            states->previous = state;
        states = state;
    }
    pthread_mutex_unlock(&lock);
    return state;
}

void hp_comm_state_forget(const MPI_Comm *comm)
{
    if (!comm || *comm == MPI_COMM_NULL || attribute_key == MPI_KEYVAL_INVALID)
        return;
    const hp_handle_t key = HP_HANDLE(*comm);
    pthread_mutex_lock(&lock);
    const hp_comm_state_t *state = states;
    while (state && state->key != key)
        state = state->next;
    pthread_mutex_unlock(&lock);
    if (state)
        P(Comm_delete_attr)(*comm, attribute_key);
    dying = key;
}

void hp_comm_state_forgotten(void)
{
    dying = 0;
}

hp_comm_state_t *hp_comm_state_find(MPI_Comm comm)
{
    const hp_handle_t key = HP_HANDLE(comm);
    hp_comm_state_t *_Atomic *slot = &lookup[slot_of(key)];
    hp_comm_state_t *state = atomic_load_explicit(slot, memory_order_acquire);
    int found;

    /* A state that has our key is ours: nobody frees a communicator while a collective runs on it. */
    if (state && atomic_load_explicit(&state->key, memory_order_acquire) == key)
        return state;
    if (comm == MPI_COMM_NULL || P(Comm_get_attr)(comm, attribute_key, &state, &found) != MPI_SUCCESS)
        return NULL;
    if (!found && key == dying)
        return &dying_state;
    if (!found)
        state = create(comm);
    if (state)
        atomic_store_explicit(slot, state, memory_order_release);
    return state;
}

const hp_knobs_t *hp_comm_state_knobs(const hp_comm_state_t *state)
{
    return state->hinted ? state->hinted : &hp_job.knobs;
}

hp_status_t hp_comm_state_set_hints(hp_comm_state_t *state, const hp_knobs_t *knobs)
{
    if (knobs && !state->hinted && !(state->hinted = malloc(sizeof *state->hinted)))
        return HP_ERR_NO_MEM;
    if (knobs)
        *state->hinted = *knobs;
    else {
        free(state->hinted);
        state->hinted = NULL;
    }
    if (state->comm)
        state->comm->knobs = *hp_comm_state_knobs(state);
    return HP_OK;
}

/* Are all ranks of comm in this process's MPI_COMM_WORLD? After MPI_Comm_spawn and a merge they are not, and
 * nothing was agreed with the others. */
static bool within_world(MPI_Comm comm, int size)
{
    MPI_Group world, group;
    bool within = false;

    if (P(Comm_group)(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
        return false;
    if (P(Comm_group)(comm, &group) == MPI_SUCCESS) {
        int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
        if (ranks) {
            for (int i = 0; i < size; i++)
                ranks[i] = i;
            within = P(Group_translate_ranks)(group, size, ranks, world, ranks + size) == MPI_SUCCESS;
            for (int i = 0; i < size && within; i++)
                within = ranks[size + i] != MPI_UNDEFINED;
            free(ranks);
        }
        P(Group_free)(&group);
    }
    P(Group_free)(&world);
    return within;
}

bool hp_comm_state_may_communicate(hp_comm_state_t *state, MPI_Comm comm)
{
    if (state->always == HP_OUTCOME_TAKEN && !state->is_set_up && !within_world(comm, state->size))
        state->always = HP_OUTCOME_OTHER_WORLD;
    return state->always == HP_OUTCOME_TAKEN;
}

static bool gpu_runtime_is_loaded(void)
{
    static const char *const runtimes[] = {"libcuda.so.1", "libamdhip64.so", "libze_loader.so.1"};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        void *handle = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            dlclose(handle);
            return true;
        }
    }
    return false;
}

/* True when every rank says yes. */
static bool all_agree(MPI_Comm comm, bool yes)
{
    int mine = yes, all = 0;
    return P(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

/* MPI_Comm_create, unlike MPI_Comm_dup, copies no attributes: the program's copy callbacks must not see our
 * duplicate. An error must not reach the program's error handler either. */
static bool make_private_comm(hp_comm_state_t *state, MPI_Comm comm)
{
    MPI_Errhandler users;
    MPI_Group group;

    if (P(Comm_get_errhandler)(comm, &users) != MPI_SUCCESS)
        return false;
    /* SMPI's answer where the program has set none. */
    const bool is_default = users == MPI_ERRHANDLER_NULL;
    P(Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
    if (P(Comm_group)(comm, &group) == MPI_SUCCESS) {
        if (P(Comm_create)(comm, group, &state->private_comm) != MPI_SUCCESS)
            state->private_comm = MPI_COMM_NULL;
        P(Group_free)(&group);
    }
    P(Comm_set_errhandler)(comm, is_default ? MPI_ERRORS_ARE_FATAL : users);
    if (!is_default)
        P(Errhandler_free)(&users);
    if (state->private_comm == MPI_COMM_NULL)
        return false;
    P(Comm_set_errhandler)(state->private_comm, MPI_ERRORS_RETURN);
    pthread_mutex_lock(&lock);
    duplicates++;
    pthread_mutex_unlock(&lock);
    return true;
}

static bool exchange(hp_comm_state_t *state, MPI_Comm comm, introduction_t *all)
{
    introduction_t mine = {.gpu = gpu_runtime_is_loaded()};

    hp_job_locality(&mine.locality);
    pthread_mutex_lock(&lock);
    mine.may_duplicate = duplicates < hp_job.knobs.max_comms;
    pthread_mutex_unlock(&lock);
    return P(Allgather)(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, comm) == MPI_SUCCESS &&
           state->size > 0;
}

void hp_comm_state_set_up(hp_comm_state_t *state, MPI_Comm comm)
{
    const size_t size = (size_t)state->size;
    hp_outcome_t outcome = HP_OUTCOME_NO_DUPLICATE;
    bool may_duplicate = true, ready = false;

    if (!hp_comm_state_may_communicate(state, comm))
        return;
    introduction_t *all = malloc(size * sizeof *all);
    hp_locality_t *table = malloc(size * sizeof *table);
    if (!all_agree(comm, all && table) || !exchange(state, comm, all))
        goto done;
    for (size_t i = 0; i < size; i++) {
        table[i] = all[i].locality;
        may_duplicate &= all[i].may_duplicate != 0;
        state->gpu |= all[i].gpu != 0;
    }
    if (!may_duplicate)
        goto done;
    if (make_private_comm(state, comm)) {
        state->transport.comm = state->private_comm;
        ready = hp_comm_create((uint32_t)state->rank, (uint32_t)size, table, hp_comm_state_knobs(state),
                               &state->transport.base, &state->comm) == HP_OK;
    }
    if (all_agree(comm, ready))
        outcome = HP_OUTCOME_TAKEN;
done:
    free(table);
    free(all);
    state->always = outcome;
    state->is_set_up = outcome == HP_OUTCOME_TAKEN;
    if (!state->is_set_up && state->rank == 0)
        hp_info("a communicator of %d ranks stays with the MPI below: %s", state->size,
                hp_outcome_text(HP_OUTCOME_NO_DUPLICATE));
}

void hp_comm_state_resources(hanpmpi_resources_t *out)
{
    pthread_mutex_lock(&lock);
    for (const hp_comm_state_t *state = states; state; state = state->next) {
        out->communicators++;
        out->requests += (uint64_t)state->transport.in_flight;
        if (state->comm)
            out->buffers += state->comm->pool.live;
    }
    out->duplicates = (uint64_t)duplicates;
    pthread_mutex_unlock(&lock);
}
