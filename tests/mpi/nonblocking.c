/* nonblocking: what MPI says of the requests of MPI_Ibcast, MPI_Ireduce, MPI_Iallreduce, MPI_Ibarrier and of
 * their persistent forms. The values that come out are the business of `collectives --way` and of the fuzzer.
 *
 * usage: nonblocking [--thread-multiple] GROUP... ; the groups are in the table below. Each is collective over MPI_COMM_WORLD and
 * runs on a duplicate of it on which a blocking collective has run: there the library may take the calls. */
#include "checked.h"
#include "groups.h"
#include "host_bugs.h"

#include <stdio.h>
#include <unistd.h>

typedef enum { BCAST, REDUCE, ALLREDUCE, BARRIER, COLLECTIVES } collective_t;
static const char *const names[COLLECTIVES] = {"Ibcast", "Ireduce", "Iallreduce", "Ibarrier"};
static const char *const stats_names[COLLECTIVES] = {"bcast", "reduce", "allreduce", "barrier"};

static int world_rank(void)
{
    return hp_comm_rank(MPI_COMM_WORLD);
}

static int world_size(void)
{
    return hp_comm_size(MPI_COMM_WORLD);
}

/* The library sets a communicator up inside a blocking collective only. */
static void warm_up(MPI_Comm comm)
{
    int one = 1, sum = 0;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, hp_comm_size(comm), "the sum of ones");
}

static MPI_Comm create_comm(void)
{
    MPI_Comm comm;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    warm_up(comm);
    return comm;
}

/* One collective of a few integers on any rank; the same root and salt everywhere. */
typedef struct {
    collective_t collective;
    int root, salt;
    int send[4], receive[4];
} small_t;

static void set_values(small_t *small, int salt, int rank)
{
    small->salt = salt;
    for (int i = 0; i < 4; i++) {
        small->send[i] = salt + rank + i;
        small->receive[i] = small->collective == BCAST && rank == small->root ? salt + i : -1;
    }
}

static int start(small_t *small, collective_t collective, int root, int salt, MPI_Comm comm,
                 MPI_Request *request)
{
    small->collective = collective;
    small->root = root;
    set_values(small, salt, hp_comm_rank(comm));
    switch (collective) {
    case BCAST:
        return MPI_Ibcast(small->receive, 4, MPI_INT, root, comm, request);
    case REDUCE:
        return MPI_Ireduce(small->send, small->receive, 4, MPI_INT, MPI_SUM, root, comm, request);
    case ALLREDUCE:
        return MPI_Iallreduce(small->send, small->receive, 4, MPI_INT, MPI_SUM, comm, request);
    default:
        return MPI_Ibarrier(comm, request);
    }
}

static void check(const small_t *small, int rank, int size)
{
    for (int i = 0; i < 4 && small->collective != BARRIER; i++) {
        int sum = size * (small->salt + i) + size * (size - 1) / 2, expected = sum;
        if (small->collective == BCAST)
            expected = small->salt + i;
        if (small->collective == REDUCE && rank != small->root)
            expected = -1;
        CHECK_EQUAL(small->receive[i], expected, names[small->collective]);
    }
}

/* A completed request's status: not cancelled, and MPI_ERROR as it was, where one request is completed. */
static void group_status(void)
{
    enum { UNTOUCHED = 4711 };
    MPI_Comm comm = create_comm();

    for (int way = 0; way < 5; way++)
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
            MPI_Status status = {.MPI_ERROR = UNTOUCHED};
            MPI_Request request;
            small_t small;
            int flag = 1, index = -1, cancelled = 1, count;

            CHECK_MPI(start(&small, collective, world_size() - 1, 100 * way, comm, &request));
            CHECK(request != MPI_REQUEST_NULL, "%s gave a null request", names[collective]);
            switch (way) {
            case 0:
                CHECK_MPI(MPI_Wait(&request, &status));
                break;
            case 1:
                do
                    CHECK_MPI(MPI_Test(&request, &flag, &status));
                while (!flag);
                break;
            case 2:
                CHECK_MPI(MPI_Waitany(1, &request, &index, &status));
                CHECK_EQUAL(index, 0, "the index of MPI_Waitany");
                break;
            case 3: /* does not free it, however often it is asked */
                do
                    CHECK_MPI(MPI_Request_get_status(request, &flag, &status));
                while (!flag);
                CHECK_MPI(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
                CHECK(flag && request != MPI_REQUEST_NULL, "MPI_Request_get_status of a completed request");
                check(&small, world_rank(), world_size());
                CHECK_MPI(MPI_Wait(&request, &status));
                break;
            default:
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                break;
            }
            CHECK(request == MPI_REQUEST_NULL, "%s: the request is not null after its completion",
                  names[collective]);
            CHECK_EQUAL(status.MPI_ERROR, UNTOUCHED, "MPI_ERROR after the completion of one request");
            check(&small, world_rank(), world_size());
            if (way == 4)
                continue;
            CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
            CHECK(!cancelled, "%s was cancelled", names[collective]);
            CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count)); /* what it says is not defined */
            CHECK_MPI(MPI_Get_elements(&status, MPI_INT, &count));
        }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Arrays of collectives, messages and null requests: indices and statuses belong to their entries. */
static void group_arrays(void)
{
    enum { ENTRIES = 9 };
    MPI_Comm comm = create_comm();
    int right = (world_rank() + 1) % world_size(), left = (world_rank() + world_size() - 1) % world_size();

    for (int way = 0; way < 6; way++) {
        MPI_Request requests[ENTRIES];
        MPI_Status statuses[ENTRIES];
        small_t small[COLLECTIVES];
        int out = 10 * world_rank() + way, in = -1, flag = 0, done = 0, indices[ENTRIES], seen[ENTRIES] = {0};

        for (int i = 0; i < ENTRIES; i++)
            requests[i] = MPI_REQUEST_NULL;
        CHECK_MPI(MPI_Irecv(&in, 1, MPI_INT, left, way, comm, &requests[1]));
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            CHECK_MPI(start(&small[collective], collective, 0, 50 * way, comm, &requests[2 + collective]));
        CHECK_MPI(MPI_Isend(&out, 1, MPI_INT, right, way, comm, &requests[7]));
        switch (way) {
        case 0:
            CHECK_MPI(MPI_Waitall(ENTRIES, requests, statuses));
            CHECK_EQUAL(statuses[1].MPI_SOURCE, left, "the source in the message's status");
            CHECK_EQUAL(statuses[1].MPI_TAG, way, "the tag in the message's status");
            break;
        case 1:
            CHECK_MPI(MPI_Waitall(ENTRIES, requests, MPI_STATUSES_IGNORE));
            break;
        case 2:
            while (!flag)
                CHECK_MPI(MPI_Testall(ENTRIES, requests, &flag, statuses));
            CHECK_EQUAL(statuses[1].MPI_SOURCE, left, "the source in the message's status");
            break;
        case 3:
            for (int i = 0; i < 6; i++) {
                CHECK_MPI(MPI_Waitany(ENTRIES, requests, &indices[0], &statuses[0]));
                CHECK(indices[0] > 0 && indices[0] < ENTRIES, "index %d of MPI_Waitany", indices[0]);
                CHECK_EQUAL(seen[indices[0]]++, 0, "completions of one entry");
                if (indices[0] == 1)
                    CHECK_EQUAL(statuses[0].MPI_SOURCE, left, "the source in the message's status");
            }
            CHECK_MPI(MPI_Waitany(ENTRIES, requests, &indices[0], MPI_STATUS_IGNORE));
            CHECK_EQUAL(indices[0], MPI_UNDEFINED, "the index of MPI_Waitany of nothing");
            break;
        case 4:
            for (int completed = 0; completed < 6; completed += done) {
                CHECK_MPI(MPI_Waitsome(ENTRIES, requests, &done, indices, statuses));
                for (int i = 0; i < done; i++) {
                    CHECK_EQUAL(seen[indices[i]]++, 0, "completions of one entry");
                    CHECK(requests[indices[i]] == MPI_REQUEST_NULL, "entry %d is not null", indices[i]);
                    if (indices[i] == 1)
                        CHECK_EQUAL(statuses[i].MPI_SOURCE, left, "the source in the message's status");
                }
            }
            CHECK_MPI(MPI_Waitsome(ENTRIES, requests, &done, indices, MPI_STATUSES_IGNORE));
            CHECK_EQUAL(done, MPI_UNDEFINED, "the count of MPI_Waitsome of nothing");
            break;
        default:
            for (int completed = 0; completed < 6; completed += flag) {
                CHECK_MPI(MPI_Testany(ENTRIES, requests, &indices[0], &flag, MPI_STATUS_IGNORE));
                if (flag)
                    CHECK_EQUAL(seen[indices[0]]++, 0, "completions of one entry");
            }
            break;
        }
        for (int i = 0; i < ENTRIES; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL, "entry %d is not null at the end", i);
        CHECK_EQUAL(in, 10 * left + way, "the message");
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            check(&small[collective], world_rank(), world_size());
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* A thousand in flight on one communicator, completed backwards, at random and forwards. */
static void group_many(void)
{
    enum { COUNT = 1000 };
    MPI_Comm comm = create_comm();
    small_t *small = malloc(COUNT * sizeof *small);
    MPI_Request *requests = malloc(COUNT * sizeof *requests);
    int *order = malloc(COUNT * sizeof *order);

    CHECK(small && requests && order, "out of memory");
    for (int way = 0; way < 4; way++) {
        hp_random_t own = {hp_hash((uint64_t)way, (uint64_t)world_rank(), 0)};
        for (int i = 0; i < COUNT; i++) {
            CHECK_MPI(
                start(&small[i], (collective_t)(i % COLLECTIVES), i % world_size(), i, comm, &requests[i]));
            order[i] = way == 0 ? COUNT - 1 - i : i;
        }
        for (int i = COUNT - 1; i > 0 && way == 1; i--) {
            int other = (int)hp_random_below(&own, (uint32_t)i + 1), kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
        if (way == 3)
            CHECK_MPI(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++) {
            CHECK_MPI(MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE));
            check(&small[order[i]], world_rank(), world_size());
        }
    }
    free(small);
    free(requests);
    free(order);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_EQUAL(hp_lib_resources().requests, 0, "requests in flight after all are complete");
}

/* Freed while in flight: the datatype, the operation and, where the host survives it or the library is forced
 * to take the call, the communicator. */
static void group_freed(void)
{
    enum { COUNT = 3000 };
    int root = world_size() - 1;

    for (int round = 0; round < 6; round++) {
        MPI_Comm comm = create_comm();
        hp_typemap_t *map = hp_typemap_create_nth(HP_BASIC_INT, 2), *shown = hp_typemap_dup(map);
        bool reduces = round % 2, survives = !hp_host_breaks_comm_free();
        /* A reduction with an operation of the program's is the host's, whatever is forced. */
        bool frees_comm = survives || (!reduces && hp_lib_forced("bcast") && world_size() > 1);
        MPI_Op op = hp_operation_create(HP_OPERATION_USER_XOR);
        hp_buffer_t send, receive;
        MPI_Request request;

        hp_buffer_init(&send, map, COUNT);
        hp_buffer_init(&receive, map, COUNT);
        hp_buffer_fill(!reduces && world_rank() == root ? &receive : &send, HP_OPERATION_USER_XOR,
                       HP_VALUES_SMALL, (uint64_t)round, world_rank());
        if (reduces)
            CHECK_MPI(MPI_Iallreduce(send.base, receive.base, COUNT, shown->type, op, comm, &request));
        else
            CHECK_MPI(MPI_Ibcast(receive.base, COUNT, shown->type, root, comm, &request));
        hp_typemap_free_type(shown);
        CHECK_MPI(MPI_Op_free(&op));
        if (frees_comm)
            CHECK_MPI(MPI_Comm_free(&comm));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (reduces)
            hp_check_reduced(&receive, HP_OPERATION_USER_XOR, (uint64_t)round, world_size(), "Iallreduce");
        else
            hp_check_values(&receive, HP_OPERATION_USER_XOR, (uint64_t)round, root, "Ibcast");
        hp_check_guards(&receive, "the receive buffer");
        hp_buffer_fini(&send);
        hp_buffer_fini(&receive);
        hp_typemap_free(shown);
        hp_typemap_free(map);
        if (!frees_comm)
            CHECK_MPI(MPI_Comm_free(&comm));
    }
}

/* MPI calls MPI_Cancel and MPI_Request_free of these requests erroneous: an error or success, no crash, no
 * hang, and the communicator still works. */
static void group_cancel(void)
{
    MPI_Comm comm = create_comm();

    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int frees = 0; frees < 2; frees++)
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
            static small_t small[2][COLLECTIVES]; /* a freed request's buffers stay in use for a while */
            MPI_Request request;
            CHECK_MPI(start(&small[frees][collective], collective, 0, 7, comm, &request));
            int code = frees ? MPI_Request_free(&request) : MPI_Cancel(&request);
            if (request != MPI_REQUEST_NULL)
                CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(code == MPI_SUCCESS || hp_error_class(code) > 0, "%s: error %d", names[collective], code);
            warm_up(comm);
            if (!frees)
                check(&small[frees][collective], world_rank(), world_size());
        }
    CHECK_MPI(MPI_Barrier(comm));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Counts of 0, types without bytes, NULL buffers, one rank: complete like any other. */
static void group_empty(void)
{
    MPI_Comm comms[] = {create_comm(), MPI_COMM_SELF, MPI_COMM_NULL};
    MPI_Datatype nothing;

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, world_rank(), 0, &comms[2]));
    CHECK_MPI(MPI_Type_contiguous(0, MPI_INT, &nothing));
    CHECK_MPI(MPI_Type_commit(&nothing));
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        MPI_Request requests[6];
        small_t small;
        int size = hp_comm_size(comms[i]), value = size;
        CHECK_MPI(MPI_Ibcast(NULL, 0, MPI_INT, size - 1, comms[i], &requests[0]));
        CHECK_MPI(MPI_Ibcast(&value, 5, nothing, 0, comms[i], &requests[1]));
        CHECK_MPI(MPI_Iallreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comms[i], &requests[2]));
        CHECK_MPI(MPI_Ireduce(NULL, NULL, 0, MPI_DOUBLE, MPI_MAX, 0, comms[i], &requests[3]));
        CHECK_MPI(start(&small, ALLREDUCE, 0, 3, comms[i], &requests[4]));
        CHECK_MPI(MPI_Ibarrier(comms[i], &requests[5]));
        CHECK_MPI(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
        check(&small, hp_comm_rank(comms[i]), size);
        CHECK_EQUAL(value, size, "what an empty Ibcast left");
    }
    CHECK_MPI(MPI_Type_free(&nothing));
    CHECK_MPI(MPI_Comm_free(&comms[2]));
    CHECK_MPI(MPI_Comm_free(&comms[0]));
}

#if HP_HAS_PERSISTENT
/* The persistent form of start: the values are those of the next round. */
static void make(small_t *small, collective_t collective, int root, MPI_Comm comm, MPI_Request *request)
{
    small->collective = collective;
    small->root = root;
    switch (collective) {
    case BCAST:
        CHECK_MPI(MPI_Bcast_init(small->receive, 4, MPI_INT, root, comm, MPI_INFO_NULL, request));
        break;
    case REDUCE:
        CHECK_MPI(MPI_Reduce_init(small->send, small->receive, 4, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL,
                                  request));
        break;
    case ALLREDUCE:
        CHECK_MPI(MPI_Allreduce_init(small->send, small->receive, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                     request));
        break;
    default:
        CHECK_MPI(MPI_Barrier_init(comm, MPI_INFO_NULL, request));
    }
}

/* Several rounds, each with other values; started by MPI_Startall, or one by one in another order on each rank. */
static void rounds_of_persistent(small_t *small, MPI_Request *requests, int count, int rounds)
{
    const int rank = world_rank(), size = world_size();

    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            set_values(&small[i], 100 * round + i, rank);
        if (round % 3 == 0)
            CHECK_MPI(MPI_Startall(count, requests));
        else
            for (int i = 0; i < count; i++) /* any step that has no factor in common with the count */
                CHECK_MPI(MPI_Start(&requests[(i * (rank % 2 ? count - 1 : 1) + rank + round) % count]));
        if (round % 2)
            CHECK_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        else
            for (int i = count; i-- > 0;)
                CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++) {
            CHECK(requests[i] != MPI_REQUEST_NULL, "a persistent request went with its completion");
            check(&small[i], rank, size);
        }
    }
}
#endif

static void group_persistent(void)
{
#if HP_HAS_PERSISTENT
    enum { COUNT = 2 * COLLECTIVES, ROUNDS = 10, GENERATIONS = 3 };
    MPI_Comm comm = create_comm();
    uint64_t most = 0;

    for (int generation = 0; generation < GENERATIONS; generation++) {
        MPI_Request requests[COUNT];
        small_t small[COUNT];
        hanpmpi_collective_stats_t before[COLLECTIVES];
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            before[collective] = hp_lib_stats(stats_names[collective]);
        for (int i = 0; i < COUNT; i++)
            make(&small[i], (collective_t)(i % COLLECTIVES), (i + generation) % world_size(), comm,
                 &requests[i]);
        rounds_of_persistent(small, requests, COUNT, ROUNDS);
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            if (hp_lib_forced(stats_names[collective]) && world_size() > 1)
                CHECK_EQUAL(hp_lib_stats(stats_names[collective]).taken - before[collective].taken,
                            ROUNDS * COUNT / COLLECTIVES, names[collective]);
        for (int i = 0; i < COUNT; i++) /* the order is each rank's business */
            CHECK_MPI(MPI_Request_free(&requests[(i + world_rank()) % COUNT]));
        if (generation == 0)
            most = hp_lib_resources().duplicates;
        CHECK_EQUAL(hp_lib_resources().duplicates, most, "communicators: those that are free are used again");
    }
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
#else
    hp_group_skip("this mpi.h has no persistent collectives");
#endif
}

/* Persistent ones whose communicator and datatype the program has freed; one that is never started, one that waits for a
 * rank that is late; values that do not lie together, of another type on each rank. */
static void group_persistent_freed(void)
{
#if HP_HAS_PERSISTENT
    enum { INTS = 5000, ROUNDS = 6 };
    MPI_Comm comm = create_comm();
    const int rank = world_rank(), root = world_size() / 2;
    int data[2 * INTS], sum;
    MPI_Request requests[3];
    MPI_Datatype spread;

    CHECK_MPI(MPI_Type_vector(INTS, 1, 2, MPI_INT, &spread));
    CHECK_MPI(MPI_Type_commit(&spread));
    if (rank % 2)
        CHECK_MPI(MPI_Bcast_init(data, 1, spread, root, comm, MPI_INFO_NULL, &requests[0]));
    else
        CHECK_MPI(MPI_Bcast_init(data, INTS, MPI_INT, root, comm, MPI_INFO_NULL, &requests[0]));
    CHECK_MPI(MPI_Allreduce_init(data, &sum, 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[1]));
    CHECK_MPI(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]));
    CHECK_MPI(MPI_Type_free(&spread));
    const bool frees = !hp_host_breaks_comm_free() || hp_lib_forced("bcast");
    if (frees)
        CHECK_MPI(MPI_Comm_free(&comm));
    const int step = rank % 2 ? 2 : 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * INTS; i++)
            data[i] = rank != root ? -1 : i % step == 0 && i / step < INTS ? round + i / step : -2;
        if (rank == round % world_size())
            usleep(20000);
        CHECK_MPI(MPI_Start(&requests[0]));
        CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * INTS; i++)
            CHECK_EQUAL(data[i],
                        i % step == 0 && i / step < INTS ? round + i / step
                        : rank != root                   ? -1
                                                         : -2,
                        "a value");
        CHECK_MPI(MPI_Start(&requests[1]));
        CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        CHECK_EQUAL(sum, round, "the maximum");
    }
    for (int i = 0; i < 3; i++)
        CHECK_MPI(MPI_Request_free(&requests[i]));
    if (!frees)
        CHECK_MPI(MPI_Comm_free(&comm));
#else
    hp_group_skip("this mpi.h has no persistent collectives");
#endif
}

/* Where non-blocking ones pass, so do persistent ones, and nothing is set up for them. */
static void group_persistent_passed(void)
{
#if HP_HAS_PERSISTENT
    MPI_Comm comm;
    const uint64_t before = hp_lib_resources().duplicates;
    const char *setting = getenv("HANPMPI_NONBLOCKING");
    MPI_Request requests[COLLECTIVES];
    hanpmpi_collective_stats_t stats[COLLECTIVES];
    small_t small[COLLECTIVES];

    if (!setting || strcmp(setting, "off") != 0) {
        hp_group_skip("HANPMPI_NONBLOCKING is not off");
        return;
    }
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm)); /* without a blocking collective */
    for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
        stats[collective] = hp_lib_stats(stats_names[collective]);
        make(&small[collective], collective, 0, comm, &requests[collective]);
    }
    rounds_of_persistent(small, requests, COLLECTIVES, 3);
    CHECK_EQUAL(hp_lib_resources().duplicates, before, "private duplicates");
    for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
        CHECK_MPI(MPI_Request_free(&requests[collective]));
        CHECK_EQUAL(hp_lib_stats(stats_names[collective]).taken, stats[collective].taken, names[collective]);
    }
    CHECK_MPI(MPI_Comm_free(&comm));
#else
    hp_group_skip("this mpi.h has no persistent collectives");
#endif
}

/* Collective file access, which calls collectives inside the MPI, while others are in flight. */
static void group_file(void)
{
    enum { INTS = 20000, ROUNDS = 3 };
    char path[] = "/tmp/hanpmpi_test_XXXXXX";
    MPI_Comm comm = create_comm();
    int *out = malloc(INTS * sizeof *out), *in = malloc(INTS * sizeof *in);
    MPI_File file;

    CHECK(out && in, "out of memory");
    if (world_rank() == 0) {
        int descriptor = mkstemp(path);
        CHECK(descriptor >= 0, "no temporary file");
        close(descriptor);
    }
    CHECK_MPI(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm));
    CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset at = (MPI_Offset)world_rank() * INTS * (MPI_Offset)sizeof *out;
        MPI_Request requests[COLLECTIVES + 1];
        small_t small[COLLECTIVES];

        for (int i = 0; i < INTS; i++) {
            out[i] = i + 1000 * world_rank() + round;
            in[i] = -1;
        }
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            CHECK_MPI(start(&small[collective], collective, 0, round, comm, &requests[collective]));
        CHECK_MPI(MPI_File_write_at_all(file, at, out, INTS, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_sync(file)); /* another rank may have written it on behalf of this one */
        CHECK_MPI(MPI_Barrier(comm));
        CHECK_MPI(MPI_File_sync(file));
        CHECK_MPI(MPI_File_iread_at_all(file, at, in, INTS, MPI_INT, &requests[COLLECTIVES]));
        CHECK_MPI(MPI_Waitall(COLLECTIVES + 1, requests, MPI_STATUSES_IGNORE));
        CHECK(memcmp(in, out, INTS * sizeof *in) == 0, "what was read is not what was written");
        for (collective_t collective = BCAST; collective < COLLECTIVES; collective++)
            check(&small[collective], world_rank(), world_size());
    }
    CHECK_MPI(MPI_File_close(&file));
    if (world_rank() == 0)
        CHECK_EQUAL(unlink(path), 0, "unlink");
    free(out);
    free(in);
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Calls that are counted where the blocking ones are, and taken as those are. */
static void group_taken(void)
{
    enum { ROUNDS = 10 };
    MPI_Comm comm = create_comm();

    for (collective_t collective = BCAST; collective < COLLECTIVES; collective++) {
        hanpmpi_collective_stats_t before = hp_lib_stats(stats_names[collective]);
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Request request;
            small_t small;
            CHECK_MPI(start(&small, collective, round % world_size(), round, comm, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check(&small, world_rank(), world_size());
        }
        hanpmpi_collective_stats_t after = hp_lib_stats(stats_names[collective]);
        CHECK_EQUAL(after.calls - before.calls, hp_lib_loaded() ? ROUNDS : 0, names[collective]);
        if (hp_lib_forced(stats_names[collective]) && world_size() > 1)
            CHECK_EQUAL(after.taken - before.taken, ROUNDS, names[collective]);
    }
    CHECK_MPI(MPI_Comm_free(&comm));
}

static const hp_group_t groups[] = {
    {"status", group_status},
    {"arrays", group_arrays},
    {"many", group_many},
    {"freed", group_freed},
    {"cancel", group_cancel},
    {"empty", group_empty},
    {"file", group_file},
    {"taken", group_taken},
    {"persistent", group_persistent},
    {"persistent_freed", group_persistent_freed},
    {"persistent_passed", group_persistent_passed},
};

int main(int argc, char **argv)
{
    hp_mpi_init(&argc, &argv);
    hp_basics_init();
    hp_operations_init();
    int code = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
    hp_operations_fini();
    hp_basics_fini();
    CHECK_MPI(MPI_Finalize());
    CHECK_EQUAL(hp_lib_resources().requests, 0, "requests held after MPI_Finalize");
    CHECK_EQUAL(hp_lib_resources().buffers, 0, "buffers held after MPI_Finalize");
    return code;
}
