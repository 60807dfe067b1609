/* threads_communicators: threads that make communicators of their own and use them at once, MPI_THREAD_MULTIPLE.
 *
 * usage: threads_communicators [ROUNDS]. Each of four threads makes a communicator in every round, of the lower half of
 * the ranks and of all of them in turns, by MPI_Comm_create_group, whose tag keeps the threads apart; calls more short
 * collectives on it than the library lets pass before it sets a communicator up, and a persistent one where mpi.h has
 * them; and frees it. So communicators are set up on several threads at once, in an order that differs from rank to rank,
 * while others make theirs.
 * Skipped where MPI does not provide the level. */
#include <pthread.h>

#include "mpi_check.h"

enum { THREADS = 4, CALLS = 6 };

typedef struct {
    int number, rounds;
} worker_t;

static MPI_Comm make_comm(int first_ranks, int tag)
{
    MPI_Group all, some;
    MPI_Comm comm;
    int range[1][3] = {{0, first_ranks - 1, 1}};

    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    CHECK_MPI(MPI_Group_range_incl(all, 1, range, &some));
    CHECK_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, some, tag, &comm));
    CHECK_MPI(MPI_Group_free(&some));
    CHECK_MPI(MPI_Group_free(&all));
    return comm;
}

/* Each way alone would be set up at another call, and by another size. */
static void use(MPI_Comm comm, int salt)
{
    const int rank = hp_comm_rank(comm), size = hp_comm_size(comm);

    for (int call = 0; call < CALLS; call++) {
        const int root = call % size;
        int mine = rank + salt + call, sum = -1, from_root = rank == root ? salt + call : -1;

        CHECK_MPI(MPI_Barrier(comm));
        CHECK_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQUAL(sum, size * (size - 1) / 2 + size * (salt + call), "MPI_Allreduce");
        CHECK_MPI(MPI_Bcast(&from_root, 1, MPI_INT, root, comm));
        CHECK_EQUAL(from_root, salt + call, "MPI_Bcast");
    }
}

/* Made and freed once more, so that what the first one had below may serve again. */
static void use_persistent(MPI_Comm comm, int salt)
{
#if HP_HAS_PERSISTENT
    const int size = hp_comm_size(comm);
    int mine = salt, sum;
    MPI_Request request;

    for (int call = 0; call < CALLS; call++) {
        if (call % 3 == 0)
            CHECK_MPI(MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
        mine = salt + call;
        sum = -1;
        CHECK_MPI(MPI_Start(&request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQUAL(sum, size * (salt + call), "a persistent MPI_Allreduce");
        if (call % 3 == 2)
            CHECK_MPI(MPI_Request_free(&request));
    }
#else
    (void)comm;
    (void)salt;
#endif
}

static void *work(void *argument)
{
    const worker_t *worker = argument;
    const int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);

    for (int round = 0; round < worker->rounds; round++) {
        const int ranks = (round + worker->number) % 2 ? size : (size + 1) / 2;
        if (rank >= ranks)
            continue;
        MPI_Comm comm = make_comm(ranks, worker->number);
        use(comm, 1000 * worker->number + round);
        use_persistent(comm, 1000 * worker->number + round);
        CHECK_MPI(MPI_Comm_free(&comm));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    worker_t workers[THREADS];
    pthread_t threads[THREADS];

    CHECK_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return HP_SKIP;
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.number = i, .rounds = argc > 1 ? atoi(argv[1]) : 10};
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, &workers[i]), 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0, "pthread_join");
    CHECK_MPI(MPI_Finalize());
    CHECK_EQUAL(hp_lib_resources().requests, 0, "requests after MPI_Finalize");
    CHECK_EQUAL(hp_lib_resources().buffers, 0, "buffers after MPI_Finalize");
    CHECK_EQUAL(hp_lib_resources().duplicates, 0, "blocks of tags after MPI_Finalize");
    return 0;
}
