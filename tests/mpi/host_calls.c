/* host_calls: the host MPI's calls while a non-blocking collective of the library is in flight: they give what
 * they give otherwise, and the collective moves on in those that wait.
 *
 * usage: host_calls [--thread-multiple] GROUP... ; the groups are in the table below. Needs two ranks or more. In the environment:
 * HP_EXPECT_TAKEN: the collectives must have been taken by the library. */
#include "host_calls.h"

MPI_Comm hp_flight, hp_talk;
int hp_me;
MPI_Status *hp_ignored;

unsigned char hp_data[BYTES];

void hp_flight_start(MPI_Request *request, int root)
{
    for (int i = 0; i < BYTES; i++)
        hp_data[i] = hp_me == root ? (unsigned char)(i * 7 + i / 256) : 0;
    CHECK_MPI(MPI_Ibcast(hp_data, BYTES, MPI_BYTE, root, hp_flight, request));
}

void hp_flight_finish(MPI_Request *request)
{
    CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++)
        CHECK_EQUAL(hp_data[i], (unsigned char)(i * 7 + i / 256), "a byte of the broadcast");
}

void hp_check_taken(uint64_t before, uint64_t calls)
{
    if (getenv("HP_EXPECT_TAKEN"))
        CHECK_EQUAL(hp_lib_stats("bcast").taken - before, calls, "broadcasts taken by the library");
}

static MPI_Request fed[8];
static int fed_count;

void hp_feed(int messages, int count)
{
    static int values[MANY] = {1, 2, 3};
    for (int i = 0; hp_me == 1 && i < messages; i++)
        CHECK_MPI(MPI_Isend(values, count, MPI_INT, 0, TAG + i, hp_talk, &fed[fed_count++]));
}

void hp_feed_finish(void)
{
    CHECK_MPI(MPI_Waitall(fed_count, fed, hp_ignored));
    fed_count = 0;
}

/* ---- collectives move on in calls that wait ---- */

static int wait_for_message(int how)
{
    int buffer[2 * FEW], other[FEW] = {0}, index, count, indices[2], flag = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message message;

    if (how < 6)
        CHECK_MPI(MPI_Irecv(buffer, FEW, MPI_INT, 1, TAG, hp_talk, &requests[0]));
    switch (how) {
    case 0:
        return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    case 1:
        return MPI_Waitall(2, requests, hp_ignored);
    case 2:
        return MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    case 3:
        return MPI_Waitsome(2, requests, &count, indices, hp_ignored);
    case 4:
        while (!flag)
            CHECK_MPI(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        return MPI_SUCCESS;
    case 5:
        while (!flag)
            CHECK_MPI(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
        return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    case 6:
        return MPI_Recv(buffer, FEW, MPI_INT, MPI_ANY_SOURCE, TAG, hp_talk, MPI_STATUS_IGNORE);
    case 7:
        CHECK_MPI(MPI_Probe(1, TAG, hp_talk, MPI_STATUS_IGNORE));
        return MPI_Recv(buffer, FEW, MPI_INT, 1, TAG, hp_talk, MPI_STATUS_IGNORE);
    case 8:
        CHECK_MPI(MPI_Mprobe(1, TAG, hp_talk, &message, MPI_STATUS_IGNORE));
        return MPI_Mrecv(buffer, FEW, MPI_INT, &message, MPI_STATUS_IGNORE);
    case 9:
        while (!flag)
            CHECK_MPI(MPI_Iprobe(1, TAG, hp_talk, &flag, MPI_STATUS_IGNORE));
        return MPI_Recv(buffer, FEW, MPI_INT, 1, TAG, hp_talk, MPI_STATUS_IGNORE);
    case 10:
        return MPI_Sendrecv(other, 0, MPI_INT, MPI_PROC_NULL, 0, buffer, FEW, MPI_INT, 1, TAG, hp_talk,
                            MPI_STATUS_IGNORE);
    default:
        return MPI_Sendrecv_replace(buffer, FEW, MPI_INT, MPI_PROC_NULL, 0, 1, TAG, hp_talk,
                                    MPI_STATUS_IGNORE);
    }
}
enum { MESSAGE_WAYS = 12 };

/* Rank 0 waits for a message of rank 1, or that it takes one, which rank 1 does behind the broadcast. */
static void messages(void)
{
    const uint64_t before = hp_lib_stats("bcast").taken;
    int buffer[FEW] = {0};

    for (int how = 0; how <= MESSAGE_WAYS; how++) {
        MPI_Request request;
        hp_flight_start(&request, 0);
        if (hp_me != 0)
            hp_flight_finish(&request);
        if (how < MESSAGE_WAYS)
            hp_feed(1, FEW);
        else if (hp_me == 1)
            CHECK_MPI(MPI_Recv(buffer, FEW, MPI_INT, 0, TAG, hp_talk, MPI_STATUS_IGNORE));
        if (hp_me == 0) {
            CHECK_MPI(how < MESSAGE_WAYS ? wait_for_message(how)
                                         : MPI_Ssend(buffer, FEW, MPI_INT, 1, TAG, hp_talk));
            hp_flight_finish(&request);
        }
        hp_feed_finish();
    }
    hp_check_taken(before, MESSAGE_WAYS + 1);
}

static int collective(int which)
{
    enum { MOST = 64 };
    static int in[MOST], out[MOST], ones[MOST], places[MOST];
    static MPI_Datatype types[MOST];
    const int size = hp_comm_size(hp_talk);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win win;
    void *memory;
    int code;

    for (int i = 0; i < MOST; i++) {
        in[i] = hp_me;
        out[i] = -1;
        ones[i] = 1;
        places[i] = i;
        types[i] = MPI_INT;
    }
    switch (which) {
    case 0:
        return MPI_Barrier(hp_talk);
    case 1:
        code = MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, hp_talk);
        CHECK_EQUAL(out[size - 1], size - 1, "MPI_Allgather");
        return code;
    case 2:
        return MPI_Allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, hp_talk);
    case 3:
        code = MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, hp_talk);
        CHECK_EQUAL(out[1], 1, "MPI_Alltoall");
        return code;
    case 4:
        return MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, hp_talk);
    case 5:
        for (int i = 0; i < MOST; i++)
            places[i] *= (int)sizeof(int);
        return MPI_Alltoallw(in, ones, places, types, out, ones, places, types, hp_talk);
    case 6: /* the root waits for the others, or they for it */
        return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, hp_talk);
    case 7:
        return MPI_Gatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, 0, hp_talk);
    case 8:
        return MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 1, hp_talk);
    case 9:
        return MPI_Scatterv(in, ones, places, MPI_INT, out, 1, MPI_INT, 1, hp_talk);
    case 10:
        code = MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, hp_talk);
        CHECK_EQUAL(out[0], size * (size - 1) / 2, "MPI_Reduce_scatter_block");
        return code;
    case 11:
        return MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, hp_talk);
    case 12:
        return MPI_Scan(in, out, 1, MPI_INT, MPI_MAX, hp_talk);
    case 13:
        return MPI_Exscan(in, out, 1, MPI_INT, MPI_MAX, hp_talk);
    case 14:
        return MPI_Bcast(in, 1, MPI_INT, 1, hp_talk);
    case 15:
        return MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, hp_talk);
    case 16:
        return MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, hp_talk);
    case 17:
        code = MPI_Comm_split(hp_talk, 0, hp_me, &made);
        break;
    case 18:
        code = MPI_Comm_dup(hp_talk, &made);
        break;
    case 19:
        code = MPI_Cart_create(hp_talk, 1, &size, ones, 0, &made);
        CHECK_MPI(code);
        code = MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, made);
        CHECK_EQUAL(out[0], (hp_me + size - 1) % size, "MPI_Neighbor_allgather");
        break;
    default:
        code = MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, hp_talk, &memory, &win);
        CHECK_MPI(code);
        return MPI_Win_free(&win);
    }
    CHECK_MPI(code);
    return MPI_Comm_free(&made);
}
enum { COLLECTIVES = 21 };

/* Rank 0 waits in a collective that the others come to behind the broadcast. Calls on `talk` pass through. */
static void collectives(void)
{
    for (int which = 0; which < COLLECTIVES; which++) {
        MPI_Request request;
        hp_flight_start(&request, 0);
        if (hp_me != 0)
            hp_flight_finish(&request);
        CHECK_MPI(collective(which));
        if (hp_me == 0)
            hp_flight_finish(&request);
    }
}

/* The other way round: rank 0 comes to the broadcast behind the collective. */
static void behind(void)
{
    for (int which = 0; which < COLLECTIVES; which++) {
        MPI_Request request;
        if (hp_me != 0)
            hp_flight_start(&request, 0);
        CHECK_MPI(collective(which));
        if (hp_me == 0)
            hp_flight_start(&request, 0);
        hp_flight_finish(&request);
    }
}

/* HANPMPI_NONBLOCKING=auto: after some rounds broadcasts are taken, on all ranks or none, also on a part of the ranks; until then,
 * and then, a collective of the MPI in between does no harm. */
static void agreement(void)
{
    enum { ROUNDS = 8 };
    MPI_Comm half, whole = hp_flight;
    uint64_t taken = 0;

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, hp_me % 2, hp_me, &half));
    for (int round = 0; round < ROUNDS; round++) {
        for (int part = 0; part < 2; part++) {
            const uint64_t before = hp_lib_stats("bcast").taken;
            uint64_t range[2], least[2];
            MPI_Request request;
            int rank, among;

            hp_flight = part ? half : whole;
            CHECK_MPI(MPI_Comm_rank(hp_flight, &rank));
            CHECK_MPI(MPI_Comm_size(hp_flight, &among));
            for (int i = 0; i < BYTES; i++)
                hp_data[i] = rank == 0 ? (unsigned char)(i * 7 + i / 256) : 0;
            CHECK_MPI(MPI_Ibcast(hp_data, BYTES, MPI_BYTE, 0, hp_flight, &request));
            if (rank != 0)
                hp_flight_finish(&request);
            CHECK_MPI(collective(1 + round));
            if (rank == 0)
                hp_flight_finish(&request);
            taken = hp_lib_stats("bcast").taken - before;
            range[0] = taken;
            range[1] = ~taken;
            CHECK_MPI(MPI_Allreduce(range, least, 2, MPI_UINT64_T, MPI_MIN, hp_flight));
            CHECK(least[0] == ~least[1], "round %d: taken on some ranks only", round);
            CHECK_MPI(MPI_Barrier(hp_flight));
            CHECK(!getenv("HP_EXPECT_TAKEN") || round + 1 < ROUNDS || taken || among == 1,
                  "no broadcast was taken in %d rounds", ROUNDS);
        }
    }
    hp_flight = whole;
    CHECK_MPI(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    static const hp_group_t groups[] = {{"same", hp_group_same},      {"messages", messages},
                                        {"collectives", collectives}, {"behind", behind},
                                        {"agreement", agreement},     {"large", hp_group_large}};
    int result = HP_SKIP;

    hp_mpi_init(&argc, &argv);
    hp_me = hp_comm_rank(MPI_COMM_WORLD);
    hp_ignored = MPI_STATUSES_IGNORE;
    if (hp_comm_size(MPI_COMM_WORLD) > 1) {
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &hp_flight));
        hp_talk = hp_comm_dup_native(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Barrier(hp_flight)); /* sets it up */
        CHECK_MPI(MPI_Barrier(hp_flight));
        result = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
        CHECK_MPI(MPI_Comm_free(&hp_talk));
        CHECK_MPI(MPI_Comm_free(&hp_flight));
    }
    MPI_Finalize();
    return result;
}
