#include "part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/job.h"

/* ---- what is the same everywhere ---- */

static void fill_common(replay_part_t *part, const replay_plan_t *plan)
{
    for (int i = 0; i < plan->call_count; i++) {
        const replay_call_t *call = &plan->calls[i];
        replay_part_call_t *mine = &part->calls[i];
        *mine = (replay_part_call_t){.name = call->name,
                                     .comm = call->comm,
                                     .root = call->root,
                                     .nonblocking = call->nonblocking,
                                     .has_lengths = call->lengths != NULL,
                                     .type_bytes = call->type_bytes,
                                     .count = call->count};
        snprintf(mine->collective, sizeof mine->collective, "%s", call->collective->name);
        snprintf(mine->type, sizeof mine->type, "%s", call->type);
        snprintf(mine->op, sizeof mine->op, "%s", call->op);
    }
    for (int i = 0; i < plan->name_count; i++)
        snprintf(part->names[i], sizeof part->names[i], "%s", plan->names[i]);
    for (int i = 0; i < part->comm_count; i++)
        part->comm_sizes[i] = plan->recording->comms[i].size;
}

static void cast(void *data, size_t count, size_t bytes, MPI_Comm comm)
{
    BENCH_MPI(MPI_Bcast(data, (int)(count * bytes), MPI_BYTE, 0, comm));
}

static void share_common(replay_part_t *part, const replay_plan_t *plan, MPI_Comm comm)
{
    int counts[3] = {plan ? plan->call_count : 0, plan ? plan->recording->comm_count : 0,
                     plan ? plan->name_count : 0};
    int world_rank;

    BENCH_MPI(MPI_Comm_rank(comm, &world_rank));
    cast(counts, 1, sizeof counts, comm);
    part->others_share = plan ? plan->recording->others_share : 0;
    cast(&part->others_share, 1, sizeof part->others_share, comm);
    part->call_count = counts[0];
    part->comm_count = counts[1];
    part->name_count = counts[2];
    part->calls = replay_allocate((size_t)part->call_count, sizeof *part->calls);
    part->names = replay_allocate((size_t)part->name_count, sizeof *part->names);
    part->comm_sizes = replay_allocate((size_t)part->comm_count, sizeof *part->comm_sizes);
    part->comm_ranks = replay_allocate((size_t)part->comm_count, sizeof *part->comm_ranks);
    part->position = replay_allocate((size_t)part->comm_count, sizeof *part->position);
    if (plan)
        fill_common(part, plan);
    for (int i = 0; i < part->call_count; i++) /* one by one: together they may be more than an int says */
        cast(&part->calls[i], 1, sizeof part->calls[i], comm);
    cast(part->names, (size_t)part->name_count, sizeof *part->names, comm);
    cast(part->comm_sizes, (size_t)part->comm_count, sizeof *part->comm_sizes, comm);
    for (int i = 0; i < part->comm_count; i++) {
        const size_t size = (size_t)part->comm_sizes[i];
        part->comm_ranks[i] = replay_allocate(size, sizeof **part->comm_ranks);
        if (plan)
            memcpy(part->comm_ranks[i], plan->recording->comms[i].world_ranks,
                   size * sizeof **part->comm_ranks);
        cast(part->comm_ranks[i], size, sizeof **part->comm_ranks, comm);
        part->position[i] = -1;
        for (int r = 0; r < part->comm_sizes[i]; r++)
            if (part->comm_ranks[i][r] == world_rank)
                part->position[i] = r;
    }
}

/* ---- what is a rank's own ---- */

/* Rank 0's are copied, the others' sent. */
static void hand(const void *from, void *to, size_t count, size_t bytes, int rank, MPI_Comm comm)
{
    int self;

    BENCH_MPI(MPI_Comm_rank(comm, &self));
    if (rank == 0 && self == 0)
        memcpy(to, from, count * bytes);
    else if (self == 0)
        BENCH_MPI(MPI_Send(from, (int)(count * bytes), MPI_BYTE, rank, 0, comm));
    else
        BENCH_MPI(MPI_Recv(to, (int)(count * bytes), MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
}

/* The counts of one call of the communicator's rank `self`: size of what it sends, size of what it receives. */
static void write_counts(const replay_plan_t *plan, const replay_call_t *call, int self, int *counts)
{
    const bench_blocks_t *blocks = &call->collective->blocks;
    const int size = plan->recording->comms[call->comm].size;

    for (int r = 0; r < size; r++) {
        counts[r] = blocks->root_sends && self != call->root ? 0 : (int)replay_length(plan, call, self, r);
        counts[size + r] =
            blocks->root_receives && self != call->root ? 0 : (int)replay_length(plan, call, r, self);
    }
}

static int position_of(const replay_comm_t *comm, int world_rank)
{
    int r = 0;
    if (world_rank < comm->size &&
        comm->world_ranks[world_rank] == world_rank) /* mostly all ranks, in order */
        return world_rank;
    while (r < comm->size && comm->world_ranks[r] != world_rank)
        r++;
    return r < comm->size ? r : -1;
}

static void hand_counts(replay_part_t *part, const replay_plan_t *plan, int rank, int self, MPI_Comm comm)
{
    for (int i = 0; i < part->call_count; i++) {
        const int size = part->comm_sizes[part->calls[i].comm];
        const int position = plan ? position_of(&plan->recording->comms[part->calls[i].comm], rank)
                                  : part->position[part->calls[i].comm];
        int *counts = NULL;
        if (!part->calls[i].has_lengths || position < 0)
            continue;
        if (plan) {
            counts = replay_allocate(2 * (size_t)size, sizeof *counts);
            write_counts(plan, &plan->calls[i], position, counts);
        }
        if (rank == self)
            part->send_counts[i] = replay_allocate(2 * (size_t)size, sizeof *counts);
        hand(counts, part->send_counts[i], 2 * (size_t)size, sizeof *counts, rank, comm);
        if (rank == self)
            part->recv_counts[i] = part->send_counts[i] + size;
        free(counts);
    }
}

static void hand_steps(replay_part_t *part, const replay_plan_t *plan, int rank, int self, MPI_Comm comm)
{
    replay_part_step_t *steps = NULL;
    int count = plan ? plan->tracks[rank].count : 0;

    if (plan) {
        steps = replay_allocate((size_t)count, sizeof *steps);
        for (int i = 0; i < count; i++) {
            const replay_step_t *step = &plan->tracks[rank].steps[i];
            steps[i] =
                (replay_part_step_t){step->call, step->started, step->is_first, step->gap_s, step->faults};
        }
    }
    hand(&count, rank == self ? &part->step_count : NULL, 1, sizeof count, rank, comm);
    if (rank == self) {
        count = part->step_count;
        part->steps = replay_allocate((size_t)count, sizeof *part->steps);
    }
    hand(steps, part->steps, (size_t)count, sizeof *steps, rank, comm);
    free(steps);
}

void replay_part_share(replay_part_t *part, const replay_plan_t *plan, MPI_Comm comm)
{
    int self, size;

    *part = (replay_part_t){0};
    BENCH_MPI(MPI_Comm_rank(comm, &self));
    BENCH_MPI(MPI_Comm_size(comm, &size));
    share_common(part, plan, comm);
    part->send_counts = replay_allocate((size_t)part->call_count, sizeof *part->send_counts);
    part->recv_counts = replay_allocate((size_t)part->call_count, sizeof *part->recv_counts);
    for (int rank = self; rank < (self == 0 ? size : self + 1); rank++) {
        hand_steps(part, plan, rank, self, comm);
        hand_counts(part, plan, rank, self, comm);
    }
}

void replay_part_fini(replay_part_t *part)
{
    for (int i = 0; i < part->comm_count; i++)
        free(part->comm_ranks[i]);
    for (int i = 0; i < part->call_count; i++)
        free(part->send_counts[i]);
    free(part->send_counts);
    free(part->recv_counts);
    free(part->calls);
    free(part->names);
    free(part->comm_sizes);
    free(part->comm_ranks);
    free(part->position);
    free(part->steps);
    *part = (replay_part_t){0};
}
