/* threads: collectives at the same time on different communicators, MPI_THREAD_MULTIPLE (pitfall 24).
 *
 * usage: threads [ROUNDS]. Each of four threads has a communicator of its own: a duplicate, a reversed one,
 * one of the even or odd ranks, a duplicate on which the library stands aside. Half of the calls do not block.
 * The case of a round follows from the thread's and the round's number, so it is the same on all ranks. Now
 * and then a thread trades its communicator for a duplicate, so that setting up and freeing meet running
 * collectives. Skipped where MPI does not provide the level. */
#include <pthread.h>

#include "checked.h"

enum { THREADS = 4 };

typedef struct {
    int number;
    int rounds;
    MPI_Comm comm;
    const hp_typemap_t *integer, *matrix, *strided;
} worker_t;

/* Every thread renews its communicator at other rounds; MPI_Comm_dup is collective over that communicator
 * only. */
static void renew(worker_t *worker)
{
    MPI_Comm old = worker->comm;
    CHECK_MPI(MPI_Comm_dup(old, &worker->comm));
    CHECK_MPI(MPI_Comm_free(&old));
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    hp_random_t random = {hp_hash(24, (uint64_t)worker->number, 0)};
    int size = hp_comm_size(worker->comm);

    for (int round = 0; round < worker->rounds; round++) {
        uint32_t which = hp_random_below(&random, 3), large = hp_random_below(&random, 20) == 0;
        hp_case_t test = {.comm = worker->comm,
                          .map = which == 0   ? worker->integer
                                 : which == 1 ? worker->matrix
                                              : worker->strided,
                          .count = hp_random_below(&random, large ? 20000 : 200),
                          .root = (int)(hp_random_next(&random) % (unsigned)size),
                          .in_place = false,
                          .salt = hp_random_next(&random)};
        const hp_operation_t operations[] = {HP_OPERATION_SUM, HP_OPERATION_USER_PRODUCT,
                                             HP_OPERATION_USER_XOR};
        test.operation = operations[which];
        const hp_way_t ways[] = {HP_WAY_BLOCKING, HP_WAY_BLOCKING, HP_WAY_WAIT, HP_WAY_TEST};
        test.way = ways[hp_random_below(&random, sizeof ways / sizeof *ways)];
        switch (hp_random_below(&random, 3)) {
        case 0:
            hp_check_bcast(&test);
            break;
        case 1:
            hp_check_reduce(&test);
            break;
        default:
            hp_check_allreduce(&test);
            break;
        }
        if (hp_random_below(&random, 100) == 0)
            renew(worker);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    worker_t workers[THREADS];
    pthread_t threads[THREADS];

    CHECK_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return HP_SKIP;
    }
    rank = hp_comm_rank(MPI_COMM_WORLD);
    size = hp_comm_size(MPI_COMM_WORLD);
    hp_basics_init();
    hp_operations_init();
    hp_typemap_t *integer = hp_typemap_create_basic(HP_BASIC_INT64);
    hp_typemap_t *matrix = hp_typemap_create_basic(HP_BASIC_MATRIX);
    hp_typemap_t *strided = hp_typemap_create_nth(HP_BASIC_INT, 2);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker_t){.number = i,
                                .rounds = argc > 1 ? atoi(argv[1]) : 500,
                                .integer = integer,
                                .matrix = matrix,
                                .strided = strided};
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &workers[0].comm));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &workers[1].comm));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &workers[2].comm));
    workers[3].comm = hp_comm_dup_native(MPI_COMM_WORLD);

    for (int i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, &workers[i]), 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0, "pthread_join");

    for (int i = 0; i < THREADS; i++)
        CHECK_MPI(MPI_Comm_free(&workers[i].comm));
    hp_typemap_free(integer);
    hp_typemap_free(matrix);
    hp_typemap_free(strided);
    hp_operations_fini();
    hp_basics_fini();
    CHECK_MPI(MPI_Finalize());
    CHECK_EQUAL(hp_lib_resources().requests, 0, "requests after MPI_Finalize");
    CHECK_EQUAL(hp_lib_resources().buffers, 0, "buffers after MPI_Finalize");
    return 0;
}
