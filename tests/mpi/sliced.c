/* sliced: non-blocking allgathers before and after the machine is measured, which says whether their blocks go in slices: two equal ones are
 * under way at a time on some ranks, and one after the other on others. All must cut the same messages alike. */
#include <unistd.h>
#include "mpi_check.h"

enum { COUNT = 1 << 19, BLOCKING = 60, ROUNDS = 6 };

static int rank, size, *mine, *all[2];

static void fill(int turn)
{
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank * 1000 + turn + i % 7;
}

static void check(const int *got, int turn)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < COUNT; i++)
            CHECK_EQUAL(got[(size_t)r * COUNT + i], r * 1000 + turn + i % 7, "an element");
}

static MPI_Request start(MPI_Comm comm, int which)
{
    MPI_Request request;
    CHECK_MPI(MPI_Iallgather(mine, COUNT, MPI_INT, all[which], COUNT, MPI_INT, comm, &request));
    return request;
}

/* Every other rank completes the first before it starts the second. */
static void make_two(MPI_Comm comm, int turn)
{
    MPI_Request requests[2];

    fill(turn);
    requests[0] = start(comm, 0);
    if ((rank + turn) % 2)
        CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    requests[1] = start(comm, 1);
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    check(all[0], turn);
    check(all[1], turn);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    CHECK_MPI(MPI_Init(&argc, &argv));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    rank = hp_comm_rank(comm);
    size = hp_comm_size(comm);
    mine = malloc(COUNT * sizeof *mine);
    for (int i = 0; i < 2; i++)
        all[i] = malloc((size_t)size * COUNT * sizeof **all);
    for (int turn = 0; turn < BLOCKING; turn++) {
        CHECK_MPI(MPI_Bcast(mine, COUNT, MPI_INT, 0, comm));
        if (turn > 0) /* the communicator is set up, and nobody has measured yet */
            continue;
        fill(turn);
        MPI_Request request = start(comm, 0);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(all[0], turn);
    }
    for (int turn = 0; turn < ROUNDS; turn++)
        make_two(comm, turn);
    free(mine);
    free(all[0]);
    free(all[1]);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Finalize());
    return 0;
}
