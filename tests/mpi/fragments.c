/* fragments: many small reductions in which this rank only sends, and then a large message for it, from a third rank.
 *
 * Open MPI 4.1.4 sends small messages with gaps in fragments of a list of 512 and takes them back only while it makes
 * progress. A large message whose acknowledgement finds the list empty never ends: a rank that only sends must make
 * progress now and then. When the list is empty depends on what else is on its way: so numbers of reductions around
 * that of the fragments are tried. Rank 0 calls nothing but reductions until the large message waits for it; the
 * others tell how far they are in memory that all share.
 *
 * Without the library, Open MPI's MPI_Reduce hangs here. */
#include "mpi_check.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { FEWEST = 500, MOST = 516, AHEAD = 40, LARGE = 1 << 18, PATIENCE_S = 20 };

typedef struct {
    _Atomic int reduced, sent;
} shared_t;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *count; i++)
        ((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

static void report_stuck(int number)
{
    static const char text[] = "the large message does not arrive\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

static void reduce(MPI_Comm pair, MPI_Datatype type, MPI_Op op)
{
    const int values[] = {1, 0, 2, 0};
    int sums[] = {0, 0, 0, 0};

    CHECK_MPI(MPI_Reduce(values, sums, 1, type, op, 1, pair));
    if (hp_comm_rank(pair) == 1)
        CHECK_EQUAL(sums[2], 4, "the sum");
}

int main(int argc, char **argv)
{
    static char large[LARGE];
    MPI_Comm pair;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Win window;
    MPI_Aint bytes;
    shared_t *shared;
    int unit, found;

    CHECK_MPI(MPI_Init(&argc, &argv));
    const int rank = hp_comm_rank(MPI_COMM_WORLD);
    if (!hp_lib_loaded()) {
        MPI_Finalize();
        return HP_SKIP;
    }
    CHECK_EQUAL(hp_comm_size(MPI_COMM_WORLD), 3, "ranks");
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &pair));
    CHECK_MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Op_create(add, 1, &op));
    CHECK_MPI(MPI_Win_allocate_shared(rank == 0 ? sizeof *shared : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                      &shared, &window));
    CHECK_MPI(MPI_Win_shared_query(window, 0, &bytes, &unit, &shared));
    signal(SIGALRM, report_stuck);
    alarm(PATIENCE_S);

    for (int count = FEWEST; count <= MOST; count++) {
        if (rank == 0) {
            atomic_store(&shared->reduced, 0);
            atomic_store(&shared->sent, 0);
        }
        /* From everybody to everybody, often enough for Open MPI's faster path; and all fragments are back. */
        for (int i = 0; i < 50; i++) {
            CHECK_MPI(PMPI_Barrier(MPI_COMM_WORLD));
            CHECK_MPI(MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % 3, 0, &found, 1, MPI_INT, (rank + 2) % 3, 0,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Sendrecv(&i, 1, MPI_INT, (rank + 2) % 3, 0, &found, 1, MPI_INT, (rank + 1) % 3, 0,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        if (rank == 2) {
            MPI_Request request;
            CHECK_MPI(MPI_Isend(large, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
            atomic_store(&shared->sent, 1);
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            continue;
        }
        for (int i = 1; i <= count; i++) {
            reduce(pair, type, op);
            if (rank == 1)
                atomic_store(&shared->reduced, i);
            while (rank == 0 && i > atomic_load(&shared->reduced) + AHEAD)
                sched_yield();
        }
        if (rank == 0) {
            while (atomic_load(&shared->reduced) < count || !atomic_load(&shared->sent))
                sched_yield();
            CHECK_MPI(MPI_Recv(large, LARGE, MPI_BYTE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }

    alarm(0);
    if (rank != 2)
        CHECK(hp_lib_stats("reduce").taken > 0, "the library took no reduction");
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(MPI_Win_free(&window));
    CHECK_MPI(MPI_Comm_free(&pair));
    CHECK_MPI(MPI_Finalize());
    return 0;
}
