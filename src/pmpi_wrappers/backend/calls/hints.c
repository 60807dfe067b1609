#include "pmpi_wrappers/backend/calls/hints.h"

#include "base/log.h"
#include "pmpi_wrappers/backend/comms/comm_registry.h"
#include "pmpi_wrappers/backend/progress/host_collectives.h"
#include "pmpi_wrappers/backend/progress/progress.h"
#include "pmpi_wrappers/backend/start/job.h"

typedef struct {
    const char *key;
    hp_knob_id_t knob;
} hint_t;

/* The knobs that a communicator may have its own value of. The key is the knob's name. */
#define HINT_TABLE(X)                                                                                        \
    X(bcast)                                                                                                 \
    X(reduce)                                                                                                \
    X(allreduce)                                                                                             \
    X(barrier)                                                                                               \
    X(allgather)                                                                                             \
    X(allgatherv)                                                                                            \
    X(alltoall)                                                                                              \
    X(alltoallv)                                                                                             \
    X(alltoallw)                                                                                             \
    X(reduce_scatter)                                                                                        \
    X(reduce_scatter_block)                                                                                  \
    X(gather)                                                                                                \
    X(gatherv)                                                                                               \
    X(scatter)                                                                                               \
    X(scatterv)                                                                                              \
    X(scan)                                                                                                  \
    X(exscan)                                                                                                \
    X(segment_bytes)                                                                                         \
    X(ib_segment_bytes)                                                                                      \
    X(ir_segment_bytes)                                                                                      \
    X(shapes)                                                                                                \
    X(modules)                                                                                               \
    X(between_nodes)                                                                                         \
    X(trees)                                                                                                 \
    X(leaders)                                                                                               \
    X(sends_per_child)                                                                                       \
    X(recvs_per_parent)                                                                                      \
    X(window_segments)                                                                                       \
    X(guard)                                                                                                 \
    X(arrival)

static const hint_t hints[] = {
#define X(field) {"hanpmpi_" #field, HP_KNOB_ID_##field},
    HINT_TABLE(X)
#undef X
};

/* What rank 0 tells the others. */
typedef struct {
    uint64_t given; /* any hint at all */
    hp_knobs_t knobs;
} message_t;

static bool get(MPI_Info info, const char *key, char *value)
{
    int found = 0;
    return P(Info_get)(info, key, HP_KNOB_TEXT_BYTES - 1, value, &found) == MPI_SUCCESS && found;
}

/* The switch sets the knob `enable` of the communicator. */
static void read_switch(MPI_Info info, message_t *message)
{
    char value[HP_KNOB_TEXT_BYTES];

    if (!get(info, HANPMPI_HINT_ENABLE, value))
        return;
    bool enable;
    if (hp_word_boolean(value, &enable)) {
        message->knobs.enable = enable;
        message->given = 1;
    } else {
        hp_warn("info key %s: \"%s\" is not accepted (accepted: " HP_WORD_BOOLEANS "); ignored",
                HANPMPI_HINT_ENABLE, value);
    }
}

static void read_hints(MPI_Info info, message_t *message)
{
    char value[HP_KNOB_TEXT_BYTES], error[HP_KNOB_TEXT_BYTES * 2];

    if (info == MPI_INFO_NULL)
        return;
    read_switch(info, message);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (!get(info, hints[i].key, value))
            continue;
        if (hp_knob_parse(&message->knobs, hints[i].knob, value, error, sizeof error))
            message->given = 1;
        else
            hp_warn("info key %s: \"%s\" is not accepted (%s); ignored", hints[i].key, value, error);
    }
}

/* For the error handler of the program's communicator: with other hints than the other ranks this one would
 * decide otherwise than they do. */
static int no_memory(MPI_Comm comm)
{
    P(Comm_call_errhandler)(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

/* Reads the hints of info on rank 0 of comm and applies them on all ranks, so the ranks cannot disagree, even when the
 * program gives them different infos. Collective over comm. Returns an MPI error code; the communicator's error handler has
 * run then. */
static int apply(MPI_Comm comm, MPI_Info info)
{
    message_t message;
    bool may;

    hp_comm_state_t *state = hp_comm_state_find(comm);
    if (state && state->always == HP_OUTCOME_FAILED)
        return no_memory(comm);
    if (!state)
        return MPI_SUCCESS;
    int code = hp_comm_state_may_communicate(state, comm, &may);
    if (!may)
        return code;
    memset(&message, 0, sizeof message);
    /* Hints add up: a later MPI_Comm_set_info without a key leaves what the key set before. */
    message.knobs = *hp_comm_state_knobs(state);
    message.given = state->hinted != NULL;
    if (state->rank == 0)
        read_hints(info, &message);
    code = hp_host_collective_begin(comm);
    if (code == MPI_SUCCESS)
        code = P(Bcast)(&message, sizeof message, MPI_BYTE, 0, comm);
    if (code != MPI_SUCCESS || !message.given)
        return code;
    /* RANK knobs (waiting, what is said) stay each rank's own; the switch travels with the hints. */
    hp_knobs_t knobs = *hp_comm_state_knobs(state);
    hp_knobs_adopt(&knobs, &message.knobs);
    knobs.enable = message.knobs.enable;
    /* What is in execution was decided by the old ones, on all ranks. */
    hp_progress_leave(state);
    return hp_comm_state_set_hints(state, &knobs) == HP_OK ? MPI_SUCCESS : no_memory(comm);
}

int hp_mpi_comm_set_info(MPI_Comm comm, MPI_Info info)
{
    const int code = P(Comm_set_info)(comm, info);
    return code == MPI_SUCCESS && hp_job.active ? apply(comm, info) : code;
}

int hp_mpi_comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *duplicate)
{
    int code = hp_host_collective_begin(comm);
    if (code == MPI_SUCCESS)
        code = P(Comm_dup_with_info)(comm, info, duplicate);
    return code == MPI_SUCCESS && hp_job.active ? apply(*duplicate, info) : code;
}
