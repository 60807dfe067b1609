#include "pmpi_wrappers/backend/comms/arrival_agreement.h"

#include <stdlib.h>
#include "base/clock.h"
#include "hier/executions/execution.h"

static int meet(hp_comm_state_t *state, MPI_Comm comm, hp_allreduce_fn_t allreduce)
{
    uint64_t begin_ns = 0;
    double nothing = 0;
    int code = MPI_SUCCESS;

    for (unsigned time = 0; time < 2 && code == MPI_SUCCESS; time++) {
        begin_ns = hp_clock_ns();
        code = allreduce(state, &nothing, 1, MPI_MAX, comm);
    }
    hp_arrival_met(state->comm, begin_ns, hp_clock_ns());
    return code;
}

/* Goes around these ranks, if all ranks can. */
static int go_around(hp_comm_state_t *state, const uint32_t *late, uint32_t count, MPI_Comm comm,
                     hp_allreduce_fn_t allreduce)
{
    hp_comm_t *own = state->comm;
    hp_around_t *around = NULL;
    double has_failed = 0;
    uint32_t members;

    hp_comm_node_ranks(own, &members);
    if (count > 0)
        has_failed =
            hp_around_create(own->hierarchy, own->first_place, members, late, count, &around) != HP_OK;
    const int code = allreduce(state, &has_failed, 1, MPI_MAX, comm);
    if (code != MPI_SUCCESS || has_failed > 0) {
        hp_around_destroy(around);
        return code;
    }
    hp_comm_state_lock(state);
    hp_plans_forget_around(&own->executions->plans);
    hp_comm_set_around(own, around);
    hp_comm_state_unlock(state);
    return code;
}

/* late_us: room for the ranks' own, or NULL. */
static int compare(hp_comm_state_t *state, double *late_us, MPI_Comm comm, hp_allreduce_fn_t allreduce)
{
    hp_comm_t *own = state->comm;
    double sums[HP_ARRIVAL_SUMS], most[2];
    uint32_t late[HP_ARRIVAL_LATE_MAX];

    hp_arrival_sums(own, sums);
    int code = allreduce(state, sums, HP_ARRIVAL_SUMS, MPI_SUM, comm);
    const double mine = code == MPI_SUCCESS ? hp_arrival_lateness(own, sums) : 0;
    most[0] = mine;
    most[1] = late_us == NULL;
    if (code == MPI_SUCCESS)
        code = allreduce(state, most, 2, MPI_MAX, comm);
    if (code != MPI_SUCCESS)
        return code;
    const bool is_anybody = most[0] > 0 && most[1] == 0;
    if (is_anybody) {
        late_us[own->rank] = mine;
        code = allreduce(state, late_us, own->size, MPI_MAX, comm);
        if (code != MPI_SUCCESS)
            return code;
    }
    const uint32_t count = hp_arrival_choose(own, is_anybody ? late_us : NULL, late);
    return hp_arrival_is_same(own, late, count) ? code : go_around(state, late, count, comm, allreduce);
}

int hp_arrival_agree(hp_comm_state_t *state, hp_arrival_step_t step, MPI_Comm comm,
                     hp_allreduce_fn_t allreduce)
{
    double *late_us = step == HP_ARRIVAL_MEET ? NULL : calloc(state->comm->size, sizeof *late_us);
    const int code =
        step == HP_ARRIVAL_MEET ? meet(state, comm, allreduce) : compare(state, late_us, comm, allreduce);

    if (code != MPI_SUCCESS)
        hp_arrival_lost(state->comm);
    free(late_us);
    return code;
}
