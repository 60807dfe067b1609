/* host_calls: the MPI's own calls while a non-blocking collective of the library is in flight: they give what
 * they give otherwise, and the collective moves on in those that wait.
 *
 * usage: host_calls GROUP... ; the groups are in the table below. Needs two ranks or more. In the environment:
 * HP_EXPECT_TAKEN: the collectives must have been taken by the library; HP_THREADS: with MPI_THREAD_MULTIPLE. */
#include <dlfcn.h>
#include "groups.h"

enum { BYTES = 100000, TAG = 7, MANY = 100, FEW = 10 };

static MPI_Comm flight;               /* what is in flight is on this one */
static MPI_Comm talk;                 /* and the calls are on this one, */
static int world_errors, talk_errors; /* whose errors are counted apart from those of MPI_COMM_WORLD */
static int me;
static MPI_Status
    *ignored; /* MPI_STATUSES_IGNORE, which MPICH's header lets the compiler take for an array of no bytes */

static void on_world_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    world_errors++;
}

static void on_talk_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    talk_errors++;
}

/* ---- what is in flight ---- */

static unsigned char data[BYTES];

static void start(MPI_Request *request, int root)
{
    for (int i = 0; i < BYTES; i++)
        data[i] = me == root ? (unsigned char)(i * 7 + i / 256) : 0;
    CHECK_MPI(MPI_Ibcast(data, BYTES, MPI_BYTE, root, flight, request));
}

static void finish(MPI_Request *request)
{
    CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++)
        CHECK_EQUAL(data[i], (unsigned char)(i * 7 + i / 256), "a byte of the broadcast");
}

static void check_taken(uint64_t before, uint64_t calls)
{
    if (getenv("HP_EXPECT_TAKEN"))
        CHECK_EQUAL(hp_lib_stats("bcast").taken - before, calls, "broadcasts taken by the library");
}

/* ---- results are the same ---- */

static int noted[4096], notes;

static void note(int value)
{
    CHECK(notes < (int)(sizeof noted / sizeof *noted), "more results than room");
    noted[notes++] = value;
}

static void note_code(int code)
{
    note(hp_error_class(code));
    note(world_errors);
    note(talk_errors);
    world_errors = talk_errors = 0;
}

/* A status as it is before a call: nothing in it may change that does not change otherwise. */
static MPI_Status fresh(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = -77;
    return status;
}

static void note_status(MPI_Status *status, bool has_count)
{
    int count = 0, cancelled = 0;
    if (has_count) /* else it is that of an error */
        MPI_Test_cancelled(status, &cancelled);
    note(cancelled);
    if (cancelled) /* the rest is undefined */
        return;
    note(status->MPI_SOURCE);
    note(status->MPI_TAG);
    note(status->MPI_ERROR > 0 ? hp_error_class(status->MPI_ERROR) : status->MPI_ERROR);
    if (!has_count)
        return;
    MPI_Get_count(status, MPI_INT, &count);
    note(count);
}

/* Rank 1 starts to send that many messages of that many integers, with tags TAG, TAG + 1, ... */
static MPI_Request fed[8];
static int fed_count;

static void feed(int messages, int count)
{
    static int values[MANY] = {1, 2, 3};
    for (int i = 0; me == 1 && i < messages; i++)
        CHECK_MPI(MPI_Isend(values, count, MPI_INT, 0, TAG + i, talk, &fed[fed_count++]));
}

static void fed_finish(void)
{
    CHECK_MPI(MPI_Waitall(fed_count, fed, ignored));
    fed_count = 0;
}

static void case_recv(void)
{
    int buffer[MANY];
    feed(3, FEW);
    feed(1, MANY);
    if (me != 0)
        return;
    for (int i = 0; i < 4; i++) { /* any; given; given later first; too long */
        MPI_Status status = fresh();
        note_code(MPI_Recv(buffer, FEW, MPI_INT, i == 0 ? MPI_ANY_SOURCE : 1,
                           (const int[]){MPI_ANY_TAG, TAG + 2, TAG + 1, TAG}[i], talk, &status));
        note_status(&status, i < 3);
    }
    MPI_Status status = fresh();
    note_code(MPI_Recv(buffer, FEW, MPI_INT, MPI_PROC_NULL, TAG, talk, &status));
    note_status(&status, true);
    note_code(MPI_Recv(buffer, FEW, MPI_INT, hp_comm_size(talk), TAG, talk, MPI_STATUS_IGNORE));
    note_code(MPI_Recv(buffer, FEW, MPI_INT, 1, -100, talk, MPI_STATUS_IGNORE));
}

static void case_send(void)
{
    int buffer[MANY] = {0};
    for (int kind = 0; me < 2 && kind < 2; kind++) {
        int (*const send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = kind ? MPI_Ssend : MPI_Send;
        if (me == 1) {
            CHECK_MPI(MPI_Recv(buffer, MANY, MPI_INT, 0, TAG, talk, MPI_STATUS_IGNORE));
            CHECK_EQUAL(buffer[MANY - 1], 42, "the last element sent");
            continue;
        }
        buffer[MANY - 1] = 42;
        note_code(send(buffer, MANY, MPI_INT, 1, TAG, talk));
        note_code(send(buffer, MANY, MPI_INT, MPI_PROC_NULL, TAG, talk));
        note_code(send(buffer, MANY, MPI_INT, hp_comm_size(talk), TAG, talk));
        note_code(send(buffer, MANY, MPI_DATATYPE_NULL, 1, TAG, talk));
    }
}

static void case_sendrecv(void)
{
    int out[MANY] = {0}, in[MANY];
    if (me == 1)
        for (int i = 0; i < 2; i++) {
            feed(1, i ? MANY : FEW);
            CHECK_MPI(MPI_Recv(in, MANY, MPI_INT, 0, TAG, talk, MPI_STATUS_IGNORE));
            CHECK_EQUAL(in[FEW - 1], 42, "the last element sent");
        }
    if (me != 0)
        return;
    out[FEW - 1] = 42;
    for (int i = 0; i < 2; i++) { /* the second is too long */
        MPI_Status status = fresh();
        note_code(
            MPI_Sendrecv(out, FEW, MPI_INT, 1, TAG, in, FEW, MPI_INT, MPI_ANY_SOURCE, TAG, talk, &status));
        note_status(&status, i == 0);
    }
    MPI_Status status = fresh();
    note_code(MPI_Sendrecv(out, FEW, MPI_INT, MPI_PROC_NULL, TAG, in, FEW, MPI_INT, MPI_PROC_NULL, TAG, talk,
                           &status));
    note_status(&status, true);
    status = fresh();
    note_code(MPI_Sendrecv(out, FEW, MPI_INT, 0, TAG, in, FEW, MPI_INT, 0, TAG, talk, &status));
    note_status(&status, true);
    note_code(MPI_Sendrecv(out, FEW, MPI_INT, 1, TAG, in, FEW, MPI_INT, hp_comm_size(talk), TAG, talk,
                           MPI_STATUS_IGNORE));
}

/* Every other integer. */
static void case_replace(void)
{
    int buffer[2 * FEW];
    MPI_Datatype vector;
    CHECK_MPI(MPI_Type_vector(FEW, 1, 2, MPI_INT, &vector));
    CHECK_MPI(MPI_Type_commit(&vector));
    for (int i = 0; i < 2 * FEW; i++)
        buffer[i] = 100 * me + i;
    if (me < 2) {
        MPI_Status status = fresh();
        int count;
        const int code = MPI_Sendrecv_replace(buffer, 1, vector, 1 - me, TAG, 1 - me, TAG, talk, &status);
        for (int i = 0; i < 2 * FEW; i++)
            CHECK_EQUAL(buffer[i], (i % 2 ? 100 * me : 100 * (1 - me)) + i, "an element exchanged");
        CHECK_MPI(MPI_Get_count(&status, vector, &count));
        note(count);
        note_code(code);
        status.MPI_ERROR = 0; /* only arrays of statuses have a meaningful one, and MPICH writes into this */
        note_status(&status, true);
        status = fresh();
        note_code(MPI_Sendrecv_replace(buffer, 1, vector, me, TAG, me, TAG, talk, &status));
        status.MPI_ERROR = 0;
        note_status(&status, true);
    }
    CHECK_MPI(MPI_Type_free(&vector));
}

static void case_probe(void)
{
    int buffer[MANY], flag;
    MPI_Message message;
    feed(2, FEW);
    if (me != 0)
        return;
    MPI_Status status = fresh();
    note_code(MPI_Probe(MPI_ANY_SOURCE, TAG, talk, &status));
    note_status(&status, true);
    status = fresh();
    note_code(MPI_Mprobe(1, MPI_ANY_TAG, talk, &message, &status));
    note_status(&status, true);
    status = fresh();
    note_code(MPI_Mrecv(buffer, FEW, MPI_INT, &message, &status));
    note_status(&status, true);
    for (flag = 0; !flag;)
        CHECK_MPI(MPI_Improbe(1, TAG + 1, talk, &flag, &message, MPI_STATUS_IGNORE));
    note_code(MPI_Mrecv(buffer, FEW, MPI_INT, &message, MPI_STATUS_IGNORE));
    status = fresh();
    note_code(MPI_Mprobe(MPI_PROC_NULL, TAG, talk, &message, &status));
    note(message == MPI_MESSAGE_NO_PROC);
    note_status(&status, true);
    note_code(MPI_Probe(hp_comm_size(talk), TAG, talk, MPI_STATUS_IGNORE));
}

static int wait_one(bool tests, MPI_Request *request, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;
    if (!tests)
        return MPI_Wait(request, status);
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Test(request, &flag, status);
    return code;
}

/* One request: received, null, persistent and inactive, persistent and started, cancelled, too long. */
static void case_wait_with(bool tests)
{
    enum { PLAIN, NONE, INACTIVE, STARTED, CANCELLED, LONG, KINDS };
    int buffer[MANY];
    feed(1, FEW); /* for PLAIN */
    feed(1, FEW); /* for STARTED */
    feed(1, MANY);
    for (int kind = 0; me == 0 && kind < KINDS; kind++) {
        MPI_Status status = fresh();
        MPI_Request request = MPI_REQUEST_NULL;
        if (kind == PLAIN || kind == CANCELLED || kind == LONG)
            CHECK_MPI(MPI_Irecv(buffer, FEW, MPI_INT, 1, kind == CANCELLED ? TAG + 50 : TAG, talk, &request));
        if (kind == INACTIVE || kind == STARTED)
            CHECK_MPI(MPI_Recv_init(buffer, FEW, MPI_INT, 1, TAG, talk, &request));
        if (kind == STARTED)
            CHECK_MPI(MPI_Start(&request));
        if (kind == CANCELLED)
            CHECK_MPI(MPI_Cancel(&request));
        note_code(wait_one(tests, &request, &status));
        note_status(&status, kind != LONG);
        note(request == MPI_REQUEST_NULL);
        if (request != MPI_REQUEST_NULL)
            CHECK_MPI(MPI_Request_free(&request));
    }
}

static void case_wait(void)
{
    case_wait_with(false);
}

static void case_test(void)
{
    case_wait_with(true);
}

/* Four requests: one that is right, one too short, a null one, one that is cancelled. */
static void post(MPI_Request *requests, int buffers[4][MANY], int second)
{
    CHECK_MPI(MPI_Irecv(buffers[0], FEW, MPI_INT, 1, TAG + 1, talk, &requests[0]));
    CHECK_MPI(MPI_Irecv(buffers[1], second, MPI_INT, 1, TAG, talk, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Irecv(buffers[3], FEW, MPI_INT, 1, TAG + 50, talk, &requests[3]));
    CHECK_MPI(MPI_Cancel(&requests[3]));
}

static void case_all_with(bool tests)
{
    int buffers[4][MANY];
    for (int ignores = 0; ignores < 2; ignores++) {
        feed(2, FEW);
        if (me != 0)
            continue;
        MPI_Request requests[4], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[4] = {fresh(), fresh(), fresh(), fresh()};
        MPI_Status *const where = ignores ? ignored : statuses;
        int code = MPI_SUCCESS, flag = 0;
        /* MPI_Testall may or may not report an error before all is complete. */
        post(requests, buffers, tests ? FEW : FEW - 1);
        if (tests)
            while (!flag && code == MPI_SUCCESS)
                code = MPI_Testall(4, requests, &flag, where);
        else
            code = MPI_Waitall(4, requests, where);
        world_errors = world_errors > 0; /* how often is not said */
        note_code(code);
        for (int i = 0; i < 4; i++) {
            note_status(&statuses[i], !ignores && (tests || i != 1));
            note(requests[i] == MPI_REQUEST_NULL);
        }
        statuses[0] = statuses[1] = fresh();
        note_code(tests ? MPI_Testall(2, none, &flag, where) : MPI_Waitall(2, none, where));
        note_status(&statuses[1], !ignores);
        note_code(tests ? MPI_Testall(0, none, &flag, where) : MPI_Waitall(0, none, where));
    }
}

static void case_waitall(void)
{
    case_all_with(false);
}

static void case_testall(void)
{
    case_all_with(true);
}

/* Which request is first is chance, so what is noted is by request. */
static void case_any_with(bool tests)
{
    int buffers[4][MANY], seen[4][9] = {{0}}, index = -5, flag = 0;
    feed(2, FEW);
    if (me != 0)
        return;
    MPI_Request requests[4];
    post(requests, buffers, FEW - 1);
    for (int i = 0; i < 4; i++) { /* the fourth finds nothing left */
        MPI_Status status = fresh();
        int code = MPI_SUCCESS;
        for (flag = 0; !flag && code == MPI_SUCCESS;) {
            if (tests)
                code = MPI_Testany(4, requests, &index, &flag, &status);
            else
                code = MPI_Waitany(4, requests, &index, &status), flag = 1;
            flag |= world_errors + talk_errors; /* MPICH 5 calls an error that a handler has seen a success */
        }
        const int place = index == MPI_UNDEFINED ? 2 : index, from = notes;
        note(index);
        note_code(code);
        note_status(&status, place != 1);
        memcpy(seen[place], noted + from, (size_t)(notes - from) * sizeof(int));
        notes = from;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 9; j++)
            note(seen[i][j]);
}

static void case_waitany(void)
{
    case_any_with(false);
}

static void case_testany(void)
{
    case_any_with(true);
}

static void case_some_with(bool tests)
{
    int buffers[4][MANY], seen[4][8] = {{0}}, done = 0, count = 0, indices[4];
    feed(2, FEW);
    if (me != 0)
        return;
    MPI_Request requests[4];
    post(requests, buffers, FEW - 1);
    while (done < 3) {
        MPI_Status statuses[4] = {fresh(), fresh(), fresh(), fresh()};
        const int code = tests ? MPI_Testsome(4, requests, &count, indices, statuses)
                               : MPI_Waitsome(4, requests, &count, indices, statuses);
        CHECK(tests || count > 0, "MPI_Waitsome returned with nothing");
        for (int i = 0; i < count; i++, done++) {
            const int from = notes;
            note(indices[i]);
            if (indices[i] == 1)
                note_code(code);
            /* MPI_ERROR is set in all of them if one failed: chance for the others */
            if (indices[i] != 1)
                statuses[i].MPI_ERROR = 0;
            note_status(&statuses[i], indices[i] != 1);
            memcpy(seen[indices[i]], noted + from, (size_t)(notes - from) * sizeof(int));
            notes = from;
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            note(seen[i][j]);
    note_code(tests ? MPI_Testsome(4, requests, &count, indices, ignored)
                    : MPI_Waitsome(4, requests, &count, indices, ignored));
    note(count);
}

static void case_waitsome(void)
{
    case_some_with(false);
}

static void case_testsome(void)
{
    case_some_with(true);
}

/* Twice: as it is, and with a broadcast in flight that rank 1, its root, has not come to yet. */
static void same(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"recv", case_recv},        {"send", case_send},       {"sendrecv", case_sendrecv},
                 {"replace", case_replace},  {"probe", case_probe},     {"wait", case_wait},
                 {"test", case_test},        {"waitall", case_waitall}, {"testall", case_testall},
                 {"waitany", case_waitany},  {"testany", case_testany}, {"waitsome", case_waitsome},
                 {"testsome", case_testsome}};
    enum { CASES = sizeof cases / sizeof *cases };
    const uint64_t before = hp_lib_stats("bcast").taken;
    static int expected[sizeof noted / sizeof *noted];
    MPI_Errhandler on_world, on_talk;

    CHECK_MPI(MPI_Comm_create_errhandler(on_world_error, &on_world));
    CHECK_MPI(MPI_Comm_create_errhandler(on_talk_error, &on_talk));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, on_world));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, on_world));
    CHECK_MPI(MPI_Comm_set_errhandler(talk, on_talk));
    for (int i = 0; i < CASES; i++) {
        MPI_Request request;
        notes = 0;
        cases[i].run();
        fed_finish();
        const int count = notes;
        memcpy(expected, noted, sizeof expected);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        notes = 0;
        if (me != 1)
            start(&request, 1);
        cases[i].run();
        fed_finish();
        if (me == 1)
            start(&request, 1);
        finish(&request);
        CHECK_EQUAL(notes, count, cases[i].name);
        for (int j = 0; j < count; j++)
            CHECK(noted[j] == expected[j], "%s: result %d is %d, without a collective in flight %d",
                  cases[i].name, j, noted[j], expected[j]);
    }
    check_taken(before, CASES);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Comm_set_errhandler(talk, MPI_ERRORS_ARE_FATAL));
    CHECK_MPI(MPI_Errhandler_free(&on_world));
    CHECK_MPI(MPI_Errhandler_free(&on_talk));
}

/* ---- collectives move on in calls that wait ---- */

static int wait_for_message(int how)
{
    int buffer[2 * FEW], other[FEW] = {0}, index, count, indices[2], flag = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message message;

    if (how < 6)
        CHECK_MPI(MPI_Irecv(buffer, FEW, MPI_INT, 1, TAG, talk, &requests[0]));
    switch (how) {
    case 0:
        return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    case 1:
        return MPI_Waitall(2, requests, ignored);
    case 2:
        return MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    case 3:
        return MPI_Waitsome(2, requests, &count, indices, ignored);
    case 4:
        while (!flag)
            CHECK_MPI(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        return MPI_SUCCESS;
    case 5:
        while (!flag)
            CHECK_MPI(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
        return MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    case 6:
        return MPI_Recv(buffer, FEW, MPI_INT, MPI_ANY_SOURCE, TAG, talk, MPI_STATUS_IGNORE);
    case 7:
        CHECK_MPI(MPI_Probe(1, TAG, talk, MPI_STATUS_IGNORE));
        return MPI_Recv(buffer, FEW, MPI_INT, 1, TAG, talk, MPI_STATUS_IGNORE);
    case 8:
        CHECK_MPI(MPI_Mprobe(1, TAG, talk, &message, MPI_STATUS_IGNORE));
        return MPI_Mrecv(buffer, FEW, MPI_INT, &message, MPI_STATUS_IGNORE);
    case 9:
        while (!flag)
            CHECK_MPI(MPI_Iprobe(1, TAG, talk, &flag, MPI_STATUS_IGNORE));
        return MPI_Recv(buffer, FEW, MPI_INT, 1, TAG, talk, MPI_STATUS_IGNORE);
    case 10:
        return MPI_Sendrecv(other, 0, MPI_INT, MPI_PROC_NULL, 0, buffer, FEW, MPI_INT, 1, TAG, talk,
                            MPI_STATUS_IGNORE);
    default:
        return MPI_Sendrecv_replace(buffer, FEW, MPI_INT, MPI_PROC_NULL, 0, 1, TAG, talk, MPI_STATUS_IGNORE);
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
        start(&request, 0);
        if (me != 0)
            finish(&request);
        if (how < MESSAGE_WAYS)
            feed(1, FEW);
        else if (me == 1)
            CHECK_MPI(MPI_Recv(buffer, FEW, MPI_INT, 0, TAG, talk, MPI_STATUS_IGNORE));
        if (me == 0) {
            CHECK_MPI(how < MESSAGE_WAYS ? wait_for_message(how)
                                         : MPI_Ssend(buffer, FEW, MPI_INT, 1, TAG, talk));
            finish(&request);
        }
        fed_finish();
    }
    check_taken(before, MESSAGE_WAYS + 1);
}

static int collective(int which)
{
    enum { MOST = 64 };
    static int in[MOST], out[MOST], ones[MOST], places[MOST];
    static MPI_Datatype types[MOST];
    const int size = hp_comm_size(talk);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win win;
    void *memory;
    int code;

    for (int i = 0; i < MOST; i++) {
        in[i] = me;
        out[i] = -1;
        ones[i] = 1;
        places[i] = i;
        types[i] = MPI_INT;
    }
    switch (which) {
    case 0:
        return MPI_Barrier(talk);
    case 1:
        code = MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, talk);
        CHECK_EQUAL(out[size - 1], size - 1, "MPI_Allgather");
        return code;
    case 2:
        return MPI_Allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, talk);
    case 3:
        code = MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, talk);
        CHECK_EQUAL(out[1], 1, "MPI_Alltoall");
        return code;
    case 4:
        return MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, talk);
    case 5:
        for (int i = 0; i < MOST; i++)
            places[i] *= (int)sizeof(int);
        return MPI_Alltoallw(in, ones, places, types, out, ones, places, types, talk);
    case 6: /* the root waits for the others, or they for it */
        return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, talk);
    case 7:
        return MPI_Gatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, 0, talk);
    case 8:
        return MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 1, talk);
    case 9:
        return MPI_Scatterv(in, ones, places, MPI_INT, out, 1, MPI_INT, 1, talk);
    case 10:
        code = MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, talk);
        CHECK_EQUAL(out[0], size * (size - 1) / 2, "MPI_Reduce_scatter_block");
        return code;
    case 11:
        return MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, talk);
    case 12:
        return MPI_Scan(in, out, 1, MPI_INT, MPI_MAX, talk);
    case 13:
        return MPI_Exscan(in, out, 1, MPI_INT, MPI_MAX, talk);
    case 14:
        return MPI_Bcast(in, 1, MPI_INT, 1, talk);
    case 15:
        return MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, talk);
    case 16:
        return MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, talk);
    case 17:
        code = MPI_Comm_split(talk, 0, me, &made);
        break;
    case 18:
        code = MPI_Comm_dup(talk, &made);
        break;
    case 19:
        code = MPI_Cart_create(talk, 1, &size, ones, 0, &made);
        CHECK_MPI(code);
        code = MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, made);
        CHECK_EQUAL(out[0], (me + size - 1) % size, "MPI_Neighbor_allgather");
        break;
    default:
        code = MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, talk, &memory, &win);
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
        start(&request, 0);
        if (me != 0)
            finish(&request);
        CHECK_MPI(collective(which));
        if (me == 0)
            finish(&request);
    }
}

/* The other way round: rank 0 comes to the broadcast behind the collective. */
static void behind(void)
{
    for (int which = 0; which < COLLECTIVES; which++) {
        MPI_Request request;
        if (me != 0)
            start(&request, 0);
        CHECK_MPI(collective(which));
        if (me == 0)
            start(&request, 0);
        finish(&request);
    }
}

/* HANPMPI_NONBLOCKING=auto: after some rounds broadcasts are taken, on all ranks or none, also on a part of the ranks; until then,
 * and then, a collective of the MPI in between does no harm. */
static void agreement(void)
{
    enum { ROUNDS = 8 };
    MPI_Comm half, whole = flight;
    uint64_t taken = 0;

    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
    for (int round = 0; round < ROUNDS; round++) {
        for (int part = 0; part < 2; part++) {
            const uint64_t before = hp_lib_stats("bcast").taken;
            uint64_t range[2], least[2];
            MPI_Request request;
            int rank, among;

            flight = part ? half : whole;
            CHECK_MPI(MPI_Comm_rank(flight, &rank));
            CHECK_MPI(MPI_Comm_size(flight, &among));
            for (int i = 0; i < BYTES; i++)
                data[i] = rank == 0 ? (unsigned char)(i * 7 + i / 256) : 0;
            CHECK_MPI(MPI_Ibcast(data, BYTES, MPI_BYTE, 0, flight, &request));
            if (rank != 0)
                finish(&request);
            CHECK_MPI(collective(1 + round));
            if (rank == 0)
                finish(&request);
            taken = hp_lib_stats("bcast").taken - before;
            range[0] = taken;
            range[1] = ~taken;
            CHECK_MPI(MPI_Allreduce(range, least, 2, MPI_UINT64_T, MPI_MIN, flight));
            CHECK(least[0] == ~least[1], "round %d: taken on some ranks only", round);
            CHECK_MPI(MPI_Barrier(flight));
            CHECK(!getenv("HP_EXPECT_TAKEN") || round + 1 < ROUNDS || taken || among == 1,
                  "no broadcast was taken in %d rounds", ROUNDS);
        }
    }
    flight = whole;
    CHECK_MPI(MPI_Comm_free(&half));
}

/* ---- large counts ---- */

/* Not every mpi.h declares them; the library has them all. */
#define FIND(variable, name)                                                                                 \
    do {                                                                                                     \
        void *symbol_ = dlsym(RTLD_DEFAULT, name);                                                           \
        CHECK(symbol_, "there is no %s", name);                                                              \
        memcpy(&(variable), &symbol_, sizeof symbol_);                                                       \
    } while (0)

static void large_neighbors(MPI_Comm comm, int sources, int destinations, const char *topology)
{
    enum { MOST = 8 };
    int (*alltoallv)(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
    int (*alltoallw)(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *,
                     const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm);
    int in[MOST], out[MOST], plain[MOST], ones[MOST], places[MOST];
    MPI_Count large_ones[MOST];
    MPI_Aint large_places[MOST], bytes[MOST];
    MPI_Datatype types[MOST];

    FIND(alltoallv, "MPI_Neighbor_alltoallv_c");
    FIND(alltoallw, "MPI_Neighbor_alltoallw_c");
    CHECK(sources <= MOST && destinations <= MOST, "more neighbours than room");
    for (int i = 0; i < MOST; i++) {
        in[i] = 100 * me + i;
        out[i] = plain[i] = -1;
        large_ones[i] = ones[i] = 1;
        large_places[i] = places[i] = MOST - 1 - i;
        bytes[i] = (MPI_Aint)sizeof(int) * i;
        types[i] = MPI_INT;
    }
    CHECK_MPI(MPI_Neighbor_alltoallv(in, ones, places, MPI_INT, plain, ones, places, MPI_INT, comm));
    CHECK_MPI(alltoallv(in, large_ones, large_places, MPI_INT, out, large_ones, large_places, MPI_INT, comm));
    CHECK(memcmp(out, plain, sizeof out) == 0, "MPI_Neighbor_alltoallv_c, %s", topology);
    CHECK_MPI(MPI_Neighbor_alltoallw(in, ones, bytes, types, plain, ones, bytes, types, comm));
    CHECK_MPI(alltoallw(in, large_ones, bytes, types, out, large_ones, bytes, types, comm));
    CHECK(memcmp(out, plain, sizeof out) == 0, "MPI_Neighbor_alltoallw_c, %s", topology);
}

static void large_topologies(void)
{
    enum { MOST = 64 };
    const int size = hp_comm_size(talk), left = (me + size - 1) % size, right = (me + 1) % size;
    const int dimensions[] = {size}, periods[] = {1}, two[] = {left, right}, weights[] = {1};
    int index[MOST], edges[2 * MOST];
    MPI_Comm made;

    CHECK_MPI(MPI_Cart_create(talk, 1, dimensions, periods, 0, &made));
    large_neighbors(made, 2, 2, "a torus");
    CHECK_MPI(MPI_Comm_free(&made));
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    CHECK_MPI(MPI_Graph_create(talk, size, index, edges, 0, &made));
    large_neighbors(made, 2, 2, "a graph");
    CHECK_MPI(MPI_Comm_free(&made));
    CHECK_MPI(
        MPI_Dist_graph_create_adjacent(talk, 1, two, weights, 1, two + 1, weights, MPI_INFO_NULL, 0, &made));
    large_neighbors(made, 1, 1, "a distributed graph");
    CHECK_MPI(MPI_Comm_free(&made));
}

/* Arrays are significant on all ranks, unless in place, at the root only. */
static void large(void)
{
    enum { MOST = 64 };
    int (*allgatherv)(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *,
                      MPI_Datatype, MPI_Comm);
    int (*alltoallv)(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
    int (*gather)(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
    int (*gatherv)(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *,
                   MPI_Datatype, int, MPI_Comm);
    int (*reduce_scatter)(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*exchange)(void *, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *);
    const int size = hp_comm_size(talk);
    const MPI_Count garbage = (MPI_Count)1 << 40;
    int in[MOST], out[MOST];
    MPI_Count ones[MOST];
    MPI_Aint places[MOST];

    FIND(allgatherv, "MPI_Allgatherv_c");
    FIND(alltoallv, "MPI_Alltoallv_c");
    FIND(gather, "MPI_Gather_c");
    FIND(gatherv, "MPI_Gatherv_c");
    FIND(reduce_scatter, "MPI_Reduce_scatter_c");
    FIND(exchange, "MPI_Sendrecv_replace_c");
    for (int i = 0; i < MOST; i++) {
        in[i] = 100 * me + i;
        ones[i] = 1;
        places[i] = i;
    }
    CHECK_MPI(allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * i, "MPI_Allgatherv_c");
    out[me] = -me;
    CHECK_MPI(allgatherv(MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, out, ones, places, MPI_INT, talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], -i, "MPI_Allgatherv_c in place");
    CHECK_MPI(alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * i + me, "MPI_Alltoallv_c");
    CHECK_MPI(alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, ones, places, MPI_INT, talk));
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(out[i], 100 * me + i, "MPI_Alltoallv_c in place");
    CHECK_MPI(gather(in, 1, MPI_INT, out, me == 1 ? 1 : garbage, MPI_INT, 1, talk));
    CHECK(me != 1 || out[size - 1] == 100 * (size - 1), "MPI_Gather_c: %d", out[size - 1]);
    CHECK_MPI(
        gatherv(in + 1, 1, MPI_INT, out, me == 1 ? ones : NULL, me == 1 ? places : NULL, MPI_INT, 1, talk));
    CHECK(me != 1 || out[size - 1] == 100 * (size - 1) + 1, "MPI_Gatherv_c: %d", out[size - 1]);
    CHECK_MPI(reduce_scatter(in, out, ones, MPI_INT, MPI_MAX, talk));
    CHECK_EQUAL(out[0], 100 * (size - 1) + me, "MPI_Reduce_scatter_c");
    CHECK_MPI(
        exchange(in, 2, MPI_INT, (me + 1) % size, TAG, (me + size - 1) % size, TAG, talk, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in[1], 100 * ((me + size - 1) % size) + 1, "MPI_Sendrecv_replace_c");
    large_topologies();
}

static void large_if_there(void)
{
    if (dlsym(RTLD_DEFAULT, "MPI_Allgatherv_c"))
        large();
    else
        hp_group_skip("neither the MPI nor the library is there to have them");
}

int main(int argc, char **argv)
{
    static const hp_group_t groups[] = {
        {"same", same},     {"messages", messages},   {"collectives", collectives},
        {"behind", behind}, {"agreement", agreement}, {"large", large_if_there}};
    int result = HP_SKIP;

    int level;
    if (getenv("HP_THREADS"))
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    me = hp_comm_rank(MPI_COMM_WORLD);
    ignored = MPI_STATUSES_IGNORE;
    if (hp_comm_size(MPI_COMM_WORLD) > 1) {
        CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &flight));
        talk = hp_comm_dup_native(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Barrier(flight)); /* sets it up */
        CHECK_MPI(MPI_Barrier(flight));
        result = hp_groups_run(argc, argv, groups, sizeof groups / sizeof *groups);
        CHECK_MPI(MPI_Comm_free(&talk));
        CHECK_MPI(MPI_Comm_free(&flight));
    }
    MPI_Finalize();
    return result;
}
