#include "pmpi_wrappers/backend/comms/machine_setup.h"

#include "hier/executions/execution.h"
#include "hier/planning/wisdom.h"
#include "pmpi_wrappers/backend/glue/machine.h"
#include "pmpi_wrappers/backend/start/job.h"
#include "pmpi_wrappers/backend/start/probe.h"

void hp_machine_introduce(hp_machine_introduction_t *out)
{
    bool is_fresh;
    hp_probe_known(&out->probes, &is_fresh);
    out->is_fresh = is_fresh;
    out->keeps = hp_job.rank == 0;
}

/* What the communicator knows now is what this process knows. The cores are those of this communicator's ranks; what was
 * measured on may have been others. */
static void keep(hp_comm_t *comm)
{
    hp_probe_learn(&comm->probes, false);
    comm->probes.cores = comm->cores;
    hp_comm_choose_stores(comm);
}

static bool is_complete(const hp_comm_t *comm)
{
    const hp_layout_t layout = hp_comm_layout(comm);
    return hp_probes_cover(&comm->probes, &layout);
}

/* Measures, or compares, on all ranks. */
static int measure(hp_comm_state_t *state, MPI_Comm users)
{
    hp_comm_t *comm = state->comm;

    const int code =
        hp_probe(users, &state->transport.route, comm, hp_comm_layout(comm).nodes > 1, &comm->probes);
    if (code == MPI_SUCCESS)
        keep(comm);
    return code;
}

static const hp_machine_introduction_t *introduction_of(const hp_machine_introduction_t *all, size_t stride,
                                                        uint32_t rank)
{
    return (const hp_machine_introduction_t *)((const char *)all + rank * stride);
}

/* The first rank with probes of this run; comm->size: there is none. */
static uint32_t first_fresh(const hp_comm_t *comm, const hp_machine_introduction_t *all, size_t stride)
{
    uint32_t rank = 0;

    while (rank < comm->size && !introduction_of(all, stride, rank)->is_fresh)
        rank++;
    return rank;
}

static bool any_keeps(const hp_comm_t *comm, const hp_machine_introduction_t *all, size_t stride)
{
    bool any = false;

    for (uint32_t rank = 0; rank < comm->size; rank++)
        any |= introduction_of(all, stride, rank)->keeps != 0;
    return any;
}

int hp_machine_setup(hp_comm_state_t *state, MPI_Comm users, const hp_machine_introduction_t *all, size_t stride)
{
    hp_comm_t *comm = state->comm;
    const hp_layout_t layout = hp_comm_layout(comm);

    if (!hp_job.knobs.model || hp_ranks_take_turns)
        return MPI_SUCCESS;
    const uint32_t fresh = first_fresh(comm, all, stride), first = fresh % comm->size;
    const bool is_fresh = fresh < comm->size;
    const hp_machine_introduction_t *one = introduction_of(all, stride, first);
    comm->probes = one->probes; /* if only some of it is known, the rest is measured */
    const bool is_known =
        hp_probes_adopt(&one->probes, stride, comm->size - first, &layout, &comm->probes);
    /* What each collective does in the memory of a node, from the first on. */
    const int code = comm->knobs.stream_bytes < 0
                         ? hp_probe_stores(users, &state->transport.route, comm, &comm->probes)
                         : MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        return code;
    keep(comm);
    if (is_known && (layout.nodes == 1 || is_fresh))
        return MPI_SUCCESS;
    if (hp_job.knobs.probe_after_us == 0)
        return measure(state, users);
    state->lacks_probes = comm->probes_may_come = true;
    state->keeps_probes = any_keeps(comm, all, stride);
    return MPI_SUCCESS;
}

/* Another communicator may have had all or some of these ranks measure meanwhile. *found: what one of them knows covers
 * this one, too. */
static int ask(hp_comm_state_t *state, MPI_Comm users, bool *found)
{
    hp_machine_introduction_t mine;
    int lowest = 0;

    hp_machine_introduce(&mine);
    const int own = mine.is_fresh ? state->size - state->rank : 0;
    int code = P(Allreduce)(&own, &lowest, 1, MPI_INT, MPI_MAX, users);
    *found = code == MPI_SUCCESS && lowest > 0;
    if (!*found)
        return code;
    code = P(Bcast)(&mine.probes, sizeof mine.probes, MPI_BYTE, state->size - lowest, users);
    if (code == MPI_SUCCESS)
        state->comm->probes = mine.probes;
    *found = is_complete(state->comm);
    return code;
}

bool hp_machine_spend(hp_comm_state_t *state, double us)
{
    state->spent_us += us;
    if (!state->lacks_probes)
        return false;
    const hp_layout_t layout = hp_comm_layout(state->comm);
    return state->spent_us >= hp_probes_after_us((double)hp_job.knobs.probe_after_us, &layout,
                                                 is_complete(state->comm), state->keeps_probes);
}

/* What was found with another network is not for this one. */
static void forget_other_places(hp_comm_t *comm)
{
    const hp_wisdom_place_t place = hp_wisdom_place(comm);
    comm->finding_count = hp_wisdom_at(comm->findings, comm->finding_count, &place);
}

int hp_machine_learn(hp_comm_state_t *state, MPI_Comm users, bool *learned)
{
    hp_comm_t *comm = state->comm;
    const bool was_complete = is_complete(comm);
    bool found;

    int code = ask(state, users, &found);
    if (code == MPI_SUCCESS && found)
        keep(comm);
    else if (code == MPI_SUCCESS)
        code = measure(state, users);
    state->lacks_probes = comm->probes_may_come = false;
    hp_comm_state_lock(state); /* how blocks are sliced hangs on the rate between nodes (collectives/exchange.c) */
    hp_plans_forget(&comm->executions->plans);
    hp_comm_state_unlock(state);
    *learned = code == MPI_SUCCESS && is_complete(comm);
    if (*learned && was_complete)
        forget_other_places(comm);
    return code;
}
