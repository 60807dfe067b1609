#include "pmpi_wrappers/backend/comms/comm_state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/log.h"
#include "hier/planning/explain.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/comms/node_setup.h"
#include "pmpi_wrappers/backend/start/probe.h"
#include "pmpi_wrappers/backend/progress/progress.h"

/* Lookup: a direct-mapped table in front of the attribute. An entry that belongs to another communicator
 * costs one MPI_Comm_get_attr, nothing more. */
enum { LOOKUP_SLOTS = 256 };
static hp_comm_state_t *_Atomic lookup[LOOKUP_SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the four below */
static hp_comm_state_t *states;                          /* in use, newest first */
static hp_comm_state_t *unused;
static int64_t duplicates;
static uint32_t set_up_count; /* communicators for which this rank began to set up */

static int attribute_key = MPI_KEYVAL_INVALID;

/* The communicator that this thread is freeing, and what its last collectives find. */
static _Thread_local hp_handle_t dying;
static hp_comm_state_t dying_state = {.always = HP_OUTCOME_INACTIVE};

/* What a call finds on a communicator whose state cannot be made. */
static hp_comm_state_t failed_state = {.always = HP_OUTCOME_FAILED};

/* What each rank tells the others when a communicator is set up. */
typedef struct {
    hp_locality_t locality;
    uint64_t may_duplicate;
    uint64_t gpu;
    uint64_t
        id; /* of the communicator, if this is its first rank; the upper half: this rank in MPI_COMM_WORLD */
    hp_process_t process;
    hp_probes_t probes; /* what it knows of the machine */
} introduction_t;

static unsigned slot_of(hp_handle_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 56) % LOOKUP_SLOTS;
}

/* Before what the communicator's selection remembers goes. */
static void keep_explanation(const hp_comm_state_t *state)
{
    if (hp_job.explains && state->comm)
        hp_explain_keep(state->comm);
}

static void release(hp_comm_state_t *state)
{
    hp_progress_leave(state); /* long done where the program itself frees the communicator */
    keep_explanation(state);
    pthread_mutex_lock(&lock); /* from here on nobody visits it */
    atomic_store_explicit(&state->is_watched, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    hp_comm_destroy(state->comm);
    state->comm = NULL;
    free(state->world_ranks);
    state->world_ranks = NULL;
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
        hp_progress_leave(oldest);
        P(Comm_delete_attr)(HP_UNHANDLE(MPI_Comm, oldest->key), attribute_key);
        oldest = newer;
    }
    P(Comm_free_keyval)(&attribute_key);
}

/* NULL: no memory, or an MPI error. */
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
    state->is_within_world = false;
    state->takes_nonblocking = hp_nonblocking_at_once;
    state->gpu = false;
    state->size = size;
    state->rank = rank;
    state->eligible_calls = 0;
    state->asking_calls = 0;
    state->hinted = NULL;
    state->private_comm = MPI_COMM_NULL;
    state->comm = NULL;
    atomic_store_explicit(&state->busy, false, memory_order_relaxed);
    atomic_store_explicit(&state->is_watched, false, memory_order_relaxed);
    atomic_store_explicit(&state->is_asked, false, memory_order_relaxed);
    state->world_ranks = NULL;
    atomic_store_explicit(&state->nonblocking, 0, memory_order_relaxed);
    atomic_store_explicit(&state->is_active, false, memory_order_relaxed);
    state->channels = NULL;
    state->has_all_channels = false;
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

static void forget(const MPI_Comm *comm)
{
    if (!comm || *comm == MPI_COMM_NULL || attribute_key == MPI_KEYVAL_INVALID)
        return;
    const hp_handle_t key = HP_HANDLE(*comm);
    pthread_mutex_lock(&lock);
    hp_comm_state_t *state = states;
    while (state && state->key != key)
        state = state->next;
    pthread_mutex_unlock(&lock);
    if (state) {
        /* Not in the callback: the MPI may hold a lock there that others need who hold ours. */
        hp_progress_leave(state);
        P(Comm_delete_attr)(*comm, attribute_key);
    }
    dying = key;
}

int hp_comm_state_free(MPI_Comm *comm, int (*give_back)(MPI_Comm *comm))
{
    forget(comm);
    const int code = give_back(comm);
    dying = 0;
    return code;
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
    if (!found && !(state = create(comm)))
        return &failed_state;
    atomic_store_explicit(slot, state, memory_order_release);
    return state;
}

int hp_comm_state_code(hp_comm_state_t *state, hp_status_t status)
{
    int code = status == HP_ERR_NO_MEM ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;

    if (status == HP_OK)
        return MPI_SUCCESS;
    if (status == HP_ERR_TRANSPORT && state->transport.mpi_error != MPI_SUCCESS)
        code = state->transport.mpi_error;
    state->transport.mpi_error = MPI_SUCCESS;
    return code;
}

int hp_comm_state_report(hp_comm_state_t *state, MPI_Comm comm, hp_status_t status)
{
    const int code = hp_comm_state_code(state, status);
    P(Comm_call_errhandler)(comm, code);
    return code;
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
    keep_explanation(state);
    if (state->comm) { /* what is queued was decided by the old ones, on all ranks */
        hp_comm_state_lock(state);
        hp_progress_finish(state);
        hp_comm_set_knobs(state->comm, hp_comm_state_knobs(state));
        hp_comm_state_unlock(state);
    }
    return HP_OK;
}

/* *within: all ranks of group are in world. Nothing here may fail on one rank alone without being reported,
 * hence no memory is asked for. */
static int is_within(MPI_Group group, int size, MPI_Group world, bool *within)
{
    enum { AT_A_TIME = 256 };
    int ranks[AT_A_TIME], world_ranks[AT_A_TIME], code = MPI_SUCCESS;

    *within = true;
    for (int first = 0; first < size && *within && code == MPI_SUCCESS; first += AT_A_TIME) {
        const int count = size - first < AT_A_TIME ? size - first : AT_A_TIME;
        for (int i = 0; i < count; i++)
            ranks[i] = first + i;
        code = P(Group_translate_ranks)(group, count, ranks, world, world_ranks);
        for (int i = 0; i < count && code == MPI_SUCCESS; i++)
            *within &= world_ranks[i] != MPI_UNDEFINED;
    }
    return code;
}

/* Are all ranks of comm in this process's MPI_COMM_WORLD? After MPI_Comm_spawn and a merge they are not, and
 * nothing was agreed with the others. */
int hp_comm_state_is_within_world(hp_comm_state_t *state, MPI_Comm comm, bool *within)
{
    MPI_Group world, group;

    *within = state->is_within_world;
    if (*within)
        return MPI_SUCCESS;
    int code = P(Comm_group)(MPI_COMM_WORLD, &world);
    if (code != MPI_SUCCESS)
        return code;
    code = P(Comm_group)(comm, &group);
    if (code == MPI_SUCCESS) {
        code = is_within(group, state->size, world, within);
        P(Group_free)(&group);
    }
    P(Group_free)(&world);
    state->is_within_world = code == MPI_SUCCESS && *within;
    return code;
}

int hp_comm_state_may_communicate(hp_comm_state_t *state, MPI_Comm comm, bool *may)
{
    int code = MPI_SUCCESS;

    if (state->always == HP_OUTCOME_TAKEN && !state->is_set_up) {
        bool within;
        code = hp_comm_state_is_within_world(state, comm, &within);
        if (code == MPI_SUCCESS && !within)
            state->always = HP_OUTCOME_OTHER_WORLD;
    }
    *may = code == MPI_SUCCESS && state->always == HP_OUTCOME_TAKEN;
    return code;
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

/* *all: every rank says yes. */
static int agree(MPI_Comm comm, bool yes, bool *all)
{
    int mine = yes, lowest = 0;
    const int code = P(Allreduce)(&mine, &lowest, 1, MPI_INT, MPI_MIN, comm);
    *all = code == MPI_SUCCESS && lowest;
    return code;
}

/* What setting up needs on a rank by itself. The ranks agree that all have it before they go on together:
 * past that point nobody may stay away from a collective. */
typedef struct {
    introduction_t *all;
    hp_locality_t *table;
    MPI_Group group;
    MPI_Errhandler users;
} needs_t;

static bool needs_init(needs_t *needs, MPI_Comm comm, size_t size)
{
    needs->all = malloc(size * sizeof *needs->all);
    needs->table = malloc(size * sizeof *needs->table);
    needs->group = MPI_GROUP_NULL;
    needs->users = MPI_ERRHANDLER_NULL;
    return needs->all && needs->table && P(Comm_group)(comm, &needs->group) == MPI_SUCCESS &&
           P(Comm_get_errhandler)(comm, &needs->users) == MPI_SUCCESS;
}

static void needs_fini(needs_t *needs)
{
    if (needs->users != MPI_ERRHANDLER_NULL)
        P(Errhandler_free)(&needs->users);
    if (needs->group != MPI_GROUP_NULL)
        P(Group_free)(&needs->group);
    free(needs->table);
    free(needs->all);
}

static bool make_twin(MPI_Comm comm, MPI_Group group, MPI_Comm *twin)
{
    if (P(Comm_create)(comm, group, twin) != MPI_SUCCESS)
        *twin = MPI_COMM_NULL;
    if (*twin == MPI_COMM_NULL)
        return false;
    P(Comm_set_errhandler)(*twin, MPI_ERRORS_RETURN);
    return true;
}

bool hp_comm_state_twin(MPI_Comm comm, MPI_Comm *twin)
{
    MPI_Group group;

    *twin = MPI_COMM_NULL;
    if (P(Comm_group)(comm, &group) != MPI_SUCCESS)
        return false;
    const bool made = make_twin(comm, group, twin);
    P(Group_free)(&group);
    return made;
}

/* An error must not reach the program's error handler. */
static bool make_private_comm(hp_comm_state_t *state, MPI_Comm comm, const needs_t *needs)
{
    P(Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
    const bool made = make_twin(comm, needs->group, &state->private_comm);
    /* None is SMPI's answer where the program has set none. */
    P(Comm_set_errhandler)(comm, needs->users == MPI_ERRHANDLER_NULL ? MPI_ERRORS_ARE_FATAL : needs->users);
    if (!made)
        return false;
    pthread_mutex_lock(&lock);
    duplicates++;
    pthread_mutex_unlock(&lock);
    return true;
}

static int exchange(MPI_Comm comm, introduction_t *all)
{
    introduction_t mine = {.gpu = gpu_runtime_is_loaded()};

    hp_job_locality(&mine.locality);
    hp_node_setup_introduce(&mine.process);
    hp_probe_known(&mine.probes);
    pthread_mutex_lock(&lock);
    mine.id = (uint64_t)hp_job.rank << 32 | ++set_up_count;
    mine.may_duplicate = duplicates < hp_job.knobs.max_comms;
    pthread_mutex_unlock(&lock);
    return P(Allgather)(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, comm);
}

/* What some rank has learned, or else what is measured now. */
static int know_the_machine(hp_comm_state_t *state, const introduction_t *all)
{
    hp_comm_t *comm = state->comm;
    const hp_layout_t layout = hp_comm_layout(comm);

    if (!hp_job.knobs.model || hp_ranks_take_turns)
        return MPI_SUCCESS;
    comm->probes = all[0].probes; /* if only some of it is known, the rest is measured */
    if (!hp_probes_adopt(&all[0].probes, sizeof *all, comm->size, &layout, &comm->probes)) {
        const int code = hp_probe(state->private_comm, comm, &comm->probes);
        if (code != MPI_SUCCESS)
            return code;
    }
    hp_probe_learn(&comm->probes, false);
    comm->probes.cores =
        comm->cores; /* of this communicator's ranks; what was measured on may have been others */
    return MPI_SUCCESS;
}

/* For who watches. Without memory this communicator is not watched, that is all. */
static void keep_world_ranks(hp_comm_state_t *state, const introduction_t *all)
{
    if (!hp_job.watches || !(state->world_ranks = malloc((size_t)state->size * sizeof *state->world_ranks)))
        return;
    for (int i = 0; i < state->size; i++)
        state->world_ranks[i] = (int)(all[i].id >> 32);
}

/* *ready: on all ranks. An MPI error on the user's communicator ends it at once, as it would in any
 * collective. */
static int set_up_together(hp_comm_state_t *state, MPI_Comm comm, bool *ready)
{
    const size_t size = (size_t)state->size;
    bool may_duplicate = true;
    needs_t needs;

    const bool mine = needs_init(&needs, comm, size);
    int code = agree(comm, mine, ready);
    if (*ready && (code = exchange(comm, needs.all)) == MPI_SUCCESS) {
        for (size_t i = 0; i < size; i++) {
            needs.table[i] = needs.all[i].locality;
            may_duplicate &= needs.all[i].may_duplicate != 0;
            state->gpu |= needs.all[i].gpu != 0;
        }
        state->id = needs.all[0].id;
        keep_world_ranks(state, needs.all);
        *ready = may_duplicate;
        if (may_duplicate) {
            bool made = make_private_comm(state, comm, &needs);
            state->transport.comm = state->private_comm;
            made = made &&
                   hp_comm_create((uint32_t)state->rank, (uint32_t)size, needs.table,
                                  hp_comm_state_knobs(state), &state->transport.base, &state->comm) == HP_OK;
            if (made) {
                state->comm->job_knobs = &hp_job.knobs;
                state->comm->owner = state;
            }
            code = agree(comm, made, ready);
            if (*ready)
                code =
                    hp_node_setup(state->comm, state->private_comm, &needs.all[0].process, sizeof *needs.all);
            if (*ready && code == MPI_SUCCESS)
                code = know_the_machine(state, needs.all);
        }
    }
    needs_fini(&needs);
    return code;
}

int hp_comm_state_set_up(hp_comm_state_t *state, MPI_Comm comm)
{
    bool may, ready = false;

    int code = hp_comm_state_may_communicate(state, comm, &may);
    if (!may)
        return code;
    code = HP_HOST_COLLECTIVE(comm, set_up_together(state, comm, &ready));
    state->is_set_up = ready && code == MPI_SUCCESS;
    state->always = state->is_set_up ? HP_OUTCOME_TAKEN : HP_OUTCOME_NO_DUPLICATE;
    atomic_store_explicit(&state->is_watched, state->is_set_up && state->world_ranks, memory_order_release);
    if (!state->is_set_up && state->rank == 0)
        hp_info("a communicator of %d ranks stays with the host MPI: %s", state->size,
                hp_outcome_text(HP_OUTCOME_NO_DUPLICATE));
    return state->is_set_up && !state->takes_nonblocking ? hp_nonblocking_ask(state, comm, false) : code;
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
        if (state->comm)
            out->buffers += state->comm->pool.live;
    }
    out->duplicates = (uint64_t)duplicates;
    pthread_mutex_unlock(&lock);
}
