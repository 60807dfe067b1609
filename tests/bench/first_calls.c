/* first_calls: what the first calls on a communicator cost, against what they could have cost.
 *
 *   LD_PRELOAD=libhanpmpi.so mpirun -np 16 first_calls bcast 1048576 [calls]
 *
 * Makes so many calls (20) of one collective on a duplicate of MPI_COMM_WORLD that nothing has used yet, and as many on a
 * second one, later in the run; then settles on it, and measures that and the host MPI (hanpmpi=off) in turns. Prints one
 * line of JSON: microseconds of all these calls together, of the slowest rank. bytes: of a message; of collectives of blocks,
 * of all blocks of a rank together, but a block has 8 bytes at least. tests/bench/regret runs it and tells the regrets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 5, SETTLING_CALLS = 60, LEAST_BLOCK = 8 };

static const char *const names[] = {"bcast", "reduce", "allreduce", "allgather", "alltoall"};
enum { BCAST, REDUCE, ALLREDUCE, ALLGATHER, ALLTOALL, COLLECTIVES };

typedef struct {
    unsigned collective;
    int count; /* doubles of a message, or of a block */
    double *from, *to;
    MPI_Comm sync; /* the host MPI's */
} work_t;

static void call(const work_t *work, MPI_Comm comm)
{
    switch (work->collective) {
    case BCAST:
        MPI_Bcast(work->to, work->count, MPI_DOUBLE, 0, comm);
        break;
    case REDUCE:
        MPI_Reduce(work->from, work->to, work->count, MPI_DOUBLE, MPI_SUM, 0, comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(work->from, work->to, work->count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case ALLGATHER:
        MPI_Allgather(work->from, work->count, MPI_DOUBLE, work->to, work->count, MPI_DOUBLE, comm);
        break;
    default:
        MPI_Alltoall(work->from, work->count, MPI_DOUBLE, work->to, work->count, MPI_DOUBLE, comm);
    }
}

/* Microseconds of the slowest rank. The ranks leave a barrier together; one behind the last call, so that a root that is
 * ready early has to see what it left behind arrive. */
static double time_of(const work_t *work, MPI_Comm comm, int calls)
{
    double mine, most;

    MPI_Barrier(work->sync);
    mine = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        call(work, comm);
    MPI_Barrier(work->sync);
    mine = (MPI_Wtime() - mine) * 1e6;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, work->sync);
    return most;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static MPI_Comm without_library(void)
{
    MPI_Comm comm;
    MPI_Info info;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "hanpmpi", "off");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    return comm;
}

int main(int argc, char **argv)
{
    work_t work = {.collective = COLLECTIVES};
    double settled[TURNS], host[TURNS];
    MPI_Comm comms[2];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (unsigned i = 0; i < COLLECTIVES && argc > 2; i++)
        if (strcmp(argv[1], names[i]) == 0)
            work.collective = i;
    const long long bytes = argc > 2 ? atoll(argv[2]) : 0;
    const int calls = argc > 3 ? atoi(argv[3]) : 20;
    if (work.collective == COLLECTIVES || bytes < LEAST_BLOCK || bytes > 1 << 30 || calls < 1) {
        if (rank == 0)
            fprintf(stderr, "first_calls: a collective (bcast, reduce, allreduce, allgather, alltoall), bytes from %d to 2^30, calls\n",
                    LEAST_BLOCK);
        MPI_Finalize();
        return 2;
    }
    const int blocks = work.collective >= ALLGATHER ? size : 1;
    work.count = (int)(bytes / blocks < LEAST_BLOCK ? 1 : bytes / blocks / (long long)sizeof(double));
    const size_t room = (size_t)work.count * (size_t)blocks;
    work.from = malloc(room * sizeof(double));
    work.to = malloc(room * sizeof(double));
    if (!work.from || !work.to)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < room; i++)
        work.from[i] = work.to[i] = rank;
    work.sync = without_library();
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    time_of(&work, work.sync, calls); /* connections and pages are made by either */

    const double first = time_of(&work, comms[0], calls);
    time_of(&work, comms[0], SETTLING_CALLS);
    const double later = time_of(&work, comms[1], calls);
    time_of(&work, comms[1], SETTLING_CALLS);
    for (int i = 0; i < TURNS; i++) {
        settled[i] = time_of(&work, comms[1], calls);
        host[i] = time_of(&work, work.sync, calls);
    }
    qsort(settled, TURNS, sizeof *settled, by_value);
    qsort(host, TURNS, sizeof *host, by_value);
    if (rank == 0)
        printf("{\"collective\": \"%s\", \"bytes\": %lld, \"calls\": %d, \"first\": %.1f, \"later\": %.1f, \"settled\": %.1f, \"host\": %.1f}\n",
               argv[1], bytes, calls, first, later, settled[TURNS / 2], host[TURNS / 2]);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Comm_free(&work.sync);
    free(work.from);
    free(work.to);
    MPI_Finalize();
    return 0;
}
