/* native: the non-blocking collectives of the host MPI on a communicator of the team's ranks (Libnbc's place
 * in HAN).
 *
 *      reduce            PMPI_Ireduce
 *      bcast             PMPI_Ibcast
 *      outermost level   PMPI_Iallreduce, both in one
 *      barrier           PMPI_Ibarrier
 *
 * One communicator a level and direction, made when first used: all members of a team come here in the same
 * collective. Rounds, bytes: the MPI's.
 * Constraints: the transport offers it; a dense type; teams of outer levels are those of the default leaders
 * (then they are the same for every collective, and a rank has at most one communicator a level and
 * direction). */
#include "hier/modules/module.h"

typedef struct {
    int32_t up, down; /* lanes */
    uint32_t root;    /* the leader, in the communicator */
} native_t;

static bool serves(const hp_comm_t *comm, bool inter_node, const hp_call_t *call)
{
    const hp_hierarchy_t *h = comm->hierarchy;

    /* Open MPI 4.1's MPI_Ireduce writes beside the elements of types with gaps or a lower bound that is not
     * 0. */
    if (!comm->transport->ops->icollective || !hp_type_is_dense(&call->type))
        return false;
    if (!inter_node && hp_comm_node_shape(comm).levels > 1)
        return false; /* the leaders of packages and the like change with the root */
    if (call->collective != HP_BCAST && !call->commutative && comm->rank_order)
        return false; /* other teams than those of the communicators that are kept */
    return !inter_node || call->collective == HP_ALLREDUCE || call->collective == HP_BARRIER ||
           hp_hierarchy_node_leader(h, hp_hierarchy_node_of(h, call->root)) == call->root;
}

static int32_t make_lane(const hp_stage_t *stage, hp_fan_t fan, hp_status_t *status)
{
    hp_comm_t *comm = stage->start->comm;
    hp_handle_t *handle = &comm->native_comms[stage->team.depth][fan];
    const hp_team_t *team = &stage->team;

    if (!comm->native_made[stage->team.depth][fan]) {
        uint32_t *ranks = hp_arena_get(stage->start->arena, team->count * sizeof *ranks);
        if (!ranks) {
            *status = HP_ERR_NO_MEM;
            return -1;
        }
        /* In the order of the groups, whoever is at position 0 today. */
        for (uint32_t i = 0; i < team->count; i++)
            ranks[i] = hp_team_rank(team, (i + team->count - team->start) % team->count);
        *status = comm->transport->ops->team_comm(comm->transport, ranks, team->count,
                                                  2 * team->depth + (uint32_t)fan, handle);
        if (*status != HP_OK)
            return -1;
        comm->native_made[stage->team.depth][fan] = true;
    }
    const int32_t lane = hp_request_native_lane(stage->start->request, *handle);
    if (lane < 0)
        *status = HP_ERR_NO_MEM;
    return lane;
}

static bool fuses(const hp_stage_t *stage)
{
    (void)stage;
    return true;
}

static hp_status_t prepare(hp_stage_t *stage, const hp_call_t *call, const hp_setting_t *setting)
{
    const bool fused =
        stage->outermost && (stage->collective == HP_ALLREDUCE || stage->collective == HP_BARRIER);
    hp_status_t status = HP_OK;
    (void)call;
    (void)setting;

    native_t *own = stage->own = hp_arena_get(stage->start->arena, sizeof *own);
    if (!own)
        return HP_ERR_NO_MEM;
    own->root = stage->team.start;
    if (stage->collective != HP_BCAST)
        own->up = make_lane(stage, HP_FAN_IN, &status);
    if (status == HP_OK && stage->collective != HP_REDUCE && !fused)
        own->down = make_lane(stage, HP_FAN_OUT, &status);
    stage->tasks = 2;
    stage->edges = 6;
    stage->scratch = 1;
    return status;
}

static void reduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow, hp_place_t into)
{
    const native_t *own = stage->own;
    const bool leader = stage->team.position == 0;
    const hp_operand_t to = into.given ? into.at : leader ? hp_scratch() : flow->value;
    const hp_native_t what = stage->collective == HP_BARRIER ? HP_NATIVE_BARRIER : HP_NATIVE_REDUCE;
    hp_task_t *task = hp_emit_native(segment, own->up, what, flow->value, to, flow->count, own->root);

    hp_emit_after(task, flow->ready);
    hp_emit_after(task, into.free);
    if (!hp_flow_is_made(flow))
        flow->own_read = task;
    flow->ready = task;
    flow->value = hp_of(task);
}

static void bcast(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const native_t *own = stage->own;
    const bool barrier = stage->collective == HP_BARRIER;
    hp_task_t *task = hp_emit_native(segment, own->down, barrier ? HP_NATIVE_BARRIER : HP_NATIVE_BCAST,
                                     flow->result, flow->result, flow->count, own->root);

    hp_emit_after(task, flow->ready);
    hp_emit_after(task, flow->own_read);
    flow->ready = task;
    flow->value = flow->result;
}

static void allreduce(const hp_stage_t *stage, hp_segment_t *segment, hp_flow_t *flow)
{
    const native_t *own = stage->own;
    const bool barrier = stage->collective == HP_BARRIER;
    hp_task_t *task = hp_emit_native(segment, own->up, barrier ? HP_NATIVE_BARRIER : HP_NATIVE_ALLREDUCE,
                                     flow->value, flow->result, flow->count, own->root);

    hp_emit_after(task, flow->ready);
    flow->ready = task;
    flow->own_read = task;
    flow->value = flow->result;
}

const hp_module_t hp_module_native = {.serves = serves,
                                      .prepare = prepare,
                                      .reduce = reduce,
                                      .bcast = bcast,
                                      .fuses = fuses,
                                      .allreduce = allreduce};
