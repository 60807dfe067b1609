/* check: programs that are wrong on one rank, in ways that hang or spoil data, with HANPMPI_CHECK=1: an error on all ranks,
 * named once, by rank 0. And right ones, which must not be suspected.
 *
 * usage: check GROUP... ; the groups are in the table below. Without HANPMPI_CHECK=1 it hangs. */
#include "groups.h"

#include <sys/mman.h>
#include <unistd.h>

static int handled, handled_code;
static int standard_error, captured; /* while a wrong call is made: the real one, and what takes its place */

static void keep_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    handled_code = *code;
}

static MPI_Comm make_comm(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Comm_set_name(comm, "the tested one"));
    CHECK_MPI(MPI_Comm_create_errhandler(keep_error, &handler));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
    CHECK_MPI(MPI_Errhandler_free(&handler));
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    handled = 0;
    standard_error = dup(STDERR_FILENO);
    captured = memfd_create("stderr", 0);
    CHECK(dup2(captured, STDERR_FILENO) >= 0, "dup2");
    return comm;
}

/* What the library has said since make_comm. */
static void read_captured(char *text, size_t room)
{
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    const ssize_t length = pread(captured, text, room - 1, 0);
    close(captured);
    text[length > 0 ? length : 0] = '\0';
}

/* All ranks get the error, rank 0 has said who does what; the communicator works on. */
static void end(MPI_Comm comm, int code, int error_class, const char *said, const char *what)
{
    int one = 1, sum = 0, length;
    char text[2000], host[MPI_MAX_PROCESSOR_NAME];
    read_captured(text, sizeof text);
    CHECK_MPI(MPI_Get_processor_name(host, &length));
    if (hp_comm_rank(comm) == 0)
        CHECK(strstr(text, "call 2 on the communicator the tested one") && strstr(text, "world rank 1 on ") &&
                  strstr(text, "world rank 0 on ") && strstr(text, host) && strstr(text, said),
              "%s: the message is: %s", what, text);
    else
        CHECK(!*text, "%s: another rank says: %s", what, text);
    CHECK(hp_error_class(code) == error_class, "%s: %s", what, hp_error_text(code));
    CHECK_EQUAL(handled, 1, "calls of the error handler");
    CHECK_EQUAL(handled_code, code, "its code");
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, hp_comm_size(comm), "the sum of ones");
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Rank 1 is wrong. */
static bool is_wrong(void)
{
    return hp_comm_rank(MPI_COMM_WORLD) == 1;
}

static int values[100000], results[100000];

static void group_size(void)
{
    MPI_Comm comm = make_comm();
    end(comm, MPI_Bcast(values, is_wrong() ? 1 : 100000, MPI_INT, 0, comm), MPI_ERR_COUNT,
        "MPI_Bcast of 4 bytes (1 of MPI_INT), root 0", "size of a bcast");
    comm = make_comm();
    end(comm, MPI_Allreduce(values, results, is_wrong() ? 0 : 2, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT,
        "MPI_Allreduce of 0 bytes (0 of MPI_INT), MPI_SUM", "size of an allreduce");
    comm = make_comm();
    const int mine = is_wrong() ? 1 : 2;
    end(comm, MPI_Allgather(values, mine, MPI_INT, results, mine, MPI_INT, comm), MPI_ERR_COUNT,
        "MPI_Allgather of 4 bytes (1 of MPI_INT)", "block of an allgather");
    comm = make_comm();
    end(comm, MPI_Scatter(values, 2, MPI_INT, results, mine, MPI_INT, 0, comm), MPI_ERR_COUNT,
        "MPI_Scatter of 4 bytes (1 of MPI_INT), root 0", "block of a scatter");
    comm = make_comm();
    int counts[64];
    for (int i = 0; i < hp_comm_size(comm); i++)
        counts[i] = 2 + is_wrong();
    end(comm, MPI_Reduce_scatter(values, results, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT,
        "MPI_Reduce_scatter", "blocks of a reduce_scatter");
}

static void group_root(void)
{
    MPI_Comm comm = make_comm();
    end(comm, MPI_Bcast(values, 10, MPI_INT, is_wrong(), comm), MPI_ERR_ROOT, "root 1", "root of a bcast");
    comm = make_comm();
    end(comm, MPI_Reduce(values, results, 10, MPI_INT, MPI_SUM, is_wrong(), comm), MPI_ERR_ROOT, "root 1",
        "root of a reduce");
}

static void group_type(void)
{
    MPI_Comm comm = make_comm();
    end(comm, MPI_Bcast(values, 10, is_wrong() ? MPI_FLOAT : MPI_INT, 0, comm), MPI_ERR_TYPE,
        "(10 of MPI_FLOAT)", "type of a bcast");
    comm = make_comm();
    end(comm, MPI_Scan(values, results, 10, is_wrong() ? MPI_FLOAT : MPI_INT, MPI_SUM, comm), MPI_ERR_TYPE,
        "(10 of MPI_FLOAT)", "type of a scan");
    comm = make_comm();
    end(comm,
        MPI_Gather(values, 1, is_wrong() ? MPI_FLOAT : MPI_INT, results, 1, is_wrong() ? MPI_FLOAT : MPI_INT,
                   0, comm),
        MPI_ERR_TYPE, "(1 of MPI_FLOAT)", "type of a gather");
}

static void group_op(void)
{
    MPI_Comm comm = make_comm();
    end(comm, MPI_Allreduce(values, results, 10, MPI_INT, is_wrong() ? MPI_MAX : MPI_SUM, comm), MPI_ERR_OP,
        "MPI_MAX", "operation of an allreduce");
}

static void group_collective(void)
{
    MPI_Comm comm = make_comm();
    end(comm, is_wrong() ? MPI_Barrier(comm) : MPI_Bcast(values, 10, MPI_INT, 0, comm), MPI_ERR_OTHER,
        "calls MPI_Barrier", "a barrier beside bcasts");
    comm = make_comm();
    end(comm,
        is_wrong() ? MPI_Reduce(values, results, 10, MPI_INT, MPI_SUM, 0, comm)
                   : MPI_Allreduce(values, results, 10, MPI_INT, MPI_SUM, comm),
        MPI_ERR_OTHER, "calls MPI_Reduce", "a reduce beside allreduces");
    comm = make_comm();
    end(comm,
        is_wrong() ? MPI_Gather(values, 1, MPI_INT, results, 1, MPI_INT, 0, comm)
                   : MPI_Bcast(values, 10, MPI_INT, 0, comm),
        MPI_ERR_OTHER, "calls MPI_Gather of 4 bytes (1 of MPI_INT), root 0", "a gather beside bcasts");
    comm = make_comm();
    end(comm, MPI_Exscan(values, results, 1, MPI_INT, is_wrong() ? MPI_MAX : MPI_SUM, comm), MPI_ERR_OP,
        "MPI_MAX", "operation of an exscan");
}

/* A non-blocking one is compared with the blocking one behind it. */
static void group_nonblocking(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Iallreduce(&one, &sum, 1, MPI_INT, is_wrong() ? MPI_MAX : MPI_SUM, comm, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(hp_error_class(MPI_Barrier(comm)) == MPI_ERR_OTHER,
          "another operation of an Iallreduce was not found");
    CHECK_MPI(MPI_Barrier(comm));
    CHECK_MPI(MPI_Comm_free(&comm));
}

#if HP_HAS_PERSISTENT
static void group_persistent(void)
{
    MPI_Comm comm = make_comm();
    MPI_Request request;
    end(comm, MPI_Bcast_init(values, is_wrong() ? 1 : 10, MPI_INT, 0, comm, MPI_INFO_NULL, &request),
        MPI_ERR_COUNT, "MPI_Bcast_init", "size of a persistent bcast");
}
#endif

/* Different descriptions of the same data; MPI_PACKED. */
static void group_right(void)
{
    MPI_Comm comm = make_comm();
    MPI_Datatype pair, vector, mixed;
    const int rank = hp_comm_rank(comm);
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_MPI(MPI_Type_vector(3, 2, 4, pair, &vector));
    CHECK_MPI(MPI_Type_create_struct(2, (int[]){5, 7}, (MPI_Aint[]){100, 8},
                                     (MPI_Datatype[]){MPI_INT, MPI_INT}, &mixed));
    CHECK_MPI(MPI_Type_commit(&pair));
    CHECK_MPI(MPI_Type_commit(&vector));
    CHECK_MPI(MPI_Type_commit(&mixed));
    const MPI_Datatype types[] = {MPI_INT, pair, vector, mixed};
    const int counts[] = {12, 6, 1, 1};
    for (int i = 0; i < 4; i++) {
        const int mine = (rank + i) % 4;
        CHECK_MPI(MPI_Bcast(values, counts[mine], types[mine], i % 2, comm));
    }
    CHECK_MPI(MPI_Bcast(values, rank ? 1 : 2, rank ? MPI_2INT : MPI_INT, 0, comm));
    CHECK_MPI(MPI_Bcast(values, 8, MPI_BYTE, 0, comm));
    CHECK_MPI(MPI_Bcast(values, rank ? 8 : 2, rank ? MPI_PACKED : MPI_INT, 0, comm));
    for (int i = 0; i < 4; i++) {
        const int mine = (rank + i) % 4, theirs = (rank + i + 1) % 4, root = i % hp_comm_size(comm);
        const bool in_place = rank == root;
        MPI_Datatype send = types[mine], recv = types[theirs];
        CHECK_MPI(MPI_Alltoall(values, counts[mine], send, results, counts[theirs], recv, comm));
        CHECK_MPI(MPI_Gather(in_place ? MPI_IN_PLACE : values, counts[mine], send, results, counts[theirs],
                             recv, root, comm));
        CHECK_MPI(MPI_Scatter(values, counts[mine], send, in_place ? MPI_IN_PLACE : results, counts[theirs],
                              recv, root, comm));
        CHECK_MPI(MPI_Allgather(in_place ? MPI_IN_PLACE : values, counts[mine], send, results, counts[theirs],
                                recv, comm));
    }
    CHECK_EQUAL(handled, 0, "calls of the error handler");
    char text[2000];
    read_captured(text, sizeof text);
    CHECK(!*text, "a right program is suspected: %s", text);
    MPI_Request request;
    CHECK_MPI(MPI_Ibarrier(comm, &request));
    CHECK_MPI(MPI_Barrier(comm));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Type_free(&pair));
    CHECK_MPI(MPI_Type_free(&vector));
    CHECK_MPI(MPI_Type_free(&mixed));
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Lists as long as the other group is large; behind them is what nobody may look at. */
static void group_intercomm(void)
{
    enum { MOST = 16 };
    const int rank = hp_comm_rank(MPI_COMM_WORLD), size = hp_comm_size(MPI_COMM_WORLD);
    const int others = rank > 0 ? 1 : size - 1;
    MPI_Comm local, comm;
    MPI_Datatype types[MOST], beyond;
    int counts[MOST], places[MOST], send[MOST], recv[MOST];

    CHECK(size <= MOST, "%d ranks are too many", size);
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &local));
    CHECK_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 1, &comm));
    memset(&beyond, 0x11, sizeof beyond);
    for (int i = 0; i < MOST; i++) {
        counts[i] = i < others ? 1 : 1 << 20;
        places[i] = i;
        types[i] = i < others ? MPI_INT : beyond;
        send[i] = rank;
        recv[i] = -1;
    }
    CHECK_MPI(MPI_Alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, comm));
    for (int i = 0; i < others; i++)
        CHECK_EQUAL(recv[i], rank > 0 ? 0 : i + 1, "an element by MPI_Alltoallv");
    memset(recv, -1, sizeof recv);
    for (int i = 0; i < others; i++)
        places[i] *= (int)sizeof(int);
    CHECK_MPI(MPI_Alltoallw(send, counts, places, types, recv, counts, places, types, comm));
    for (int i = 0; i < others; i++)
        CHECK_EQUAL(recv[i], rank > 0 ? 0 : i + 1, "an element by MPI_Alltoallw");
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Comm_free(&local));
}

static const hp_group_t groups[] = {
    {"right", group_right},
    {"intercomm", group_intercomm},
    {"size", group_size},
    {"root", group_root},
    {"type", group_type},
    {"op", group_op},
    {"collective", group_collective},
#if HP_HAS_PERSISTENT
    {"persistent", group_persistent},
#endif
    {"nonblocking", group_nonblocking},
};

int main(int argc, char **argv)
{
    CHECK_MPI(MPI_Init(&argc, &argv));
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    CHECK_MPI(MPI_Finalize());
    return code;
}
