#include "pmpi_wrappers/backend/comms/comm_setup.h"

#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "hier/call/stats.h"
#include "hier/executions/execution.h"
#include "hier/planning/arrival.h"
#include "pmpi_wrappers/backend/comms/machine_setup.h"
#include "pmpi_wrappers/backend/comms/node_setup.h"
#include "pmpi_wrappers/backend/comms/private_comm.h"
#include "pmpi_wrappers/backend/comms/shared_comm.h"
#include "pmpi_wrappers/backend/comms/wisdom_setup.h"
#include "pmpi_wrappers/backend/glue/device.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/job_network.h"

/* What each rank tells the others when a communicator is set up. */
typedef struct {
    hp_locality_t locality;
    uint64_t may_duplicate; /* one more way for messages */
    int32_t first_tag;      /* of what is sent to it, where communicators share one for that */
    int32_t other_devices;  /* it has loaded a runtime whose memory is not recognized */
    int32_t host;           /* of the network (job_network.h); -1: none is known */
    uint64_t network;       /* a hash of it; 0: none is known */
    uint64_t
        id; /* of the communicator, if this is its first rank; the upper half: its rank in MPI_COMM_WORLD */
    hp_process_t process;
    hp_machine_introduction_t machine;
    hp_wisdom_introduction_t wisdom;
} introduction_t;

/* *common: the bits that all ranks have; none after an error. */
static int agree(MPI_Comm comm, int mine, int *common)
{
    *common = 0;
    const int code = P(Allreduce)(&mine, common, 1, MPI_INT, MPI_BAND, comm);
    if (code != MPI_SUCCESS)
        *common = 0;
    return code;
}

/* Ranks whose introductions find room on the stack. */
enum { FEW = 64 };
_Static_assert(FEW * sizeof(introduction_t) <= 32768, "that is no more than a thread's stack has");

/* What setting up needs on a rank by itself. The ranks agree that all have it before they go on together:
 * past that point nobody may stay away from a collective. Few ranks do so by their introductions. */
typedef struct {
    introduction_t *all, *few;
    hp_locality_t *table;
    hp_route_end_t *ends;   /* NULL: they share no communicator */
    hp_finding_t *findings; /* NULL: wisdom is not used */
    hp_wisdom_introduction_t wisdom;
    MPI_Group group;
    MPI_Errhandler users;
    int node_file; /* node_setup.h; -1: none */
} needs_t;

static bool needs_init(needs_t *needs, MPI_Comm comm, size_t size, introduction_t *few)
{
    needs->few = size <= FEW ? few : NULL;
    needs->all = needs->few ? few : malloc(size * sizeof *needs->all);
    needs->table = malloc(size * sizeof *needs->table);
    needs->ends = hp_shared_comm_exists() ? malloc(size * sizeof *needs->ends) : NULL;
    needs->wisdom = (hp_wisdom_introduction_t){0};
    needs->findings = hp_wisdom_is_used() ? hp_wisdom_introduce(&needs->wisdom) : NULL;
    needs->group = MPI_GROUP_NULL;
    needs->users = MPI_ERRHANDLER_NULL;
    needs->node_file = -1;
    return needs->all && needs->table && (needs->ends || !hp_shared_comm_exists()) &&
           (needs->findings || !hp_wisdom_is_used()) && P(Comm_group)(comm, &needs->group) == MPI_SUCCESS &&
           P(Comm_get_errhandler)(comm, &needs->users) == MPI_SUCCESS;
}

static void needs_fini(needs_t *needs)
{
    if (needs->users != MPI_ERRHANDLER_NULL)
        P(Errhandler_free)(&needs->users);
    if (needs->group != MPI_GROUP_NULL)
        P(Group_free)(&needs->group);
    if (needs->node_file >= 0)
        close(needs->node_file);
    free(needs->findings);
    free(needs->ends);
    free(needs->table);
    if (needs->all != needs->few)
        free(needs->all);
}

/* Is there room for one more? *first_tag: of the messages to this rank, where communicators share one. */
static bool may_duplicate(int *first_tag)
{
    if (hp_private_comm_count() + hp_shared_comm_count() >= (uint64_t)hp_job.knobs.max_comms)
        return false;
    if (hp_shared_comm_exists())
        *first_tag = hp_shared_comm_take_tags();
    return !hp_shared_comm_exists() || *first_tag >= 0;
}

static int exchange(MPI_Comm comm, needs_t *needs, bool has_needs, int *first_tag)
{
    static _Atomic uint32_t count; /* of the communicators that this rank began to set up */
    introduction_t mine = {0};

    hp_job_locality(&mine.locality);
    hp_node_setup_introduce(&mine.process, &needs->node_file);
    hp_machine_introduce(&mine.machine);
    mine.wisdom = needs->wisdom;
    mine.id = (uint64_t)hp_job.rank << 32 | (atomic_fetch_add(&count, 1) + 1);
    mine.may_duplicate = has_needs && may_duplicate(first_tag);
    mine.first_tag = *first_tag;
    mine.other_devices = hp_device_has_other_runtime();
    mine.host = hp_job_network_machine();
    mine.network = hp_job_network_hash();
    return P(Allgather)(&mine, sizeof mine, MPI_BYTE, needs->all, sizeof mine, MPI_BYTE, comm);
}

/* For who watches. Without memory this communicator is not watched, that is all. */
static void keep_world_ranks(hp_comm_state_t *state, const introduction_t *all)
{
    if (!hp_job.watches || !(state->world_ranks = malloc((size_t)state->size * sizeof *state->world_ranks)))
        return;
    for (int i = 0; i < state->size; i++)
        state->world_ranks[i] = (int)(all[i].id >> 32);
}

/* Learns from the table what the ranks said of themselves. Returns what it means for all calls to come. */
static hp_outcome_t read_introductions(hp_comm_state_t *state, const needs_t *needs)
{
    bool may_duplicate = true, other_devices = false;

    for (int i = 0; i < state->size; i++) {
        const introduction_t *one = &needs->all[i];
        other_devices |= one->other_devices != 0;
        may_duplicate &= one->may_duplicate != 0;
        if (needs->table)
            needs->table[i] = one->locality;
        if (needs->ends)
            needs->ends[i] = (hp_route_end_t){.rank = (int)(one->id >> 32), .first_tag = one->first_tag};
    }
    state->id = needs->all[0].id;
    keep_world_ranks(state, needs->all);
    return other_devices ? HP_OUTCOME_GPU : may_duplicate ? HP_OUTCOME_TAKEN : HP_OUTCOME_NO_DUPLICATE;
}

/* The way for messages, over a communicator of its own where it may be made now. */
static bool open_route(hp_comm_state_t *state, MPI_Comm comm, needs_t *needs)
{
    if (hp_shared_comm_exists()) {
        state->ends = needs->ends;
        needs->ends = NULL;
        const hp_route_t shared = hp_shared_comm_route(state->ends, state->rank);
        hp_transport_mpi_init(&state->transport, &shared);
        return true;
    }
    const bool made = hp_private_comm_create(comm, needs->group, needs->users, &state->private_comm);
    const hp_route_t direct = hp_route_direct(state->private_comm, state->rank);
    hp_transport_mpi_init(&state->transport, &direct);
    return made;
}

/* Where all ranks are on the network, if one is known. False: no memory. */
static bool place_on_network(hp_comm_t *comm, const introduction_t *all)
{
    bool placed = true;

    if (!hp_job_network())
        return true;
    uint32_t *machines = malloc(comm->size * sizeof *machines);
    for (uint32_t i = 0; i < comm->size && machines; i++) {
        machines[i] = (uint32_t)all[i].host;
        placed = placed && all[i].network == all[0].network &&
                 all[i].host >= 0; /* or ranks of other jobs are there */
    }
    const bool done = machines && (!placed || hp_comm_set_network(comm, hp_job_network(), machines) == HP_OK);
    free(machines);
    return done;
}

static bool create_comm(hp_comm_state_t *state, const hp_locality_t *table, const introduction_t *all)
{
    if (hp_comm_create((uint32_t)state->rank, (uint32_t)state->size, table, hp_comm_state_knobs(state),
                       &state->transport.base, &state->comm) != HP_OK ||
        hp_executions_create(state->comm) != HP_OK || hp_arrival_create(state->comm) != HP_OK ||
        !place_on_network(state->comm, all))
        return false;
    state->comm->job_knobs = &hp_job.knobs;
    state->comm->owner = state;
    return true;
}

/* All that a rank makes for the communicator, and on all ranks the same of what they share. *ready: on all ranks. */
static int make(hp_comm_state_t *state, MPI_Comm comm, needs_t *needs, bool *ready)
{
    enum { MADE = HP_NODE_ABILITIES + 1 };
    int mine = 0, common;

    if (open_route(state, comm, needs) && create_comm(state, needs->table, needs->all))
        mine = MADE |
               hp_node_setup_map(state->comm, &needs->all[0].process, sizeof *needs->all, needs->node_file);
    const int code = agree(comm, mine, &common);
    *ready = common & MADE;
    if (*ready)
        hp_node_setup_settle(state->comm, common);
    return code;
}

/* *ready: on all ranks. An MPI error on the user's communicator ends it at once, as it would in any
 * collective. */
static int set_up_together(hp_comm_state_t *state, MPI_Comm comm, bool *ready)
{
    introduction_t few[FEW];
    int first_tag = -1, all_have = true, code = MPI_SUCCESS;
    needs_t needs;

    const bool has_needs = needs_init(&needs, comm, (size_t)state->size, few);
    if (!needs.few)
        code = agree(comm, has_needs, &all_have);
    *ready = all_have;
    if (*ready)
        code = exchange(comm, &needs, has_needs, &first_tag);
    if (*ready && code == MPI_SUCCESS) {
        state->always = read_introductions(state, &needs);
        *ready = state->always == HP_OUTCOME_TAKEN;
        if (!*ready && first_tag >= 0) /* nobody has sent anything */
            hp_shared_comm_return_tags(first_tag);
    }
    if (*ready && code == MPI_SUCCESS)
        code = make(state, comm, &needs, ready);
    if (*ready && code == MPI_SUCCESS)
        code = hp_machine_setup(state, comm, &needs.all[0].machine, sizeof *needs.all);
    if (*ready && code == MPI_SUCCESS && needs.findings) {
        code = hp_wisdom_setup(state->comm, comm, &needs.all[0].wisdom, sizeof *needs.all, needs.findings);
        needs.findings = NULL;
    }
    needs_fini(&needs);
    return code;
}

int hp_comm_state_set_up(hp_comm_state_t *state, MPI_Comm comm)
{
    const uint64_t start_ns = hp_job.is_timed ? hp_clock_ns() : 0;
    bool ready = false;

    const int code = set_up_together(state, comm, &ready);
    if (start_ns)
        hp_stats_add(&hp_stats_setup_ns, hp_clock_ns() - start_ns);
    state->is_set_up = ready && code == MPI_SUCCESS;
    if (!state->is_set_up && state->always == HP_OUTCOME_TAKEN)
        state->always = HP_OUTCOME_NO_DUPLICATE;
    atomic_store_explicit(&state->is_watched, state->is_set_up && state->world_ranks, memory_order_release);
    if (!state->is_set_up && state->rank == 0)
        hp_info("a communicator of %d ranks stays with the host MPI: %s", state->size,
                hp_outcome_text(state->always));
    return code;
}
